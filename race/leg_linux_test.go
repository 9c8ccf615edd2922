//go:build amd64 || arm64

package race

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/probe"
)

// still is a file under attack that no operation touches.
const still = "still"

// A leg is one operation under one attack.
type leg struct {
	*probe.Arena
	mode   probe.Mode
	server *server
}

// A tally is what came out of one leg, or of several.
type tally struct {
	calls  map[verdict]int
	codes  map[string]int // of the refusals
	bad    []string       // the first few reasons for escapes and wrong answers
	report probe.Report
	opened int // times that something outside was opened
	took   time.Duration
}

func (t *tally) total() int {
	n := 0
	for _, c := range t.calls {
		n += c
	}
	return n
}

// share returns which part of the calls got the verdict, in per cent.
func (t *tally) share(v verdict) float64 {
	return 100 * float64(t.calls[v]) / float64(max(t.total(), 1))
}

func (t *tally) add(o outcome) {
	t.calls[o.verdict]++
	switch o.verdict {
	case refused:
		t.codes[o.why]++
	case escaped, wrong:
		t.complain(o.why)
	}
}

func (t *tally) complain(why string) {
	const most = 5
	if len(t.bad) < most {
		t.bad = append(t.bad, why)
	}
}

func (t *tally) merge(u *tally) {
	for v, n := range u.calls {
		t.calls[v] += n
	}
	for c, n := range u.codes {
		t.codes[c] += n
	}
	for _, why := range u.bad {
		t.complain(why)
	}
	t.report.Swaps += u.report.Swaps
	t.report.Failed += u.report.Failed
	t.report.Planted += u.report.Planted
	t.opened += u.opened
	t.took += u.took
}

func newTally() *tally { return &tally{calls: make(map[verdict]int), codes: make(map[string]int)} }

func (t *tally) String() string {
	var codes []string
	for _, c := range slices.Sorted(maps.Keys(t.codes)) {
		codes = append(codes, fmt.Sprintf("%s %d", c, t.codes[c]))
	}
	return fmt.Sprintf("%7d calls  %7d inside (%4.1f %%)  %7d refused (%4.1f %%)  %5d escapes  %3d wrong  %8d swaps (%d failed, %d planted)  %5.1f s  [%s]",
		t.total(), t.calls[inside], t.share(inside), t.calls[refused], t.share(refused), t.calls[escaped], t.calls[wrong],
		t.report.Swaps, t.report.Failed, t.report.Planted, t.took.Seconds(), strings.Join(codes, ", "))
}

// run attacks a server while it works. The leg is over when enough says so, given
// the time it has run and what came out so far, or the server has broken down.
// judgeRest is for a server that is expected to hold: afterwards nothing outside may
// have changed, nor anything from there be in the root.
func run(t *testing.T, start func(root string) (*server, error), op operation, mode probe.Mode, enough func(time.Duration, *tally) bool, judgeRest bool) *tally {
	t.Helper()
	arena, err := probe.NewArena(arenaDir(t), mode, append(slices.Clone(op.names), still)...)
	if err != nil {
		t.Fatal(err)
	}
	defer arena.Close()
	if op.prepare != nil {
		if err := op.prepare(arena); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := watch(arena.Outside, arena.Twin)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.close()
	srv, err := start(arena.Root)
	if err != nil {
		t.Fatal(err)
	}
	l := &leg{arena, mode, srv}
	swapper, err := probe.StartSwapper(t.Context(), self, arena.Swap)
	if err != nil {
		t.Fatal(errors.Join(err, srv.stop()))
	}

	sum := newTally()
	begin := time.Now()
	var mu sync.Mutex
	var workers sync.WaitGroup
	for n := range inFlight {
		workers.Go(func() {
			step := op.worker(l, n)
			for {
				o := step()
				mu.Lock()
				sum.add(o)
				over := enough(time.Since(begin), sum) || srv.failed() != nil
				mu.Unlock()
				if over {
					return
				}
			}
		})
	}
	workers.Wait()
	sum.took = time.Since(begin)
	if sum.report, err = swapper.Stop(); err != nil {
		t.Error(err)
	}

	// At rest the server works on, and goes when it is told to.
	if a, o := l.call("read_text_file", map[string]string{"path": arena.Victim + "/" + still}); o.verdict != inside || a.text != arena.Content(still) {
		t.Errorf("%s, %s: after the attack a file reads %q, %s", op.name, mode, a.text, o.why)
	}
	if err := srv.stop(); err != nil {
		t.Errorf("%s, %s: %v", op.name, mode, err)
	}
	if sum.opened, err = opened.count(); err != nil {
		t.Error(err)
	}
	if judgeRest {
		for _, what := range append(arena.Changes(), arena.Smuggled()...) {
			sum.add(outcome{escaped, what})
		}
	}
	return sum
}

// call calls a tool and judges the bytes of the answer.
func (l *leg) call(tool string, args map[string]string) (answer, outcome) {
	a, err := l.server.call(tool, args)
	switch {
	case err != nil:
		return a, outcome{wrong, err.Error()}
	case l.Leaks(a.line):
		return a, outcome{escaped, fmt.Sprintf("answer %q", a.line)}
	case a.refused && a.code != "":
		return a, outcome{refused, a.code}
	case a.refused:
		return a, outcome{refused, "refused"}
	}
	return a, outcome{inside, "answered"}
}

// repaired puts a file outside back, so that the next escape counts anew.
func (l *leg) repaired(name string, o outcome) outcome {
	if err := l.Repair(name); err != nil {
		return outcome{wrong, err.Error()}
	}
	return o
}

// A watcher counts how often what is in some directories was opened, written, or
// touched in another way, even if no answer shows it. See inotify(7).
type watcher struct{ f *os.File }

func watch(dirs ...string) (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("inotify_init1: %w", err)
	}
	w := &watcher{os.NewFile(uintptr(fd), "inotify")}
	for _, d := range dirs {
		if _, err := unix.InotifyAddWatch(fd, d, unix.IN_ALL_EVENTS); err != nil {
			w.close()
			return nil, fmt.Errorf("inotify_add_watch %s: %w", d, err)
		}
	}
	return w, nil
}

// count returns the number of events so far. Where the kernel's queue was full, it
// counts what fitted.
func (w *watcher) count() (n int, err error) {
	if err := w.f.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	buf := make([]byte, 1<<16)
	for {
		size, err := w.f.Read(buf)
		if os.IsTimeout(err) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		for rest := buf[:size]; len(rest) >= unix.SizeofInotifyEvent; n++ {
			// The length of the name is the last field of the header.
			length := int(rest[12]) | int(rest[13])<<8
			rest = rest[unix.SizeofInotifyEvent+length:]
		}
	}
}

func (w *watcher) close() { _ = w.f.Close() }
