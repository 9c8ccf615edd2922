package rootedfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/testenv"
	"github.com/rootbound/rootbound/rootedfs"
)

func TestRename(t *testing.T) {
	tests := []struct {
		name     string
		tree     []string
		from, to string
		options  *rootedfs.RenameOptions
		want     rootedfs.Kind
		present  map[string]string
	}{
		{"file", []string{"a/f"}, "a/f", "a/g", nil, rootedfs.OK, map[string]string{"a/g": "a/f"}},
		{"onto a file", []string{"a/f", "a/g"}, "a/f", "a/g", nil, rootedfs.Exists, map[string]string{"a/f": "a/f", "a/g": "a/g"}},
		{"onto a link", []string{"a/f", "a/g -> none"}, "a/f", "a/g", nil, rootedfs.Exists, map[string]string{"a/f": "a/f"}},
		{
			"onto a file, asked for",
			[]string{"a/f", "a/g"},
			"a/f", "a/g", &rootedfs.RenameOptions{Overwrite: true, Sync: true},
			rootedfs.OK,
			map[string]string{"a/g": "a/f"},
		},
		{
			"onto a link, asked for",
			[]string{"a/f", "a/g -> h", "a/h"},
			"a/f", "a/g", &rootedfs.RenameOptions{Overwrite: true},
			rootedfs.OK,
			map[string]string{"a/g": "a/f", "a/h": "a/h"},
		},
		{"to another root", []string{"a/f", "b/"}, "a/f", "b/f", nil, rootedfs.OK, map[string]string{"b/f": "a/f"}},
		{"a directory", []string{"a/d/f", "b/"}, "a/d", "b/e", nil, rootedfs.OK, map[string]string{"b/e/f": "a/d/f"}},
		{"a directory, with slashes", []string{"a/d/f", "b/"}, "a/d/", "b/e/", nil, rootedfs.OK, map[string]string{"b/e/f": "a/d/f"}},
		{"a file, with a slash", []string{"a/f"}, "a/f/", "a/g", nil, rootedfs.NotDir, map[string]string{"a/f": "a/f"}},
		{"a file to a slash", []string{"a/f"}, "a/f", "a/g/", nil, rootedfs.NotDir, map[string]string{"a/f": "a/f"}},
		{"into itself", []string{"a/d/f"}, "a/d", "a/d/e", nil, rootedfs.Invalid, map[string]string{"a/d/f": "a/d/f"}},
		{
			"onto a full directory",
			[]string{"a/d/f", "a/e/g"},
			"a/d", "a/e", &rootedfs.RenameOptions{Overwrite: true},
			rootedfs.NotEmpty,
			map[string]string{"a/d/f": "a/d/f", "a/e/g": "a/e/g"},
		},
		{
			"a file onto a directory",
			[]string{"a/f", "a/e/"},
			"a/f", "a/e", &rootedfs.RenameOptions{Overwrite: true},
			rootedfs.IsDir,
			map[string]string{"a/f": "a/f"},
		},
		{"nothing", []string{"a/"}, "a/none", "a/g", nil, rootedfs.NotFound, nil},
		{"to nowhere", []string{"a/f"}, "a/f", "a/none/g", nil, rootedfs.NotFound, map[string]string{"a/f": "a/f"}},
		{"through links", []string{"a/d/f", "b/", "a/l -> d", "a/m -> ../b"}, "a/l/f", "a/m/g", nil, rootedfs.OK, map[string]string{"b/g": "a/d/f"}},
	}
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				dir := newTree(t, append(tt.tree, "a/", "b/")...)
				f := newFS(t, o, dir+"/a", dir+"/b")
				err := f.Rename(t.Context(), dir+"/"+tt.from, dir+"/"+tt.to, tt.options)
				if got := rootedfs.KindOf(err); got != tt.want {
					t.Errorf("%v is %v, want %v", err, got, tt.want)
				}
				holds(t, dir, tt.present)
				if _, err := os.Lstat(filepath.Join(dir, tt.from)); tt.want == rootedfs.OK && err == nil {
					t.Error("the old name is there")
				}
			})
		}
	})
}

func holds(t *testing.T, dir string, present map[string]string) {
	t.Helper()
	for name, want := range present {
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != want {
			t.Errorf("%s holds %q, %v, want %q", name, b, err, want)
		}
	}
	noLitter(t, dir)
}

