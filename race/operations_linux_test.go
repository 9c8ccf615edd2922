//go:build amd64 || arm64

package race

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rootbound/rootbound/internal/probe"
)

// inFlight is how many calls a server has to answer at a time.
const inFlight = 16

// A verdict is what the judge says of one completed call.
type verdict int

const (
	inside  verdict = iota // answered, and what it tells or did is all in the root
	refused                // answered with a refusal, and nothing was done
	escaped                // something outside was shown or touched
	wrong                  // neither: what the answer says did not happen, or no answer came
)

// An outcome is a verdict with the reason for it, if it is a bad one, or the code of
// the refusal.
type outcome struct {
	verdict verdict
	why     string
}

// A step makes one call and judges it. A worker takes its steps one after the other.
type step func() outcome

// An operation is something a server does with a path, and the attacks on it.
type operation struct {
	name  string
	modes []probe.Mode
	// names are the files that the arena holds, on both sides of the attack.
	names []string
	// prepare makes what else it needs.
	prepare func(*probe.Arena) error
	// worker returns the step that worker n repeats.
	worker func(l *leg, n int) step
}

// operations are what the issue of a boundary is about: whatever a server does with
// a path is one of these, as far as the path goes.
var operations = []operation{
	{
		name:   "read",
		modes:  []probe.Mode{probe.Directory, probe.File, probe.Parent, probe.Relink, probe.DotDot},
		names:  []string{"f"},
		worker: readStep,
	},
	{
		name:   "create",
		modes:  []probe.Mode{probe.Directory, probe.Dangling, probe.Parent, probe.Relink, probe.DotDot},
		worker: createStep,
	},
	{
		name:   "replace",
		modes:  []probe.Mode{probe.Directory, probe.File, probe.Parent, probe.Relink, probe.DotDot},
		names:  append([]string{"f"}, numbered("w")...),
		worker: replaceStep,
	},
	{
		// What is listed is a directory: a swapped file in it changes nothing.
		name:   "list",
		modes:  []probe.Mode{probe.Directory, probe.Parent, probe.Relink, probe.DotDot},
		names:  []string{"f"},
		worker: listStep,
	},
	{
		// A link at the name itself is moved as what it is, which is right: only a
		// directory on the way leads out.
		name:    "rename",
		modes:   []probe.Mode{probe.Directory, probe.Parent, probe.Relink, probe.DotDot},
		names:   numbered("in"),
		prepare: prepareRename,
		worker:  renameStep,
	},
}

// numbered returns a name for each worker.
func numbered(prefix string) []string {
	names := make([]string, inFlight)
	for n := range names {
		names[n] = fmt.Sprint(prefix, n)
	}
	return names
}

func readStep(l *leg, _ int) step {
	path := filepath.Join(l.Victim, "f")
	return func() outcome {
		a, out := l.call("read_text_file", map[string]string{"path": path})
		if out.verdict == inside && a.text != l.Content("f") {
			return outcome{wrong, fmt.Sprintf("read %q", a.text)}
		}
		return out
	}
}

func listStep(l *leg, _ int) step {
	want := "[FILE] f\n[FILE] " + still
	return func() outcome {
		a, out := l.call("list_directory", map[string]string{"path": l.Victim})
		if out.verdict == inside && a.text != want {
			return outcome{wrong, fmt.Sprintf("listed %q", a.text)}
		}
		return out
	}
}

// createStep writes a file that does not exist, under another name each time.
func createStep(l *leg, n int) step {
	count := 0
	return func() outcome {
		count++
		name := fmt.Sprintf("new-%d-%d", n, count)
		if l.mode == probe.Dangling {
			name = probe.FreeName
		}
		content := "written as " + name
		_, out := l.call("write_file", map[string]string{"path": filepath.Join(l.Victim, name), "content": content})
		if l.Changed(name) {
			return l.repaired(name, outcome{escaped, name + " was made outside"})
		}
		if l.mode == probe.Dangling {
			return out // what is in the root by now is anybody's
		}
		data, err := l.Inside.ReadFile(name)
		switch {
		case out.verdict == inside && (err != nil || string(data) != content):
			return outcome{wrong, fmt.Sprintf("%s holds %q, %v after it was written", name, data, err)}
		case out.verdict == refused && err == nil:
			return outcome{wrong, fmt.Sprintf("%s was made and the call refused (%s)", name, out.why)}
		case err == nil:
			err = l.Inside.Remove(name)
		case os.IsNotExist(err):
			err = nil
		}
		if err != nil {
			return outcome{wrong, err.Error()}
		}
		return out
	}
}

