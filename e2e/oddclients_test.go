package e2e_test

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"testing"
	"time"
)

// The root of a client may be a single file.
func TestFileRoot(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t))
	s.setAnswer(listing("a/f"))
	s.initialize("2025-11-25", announcing)
	s.play(t, []step{
		reads("a/f"), refuses("a/sub/f", "outside_roots"), refuses("a", "outside_roots"),
		refused("list_directory", map[string]string{"path": "$DIR/a"}, "outside_roots"),
		refused("write_file", map[string]string{"path": "$DIR/a/g", "content": "x"}, "outside_roots"),
		allowed([]string{"a/f"}),
	})
}

// All versions with a handshake are spoken, with openat2 and without.
func TestEveryVersion(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		for _, args := range [][]string{nil, {"--no-openat2"}} {
			t.Run(strings.Join(append([]string{version}, args...), ""), func(t *testing.T) {
				t.Parallel()
				s := start(t, newTree(t), args...)
				s.setAnswer(listing("a"))
				s.initialize(version, announcing)
				s.play(t, []step{
					reads("a/f"), refuses("b/f", "outside_roots"),
					change(listing("b")), reads("b/f"), refuses("a/f", "outside_roots"),
				})
			})
		}
	}
}

// Some clients do not wait for answers while they open a session, and some
// announce a change before the session is open.
func TestHastyClient(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t))
	s.setAnswer(listing("a"))
	// All in one write: the server finds the lines together.
	s.writing.Lock()
	in := s.in
	var together bytes.Buffer
	s.in = nopCloser{&together}
	s.writing.Unlock()
	initialized := s.begin("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+announcing+`,"clientInfo":{"name":"hasty","version":"1"}}`)
	s.send(listChanged)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	called := s.begin("tools/call", s.callParams("read_text_file", map[string]string{"path": "$DIR/a/f"}))
	s.writing.Lock()
	s.in = in
	_, err := s.in.Write(together.Bytes())
	s.writing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if m := s.await(initialized); m.Error != nil {
		t.Errorf("initialize: %+v", *m.Error)
	}
	reads("a/f").check(t, s.outcome(s.await(called)))
	s.play(t, []step{refuses("b/f", "outside_roots")})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// An answer that is no list is a failure, as no answer would be; an entry that is
// none costs only itself.
func TestMalformedAnswer(t *testing.T) {
	for _, tt := range []struct{ name, result, code string }{
		{"null", `null`, "roots_unavailable"},
		{"no_list", `{}`, "roots_unavailable"},
		{"null_list", `{"roots":null}`, "roots_unavailable"},
		{"list_of_another_type", `{"roots":{"uri":"file://$DIR/a"}}`, "roots_unavailable"},
		{"text", `"file://$DIR/a"`, "roots_unavailable"},
		{"bad_entries", `{"roots":[null,5,[],"file://$DIR/b",{},{"uri":null},{"uri":7},{"uri":""},{"path":"$DIR/b"},{"uri":"file://$DIR/a"}]}`, ""},
		{"other_letters", `{"roots":[{"URI":"file://$DIR/b"},{"uri":"file://$DIR/a"}]}`, ""},
		{"bad_names", `{"roots":[{"uri":"file://$DIR/a","name":7}]}`, ""},
		{"unknown_members", `{"roots":[{"uri":"file://$DIR/a","name":null,"_meta":{"x":[1]},"more":true}],"_meta":{},"nextCursor":"x"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, newTree(t))
			s.setAnswer(&answer{raw: tt.result})
			s.initialize("2025-11-25", announcing)
			first := reads("a/f")
			if tt.code != "" {
				first = refuses("a/f", tt.code)
			}
			s.play(t, []step{
				soon(2*time.Second, first), soon(2*time.Second, refuses("b/f", cmp.Or(tt.code, "outside_roots"))),
				change(listing("b")), reads("b/f"),
			})
			if tt.code == "" && tt.name != "other_letters" { // There, the rules for requests hold, which are stricter.
				s.setAnswer(&answer{raw: tt.result})
				s.modern(declared)
				s.play(t, []step{reads("a/f"), refuses("b/f", "outside_roots")})
			}
		})
	}
}

// Many programs send notifications/roots/listChanged, which is no name of the
// protocol. It is obeyed, with one warning however often it comes.
func TestMisspeltNotification(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t))
	s.setAnswer(listing("a"))
	s.initialize("2025-11-25", announcing)
	s.play(t, []step{reads("a/f")})
	for _, name := range []string{"b", "c"} {
		s.setAnswer(listing(name))
		s.send(`{"jsonrpc":"2.0","method":"notifications/roots/listChanged"}`)
		s.play(t, []step{refuses("a/f", "outside_roots"), reads(name + "/f")})
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if n := lines(s.stderr.String(), "roots/listChanged"); n != 1 {
		t.Errorf("%d warnings, want 1", n)
	}
}

// Both eras may use one process at once, and neither disturbs the other.
func TestBothErasOnOneProcess(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t))
	s.setAnswer(listing("a"))
	s.initialize("2025-11-25", announcing)
	s.play(t, []step{reads("a/f")})
	s.setAnswer(listing("b"))
	s.modern(declared)
	s.play(t, []step{reads("b/f"), refuses("a/f", "outside_roots")})
	s.meta = ""
	s.play(t, []step{reads("a/f"), refuses("b/f", "outside_roots")})
}
