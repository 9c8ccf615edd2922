package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A scenario is what a client does with one server. It is data, so that clients
// in any language can play it. In all its texts $DIR is the tree of the test.
type scenario struct {
	args  []string // of rootbound serve
	roots *answer  // what the client answers at first; nil: it declares no roots
	steps []step
}

// An answer is what a client says when it is asked for its roots: a list, an
// error, or nothing until a step releases it.
type answer struct {
	Roots  []entry   `json:"roots"`
	Error  *rpcError `json:"error,omitempty"`
	Silent bool      `json:"silent,omitempty"`

	raw string // a result in place of Roots, JSON; the client of lines only
}

type entry struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// A step is one thing that a client does, and what must come of it. Do is one of
//
//	tools    list the tools
//	call     call Tool with Args
//	change   answer Answer from here on, and say so where the protocol can
//	release  answer the requests that were kept waiting, and those to come, with Answer
//
// and, for the client of lines only,
//
//	slip     answer Answer from here on, and say nothing
//	pause    do nothing for that long
type step struct {
	Do     string            `json:"do"`
	Tool   string            `json:"tool,omitempty"`
	Args   map[string]string `json:"args"`
	Answer *answer           `json:"answer,omitempty"`

	pause time.Duration
	check func(t *testing.T, got outcome)
}

// An outcome is what the client saw of one step.
type outcome struct {
	Tools      []string                   `json:"tools"`
	IsError    bool                       `json:"isError"`
	Text       string                     `json:"text"`
	Structured json.RawMessage            `json:"structured"`
	Meta       map[string]json.RawMessage `json:"meta"`
	Failure    *rpcError                  `json:"failure"`  // the call came to no result
	MS         int                        `json:"ms"`       // how long the step took
	Asked      int                        `json:"asked"`    // for the roots, until now
	Released   int                        `json:"released"` // requests
}

// listing answers with the directories of these names, which are below $DIR.
func listing(names ...string) *answer {
	a := &answer{Roots: []entry{}}
	for _, name := range names {
		a.Roots = append(a.Roots, entry{URI: "file://$DIR/" + name, Name: "the " + name})
	}
	return a
}

// entries answers with these URIs, whatever they are.
func entries(uris ...string) *answer {
	a := &answer{}
	for _, uri := range uris {
		a.Roots = append(a.Roots, entry{URI: uri})
	}
	return a
}

func failing(code int) *answer { return &answer{Error: &rpcError{code, "no roots today"}} }

func silent() *answer { return &answer{Silent: true} }

func change(a *answer) step { return step{Do: "change", Answer: a, check: succeeded} }
func slip(a *answer) step   { return step{Do: "slip", Answer: a, check: succeeded} }
func pause(d time.Duration) step {
	return step{Do: "pause", pause: d, check: succeeded}
}
func release(a *answer) step { return step{Do: "release", Answer: a, check: released} }

func succeeded(t *testing.T, got outcome) {
	if got.Failure != nil {
		t.Errorf("failed: %+v", *got.Failure)
	}
}

func released(t *testing.T, got outcome) {
	succeeded(t, got)
	if got.Released == 0 {
		t.Error("no request was waiting: the server gave up too soon, or never asked")
	}
}

// call calls a tool, and wants text.
func call(tool string, args map[string]string, text string) step {
	return step{Do: "call", Tool: tool, Args: args, check: func(t *testing.T, got outcome) {
		if got.Failure != nil || got.IsError || got.Text != text {
			t.Errorf("got %v, want the text %q", got, text)
			return
		}
		var structured struct{ Content *string }
		if err := json.Unmarshal(got.Structured, &structured); err != nil || structured.Content == nil || *structured.Content != text {
			t.Errorf("structured content is %s (%v), want the text %q", got.Structured, err, text)
		}
	}}
}

// reads reads the file of that name below $DIR. Every file holds its own name.
func reads(name string) step {
	return call("read_text_file", map[string]string{"path": "$DIR/" + name}, name)
}

// refuses tries to read the file of that name below $DIR, and wants a refusal.
func refuses(name, code string) step {
	return refused("read_text_file", map[string]string{"path": "$DIR/" + name}, code)
}

// refused calls a tool, and wants a refusal with that code.
func refused(tool string, args map[string]string, code string) step {
	return step{Do: "call", Tool: tool, Args: args, check: func(t *testing.T, got outcome) {
		if r, ok := refusalOf(t, got); ok && r.Code != code {
			t.Errorf("refused with %s (%s), want %s", r.Code, r.Reason, code)
		}
	}}
}

// givesUp is refuses for a client that cannot tell the server that it failed:
// in the stateless protocol it just does not come back.
func givesUp(name string, code int) step {
	return step{
		Do: "call", Tool: "read_text_file", Args: map[string]string{"path": "$DIR/" + name},
		check: func(t *testing.T, got outcome) {
			if got.Failure == nil || got.Failure.Code != code {
				t.Errorf("got %v, want the client's own error %d", got, code)
			}
		},
	}
}