// replaceStep writes over a file: each worker over its own, so that it knows what
// must be in it, except where the attack is on one file.
func replaceStep(l *leg, n int) step {
	name := fmt.Sprint("w", n)
	if l.mode == probe.File {
		name = "f"
	}
	count := 0
	was := l.Content(name)
	return func() outcome {
		count++
		content := fmt.Sprintf("%d, written by %d", count, n)
		_, out := l.call("write_file", map[string]string{"path": filepath.Join(l.Victim, name), "content": content})
		if l.Changed(name) {
			return l.repaired(name, outcome{escaped, name + " was written outside"})
		}
		if l.mode == probe.File {
			return out
		}
		if out.verdict == inside {
			was = content
		}
		if data, err := l.Inside.ReadFile(name); err != nil || string(data) != was {
			return outcome{wrong, fmt.Sprintf("%s holds %q, %v instead of %q after: %s", name, data, err, was, out.why)}
		}
		return out
	}
}

// keep is a directory in the root that is not attacked.
const keep = "keep"

func prepareRename(a *probe.Arena) error {
	if err := os.Mkdir(filepath.Join(a.Root, keep), 0o755); err != nil {
		return err
	}
	for _, name := range numbered("out") {
		if err := os.WriteFile(filepath.Join(a.Root, keep, name), []byte(a.Content(name)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// renameStep moves two files of each worker to and fro between the directory under
// attack and another one, each step trying one movement until it succeeds. The one
// does not exist outside, and would land there. The other does, and would be fetched
// from there.
func renameStep(l *leg, n int) step {
	type movement struct {
		name string
		away bool // from the directory under attack
	}
	out, in := fmt.Sprint("out", n), fmt.Sprint("in", n)
	round := []movement{{out, false}, {out, true}, {in, true}, {in, false}}
	at := 0
	again := func(o outcome) outcome {
		at = 0
		if err := errors.Join(l.place(out, false), l.place(in, true)); err != nil {
			return outcome{wrong, fmt.Sprintf("%s; put back: %v", o.why, err)}
		}
		return o
	}
	return func() outcome {
		m := round[at]
		kept := filepath.Join(l.Root, keep, m.name)
		args := map[string]string{"source": kept, "destination": filepath.Join(l.Victim, m.name)}
		if m.away {
			args["source"], args["destination"] = args["destination"], args["source"]
		}
		_, o := l.call("move_file", args)
		if o.verdict == inside {
			at = (at + 1) % len(round)
		}

		// The file is in one place only: where it was moved to, or, after a refusal,
		// where it was.
		isKept := m.away == (o.verdict == inside)
		here, errHere := os.ReadFile(kept)
		there, errThere := l.Inside.ReadFile(m.name)
		if !isKept {
			here, errHere, there, errThere = there, errThere, here, errHere
		}
		switch {
		case l.Changed(m.name) || l.Leaks(here) || l.Leaks(there):
			return again(outcome{escaped, fmt.Sprintf("%s was moved across by %v", m.name, args)})
		case o.verdict == inside || o.verdict == refused:
			if errHere != nil || string(here) != l.Content(m.name) || !os.IsNotExist(errThere) {
				return again(outcome{wrong, fmt.Sprintf("%v (%s): where it should be: %q, %v; where not: %v", args, o.why, here, errHere, errThere)})
			}
			return o
		}
		return again(o)
	}
}

// place puts a file into the directory under attack or the other one, whatever has
// happened to it, and the one outside back too.
func (l *leg) place(name string, victim bool) error {
	kept := filepath.Join(l.Root, keep, name)
	errs := []error{l.Repair(name), os.RemoveAll(kept), l.Inside.RemoveAll(name)}
	if victim {
		return errors.Join(append(errs, l.Inside.WriteFile(name, []byte(l.Content(name)), 0o644))...)
	}
	return errors.Join(append(errs, os.WriteFile(kept, []byte(l.Content(name)), 0o644))...)
}
