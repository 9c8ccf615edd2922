package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/testenv"
)

// 2,000 notices back to back lead to one or two requests, and the next call sees
// the last list. However often that comes, the server does not grow.
func TestStorm(t *testing.T) {
	t.Parallel()
	const notices = 2000
	// A collector that keeps little garbage, so that what stays is what is kept.
	s := startIn(t, []string{"GOGC=25"}, newTree(t))
	s.setAnswer(listing("a"))
	s.initialize("2025-11-25", announcing)
	s.play(t, []step{reads("a/f")})

	storm := strings.Repeat(listChanged+"\n", notices-1) + listChanged
	names := []string{"b", "a"}
	round := func(i int) {
		before := s.timesAsked()
		last, other := names[i%2], names[(i+1)%2]
		s.setAnswer(listing("c")) // what the list is for a moment, while the notices come
		// One write: the client's answers come after it, as from a client that is busy announcing.
		s.writing.Lock()
		_, err := s.in.Write([]byte(storm + "\n"))
		s.setAnswer(listing(last))
		s.writing.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		s.play(t, []step{reads(last + "/f"), refuses(other+"/f", "outside_roots"), refuses("c/f", "outside_roots")})
		if n := s.timesAsked() - before; n < 1 || n > 2 {
			t.Errorf("%d notices lead to %d requests, want 1 or 2", notices, n)
		}
	}
	// The first storms bring a server to the size that storms need.
	for i := range 3 {
		round(i)
	}
	before := residentKiB(t, s)
	for i := range 10 {
		round(i)
	}
	after := residentKiB(t, s)
	t.Logf("resident: %d KiB before, %d KiB after %d notices", before, after, 10*notices)
	const slack = 2 << 10                     // KiB; a notice that left 128 bytes behind would take 2,500
	if after > before+slack && !raceEnabled { // The race detector keeps a history of its own.
		t.Errorf("resident memory grew from %d KiB to %d KiB", before, after)
	}
}

// residentKiB returns the server's resident memory. See proc_pid_status(5).
func residentKiB(t *testing.T, s *session) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	testenv.Require(t, "proc", err == nil, "needs /proc to measure memory")
	m := regexp.MustCompile(`VmRSS:\s*(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmRSS in %s", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A call that comes after a notice never runs on the list that was before it,
// however many notices and calls are on their way at once.
func TestStormWithCalls(t *testing.T) {
	t.Parallel()
	const rounds = 80 // two calls each: fewer than may be in flight
	tree := t.TempDir()
	for i := range rounds + 1 {
		dir := fmt.Sprintf("%s/%d", tree, i)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/f", []byte(fmt.Sprint(i)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, pause := range []time.Duration{0, time.Millisecond} {
		t.Run(fmt.Sprintf("pause_%v", pause), func(t *testing.T) {
			s := start(t, tree)
			s.setAnswer(listing("0"))
			s.initialize("2025-11-25", announcing)
			s.play(t, []step{call("read_text_file", map[string]string{"path": "$DIR/0/f"}, "0")})

			type calls struct{ old, list <-chan message }
			var sent [rounds + 1]calls
			for i := 1; i <= rounds; i++ {
				s.setAnswer(listing(fmt.Sprint(i)))
				s.send(listChanged)
				sent[i] = calls{
					old:  s.begin("tools/call", s.callParams("read_text_file", map[string]string{"path": fmt.Sprintf("$DIR/%d/f", i-1)})),
					list: s.begin("tools/call", s.callParams("list_allowed_directories", map[string]string{})),
				}
				time.Sleep(pause)
			}
			for i := 1; i <= rounds; i++ {
				old := s.outcome(s.await(sent[i].old))
				if r, ok := refusalOf(t, old); !ok || r.Code != "outside_roots" {
					t.Errorf("call after notice %d: got %v, want outside_roots for list %d", i, old, i-1)
				}
				list := s.outcome(s.await(sent[i].list))
				m := regexp.MustCompile(`(?m)^\$DIR/(\d+)$`).FindStringSubmatch(list.Text)
				if m == nil {
					t.Errorf("call after notice %d: got %v, want a list", i, list)
				} else if n, err := strconv.Atoi(m[1]); err != nil || n < i {
					t.Errorf("call after notice %d ran on list %s", i, m[1])
				}
			}
			s.play(t, []step{call("read_text_file", map[string]string{"path": fmt.Sprintf("$DIR/%d/f", rounds)}, fmt.Sprint(rounds))})
		})
	}
}
