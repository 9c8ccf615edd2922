package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClientRoots goes through the table "Whose roots count" of docs/design.md:
// what is given is a, what the client lists is a/sub and b.
func TestClientRoots(t *testing.T) {
	const (
		given   = "a/f"     // given only
		both    = "a/sub/f" // given, and listed by the client
		clients = "b/f"     // listed by the client only
	)
	files := []string{given, both, clients}

	states := []struct {
		name         string
		capabilities string
		answer       *answer
		modern       bool
	}{
		{"undeclared", undeclared, listing("b"), false},
		{"list", announcing, listing("a/sub", "b"), false},
		{"empty", announcing, listing(), false},
		{"error", announcing, failing(-32603), false},
		{"silent", announcing, silent(), false},
		{"modern_undeclared", undeclared, listing("b"), true},
		{"modern_list", declared, listing("a/sub", "b"), true},
		{"modern_empty", declared, listing(), true},
	}

	// A cell is the files that are served, and the code for the others.
	type cell struct {
		served []string
		code   string
	}
	const outside, none, unavailable = "outside_roots", "no_roots", "roots_unavailable"
	givenOnly := cell{[]string{given, both}, outside}
	clientsOnly := cell{[]string{both, clients}, outside}
	nothing := cell{nil, none}
	unknown := cell{nil, unavailable}
	modes := []struct {
		name string
		args []string
		want []cell // undeclared, list, empty, error, silent
	}{
		{"ignore", []string{"$DIR/a", "--client-roots", "ignore"}, []cell{givenOnly, givenOnly, givenOnly, givenOnly, givenOnly}},
		{"given", []string{"$DIR/a"}, []cell{givenOnly, givenOnly, givenOnly, givenOnly, givenOnly}},
		{"narrow", []string{"$DIR/a", "--client-roots", "narrow"}, []cell{givenOnly, {[]string{both}, outside}, nothing, unknown, unknown}},
		{"add", []string{"$DIR/a", "--client-roots", "add"}, []cell{givenOnly, {files, ""}, givenOnly, givenOnly, givenOnly}},
		{"replace", []string{"$DIR/a", "--client-roots", "replace"}, []cell{nothing, clientsOnly, nothing, unknown, unknown}},
		{"not_given", nil, []cell{nothing, clientsOnly, nothing, unknown, unknown}},
	}

	for _, mode := range modes {
		for i, state := range states {
			t.Run(mode.name+"/"+state.name, func(t *testing.T) {
				t.Parallel()
				args := mode.args
				if state.answer.Silent && mode.name != "ignore" && mode.name != "given" {
					args = slices.Concat(args, short)
				}
				s := start(t, newTree(t), args...)
				s.setAnswer(state.answer)
				if state.modern {
					s.modern(state.capabilities)
				} else {
					s.initialize("2025-11-25", state.capabilities)
				}
				want := mode.want[i%5]
				for _, file := range files {
					st := refuses(file, want.code)
					if slices.Contains(want.served, file) {
						st = reads(file)
					}
					if mode.name == "ignore" || mode.name == "given" {
						// The deadline is 3 s here, so a call that waited shows.
						st = soon(2*time.Second, st)
						if state.modern {
							st = asking(0, st) // To ask is to make the client call again.
						}
					}
					s.play(t, []step{st})
				}
				if n := s.timesAsked(); n > 0 && state.capabilities == undeclared {
					t.Errorf("asked %d times for roots that were not declared", n)
				}
			})
		}
	}
}

// What is given is a ceiling: a client's root above it counts as far as it goes,
// and what is cut off is named.
func TestNarrowClips(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t), "$DIR/a", "--client-roots", "narrow")
	s.setAnswer(entries("file://$DIR"))
	s.initialize("2025-11-25", announcing)
	s.play(t, []step{
		reads("a/f"), reads("a/sub/f"), refuses("b/f", "outside_roots"),
		change(listing("a/sub", "b")),
		reads("a/sub/f"), refuses("a/f", "outside_roots"), refuses("b/f", "outside_roots"),
		allowed([]string{"a/sub"}, "$DIR/b"),
	})
}

// Where the operator's word alone counts, the client's list is shown all the same.
func TestIgnoredListIsShown(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t), "$DIR/a")
	s.setAnswer(listing("b"))
	s.initialize("2025-11-25", announcing)
	for _, name := range []string{"b", "c"} {
		if name == "c" {
			s.play(t, []step{change(listing("c"))})
		}
		// It is fetched in the background: no call waits for it.
		deadline := time.Now().Add(patience)
		for !strings.Contains(s.call("list_allowed_directories", map[string]string{}).Text, "$DIR/"+name) {
			if time.Now().After(deadline) {
				t.Fatalf("the client's root %s is never shown", name)
			}
			time.Sleep(10 * time.Millisecond)
		}
		s.play(t, []step{allowed([]string{"a"}), refuses(name+"/f", "outside_roots")})
	}
}

// A client cannot grant everything, nor what holds the keys to it; an operator can.
func TestSensitiveRoots(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	uris := []string{"file:///", "file:///etc", "file://" + home, "file://" + home + "/.ssh"}
	s := start(t, newTree(t))
	s.setAnswer(entries(append(uris, "file://$DIR/a")...))
	s.initialize("2025-11-25", announcing)
	s.play(t, []step{
		reads("a/f"), refuses("b/f", "outside_roots"),
		refused("read_text_file", map[string]string{"path": "/etc/passwd"}, "outside_roots"),
		refused("list_directory", map[string]string{"path": "/"}, "outside_roots"),
		refused("list_directory", map[string]string{"path": home}, "outside_roots"),
		allowed([]string{"a"}, uris...),
		change(entries(uris...)),
		refuses("b/f", "no_roots"), allowed(nil, uris...),
	})

	s = start(t, newTree(t), "/etc")
	s.initialize("2025-11-25", undeclared)
	if got := s.call("list_directory", map[string]string{"path": "/etc"}); !strings.Contains(got.Text, "[FILE] passwd") {
		t.Errorf("got %v, want a listing", got)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(s.stderr.String(), "/etc") {
		t.Error("nothing says that a sensitive directory is served")
	}
}

// What an operator gave read-only stays so, whatever the client adds.
func TestReadOnlyGiven(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t), "--ro", "$DIR/a", "$DIR/b", "--client-roots", "add")
	s.setAnswer(listing("a", "c"))
	s.initialize("2025-11-25", announcing)
	write := func(path string) (string, map[string]string) {
		return "write_file", map[string]string{"path": path, "content": "text"}
	}
	tool, args := write("$DIR/a/f")
	denied := refused(tool, args, "read_only")
	tool, args = write("$DIR/c/new")
	s.play(t, []step{
		reads("a/f"), denied, reads("a/f"),
		call(tool, args, "Successfully wrote to $DIR/c/new"),
		refused("move_file", map[string]string{"source": "$DIR/a/f", "destination": "$DIR/b/g"}, "read_only"),
		refused("move_file", map[string]string{"source": "$DIR/b/f", "destination": "$DIR/a/g"}, "read_only"),
	})
}
