package rootedfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/testtree"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

// newTree is testtree.New, by its real path.
func newTree(t testing.TB, entries ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(testtree.New(t, entries...))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// changes are the operations that change something, each on the path p. Those with
// two paths are there twice: q, another path, can be written.
var changes = []struct {
	name string
	do   func(ctx context.Context, f *rootedfs.FS, p, q string) error
}{
	{"create", func(_ context.Context, f *rootedfs.FS, p, _ string) error {
		return f.Create(p, strings.NewReader("W"), nil)
	}},
	{"replace", func(_ context.Context, f *rootedfs.FS, p, _ string) error {
		return f.Replace(p, strings.NewReader("W"), nil)
	}},
	{"append", func(_ context.Context, f *rootedfs.FS, p, _ string) error {
		return f.Append(p, strings.NewReader("W"), nil)
	}},
	{"truncate", func(_ context.Context, f *rootedfs.FS, p, _ string) error { return f.Truncate(p, 0, nil) }},
	{"mkdir", func(_ context.Context, f *rootedfs.FS, p, _ string) error { return f.Mkdir(p, nil) }},
	{"mkdirall", func(_ context.Context, f *rootedfs.FS, p, _ string) error { return f.MkdirAll(p+"/x/y", nil) }},
	{"remove", func(_ context.Context, f *rootedfs.FS, p, _ string) error { return f.Remove(p, nil) }},
	{"removeall", func(ctx context.Context, f *rootedfs.FS, p, _ string) error { return f.RemoveAll(ctx, p, nil) }},
	{"rename from", func(ctx context.Context, f *rootedfs.FS, p, q string) error { return f.Rename(ctx, p, q, nil) }},
	{"rename to", func(ctx context.Context, f *rootedfs.FS, p, q string) error {
		return f.Rename(ctx, q, p, &rootedfs.RenameOptions{Overwrite: true})
	}},
	{"copy to", func(ctx context.Context, f *rootedfs.FS, p, q string) error {
		return f.Copy(ctx, q, p, &rootedfs.RenameOptions{Overwrite: true})
	}},
	{"symlink", func(_ context.Context, f *rootedfs.FS, p, _ string) error { return f.Symlink("x", p, nil) }},
	{"link from", func(_ context.Context, f *rootedfs.FS, p, q string) error { return f.Link(p, q+"2", nil) }},
	{"link to", func(_ context.Context, f *rootedfs.FS, p, q string) error { return f.Link(q, p, nil) }},
}

// TestReadOnly changes things in a read-only root by each way that leads there.
func TestReadOnly(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "ro/f", "ro/d/g", "rw/f", "rw/q", "rw/to -> ../ro", "rw/abs -> $DIR/ro/d", "rw/file -> $DIR/ro/f",
			"ro/in -> d", "single")
		f := newFS(t, o, "ro:"+dir+"/ro", dir+"/rw", "ro:"+dir+"/single")
		before := snapshot(t, dir)
		for _, path := range []string{
			"ro/f", "ro/d/g", "ro/new", "ro/none/new", "ro/f/x", "ro", "ro/d", "ro/in/g", "rw/to/f", "rw/to/new", "rw/abs/g", "single",
		} {
			for _, change := range changes {
				path := filepath.Join(dir, path)
				err := change.do(t.Context(), f, path, dir+"/rw/q")
				if change.name == "mkdirall" && rootedfs.KindOf(err) == rootedfs.NotDir {
					continue // what is there already is looked at first
				}
				if !errors.Is(err, rootedfs.ErrReadOnly) {
					t.Errorf("%s %s: %v, want read-only", change.name, path, err)
				}
			}
		}
		// A last link into the read-only root is followed by what follows links.
		for _, change := range changes[1:4] {
			if err := change.do(t.Context(), f, dir+"/rw/file", ""); !errors.Is(err, rootedfs.ErrReadOnly) {
				t.Errorf("%s through a link: %v, want read-only", change.name, err)
			}
		}
		if after := snapshot(t, dir); !slices.Equal(before, after) {
			t.Errorf("something changed:\n%q\n%q", before, after)
		}
	})
}