// TestRenameReserving renames where the system cannot keep from replacing.
func TestRenameReserving(t *testing.T) {
	dir := newTree(t, "f", "g", "d/x", "e/", "h/y")
	for _, tt := range []struct {
		from, to string
		want     syscall.Errno
		present  map[string]string
	}{
		{"f", "g", syscall.EEXIST, map[string]string{"f": "f", "g": "g"}},
		{"f", "e", syscall.EEXIST, map[string]string{"f": "f"}},
		{"d", "h", syscall.EEXIST, map[string]string{"d/x": "d/x", "h/y": "h/y"}},
		{"d", "e", syscall.EEXIST, map[string]string{"d/x": "d/x"}},
		{"none", "n", syscall.ENOENT, nil},
		{"f", "f2", 0, map[string]string{"f2": "f"}},
		{"d", "d2", 0, map[string]string{"d2/x": "d/x"}},
	} {
		if errno := rootedfs.RenameByReserving(dir, tt.from, tt.to); errno != tt.want {
			t.Errorf("%s to %s: %v, want %v", tt.from, tt.to, errno, tt.want)
		}
		holds(t, dir, tt.present)
	}
}

// TestRenameByCopy renames to another file system.
func TestRenameByCopy(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "a/f", "a/d/g", "a/d/e/h", "a/d/l -> e/h", "a/d/abs -> $DIR/a/d", "a/out/l -> $DIR/secret", "a/many/", "b/")
		err := syscall.Mount("tmpfs", dir+"/b", "tmpfs", 0, "size=4m")
		testenv.Require(t, "mount", !errors.Is(err, syscall.EPERM), "needs the right to mount")
		must(t, err)
		defer func() { _ = syscall.Unmount(dir+"/b", detach) }()
		must(t, os.Chmod(dir+"/a/f", 0o640))
		old := time.Unix(1_000_000_000, 0)
		must(t, os.Chtimes(dir+"/a/f", old, old))
		for i := range 20 {
			must(t, os.WriteFile(fmt.Sprintf("%s/a/many/%d", dir, i), nil, 0o644))
		}
		f := newFS(t, o, dir+"/a", dir+"/b")
		move := &rootedfs.RenameOptions{Copy: true}
		if err := f.Rename(t.Context(), dir+"/a/f", dir+"/b/f", nil); rootedfs.KindOf(err) != rootedfs.CrossDevice {
			t.Errorf("without leave to copy: %v, want crossdevice", err)
		}
		must(t, f.Rename(t.Context(), dir+"/a/f", dir+"/b/f", move))
		must(t, f.Rename(t.Context(), dir+"/a/d", dir+"/b/d", move))
		holds(t, dir, map[string]string{"b/f": "a/f", "b/d/g": "a/d/g", "b/d/e/h": "a/d/e/h", "b/d/l": "a/d/e/h"})
		for _, gone := range []string{"a/f", "a/d"} {
			if _, err := os.Lstat(dir + "/" + gone); err == nil {
				t.Errorf("%s is still there", gone)
			}
		}
		if st, _ := os.Stat(dir + "/b/f"); st.Mode() != 0o640 || !st.ModTime().Equal(old) {
			t.Errorf("copy has mode %v and time %v", st.Mode(), st.ModTime())
		}
		before := snapshot(t, dir)
		if err := f.Rename(t.Context(), dir+"/a/out", dir+"/b/out", move); !errors.Is(err, rootedfs.ErrOutside) {
			t.Errorf("with a link that leaves: %v, want outside", err)
		}
		move.Limit = 10
		if err := f.Rename(t.Context(), dir+"/a/many", dir+"/b/many", move); !errors.Is(err, rootedfs.ErrLimit) {
			t.Errorf("more than the limit: %v", err)
		}
		if after := snapshot(t, dir); !slices.Equal(before, after) {
			t.Errorf("something changed:\n%q\n%q", before, after)
		}
	})
}

