package probe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/probe"
)

func TestMain(m *testing.M) {
	if ran, err := probe.AttackMain(os.Args[1:], os.Stdin, os.Stdout); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Built with -race, each attacker would sleep for a second when it exits.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	os.Exit(m.Run())
}

var modes = []probe.Mode{probe.Directory, probe.File, probe.Parent, probe.Relink, probe.DotDot, probe.Dangling}

func newArena(t *testing.T, mode probe.Mode) *probe.Arena {
	t.Helper()
	a, err := probe.NewArena(t.TempDir(), mode, "f", "still")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func start(t *testing.T, s probe.Swap) *probe.Swapper {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := probe.StartSwapper(t.Context(), exe, s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// tree lists what is below dir, a line for each name.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target, _ := os.Readlink(path)
		fmt.Fprintln(&b, strings.TrimPrefix(path, dir), d.Type(), target)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A path through the victim leads inside and outside by turns, and inside again
// when the attack is over.
func TestSwapper(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			a := newArena(t, mode)
			rest := tree(t, a.Root)
			name := "f"
			if mode == probe.Dangling {
				name = probe.FreeName
				if err := os.WriteFile(filepath.Join(a.Outside, name), []byte(a.Secret(name)), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			// Plain movements show that they happen by the moments in which nothing is
			// there. The kernel itself is led out by ".." once in a million times only.
			struck := func(out, none int) int {
				if mode == probe.DotDot {
					return none
				}
				return out
			}

			w := start(t, a.Swap)
			var in, out, none int
			for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && (struck(out, none) < 10 || in+none < 10); {
				data, err := os.ReadFile(filepath.Join(a.Victim, name))
				switch {
				case err != nil:
					none++
				case a.Leaks(data):
					out++
				case string(data) == a.Content(name):
					in++
				default:
					t.Fatalf("read %q", data)
				}
			}
			r, err := w.Stop()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d swaps in %v, %d failed, %d planted; inside %d, outside %d, nothing %d",
				r.Swaps, r.Took.Round(time.Millisecond), r.Failed, r.Planted, in, out, none)
			if r.Swaps == 0 || struck(out, none) < 10 || in+none < 10 {
				t.Error("the attack did not swap")
			}
			if again, err := w.Stop(); again != r || err != nil {
				t.Errorf("stopped again: %v, %v", again, err)
			}
			if now := tree(t, a.Root); now != rest {
				t.Errorf("the attack left\n%s\ninstead of\n%s", now, rest)
			}
		})
	}
}

// A server that replaces a file by renaming another one onto it takes the link away.
func TestSwapperPlantsLinkAgain(t *testing.T) {
	for _, mode := range []probe.Mode{probe.File, probe.Dangling} {
		t.Run(string(mode), func(t *testing.T) {
			a := newArena(t, mode)
			temp := filepath.Join(a.Root, "temp")
			w := start(t, a.Swap)
			for range 1000 {
				if err := os.WriteFile(temp, []byte("written\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(temp, filepath.Join(a.Swap.Dir, a.Swap.Name)); err != nil {
					t.Fatal(err)
				}
			}
			r, err := w.Stop()
			if err != nil {
				t.Fatal(err)
			}
			if r.Planted == 0 {
				t.Errorf("no link was planted in %d swaps", r.Swaps)
			}
			if text, err := os.Readlink(filepath.Join(a.Swap.Dir, a.Swap.Spare)); err != nil || text != a.Swap.Link {
				t.Errorf("the link at rest is %q, %v", text, err)
			}
		})
	}
}

func TestSwapperSaysWhatItCannotSwap(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = probe.StartSwapper(t.Context(), exe, probe.Swap{Dir: dir, Name: "a", Spare: "b"})
	if err == nil || !strings.Contains(err.Error(), "swap a and b") {
		t.Errorf("error %v does not name what could not be swapped", err)
	}
	_, err = probe.StartSwapper(t.Context(), exe, probe.Swap{Dir: filepath.Join(t.TempDir(), "gone"), Name: "a", Spare: "b"})
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error %v does not name the directory", err)
	}
}

func TestSwapperEndsByItself(t *testing.T) {
	a := newArena(t, probe.Directory)
	a.Swap.Limit = 50 * time.Millisecond
	w := start(t, a.Swap)
	time.Sleep(300 * time.Millisecond)
	r, err := w.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if r.Took > 250*time.Millisecond {
		t.Errorf("ran for %v", r.Took)
	}
}

func TestJudge(t *testing.T) {
	write := func(t *testing.T, path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name     string
		do       func(t *testing.T, a *probe.Arena) error
		changes  string // what a line of Changes must contain; "" for no line
		smuggled string // the same for Smuggled
		changed  bool   // what Changed says of f
	}{
		{"nothing", func(*testing.T, *probe.Arena) error { return nil }, "", "", false},
		{"reading is no change", func(t *testing.T, a *probe.Arena) error {
			_, err := os.ReadFile(filepath.Join(a.Twin, "f"))
			return err
		}, "", "", false},
		{"a new file", func(t *testing.T, a *probe.Arena) error {
			write(t, filepath.Join(a.Twin, "new"), "x")
			return nil
		}, "new is new", "", false},
		{"a temporary file that is gone", func(t *testing.T, a *probe.Arena) error {
			write(t, filepath.Join(a.Twin, "temp"), "x")
			return os.Remove(filepath.Join(a.Twin, "temp"))
		}, "modified", "", false},
		{"a file removed", func(t *testing.T, a *probe.Arena) error {
			return os.Remove(filepath.Join(a.Twin, "f"))
		}, "f is gone", "", true},
		{"a file written", func(t *testing.T, a *probe.Arena) error {
			write(t, filepath.Join(a.Twin, "f"), "x")
			return nil
		}, `f holds "x"`, "", true},
		{"the same bytes written again", func(t *testing.T, a *probe.Arena) error {
			write(t, filepath.Join(a.Twin, "f"), a.Secret("f"))
			return nil
		}, "f was", "", true},
		{"permissions changed", func(t *testing.T, a *probe.Arena) error {
			return os.Chmod(filepath.Join(a.Twin, "f"), 0o600)
		}, "f was", "", true},
		{"a file moved in", func(t *testing.T, a *probe.Arena) error {
			return os.Rename(filepath.Join(a.Twin, "f"), filepath.Join(a.Root, "taken"))
		}, "f is gone", "taken holds the canary", true},
		{"a file copied in", func(t *testing.T, a *probe.Arena) error {
			write(t, filepath.Join(a.Root, "taken"), a.Secret("f"))
			return nil
		}, "", "taken holds the canary", false},
		{"a file linked in", func(t *testing.T, a *probe.Arena) error {
			write(t, filepath.Join(a.Twin, "plain"), "nothing special")
			if err := a.Remember(); err != nil {
				return err
			}
			return os.Link(filepath.Join(a.Twin, "plain"), filepath.Join(a.Root, "taken"))
		}, "", "taken is ", false},
		{"a name copied in", func(t *testing.T, a *probe.Arena) error {
			names, err := filepath.Glob(filepath.Join(a.Twin, "canary-*"))
			if err != nil || len(names) != 1 {
				t.Fatalf("names %q, %v", names, err)
			}
			return os.Mkdir(filepath.Join(a.Root, filepath.Base(names[0])), 0o755)
		}, "", "has a name from outside", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newArena(t, probe.Parent)
			if err := tt.do(t, a); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(a.Changes(), "\n"); !says(got, tt.changes) {
				t.Errorf("changes %q, want %q", got, tt.changes)
			}
			if got := strings.Join(a.Smuggled(), "\n"); !says(got, tt.smuggled) {
				t.Errorf("smuggled %q, want %q", got, tt.smuggled)
			}
			if got := a.Changed("f"); got != tt.changed {
				t.Errorf("f changed: %v, want %v", got, tt.changed)
			}
			if err := a.Repair("f"); err != nil {
				t.Fatal(err)
			}
			if a.Changed("f") {
				t.Error("f is changed after a repair")
			}
		})
	}
}

func says(got, want string) bool {
	if want == "" {
		return got == ""
	}
	return strings.Contains(got, want)
}

func TestLeaks(t *testing.T) {
	a := newArena(t, probe.Directory)
	for text, want := range map[string]bool{
		a.Content("f"):                false,
		a.Secret("f"):                 true,
		"link to " + a.Outside + "/f": true,
		a.Root + "/shared/f":          false,
		"":                            false,
	} {
		if got := a.Leaks([]byte(text)); got != want {
			t.Errorf("%q leaks: %v, want %v", text, got, want)
		}
	}
}