// snapshot describes a tree: names, types, content.
func snapshot(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line := path + " " + d.Type().String()
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(b)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestOutsideChanges changes things outside; that something exists there makes no
// difference.
func TestOutsideChanges(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "rw/q", "out/f", "out/d/", "rw/l -> $DIR/out", "rw/r -> ../out", "rw/f -> $DIR/out/f", "rw/n -> $DIR/out/none")
		f := newFS(t, o, dir+"/rw")
		before := snapshot(t, dir)
		for _, change := range changes {
			var first string
			for _, path := range []string{"out/f", "out/none", "out/d", "out/none/x", "rw/l/f", "rw/l/none", "rw/l/f/x", "rw/l/d", "rw/r/f", "rw/r/none"} {
				err := change.do(t.Context(), f, dir+"/"+path, dir+"/rw/q")
				if !errors.Is(err, rootedfs.ErrOutside) || !errors.Is(err, fs.ErrPermission) {
					t.Fatalf("%s %s: %v, want outside", change.name, path, err)
				}
				if text := withoutPath(t, err); first == "" {
					first = text
				} else if text != first {
					t.Errorf("%s %s: %q, but also %q", change.name, path, text, first)
				}
			}
		}
		for _, change := range changes[1:4] { // those that follow a last link
			for _, path := range []string{"/rw/f", "/rw/n"} {
				if err := change.do(t.Context(), f, dir+path, ""); !errors.Is(err, rootedfs.ErrOutside) {
					t.Errorf("%s %s: %v, want outside", change.name, path, err)
				}
			}
		}
		if after := snapshot(t, dir); !slices.Equal(before, after) {
			t.Errorf("something changed:\n%q\n%q", before, after)
		}
	})
}

func TestNestedRoots(t *testing.T) {
	tests := []struct {
		name     string
		tree     []string
		roots    []string // with modes
		writable map[string]bool
	}{
		{
			name: "rw in ro keeps its own handle", tree: []string{"a/f", "a/b/f"}, roots: []string{"ro:a", "a/b"},
			writable: map[string]bool{"a/f": false, "a/b/f": true},
		},
		{
			name: "ro in rw makes the outer read-only", tree: []string{"a/f", "a/b/f"}, roots: []string{"a", "ro:a/b"},
			writable: map[string]bool{"a/f": false, "a/b/f": false},
		},
		{
			name: "and the outer of the outer", tree: []string{"a/f", "a/b/f", "a/b/c/f"}, roots: []string{"a", "a/b", "ro:a/b/c"},
			writable: map[string]bool{"a/f": false, "a/b/f": false, "a/b/c/f": false},
		},
		{
			name: "by real path", tree: []string{"a/b/f", "a/f", "l -> a/b"}, roots: []string{"a", "ro:l"},
			writable: map[string]bool{"a/f": false, "l/f": false, "a/b/f": false},
		},
		{
			name: "by declared path", tree: []string{"a/f", "c/f", "a/l -> ../c"}, roots: []string{"a", "ro:a/l"},
			writable: map[string]bool{"a/f": false, "a/l/f": false},
		},
		{
			name: "one directory by two names", tree: []string{"a/f", "l -> a"}, roots: []string{"a", "ro:l"},
			writable: map[string]bool{"a/f": false, "l/f": false},
		},
		{
			name: "missing ro in rw", tree: []string{"a/f"}, roots: []string{"a", "ro:a/none"},
			writable: map[string]bool{"a/f": false},
		},
		{
			name: "file in directory", tree: []string{"a/f", "a/g"}, roots: []string{"a", "ro:a/g"},
			writable: map[string]bool{"a/f": false, "a/g": false},
		},
		{
			name: "siblings", tree: []string{"a/f", "ab/f"}, roots: []string{"a", "ro:ab"},
			writable: map[string]bool{"a/f": true, "ab/f": false},
		},
	}
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				dir := newTree(t, tt.tree...)
				var declared []string
				for _, r := range tt.roots {
					if name, ok := strings.CutPrefix(r, "ro:"); ok {
						declared = append(declared, "ro:"+dir+"/"+name)
					} else {
						declared = append(declared, dir+"/"+r)
					}
				}
				f := newFS(t, o, declared...)
				for name, writable := range tt.writable {
					err := f.Append(dir+"/"+name, strings.NewReader("W"), nil)
					if writable != (err == nil) || err != nil && !errors.Is(err, rootedfs.ErrReadOnly) {
						t.Errorf("append to %s: %v, want writable %v", name, err, writable)
					}
				}
				for _, info := range f.Roots() {
					if info.Enforced != info.Mode && info.Reason == "" {
						t.Errorf("%s is %s, was declared %s, and there is no reason", info.Path(), info.Enforced, info.Mode)
					}
				}
			})
		}
	})
}

