package e2e_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/rootbound/rootbound/internal/testenv"
)

// A line that is no message costs that line, not the session. What each kind of
// bad line is answered is tested where lines are parsed.
func TestBadLine(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"no_JSON":        `hello`,
		"empty":          ``,
		"cut_short":      `{"jsonrpc":"2.0","id":900,"method":"tools/list"`,
		"duplicate_name": `{"jsonrpc":"2.0","id":901,"id":902,"method":"ping"}`,
		"not_UTF-8":      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/\xff\"}",
		"two_values":     `{"jsonrpc":"2.0","method":"x"}{"jsonrpc":"2.0","method":"x"}`,
		"batch":          `[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`,
		"deep":           strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, newTree(t))
			s.setAnswer(listing("a"))
			// Whatever it is answered, it must not be taken for a response to something else.
			s.waiting["900"], s.waiting["901"], s.waiting["902"] = make(chan message, 1), make(chan message, 1), make(chan message, 1)
			s.initialize("2025-11-25", announcing)
			s.play(t, []step{reads("a/f")})
			s.send(line)
			s.play(t, []step{reads("a/f"), refuses("b/f", "outside_roots"), change(listing("b")), reads("b/f")})
		})
	}
}

// The end of the input is the end of the server, and no fault.
func TestInputEnds(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(s *session){
		"before_anything": func(s *session) {},
		"after_a_call": func(s *session) {
			s.setAnswer(listing("a"))
			s.initialize("2025-11-25", announcing)
			s.play(s.t, []step{reads("a/f")})
		},
		"with_a_call_in_flight": func(s *session) {
			s.initialize("2025-11-25", announcing) // and silent about its roots
			s.beginCall()
		},
		"in_the_middle_of_a_line": func(s *session) {
			s.initialize("2025-11-25", undeclared)
			if _, err := s.in.Write([]byte(`{"jsonrpc":"2.0",`)); err != nil {
				s.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, newTree(t))
			prepare(s)
			begin := time.Now()
			if err := s.end(); err != nil {
				t.Errorf("%v, want status 0", err)
			}
			if d := time.Since(begin); d > 2*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// A server that is told to end ends, and that is no fault.
func TestTerminate(t *testing.T) {
	testenv.Require(t, "signals", runtime.GOOS != "windows", "needs a signal that asks a process to end")
	t.Parallel()
	for name, prepare := range map[string]func(s *session){
		"idle":                  func(s *session) { s.request("ping", `{}`) },
		"with_a_call_in_flight": (*session).beginCall,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, newTree(t))
			s.initialize("2025-11-25", announcing) // and silent about its roots
			prepare(s)
			begin := time.Now()
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := s.wait(); err != nil {
				t.Errorf("%v, want status 0", err)
			}
			if d := time.Since(begin); d > 2*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// beginCall begins a call that waits for the client's roots.
func (s *session) beginCall() {
	s.begin("tools/call", s.callParams("read_text_file", map[string]string{"path": "$DIR/a/f"}))
	for s.timesAsked() == 0 {
		time.Sleep(time.Millisecond)
	}
}

// What a client or a file name says must not steer the terminal on which the
// server's log is read, nor pose as a line of the log.
func TestLogIsPrintable(t *testing.T) {
	t.Parallel()
	const nasty = "x\x1b[2J\r\n\x7f\u009b31m\u202egnp.\u2066\u200b\u2028y"
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := start(t, newTree(t), "--log", format)
			s.setAnswer(&answer{Roots: []entry{
				{URI: "file://$DIR/a", Name: nasty},
				{URI: "file://$DIR/a%1B%5B2J%0A", Name: "escaped"},
				{URI: "https://example.com/" + nasty},
			}})
			s.initialize("2025-11-25", announcing)
			quoted := step{Do: "call", Tool: "read_text_file", Args: map[string]string{"path": "$DIR/b/" + nasty}, check: func(t *testing.T, got outcome) {
				r, _ := refusalOf(t, got)
				if r.Code != "outside_roots" {
					t.Errorf("code is %s, want outside_roots", r.Code)
				}
				printable(t, "requested", r.Requested)
				printable(t, "text for the model", got.Text)
			}}
			s.play(t, []step{quoted, reads("a/f")})
			s.request("tools/call", `{"name":`+encode("no_such_"+nasty)+`,"arguments":{}}`)
			s.request("no/such/"+nasty, `{}`)
			s.send(nasty)
			s.play(t, []step{reads("a/f")})
			if err := s.end(); err != nil {
				t.Error(err)
			}
			printable(t, "standard error", s.stderr.String())
			if format != "json" {
				return
			}
			for line := range strings.Lines(s.stderr.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON in the log: %q", line)
				}
			}
		})
	}
}

// printable wants text to have no character that a terminal obeys, or that
// reorders what is seen, but for the ends of lines.
func printable(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			t.Errorf("%s has %U: %q", what, r, text)
			return
		}
	}
}

// lines counts the lines of text that hold part.
func lines(text, part string) (n int) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}
