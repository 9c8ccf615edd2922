package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What an operator gave is a directory, not a name: moved away it is not served
// any more; a directory made in its place is; a link put there is not.
func TestGivenRootIsReplaced(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t), "$DIR/a", "$DIR/c")
	s.initialize("2025-11-25", undeclared)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	a := filepath.Join(s.tree, "a")
	settle := func() { time.Sleep(time.Second) } // as long as the server may hold on to what it knew

	s.play(t, []step{reads("a/f"), reads("c/f")})
	must(os.Rename(a, filepath.Join(s.tree, "moved")))
	settle()
	s.play(t, []step{refuses("a/f", "root_unavailable"), refuses("moved/f", "outside_roots"), reads("c/f"), allowed([]string{"c"}, "unavailable")})

	must(os.Symlink("b", a))
	settle()
	s.play(t, []step{refuses("a/f", "root_unavailable"), refuses("b/f", "outside_roots")})

	must(os.Remove(a))
	must(os.Mkdir(a, 0o777))
	must(os.WriteFile(filepath.Join(a, "f"), []byte("a/f"), 0o666))
	settle()
	s.play(t, []step{reads("a/f"), refuses("a/sub/f", "not_found"), reads("c/f")})
}

// A root that appears later is served without a word from the client.
func TestRootAppears(t *testing.T) {
	t.Parallel()
	s := start(t, newTree(t))
	s.setAnswer(listing("later"))
	s.initialize("2025-11-25", announcing)
	s.play(t, []step{refuses("later/f", "root_unavailable")})
	if err := os.Mkdir(filepath.Join(s.tree, "later"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.tree, "later/f"), []byte("later/f"), 0o666); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // as long as the server may hold on to what it knew
	s.play(t, []step{reads("later/f")})
}