// TestNestedRootsStay moves and removes roots by other names than their own.
func TestNestedRootsStay(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "a/b/c/f", "a/l -> b", "a/me -> .", "a/file", "a/other/", "a/x")
		f := newFS(t, o, dir+"/a", dir+"/a/b/c", dir+"/a/file")
		before := snapshot(t, dir)
		for _, path := range []string{"/a", "/a/b", "/a/b/c", "/a/l/c", "/a/me/b", "/a/me/b/c", "/a/file", "/a/me/file"} {
			path = dir + path
			for name, err := range map[string]error{
				"remove":    f.Remove(path, nil),
				"removeall": f.RemoveAll(t.Context(), path, nil),
				"rename":    f.Rename(t.Context(), path, dir+"/a/new", nil),
				"onto":      f.Rename(t.Context(), dir+"/a/x", path, &rootedfs.RenameOptions{Overwrite: true}),
			} {
				if rootedfs.KindOf(err) != rootedfs.Denied || !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s %s: %v, want denied", name, path, err)
				}
			}
		}
		if after := snapshot(t, dir); !slices.Equal(before, after) {
			t.Errorf("something changed:\n%q\n%q", before, after)
		}
		if err := f.RemoveAll(t.Context(), dir+"/a/other", nil); err != nil {
			t.Errorf("a directory that holds no root: %v", err)
		}
	})
}

func TestSingleFileRoot(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "d/f", "d/g", "link -> d/f")
		f := newFS(t, o, dir+"/link")
		for _, path := range []string{"/link", "/d/f"} { // declared and real
			if err := f.Replace(dir+path, strings.NewReader("new "+path), nil); err != nil {
				t.Errorf("replace %s: %v", path, err)
			}
			if got, err := read(f, dir+path); got != "new "+path || err != nil {
				t.Errorf("read %s: %q, %v", path, got, err)
			}
		}
		if err := f.Create(dir+"/d/f", strings.NewReader(""), nil); rootedfs.KindOf(err) != rootedfs.Exists {
			t.Errorf("create over a file root: %v, want exists", err)
		}
		if info := f.Roots()[0]; info.Kind != rootedfs.KindFile || info.Real != dir+"/d/f" {
			t.Errorf("root is %s at %s", info.Kind, info.Real)
		}
		// In its place a link to its neighbour, which is outside.
		must(t, os.Remove(dir+"/d/f"))
		if _, err := read(f, dir+"/d/f"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("read of a removed file root: %v", err)
		}
		must(t, os.Symlink("g", dir+"/d/f"))
		if _, err := read(f, dir+"/link"); !errors.Is(err, rootedfs.ErrOutside) {
			t.Errorf("read through a planted link: %v, want outside", err)
		}
		if err := f.Replace(dir+"/link", strings.NewReader("W"), nil); !errors.Is(err, rootedfs.ErrOutside) {
			t.Errorf("replace through a planted link: %v, want outside", err)
		}
		if b, _ := os.ReadFile(dir + "/d/g"); string(b) != "d/g" {
			t.Errorf("the neighbour holds %q", b)
		}
	})
}

func TestAbs(t *testing.T) {
	dir := newTree(t, "a/", "b/", "f")
	tests := []struct {
		roots []string
		path  string
		want  string // "" for an error
	}{
		{[]string{"/a"}, "x", dir + "/a/x"},
		{[]string{"/a"}, "../x", dir + "/a/../x"},
		{[]string{"/a"}, "~/x", dir + "/a/~/x"},
		{[]string{"/a"}, " x ", dir + "/a/ x "},
		{[]string{"/a"}, "/x", "/x"},
		{[]string{"/a"}, "", ""},
		{[]string{"/a"}, "x\x00", ""},
		{[]string{"/a", "/b"}, "x", ""},
		{[]string{"/f"}, "x", ""},
		{[]string{"/a", "/f"}, "x", dir + "/a/x"},
		{[]string{"/a", "/b", "/f"}, "x", ""},
		{nil, "x", ""},
		{nil, "/x", "/x"},
	}
	for _, tt := range tests {
		var declared []string
		for _, r := range tt.roots {
			declared = append(declared, dir+r)
		}
		got, err := newFS(t, nil, declared...).Abs(tt.path)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("Abs(%q) with %q = %q, %v, want %q", tt.path, tt.roots, got, err, tt.want)
		}
		if err != nil && (!errors.Is(err, rootedfs.ErrInvalid) || !errors.Is(err, fs.ErrInvalid)) {
			t.Errorf("Abs(%q): %v is no ErrInvalid", tt.path, err)
		}
		for _, r := range declared {
			if err != nil && tt.path == "x" && r != dir+"/f" && !strings.Contains(err.Error(), r) {
				t.Errorf("Abs(%q): %v does not mention %s", tt.path, err, r)
			}
		}
	}
}

