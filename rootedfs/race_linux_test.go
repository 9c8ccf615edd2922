package rootedfs_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/rootedfs"
)

// raceTree has a twin outside for everything in the root that an attacker swaps
// with a link to that twin. What is outside says so.
var raceTree = []string{
	"w/root/d/f", "w/root/d/sub/g", "w/root/dl -> ../out", // d and dl are swapped
	"w/root/f", "w/root/fl -> ../out/f", // f and fl
	"w/root/p/d/f", "w/root/pl -> ../outp", // p and pl
	"w/root/a/b/x/up -> ../../../pub", "w/root/pub/f", "pub/f", "pub/sub/g", "pub/keep", // see "dotdot"
	"w/root/q/", "w/out/f", "w/out/sub/g", "w/out/keep", "w/outp/d/f", "w/outp/d/keep",
}

// newRace makes raceTree, in whose root every file holds "inside".
func newRace(t *testing.T) (dir string) {
	dir = newTree(t, raceTree...) + "/w"
	for _, name := range []string{"d/f", "d/sub/g", "p/d/f", "pub/f", "f"} {
		must(t, os.WriteFile(dir+"/root/"+name, []byte("inside"), 0o644))
	}
	return dir
}

// An attack is what an attacker with the rights of the user repeats as fast as he
// can.
type attack struct {
	name string
	step func(dir int, i int)
	path string        // the directory below the root that is under attack
	miss rootedfs.Kind // what an operation answers when it comes at the wrong moment
}

var attacks = []attack{
	{"dir", func(dir, _ int) { sys.RenameExchange(dir, "d", dir, "dl") }, "d", rootedfs.Outside},
	{"parent", func(dir, _ int) { sys.RenameExchange(dir, "p", dir, "pl") }, "p/d", rootedfs.Outside},
	// x takes turns at being three levels deep, where the link in it leads to pub in
	// the root, and at the top, where three levels up is outside. A lookup that went
	// down one way and asks the directories for ".." on the way up leaves the root.
	{"dotdot", func(dir, i int) {
		if i%2 == 0 {
			sys.Rename(dir, "a/b/x", dir, "x")
		} else {
			sys.Rename(dir, "x", dir, "a/b/x")
		}
	}, "a/b/x/up", rootedfs.NotFound},
}

// An onslaught is an operation that the attacker tries to deflect. It reports what
// it came to know.
type onslaught struct {
	name string
	do   func(ctx context.Context, f *rootedfs.FS, path string, i int) (string, error)
}

var onslaughts = []onslaught{
	{"read", func(_ context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		return read(f, path+"/f")
	}},
	{"list", func(_ context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		names, err := list(f, path)
		return strings.Join(names, " "), err
	}},
	{"stat", func(_ context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		if _, err := f.Stat(path + "/keep"); err == nil {
			return "keep", nil
		}
		_, err := f.Stat(path + "/f")
		return "", err
	}},
	{"create", func(_ context.Context, f *rootedfs.FS, path string, i int) (string, error) {
		return "", f.Create(fmt.Sprintf("%s/new%d", path, i), strings.NewReader("W"), nil)
	}},
	{"replace", func(_ context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		return "", f.Replace(path+"/f", strings.NewReader("inside"), nil)
	}},
	{"append", func(_ context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		return "", f.Append(path+"/log", strings.NewReader("W"), nil)
	}},
	{"truncate", func(_ context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		return "", f.Truncate(path+"/f", 6, nil)
	}},
	{"mkdir", func(_ context.Context, f *rootedfs.FS, path string, i int) (string, error) {
		return "", f.MkdirAll(fmt.Sprintf("%s/m%d/x", path, i), nil)
	}},
	{"rename", func(ctx context.Context, f *rootedfs.FS, path string, i int) (string, error) {
		root, _, _ := strings.Cut(path, "/root/")
		root += "/root"
		tmp := fmt.Sprintf("%s/q/r%d", root, i)
		if err := f.Create(tmp, strings.NewReader("W"), nil); err != nil {
			return "", err
		}
		return "", f.Rename(ctx, tmp, fmt.Sprintf("%s/r%d", path, i), nil)
	}},
	{"remove", func(_ context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		return "", f.Remove(path+"/keep", nil)
	}},
	{"removeall", func(ctx context.Context, f *rootedfs.FS, path string, _ int) (string, error) {
		return "", f.RemoveAll(ctx, path+"/sub", nil)
	}},
	{"copy", func(ctx context.Context, f *rootedfs.FS, path string, i int) (string, error) {
		root, _, _ := strings.Cut(path, "/root/")
		root += "/root"
		to := fmt.Sprintf("%s/q/c%d", root, i)
		if err := f.Copy(ctx, path+"/f", to, nil); err != nil {
			return "", err
		}
		return read(f, to)
	}},
}