func TestCopy(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "ro/f", "ro/d/g", "ro/d/e/", "ro/l -> f", "rw/old", "rw/d/x", "rw/big/")
		f := newFS(t, o, "ro:"+dir+"/ro", dir+"/rw")
		must(t, f.Copy(t.Context(), dir+"/ro/l", dir+"/rw/f", nil))
		must(t, f.Copy(t.Context(), dir+"/ro/d", dir+"/rw/e", &rootedfs.RenameOptions{Sync: true}))
		holds(t, dir, map[string]string{"rw/f": "ro/f", "rw/e/g": "ro/d/g", "ro/f": "ro/f"})
		if err := f.Copy(t.Context(), dir+"/ro/f", dir+"/rw/old", nil); rootedfs.KindOf(err) != rootedfs.Exists {
			t.Errorf("onto a file: %v", err)
		}
		must(t, f.Copy(t.Context(), dir+"/ro/f", dir+"/rw/old", &rootedfs.RenameOptions{Overwrite: true}))
		holds(t, dir, map[string]string{"rw/old": "ro/f"})
		if err := f.Copy(t.Context(), dir+"/rw/d", dir+"/rw/d/into", nil); rootedfs.KindOf(err) != rootedfs.Invalid {
			t.Errorf("into itself: %v, want invalid", err)
		}
		if err := f.Copy(t.Context(), dir+"/rw", dir+"/rw/into", nil); rootedfs.KindOf(err) != rootedfs.Invalid {
			t.Errorf("a root into itself: %v, want invalid", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Copy(ctx, dir+"/ro/d", dir+"/rw/c", nil); rootedfs.KindOf(err) != rootedfs.Canceled || !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		noLitter(t, dir)

		big := strings.Repeat("0123456789", 100_000)
		must(t, os.WriteFile(dir+"/ro/big", []byte(big), 0o600))
		must(t, f.Copy(t.Context(), dir+"/ro/big", dir+"/rw/big2", nil))
		if got, _ := read(f, dir+"/rw/big2"); got != big {
			t.Errorf("copy of %d bytes has %d", len(big), len(got))
		}
	})
}

// TestCopyReadOnlyTree: a copy that is given up goes away even if it holds
// directories that may not be written.
func TestCopyReadOnlyTree(t *testing.T) {
	testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	dir := caseDir(t)
	for _, name := range []string{"root/d/e", "root/d/f"} {
		must(t, os.MkdirAll(dir+"/"+name, 0o755))
		must(t, os.WriteFile(dir+"/"+name+"/x", []byte("x"), 0o444))
		must(t, os.Chmod(dir+"/"+name, 0o555))
	}
	must(t, os.Chmod(dir+"/root/d", 0o555))
	must(t, filepath.WalkDir(dir+"/root/d", func(path string, _ fs.DirEntry, _ error) error { return os.Lchown(path, 65534, 65534) }))
	must(t, os.Chmod(dir+"/root", 0o777))
	cause := errors.New("cause")
	asUser(65534, func() {
		f := newFS(t, nil, dir+"/root")
		err := f.Copy(t.Context(), dir+"/root/d", dir+"/root/new", &rootedfs.RenameOptions{Commit: func() error { return cause }})
		if !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
		noLitter(t, dir)
		if err := f.Copy(t.Context(), dir+"/root/d", dir+"/root/new", nil); err != nil {
			t.Errorf("%v", err)
		}
	})
	if st, err := os.Stat(dir + "/root/new/e"); err != nil || st.Mode().Perm() != 0o555 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestMkdirAll(t *testing.T) {
	tests := []struct {
		path string
		want rootedfs.Kind
	}{
		{"root", rootedfs.OK},
		{"root/a/b/c", rootedfs.OK},
		{"root/d", rootedfs.OK},
		{"root/l/x/y/", rootedfs.OK},
		{"root/f", rootedfs.NotDir},
		{"root/f/x", rootedfs.NotDir},
		{"root/dangling", rootedfs.Exists},
		{"root/dangling/x", rootedfs.Exists},
		{"root/loop/x", rootedfs.Loop},
		{"root/out/x", rootedfs.Outside},
		{"root/outnone/x", rootedfs.Outside},
		{"none/x", rootedfs.Outside},
		{"root/" + strings.Repeat("n", 256) + "/x", rootedfs.TooLong},
	}
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/d/", "root/f", "root/l -> d", "root/dangling -> none", "root/loop -> loop",
			"secret/", "root/out -> $DIR/secret", "root/outnone -> ../none")
		f := newFS(t, o, dir+"/root")
		for _, tt := range tests {
			err := f.MkdirAll(dir+"/"+tt.path, &rootedfs.WriteOptions{Mode: 0o700})
			if got := rootedfs.KindOf(err); got != tt.want {
				t.Errorf("%s: %v is %v, want %v", tt.path, err, got, tt.want)
			}
			if st, err := os.Stat(dir + "/" + tt.path); tt.want == rootedfs.OK && (err != nil || !st.IsDir()) {
				t.Errorf("%s: no directory", tt.path)
			}
		}
		if st, _ := os.Stat(dir + "/root/a/b"); st.Mode().Perm() != 0o700 {
			t.Errorf("mode %v", st.Mode())
		}
	})
}