// within waits until ok reports true, for the second in which a root that has
// moved may still be served.
func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > d {
			t.Fatalf("after %v still not: %s", d, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestFreshnessMovedAway(t *testing.T) {
	t.Parallel()
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/f")
		f := newFS(t, o, dir+"/root")
		_, err := read(f, dir+"/root/f")
		must(t, err)
		must(t, os.Rename(dir+"/root", dir+"/moved"))
		within(t, time.Second, "a moved root is unavailable", func() bool {
			_, err := read(f, dir+"/root/f")
			return errors.Is(err, rootedfs.ErrUnavailable)
		})
		if info := f.Roots()[0]; info.State != rootedfs.StateUnavailable || info.Reason == "" || info.Kind != rootedfs.KindDirectory {
			t.Errorf("root info %+v", info)
		}
		if err := f.Create(dir+"/root/new", strings.NewReader("W"), nil); !errors.Is(err, rootedfs.ErrUnavailable) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("create: %v, want unavailable", err)
		}
		if err := f.MkdirAll(dir+"/root/new/x", nil); !errors.Is(err, rootedfs.ErrUnavailable) {
			t.Errorf("mkdirall: %v, want unavailable", err)
		}
		must(t, os.Symlink("moved", dir+"/root"))
		if _, err := read(f, dir+"/root/f"); !errors.Is(err, rootedfs.ErrUnavailable) {
			t.Errorf("read through a planted link: %v, want unavailable", err)
		}
		must(t, os.Remove(dir+"/root"))
		must(t, os.Rename(dir+"/moved", dir+"/root"))
		if got, err := read(f, dir+"/root/f"); got != "root/f" {
			t.Errorf("after it came back: %q, %v", got, err)
		}
	})
}

func TestFreshnessReplaced(t *testing.T) {
	t.Parallel()
	for _, noRepin := range []bool{false, true} {
		t.Run(fmt.Sprintf("NoRepin=%v", noRepin), func(t *testing.T) {
			eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
				dir := newTree(t, "root/f", "other/f")
				options := rootedfs.Options{NoRepin: noRepin}
				if o != nil {
					options.NoOpenat2 = o.NoOpenat2
				}
				f := newFS(t, &options, dir+"/root")
				must(t, os.Rename(dir+"/root", dir+"/moved"))
				must(t, os.Rename(dir+"/other", dir+"/root"))
				within(t, time.Second, "the moved root is not served", func() bool {
					got, err := read(f, dir+"/root/f")
					if noRepin {
						return errors.Is(err, rootedfs.ErrUnavailable)
					}
					return got == "other/f"
				})
				// A fresh list that names the root makes the new directory it.
				next, err := f.Update(f.Set())
				must(t, err)
				if got, err := read(next, dir+"/root/f"); got != "other/f" {
					t.Errorf("after Update: %q, %v", got, err)
				}
			})
		})
	}
}

// TestFreshnessRecreated removes and makes a root, which often gets the same inode.
func TestFreshnessRecreated(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/f")
		f := newFS(t, o, dir+"/root")
		for i := range 20 {
			must(t, os.RemoveAll(dir+"/root"))
			if i%2 == 0 {
				if _, err := list(f, dir+"/root"); !errors.Is(err, rootedfs.ErrUnavailable) {
					t.Fatalf("list of a removed root: %v", err)
				}
			}
			must(t, os.Mkdir(dir+"/root", 0o755))
			want := fmt.Sprint(i)
			must(t, os.WriteFile(dir+"/root/f", []byte(want), 0o644))
			switch i % 4 {
			case 0:
				if names, err := list(f, dir+"/root"); len(names) != 1 {
					t.Fatalf("list after %d: %q, %v", i, names, err)
				}
			case 1:
				if err := f.Mkdir(dir+"/root/d", nil); err != nil {
					t.Fatalf("mkdir after %d: %v", i, err)
				}
			}
			if got, err := read(f, dir+"/root/f"); got != want {
				t.Fatalf("read after %d: %q, %v", i, got, err)
			}
		}
	})
}

func TestFreshnessPlantedLink(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "out/f", "p/")
		f := newFS(t, o, dir+"/later", dir+"/p/q/r")
		must(t, os.Symlink("out", dir+"/later"))
		must(t, os.MkdirAll(dir+"/out/r", 0o755))
		must(t, os.Symlink("../out", dir+"/p/q"))
		for _, path := range []string{"/later/f", "/p/q/r"} {
			if _, err := f.Stat(dir + path); !errors.Is(err, rootedfs.ErrUnavailable) {
				t.Errorf("%s through a link planted in the place of a root: %v, want unavailable", path, err)
			}
		}
		next, err := f.Update(f.Set())
		must(t, err)
		if _, err := next.Stat(dir + "/later/f"); !errors.Is(err, rootedfs.ErrUnavailable) {
			t.Errorf("the same after Update: %v, want unavailable", err)
		}
		must(t, os.Remove(dir+"/later"))
		must(t, os.Mkdir(dir+"/later", 0o755))
		if _, err := f.Stat(dir + "/later"); err != nil {
			t.Errorf("a root that appeared: %v", err)
		}
	})
}