// allowed asks for the allowed directories, and wants these, below $DIR, among
// the lines of the answer, followed by the other texts anywhere.
func allowed(names []string, others ...string) step {
	return step{Do: "call", Tool: "list_allowed_directories", Args: map[string]string{}, check: func(t *testing.T, got outcome) {
		if got.Failure != nil || got.IsError {
			t.Errorf("got %v", got)
			return
		}
		lines := strings.Split(got.Text, "\n")
		if lines[0] != "Allowed directories:" {
			t.Errorf("first line is %q", lines[0])
		}
		for _, name := range names {
			if !slices.Contains(lines, "$DIR/"+name) {
				t.Errorf("%s is not listed in:\n%s", name, got.Text)
			}
		}
		for _, text := range others {
			if !strings.Contains(got.Text, text) {
				t.Errorf("nothing says %s in:\n%s", text, got.Text)
			}
		}
	}}
}

// soon wants a step to take less than d.
func soon(d time.Duration, s step) step {
	return took(s, 0, d)
}

// took wants a step to take that long, to the time of a slow machine more.
func took(s step, least, most time.Duration) step {
	check := s.check
	s.check = func(t *testing.T, got outcome) {
		check(t, got)
		if d := time.Duration(got.MS) * time.Millisecond; d < least || d > most {
			t.Errorf("took %v, want %v to %v", d, least, most)
		}
	}
	return s
}

// asking wants the client to have been asked n times after a step.
func asking(n int, s step) step {
	check := s.check
	s.check = func(t *testing.T, got outcome) {
		check(t, got)
		if got.Asked != n {
			t.Errorf("asked %d times for the roots, want %d", got.Asked, n)
		}
	}
	return s
}

// A refusal is what programs are told of why a call was refused.
type refusal struct {
	Code       string  `json:"code"`
	Reason     string  `json:"reason"`
	Argument   string  `json:"argument"`
	Requested  string  `json:"requested"`
	Generation *uint64 `json:"generation"`
	Roots      *[]struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
		Mode string `json:"mode"`
	} `json:"roots"`
	Next string `json:"next"`
}

// refusalOf returns the refusal in an outcome, after a look at its shape.
func refusalOf(t *testing.T, got outcome) (r refusal, ok bool) {
	t.Helper()
	raw, ok := got.Meta["rootbound/refusal"]
	if !ok || !got.IsError {
		t.Errorf("got %v, want a refusal", got)
		return r, false
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Errorf("refusal %s: %v", raw, err)
		return r, false
	}
	if r.Code == "" || r.Reason == "" || r.Next == "" || r.Generation == nil || r.Roots == nil {
		t.Errorf("refusal %s lacks something", raw)
		return r, false
	}
	if !strings.HasPrefix(r.Argument, "/") {
		t.Errorf("argument %q is no pointer into the arguments", r.Argument)
	}
	if _, err := strconv.Unquote(r.Requested); err != nil {
		t.Errorf("requested %s is not quoted", r.Requested)
	}
	for _, root := range *r.Roots {
		if !strings.HasPrefix(root.URI, "file://$DIR") && !strings.HasPrefix(root.URI, "file:///") || root.Mode != "ro" && root.Mode != "rw" {
			t.Errorf("root %+v is not described", root)
		}
	}
	if s := string(got.Structured); s != "" && s != "null" {
		t.Errorf("structured content in a refusal: %s", s)
	}
	if got.Text == "" {
		t.Error("nothing is said to the model")
	}
	return r, true
}

func (o outcome) String() string {
	switch {
	case o.Failure != nil:
		return fmt.Sprintf("failure %+v", *o.Failure)
	case o.Tools != nil:
		return fmt.Sprintf("tools %q", o.Tools)
	case o.IsError:
		return fmt.Sprintf("error %q %s", o.Text, o.Meta)
	}
	return fmt.Sprintf("text %q", o.Text)
}

// check compares the outcomes of a scenario's steps with what they must be.
func (sc scenario) check(t *testing.T, outcomes []outcome) {
	t.Helper()
	if len(outcomes) != len(sc.steps) {
		t.Errorf("%d steps of %d were done", len(outcomes), len(sc.steps))
	}
	for i, got := range outcomes[:min(len(outcomes), len(sc.steps))] {
		sc.steps[i].checkIn(t, i, got)
	}
}

// checkIn runs the step's check in a subtest, which names the step in a failure
// and shows each failing step rather than the first only.
func (s step) checkIn(t *testing.T, i int, got outcome) {
	t.Run(fmt.Sprintf("%d_%s", i, s.Do), func(t *testing.T) {
		t.Helper()
		s.check(t, got)
		if t.Failed() {
			t.Logf("step: %s %s %s", s.Do, s.Tool, s.Args)
		}
	})
}