func TestRemoveAll(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/d/e/f", "root/d/l -> $DIR/keep", "root/d/up -> ..", "keep/x", "root/f", "root/l -> f")
		for i := range 400 { // more than the buffer takes, 32 KiB
			must(t, os.WriteFile(fmt.Sprintf("%s/root/d/%d%s", dir, i, strings.Repeat("x", 200)), nil, 0o644))
		}
		f := newFS(t, o, dir+"/root")
		for _, name := range []string{"d", "l"} {
			if err := f.RemoveAll(t.Context(), dir+"/root/"+name, nil); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(dir + "/root/" + name); err == nil {
				t.Errorf("%s is there", name)
			}
		}
		holds(t, dir, map[string]string{"keep/x": "keep/x", "root/f": "root/f"})
		if err := f.RemoveAll(t.Context(), dir+"/root/none", nil); rootedfs.KindOf(err) != rootedfs.NotFound {
			t.Errorf("nothing: %v", err)
		}

		deep := dir + "/root/deep"
		must(t, f.MkdirAll(deep+strings.Repeat("/d", 600), nil))
		if err := f.RemoveAll(t.Context(), deep, nil); !errors.Is(err, rootedfs.ErrLimit) {
			t.Errorf("600 levels: %v, want limit", err)
		}
	})
}