func TestUpdateKeepsRoots(t *testing.T) {
	dir := newTree(t, "a/f", "b/f", "evil/f", "l -> a")
	f := newFS(t, nil, dir+"/l")
	must(t, os.Remove(dir+"/l"))
	must(t, os.Symlink("evil", dir+"/l"))
	next, err := f.Update(newSet(t, dir+"/l", dir+"/b"))
	must(t, err)
	if got, err := read(next, dir+"/l/f"); got != "a/f" {
		t.Errorf("the link of a root that was declared before leads to %q, %v, want a/f", got, err)
	}
	if _, err := read(f, dir+"/b/f"); !errors.Is(err, rootedfs.ErrOutside) {
		t.Errorf("the old FS has the new root: %v", err)
	}
	last, err := next.Update(newSet(t, dir+"/b"))
	must(t, err)
	if _, err := read(last, dir+"/l/f"); !errors.Is(err, rootedfs.ErrOutside) {
		t.Errorf("a root that was taken away: %v, want outside", err)
	}
	if next.Set().Generation() != 1 || next.Set().Len() != 2 {
		t.Errorf("Set() = %d roots of generation %d", next.Set().Len(), next.Set().Generation())
	}
}

// TestReplacedSets replaces the set of roots again and again under goroutines that
// use it: none may see a file that is not in the set it began with.
func TestReplacedSets(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "a/f", "b/f", "c/f", "a/l -> ../b", "c/l -> $DIR/a")
		sets := []roots.Set{newSet(t, dir+"/a", dir+"/b"), newSet(t, dir+"/b", dir+"/c"), newSet(t, dir+"/a"), newSet(t)}
		f, err := rootedfs.Open(sets[0], o)
		must(t, err)
		var current atomic.Pointer[rootedfs.FS]
		current.Store(f)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		var done atomic.Int64
		for range 8 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					f := current.Load()
					for _, name := range []string{"a/f", "b/f", "c/f", "a/l/f", "c/l/f"} {
						path := dir + "/" + name
						target := map[string]string{"a/l/f": "b/f", "c/l/f": "a/f"}[name]
						allowed := f.Set().Contains(path) && (target == "" || f.Set().Contains(dir+"/"+target))
						got, err := read(f, path)
						if allowed != (err == nil) || err == nil && got != name && got != target {
							t.Errorf("%s: %q, %v, allowed %v", name, got, err, allowed)
							return
						}
						done.Add(1)
					}
				}
			})
		}
		for i := range scaled(40) {
			f, err := current.Load().Update(sets[i%len(sets)])
			must(t, err)
			current.Store(f)
			time.Sleep(time.Millisecond)
		}
		close(stop)
		wg.Wait()
		if done.Load() < 500 {
			t.Errorf("only %d operations", done.Load())
		}
	})
}

func TestOpenManyRoots(t *testing.T) {
	dir := t.TempDir()
	var dirs []string
	for i := range 1000 {
		dirs = append(dirs, fmt.Sprintf("%s/%04d", dir, i))
		must(t, os.Mkdir(dirs[i], 0o755))
	}
	start := time.Now()
	f := newFS(t, nil, dirs...)
	t.Logf("1,000 roots in %v", time.Since(start))
	for _, info := range f.Roots() {
		if info.State != rootedfs.StateOK {
			t.Fatalf("%s: %s", info.Path(), info.Reason)
		}
	}
	if _, err := f.Stat(dirs[777]); err != nil {
		t.Error(err)
	}
}

// TestOutOfDescriptors checks that a lack of descriptors is told as what it is.
func TestOutOfDescriptors(t *testing.T) {
	dir := newTree(t, "root/d/f")
	f := newFS(t, nil, dir+"/root")
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	few := limit
	few.Cur = 3
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	_, err := f.Handle(dir + "/root/d/f")
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	if rootedfs.KindOf(err) != rootedfs.Busy {
		t.Errorf("%v is %v, want busy", err, rootedfs.KindOf(err))
	}
	if _, err := f.Stat(dir + "/root/d/f"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