// TestRace has an attacker swap a directory under an operation. The results allowed
// are: done inside, and refused as outside; and what the swapping itself explains:
// a name that is not there (the operations make some), or is in use.
func TestRace(t *testing.T) {
	allowed := []rootedfs.Kind{rootedfs.OK, rootedfs.Outside, rootedfs.NotFound, rootedfs.Exists, rootedfs.Busy}
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		for _, a := range attacks {
			t.Run(a.name, func(t *testing.T) {
				dir := newRace(t)
				outside := outsideOf(t, dir)
				f := newFS(t, o, dir+"/root")
				total := make(map[rootedfs.Kind]int)
				stop := attackOn(t, dir+"/root", a.step)
				for _, op := range onslaughts {
					counts := make(map[rootedfs.Kind]int)
					began := time.Now()
					enough := time.Duration(scaled(70)) * time.Millisecond
					for i := 0; time.Since(began) < enough; i++ {
						got, err := op.do(t.Context(), f, dir+"/root/"+a.path, i)
						kind := rootedfs.KindOf(err)
						counts[kind]++
						total[kind]++
						if !slices.Contains(allowed, kind) {
							t.Errorf("%s: %v is not allowed", op.name, err)
							break
						}
						if strings.Contains(got, "pub/f") || strings.Contains(got, "out") || strings.Contains(got, "keep") {
							t.Fatalf("%s: escaped: %q", op.name, got)
						}
					}
					t.Logf("%s: %v", op.name, counts)
				}
				swaps := stop()
				t.Logf("%d swaps", swaps)
				if total[rootedfs.OK] == 0 || total[a.miss] == 0 {
					t.Errorf("%v proves nothing: the attack was not met", total)
				}
				if now := outsideOf(t, dir); !slices.Equal(outside, now) {
					t.Errorf("something changed outside:\n%q\n%q", outside, now)
				}
				noLitter(t, dir)
			})
		}
	})
}

// TestRaceFile is TestRace for the last name of a path.
func TestRaceFile(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newRace(t)
		outside := outsideOf(t, dir)
		f := newFS(t, o, dir+"/root")
		stop := attackOn(t, dir+"/root", func(dir, _ int) { sys.RenameExchange(dir, "f", dir, "fl") })
		path := dir + "/root/f"
		allowed := []rootedfs.Kind{rootedfs.OK, rootedfs.Outside, rootedfs.Busy}
		for _, op := range []onslaught{
			{"read", func(context.Context, *rootedfs.FS, string, int) (string, error) { return read(f, path) }},
			{"append", func(context.Context, *rootedfs.FS, string, int) (string, error) {
				return "", f.Append(path, strings.NewReader("inside"), nil)
			}},
			{"truncate", func(context.Context, *rootedfs.FS, string, int) (string, error) {
				return "", f.Truncate(path, 6, nil)
			}},
			// Last, because in the end there is no link left to swap with: a replacement
			// that wins the race takes its place.
			{"replace", func(context.Context, *rootedfs.FS, string, int) (string, error) {
				return "", f.Replace(path, strings.NewReader("inside"), nil)
			}},
		} {
			counts := make(map[rootedfs.Kind]int)
			began := time.Now()
			for i := 0; time.Since(began) < time.Duration(scaled(150))*time.Millisecond; i++ {
				got, err := op.do(t.Context(), f, path, i)
				kind := rootedfs.KindOf(err)
				counts[kind]++
				if !slices.Contains(allowed, kind) {
					t.Errorf("%s: %v is not allowed", op.name, err)
					break
				}
				if strings.Contains(got, "out") {
					t.Fatalf("%s: escaped: %q", op.name, got)
				}
			}
			t.Logf("%s: %v", op.name, counts)
		}
		t.Logf("%d swaps", stop())
		if now := outsideOf(t, dir); !slices.Equal(outside, now) {
			t.Errorf("something changed outside:\n%q\n%q", outside, now)
		}
		noLitter(t, dir)
	})
}

// TestRaceRoot has the root itself swapped with a link to the outside: it is
// served by its handle, and after its epoch not at all, but never is the outside.
func TestRaceRoot(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/f", "out/f", "l -> out")
		stop := attackOn(t, dir, func(dir, _ int) { sys.RenameExchange(dir, "root", dir, "l") })
		defer stop()
		f := newFS(t, o, dir+"/root")
		real := f.Roots()[0].Real // the link may have been there when the root was opened
		for began := time.Now(); time.Since(began) < 800*time.Millisecond; {
			got, err := read(f, dir+"/root/f")
			if err == nil && got != "root/f" && real == dir+"/root" {
				t.Fatalf("escaped: %q", got)
			}
			if k := rootedfs.KindOf(err); k != rootedfs.OK && k != rootedfs.Unavailable && k != rootedfs.Busy {
				t.Fatalf("%v is not allowed", err)
			}
		}
	})
}

// attackOn repeats step until it is stopped, and then tells how often.
func attackOn(t *testing.T, path string, step func(dir, i int)) (stop func() int) {
	t.Helper()
	dir, errno := sys.Openat(sys.Cwd, path, sys.DirHandle, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	n := 0
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				step(dir, n)
				n++
			}
		}
	})
	return sync.OnceValue(func() int {
		close(done)
		wg.Wait()
		sys.Close(dir)
		return n
	})
}

func outsideOf(t *testing.T, dir string) []string {
	return slices.Concat(snapshot(t, dir+"/out"), snapshot(t, dir+"/outp"), snapshot(t, dir+"/../pub"))
}