func TestWalk(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/a/b/c", "root/a/l -> ..", "root/d/", "root/f", "root/out -> $DIR/secret", "secret/x")
		f := newFS(t, o, dir+"/root")
		walk := func(o *rootedfs.WalkOptions, visit func(n *rootedfs.Node) error) (paths []string, err error) {
			err = f.Walk(t.Context(), dir+"/root", o, func(n *rootedfs.Node, err error) error {
				if err != nil {
					return err
				}
				paths = append(paths, n.Path)
				if n.Depth != strings.Count(n.Path, "/")+1 {
					t.Errorf("%s has depth %d", n.Path, n.Depth)
				}
				if visit != nil {
					return visit(n)
				}
				return nil
			})
			slices.Sort(paths)
			return paths, err
		}
		all := []string{"a", "a/b", "a/b/c", "a/l", "d", "f", "out"}
		if got, err := walk(nil, nil); err != nil || !slices.Equal(got, all) {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := walk(&rootedfs.WalkOptions{Depth: 2}, nil); !errors.Is(err, rootedfs.ErrLimit) || len(got) != 6 {
			t.Errorf("to depth 2: %q, %v, want all but one, and the limit", got, err)
		}
		if got, err := walk(&rootedfs.WalkOptions{Depth: 3}, nil); err != nil || len(got) != 7 {
			t.Errorf("to depth 3: %q, %v", got, err)
		}
		if got, err := walk(&rootedfs.WalkOptions{Nodes: 3}, nil); !errors.Is(err, rootedfs.ErrLimit) || len(got) != 3 {
			t.Errorf("3 nodes: %q, %v", got, err)
		}
		if got, err := walk(&rootedfs.WalkOptions{Nodes: 7}, nil); err != nil || len(got) != 7 {
			t.Errorf("7 nodes: %q, %v", got, err)
		}
		if got, err := walk(nil, func(n *rootedfs.Node) error {
			if n.Name == "a" {
				return fs.SkipDir
			}
			return nil
		}); err != nil || len(got) != 4 {
			t.Errorf("without a: %q, %v", got, err)
		}
		if got, err := walk(nil, func(*rootedfs.Node) error { return fs.SkipAll }); err != nil || len(got) != 1 {
			t.Errorf("SkipAll: %q, %v", got, err)
		}
		cause := errors.New("cause")
		if _, err := walk(nil, func(n *rootedfs.Node) error {
			if n.Path == "a/b/c" {
				return cause
			}
			return nil
		}); err != cause {
			t.Errorf("%v, want what visit returned", err)
		}
		_, err := walk(nil, func(n *rootedfs.Node) error {
			file, err := n.OpenRead()
			regular := n.Type == 0
			if regular != (err == nil) {
				t.Errorf("open %s: %v", n.Path, err)
			}
			if err == nil {
				b, _ := io.ReadAll(file)
				if string(b) != "root/"+n.Path {
					t.Errorf("%s holds %q", n.Path, b)
				}
				file.Close()
			}
			if st, err := n.Stat(); err != nil || st.Mode.Type() != n.Type {
				t.Errorf("stat %s: %v, %v", n.Path, st.Mode, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = f.Walk(ctx, dir+"/root", nil, func(*rootedfs.Node, error) error { cancel(); return nil })
		if rootedfs.KindOf(err) != rootedfs.Canceled {
			t.Errorf("canceled: %v", err)
		}
		for path, want := range map[string]rootedfs.Kind{
			"/root/out": rootedfs.Outside, "/secret": rootedfs.Outside, "/root/f": rootedfs.NotDir, "/root/none": rootedfs.NotFound,
		} {
			err := f.Walk(t.Context(), dir+path, nil, func(*rootedfs.Node, error) error { return cause })
			if rootedfs.KindOf(err) != want {
				t.Errorf("walk %s: %v, want %v", path, err, want)
			}
		}
	})
}

// TestWalkCycle walks a tree in which a directory is mounted below itself.
func TestWalkCycle(t *testing.T) {
	dir := newTree(t, "root/a/b/", "root/f")
	err := syscall.Mount(dir+"/root", dir+"/root/a/b", "", syscall.MS_BIND, "")
	testenv.Require(t, "mount", !errors.Is(err, syscall.EPERM), "needs the right to mount")
	must(t, err)
	defer func() { must(t, syscall.Unmount(dir+"/root/a/b", detach)) }()
	f := newFS(t, nil, dir+"/root")
	var seen, failed []string
	must(t, f.Walk(t.Context(), dir+"/root", nil, func(n *rootedfs.Node, err error) error {
		if err != nil {
			failed = append(failed, n.Path+" "+rootedfs.KindOf(err).String())
		} else {
			seen = append(seen, n.Path)
		}
		return nil
	}))
	if slices.Sort(seen); !slices.Equal(seen, []string{"a", "a/b", "f"}) || !slices.Equal(failed, []string{"a/b loop"}) {
		t.Errorf("saw %q, failed %q", seen, failed)
	}
}

func TestWalkUnreadable(t *testing.T) {
	testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	dir := caseDir(t)
	must(t, os.MkdirAll(dir+"/root/closed/x", 0o755))
	must(t, os.Mkdir(dir+"/root/open", 0o755))
	must(t, os.Chmod(dir+"/root/closed", 0))
	asUser(65534, func() {
		f := newFS(t, nil, dir+"/root")
		var seen []string
		err := f.Walk(t.Context(), dir+"/root", nil, func(n *rootedfs.Node, err error) error {
			seen = append(seen, n.Path+" "+rootedfs.KindOf(err).String())
			return nil
		})
		slices.Sort(seen)
		if want := []string{"closed denied", "closed ok", "open ok"}; err != nil || !slices.Equal(seen, want) {
			t.Errorf("%q, %v, want %q", seen, err, want)
		}
	})
}

// TestReadDirLarge lists a directory that is larger than the buffer, and stops in
// the middle.
func TestReadDirLarge(t *testing.T) {
	dir := newTree(t, "root/")
	want := make(map[string]bool)
	for i := range 1500 {
		name := fmt.Sprintf("%05d-%s", i, strings.Repeat("x", i%200))
		want[name] = true
		must(t, os.WriteFile(dir+"/root/"+name, nil, 0o644))
	}
	f := newFS(t, nil, dir+"/root")
	for e, err := range f.ReadDir(dir + "/root") {
		must(t, err)
		if !want[e.Name] || e.Type != 0 {
			t.Fatalf("%q, %v", e.Name, e.Type)
		}
		delete(want, e.Name)
	}
	if len(want) != 0 {
		t.Errorf("%d names are missing", len(want))
	}
	for range f.ReadDir(dir + "/root") {
		break
	}
}

func TestSymlink(t *testing.T) {
	dir := newTree(t, "a/d/", "a/l -> d", "b/")
	f := newFS(t, nil, dir+"/a", dir+"/b")
	for _, tt := range []struct {
		path, text string
		want       rootedfs.Kind
	}{
		{"a/1", "d", rootedfs.OK},
		{"a/2", "../b/x", rootedfs.OK},
		{"a/3", dir + "/b", rootedfs.OK},
		{"a/4", "none", rootedfs.OK},
		{"a/5", "..", rootedfs.Outside},
		{"a/6", "/", rootedfs.Outside},
		{"a/l/7", "../../x", rootedfs.Outside},
		{"a/d/8", "../../b", rootedfs.OK},
		{"a/9", "", rootedfs.Invalid},
		{"a/10", "x\x00", rootedfs.Invalid},
		{"a/d", "x", rootedfs.Exists},
		{"a", "x", rootedfs.Exists},
	} {
		if err := f.Symlink(tt.text, dir+"/"+tt.path, nil); rootedfs.KindOf(err) != tt.want {
			t.Errorf("%s -> %q: %v, want %v", tt.path, tt.text, err, tt.want)
		}
	}
}
