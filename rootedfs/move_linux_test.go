package rootedfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/internal/testenv"
	"github.com/rootbound/rootbound/rootedfs"
)

// mount mounts a new file system at a directory until the test ends.
func mount(t *testing.T, dir, typ, options string) {
	t.Helper()
	err := syscall.Mount(typ, dir, typ, 0, options)
	testenv.Require(t, "mount", !errors.Is(err, syscall.EPERM), "needs the right to mount")
	must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(dir, detach) })
}

// TestMoveChanged changes the original when all of it has been copied. Nothing is
// lost, nothing moved.
func TestMoveChanged(t *testing.T) {
	rewrite := func(path string) error { // and hides it
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte("NEW"), 0); err != nil {
			return err
		}
		return os.Chtimes(path, st.ModTime(), st.ModTime())
	}
	exchange := func(dir, a, b string) error {
		fd, errno := sys.Openat(sys.Cwd, dir, sys.DirHandle, 0)
		if errno == 0 {
			errno = sys.RenameExchange(fd, a, fd, b)
			sys.Close(fd)
		}
		if errno != 0 {
			return errno
		}
		return nil
	}
	for _, tt := range []struct {
		name   string
		what   string
		change func(a string) error
	}{
		{"a file comes", "d", func(a string) error { return os.WriteFile(a+"/d/e/new", []byte("precious"), 0o644) }},
		{"a directory comes", "d", func(a string) error { return os.Mkdir(a+"/d/new", 0o755) }},
		{"a file goes", "d", func(a string) error { return os.Remove(a + "/d/e/h") }},
		{"a file is rewritten", "d", func(a string) error { return rewrite(a + "/d/e/h") }},
		{"a file grows", "d", func(a string) error { return os.WriteFile(a+"/d/g", []byte("longer than before"), 0o644) }},
		{"a file is replaced", "d", func(a string) error { return os.Rename(a+"/other/x", a+"/d/g") }},
		{"a link is replaced", "d", func(a string) error {
			return errors.Join(os.Remove(a+"/d/l"), os.Symlink("e/g", a+"/d/l"))
		}},
		{"a mode changes", "d", func(a string) error { return os.Chmod(a+"/d/g", 0o600) }},
		{"a directory is exchanged", "d", func(a string) error { return exchange(a, "d", "other") }},
		{"a directory below is exchanged", "d", func(a string) error { return exchange(a, "d/e", "other") }},
		{"the directory is replaced by a file", "d", func(a string) error {
			return errors.Join(os.Rename(a+"/d", a+"/d2"), os.WriteFile(a+"/d", []byte("precious"), 0o644))
		}},
		{"the file is rewritten", "f", func(a string) error { return rewrite(a + "/f") }},
		{"the file is exchanged", "f", func(a string) error { return exchange(a, "f", "g") }},
		{"the file is replaced by a link", "f", func(a string) error {
			return errors.Join(os.Rename(a+"/f", a+"/f2"), os.Symlink("f2", a+"/f"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
				dir := newTree(t, "a/f", "a/g", "a/d/g", "a/d/e/h", "a/d/l -> e/h", "a/other/x", "a/other/y", "b/")
				mount(t, dir+"/b", "tmpfs", "size=4m")
				f := newFS(t, o, dir+"/a", dir+"/b")
				var before []string
				err := f.Rename(t.Context(), dir+"/a/"+tt.what, dir+"/b/"+tt.what, &rootedfs.RenameOptions{
					Copy: true,
					Commit: func() error {
						must(t, tt.change(dir+"/a"))
						before = visible(t, dir)
						return nil
					},
				})
				if rootedfs.KindOf(err) != rootedfs.Busy {
					t.Errorf("%v, want busy", err)
				}
				if after := snapshot(t, dir); !slices.Equal(before, after) {
					t.Errorf("something changed:\n%q\n%q", before, after)
				}
			})
		})
	}
}

// TestMoveUnderWrites has a writer create files in a directory that is being moved,
// by its name and by a handle. Each that was created is in one place or the other.
func TestMoveUnderWrites(t *testing.T) {
	for _, byHandle := range []bool{false, true} {
		t.Run(fmt.Sprintf("handle=%v", byHandle), func(t *testing.T) {
			dir := newTree(t, "a/", "b/")
			mount(t, dir+"/b", "tmpfs", "size=40m")
			f := newFS(t, nil, dir+"/a", dir+"/b")
			kinds := make(map[rootedfs.Kind]int)
			for round := range scaled(15) {
				d := fmt.Sprintf("/d%d", round)
				must(t, os.MkdirAll(dir+"/a"+d+"/e", 0o755))
				for i := range 100 {
					must(t, os.WriteFile(fmt.Sprintf("%s/a%s/e/%d", dir, d, i), []byte("content"), 0o644))
				}
				fd, errno := sys.Openat(sys.Cwd, dir+"/a"+d+"/e", sys.DirHandle, 0)
				if errno != 0 {
					t.Fatal(errno)
				}
				var made []string
				var wg sync.WaitGroup
				stop := make(chan struct{})
				wg.Go(func() {
					// Each round at another moment of the move.
					time.Sleep(time.Duration(round%40) * 2 * time.Millisecond)
					for i := range 20 {
						select {
						case <-stop:
							return
						default:
						}
						name := fmt.Sprintf("new%d", i)
						at, path := fd, name
						if !byHandle {
							at, path = sys.Cwd, dir+"/a"+d+"/e/"+name
						}
						out, errno := sys.Openat(at, path, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o644)
						if errno == 0 {
							sys.Close(out)
							made = append(made, d+"/e/"+name)
						}
					}
				})
				err := f.Rename(t.Context(), dir+"/a"+d, dir+"/b"+d, &rootedfs.RenameOptions{Copy: true})
				close(stop)
				wg.Wait()
				sys.Close(fd)
				kinds[rootedfs.KindOf(err)]++
				for _, name := range made {
					_, inA := os.Lstat(dir + "/a" + name)
					_, inB := os.Lstat(dir + "/b" + name)
					if inA != nil && inB != nil {
						t.Fatalf("%s is lost; the move: %v", name, err)
					}
				}
				if err != nil && rootedfs.KindOf(err) != rootedfs.Busy {
					t.Errorf("%v, want busy", err)
				}
				for i := range 100 {
					name := fmt.Sprintf("%s/e/%d", d, i)
					_, inA := os.Lstat(dir + "/a" + name)
					_, inB := os.Lstat(dir + "/b" + name)
					if inA != nil && inB != nil {
						t.Fatalf("%s is lost; the move: %v", name, err)
					}
				}
				noLitter(t, dir)
			}
			t.Log(kinds)
		})
	}
}

// A watchedContext calls a function each time that it is asked whether it has ended.
type watchedContext struct {
	context.Context
	asked func() error
}

func (c watchedContext) Err() error { return c.asked() }

// TestMoveFinishes: when the copy has its name the original is removed, even if the
// context ends.
func TestMoveFinishes(t *testing.T) {
	dir := newTree(t, "a/d/f", "a/d/e/g", "a/d/e/h", "b/")
	mount(t, dir+"/b", "tmpfs", "size=4m")
	f := newFS(t, nil, dir+"/a", dir+"/b")
	ctx := watchedContext{t.Context(), func() error {
		if _, err := os.Lstat(dir + "/b/d"); err == nil {
			return context.Canceled
		}
		return nil
	}}
	must(t, f.Rename(ctx, dir+"/a/d", dir+"/b/d", &rootedfs.RenameOptions{Copy: true, Sync: true}))
	holds(t, dir, map[string]string{"b/d/f": "a/d/f", "b/d/e/g": "a/d/e/g", "b/d/e/h": "a/d/e/h"})
	if _, err := os.Lstat(dir + "/a/d"); err == nil {
		t.Error("the original is still there")
	}
}

// TestMoveCanceled ends the context at each of the moments at which it is looked at.
// Either nothing has changed, or all has.
func TestMoveCanceled(t *testing.T) {
	for moment := 0; ; moment++ {
		dir := newTree(t, "a/d/f", "a/d/e/g", "b/")
		mount(t, dir+"/b", "tmpfs", "size=4m")
		f := newFS(t, nil, dir+"/a", dir+"/b")
		before := snapshot(t, dir)
		n := 0
		ctx := watchedContext{t.Context(), func() error {
			if n++; n > moment {
				return context.Canceled
			}
			return nil
		}}
		err := f.Rename(ctx, dir+"/a/d", dir+"/b/d", &rootedfs.RenameOptions{Copy: true})
		if err == nil {
			if moment < 5 {
				t.Errorf("the context was asked %d times", moment)
			}
			return
		}
		if rootedfs.KindOf(err) != rootedfs.Canceled {
			t.Fatalf("moment %d: %v", moment, err)
		}
		if after := snapshot(t, dir); !slices.Equal(before, after) {
			t.Fatalf("moment %d: something changed:\n%q\n%q", moment, before, after)
		}
	}
}

// TestMoveNameTaken: the original's name is taken while it is parked, and then the
// move fails.
func TestMoveNameTaken(t *testing.T) {
	dir := newTree(t, "a/d/f", "b/")
	mount(t, dir+"/b", "tmpfs", "size=4m")
	f := newFS(t, nil, dir+"/a", dir+"/b")
	ctx := watchedContext{t.Context(), func() error {
		if _, err := os.Lstat(dir + "/a/d"); err != nil {
			must(t, os.WriteFile(dir+"/a/d", []byte("another"), 0o644))
			return context.Canceled
		}
		return nil
	}}
	err := f.Rename(ctx, dir+"/a/d", dir+"/b/d", &rootedfs.RenameOptions{Copy: true})
	if rootedfs.KindOf(err) != rootedfs.Canceled {
		t.Errorf("%v, want canceled", err)
	}
	holds(t, dir, map[string]string{"a/d": "another"})
	found, _ := filepath.Glob(dir + "/a/d.*/f")
	if len(found) != 1 {
		t.Errorf("the original is at %q", found)
	}
}

// TestMoveUnremovable: what cannot be removed is not copied either.
func TestMoveUnremovable(t *testing.T) {
	testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := caseDir(t)
		for _, d := range []string{"a/locked/d/e", "a/inner/d", "a/sticky", "b", "m", "ro"} {
			must(t, os.MkdirAll(dir+"/"+d, 0o777))
		}
		mount(t, dir+"/b", "tmpfs", "size=4m")
		mount(t, dir+"/ro", "tmpfs", "size=4m")
		must(t, os.Mkdir(dir+"/ro/d", 0o777))
		for _, f := range []string{"a/locked/d/e/f", "a/inner/d/f", "a/sticky/f", "ro/d/f"} {
			must(t, os.WriteFile(dir+"/"+f, []byte("content"), 0o644))
		}
		must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error { return os.Lchown(path, 65534, 65534) }))
		must(t, os.Chmod(dir+"/a/locked", 0o555))
		must(t, os.Chmod(dir+"/a/inner/d", 0o555))
		must(t, os.Chown(dir+"/a/sticky", 0, 0))
		must(t, os.Chown(dir+"/a/sticky/f", 0, 0))
		must(t, os.Chmod(dir+"/a/sticky", 0o777|fs.ModeSticky))
		must(t, syscall.Mount("", dir+"/ro", "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		for _, tt := range []struct {
			path string
			want rootedfs.Kind
		}{
			{"a/locked/d", rootedfs.Denied},
			{"a/inner", rootedfs.Denied},
			{"a/sticky/f", rootedfs.Denied},
			{"ro/d", rootedfs.ReadOnly},
			{"ro/d/f", rootedfs.ReadOnly},
		} {
			before := snapshot(t, dir)
			asUser(65534, func() {
				f := newFS(t, o, dir+"/a", dir+"/b", dir+"/ro")
				err := f.Rename(t.Context(), dir+"/"+tt.path, dir+"/b/new", &rootedfs.RenameOptions{Copy: true})
				var pe *fs.PathError
				if rootedfs.KindOf(err) != tt.want || !errors.As(err, &pe) || pe.Path != dir+"/"+tt.path {
					t.Errorf("%s: %v, want %v", tt.path, err, tt.want)
				}
			})
			if after := snapshot(t, dir); !slices.Equal(before, after) {
				t.Errorf("%s: something changed:\n%q\n%q", tt.path, before, after)
			}
		}
	})
}

// TestMoveMountInside: a directory in which something is mounted stays.
func TestMoveMountInside(t *testing.T) {
	dir := newTree(t, "a/d/f", "a/d/m/", "a/d/bound/", "a/from/g", "b/")
	mount(t, dir+"/b", "tmpfs", "size=4m")
	f := newFS(t, nil, dir+"/a", dir+"/b")
	for _, source := range []string{"", dir + "/a/from"} { // another file system, and the same one
		if source == "" {
			must(t, syscall.Mount("tmpfs", dir+"/a/d/m", "tmpfs", 0, "size=1m"))
		} else {
			must(t, syscall.Mount(source, dir+"/a/d/m", "", syscall.MS_BIND, ""))
		}
		before := snapshot(t, dir)
		if err := f.Rename(t.Context(), dir+"/a/d", dir+"/b/d", &rootedfs.RenameOptions{Copy: true}); rootedfs.KindOf(err) != rootedfs.Busy {
			t.Errorf("%v, want busy", err)
		}
		if after := snapshot(t, dir); !slices.Equal(before, after) {
			t.Errorf("something changed:\n%q\n%q", before, after)
		}
		must(t, syscall.Unmount(dir+"/a/d/m", detach))
	}
	must(t, f.Rename(t.Context(), dir+"/a/d", dir+"/b/d", &rootedfs.RenameOptions{Copy: true}))
}

// TestMoveHardLinks moves two names of one file, of which the removal of the one
// changes the other.
func TestMoveHardLinks(t *testing.T) {
	dir := newTree(t, "a/d/f", "a/d/e/", "b/")
	mount(t, dir+"/b", "tmpfs", "size=4m")
	for i := range 5 {
		must(t, os.Link(dir+"/a/d/f", fmt.Sprintf("%s/a/d/e/%d", dir, i)))
	}
	f := newFS(t, nil, dir+"/a", dir+"/b")
	must(t, f.Rename(t.Context(), dir+"/a/d", dir+"/b/d", &rootedfs.RenameOptions{Copy: true}))
	holds(t, dir, map[string]string{"b/d/f": "a/d/f", "b/d/e/4": "a/d/f"})
}

// TestMoveOverlay moves a directory of a lower layer of overlayfs, which cannot be
// renamed at all.
func TestMoveOverlay(t *testing.T) {
	dir := newTree(t, "low/d/f", "low/d/e/g", "up/", "o/")
	mount(t, dir+"/up", "tmpfs", "size=4m")
	must(t, os.Mkdir(dir+"/up/u", 0o755))
	must(t, os.Mkdir(dir+"/up/w", 0o755))
	err := syscall.Mount("overlay", dir+"/o", "overlay", 0, fmt.Sprintf("lowerdir=%s/low,upperdir=%s/up/u,workdir=%s/up/w,redirect_dir=off", dir, dir, dir))
	testenv.Require(t, "overlay", err == nil, "needs overlayfs")
	defer func() { must(t, syscall.Unmount(dir+"/o", detach)) }()
	f := newFS(t, nil, dir+"/o")
	move := &rootedfs.RenameOptions{Copy: true}
	calls := 0
	move.Commit = func() error {
		if calls++; calls == 2 { // the one after the copy
			return os.WriteFile(dir+"/o/d/new", []byte("precious"), 0o644)
		}
		return nil
	}
	if err := f.Rename(t.Context(), dir+"/o/d", dir+"/o/moved", move); rootedfs.KindOf(err) != rootedfs.Busy {
		t.Errorf("changed meanwhile: %v, want busy", err)
	}
	holds(t, dir, map[string]string{"o/d/f": "low/d/f", "o/d/new": "precious"})
	move.Commit = nil
	must(t, f.Rename(t.Context(), dir+"/o/d", dir+"/o/moved", move))
	holds(t, dir, map[string]string{"o/moved/f": "low/d/f", "o/moved/e/g": "low/d/e/g", "o/moved/new": "precious"})
	if _, err := os.Lstat(dir + "/o/d"); err == nil {
		t.Error("the original is still there")
	}
}

// TestCopySparse: the holes of a file take no room in its copy.
func TestCopySparse(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "a/", "b/")
		mount(t, dir+"/b", "tmpfs", "size=4m")
		f := newFS(t, o, dir+"/a", dir+"/b")
		for name, tt := range map[string]struct {
			size int64
			data map[int64]string
		}{
			"hole":         {1 << 33, nil},
			"middle":       {1 << 33, map[int64]string{1 << 32: "data"}},
			"ends":         {1 << 33, map[int64]string{0: "first", 1<<33 - 4: "last"}},
			"many":         {1 << 30, map[int64]string{1 << 20: "a", 1 << 25: "b", 1 << 28: "c"}},
			"hole at end":  {1 << 30, map[int64]string{0: strings.Repeat("x", 300_000)}},
			"no hole":      {300_000, map[int64]string{0: strings.Repeat("x", 300_000)}},
			"nothing":      {0, nil},
			"small and so": {10, map[int64]string{3: "abc"}},
		} {
			out, err := os.Create(dir + "/a/f")
			must(t, err)
			must(t, out.Truncate(tt.size))
			for offset, text := range tt.data {
				_, err := out.WriteAt([]byte(text), offset)
				must(t, err)
			}
			must(t, out.Close())
			took(t, name, 5*time.Second, func() {
				if err := f.Rename(t.Context(), dir+"/a/f", dir+"/b/f", &rootedfs.RenameOptions{Copy: true}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			in, err := os.Open(dir + "/b/f")
			must(t, err)
			st, err := in.Stat()
			must(t, err)
			if blocks := st.Sys().(*syscall.Stat_t).Blocks; st.Size() != tt.size || blocks > 3000 {
				t.Errorf("%s: size %d, %d blocks, want size %d", name, st.Size(), blocks, tt.size)
			}
			for offset, text := range tt.data {
				got := make([]byte, len(text)+1)
				n, _ := in.ReadAt(got, offset)
				if got = got[:n]; !bytes.HasPrefix(got, []byte(text)) || len(got) > len(text) && got[len(text)] != 0 {
					t.Errorf("%s: %.20q at %d, want %.20q", name, got, offset, text)
				}
			}
			must(t, in.Close())
			must(t, os.Remove(dir+"/b/f"))
		}
	})
}

// TestCopyGroup: what the group of the original may do is not for another one.
func TestCopyGroup(t *testing.T) {
	testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	const stranger = 65534
	dir := caseDir(t)
	for _, d := range []string{"a/d", "b"} {
		must(t, os.MkdirAll(dir+"/"+d, 0o777))
		must(t, os.Chmod(dir+"/"+d, 0o777))
	}
	mount(t, dir+"/b", "tmpfs", "size=4m,mode=777")
	must(t, os.Chmod(dir+"/a", 0o777))
	must(t, os.WriteFile(dir+"/a/d/f", []byte("secret of the group"), 0o644))
	must(t, os.Chmod(dir+"/a/d/f", 0o664))
	for _, name := range []string{"a/d", "a/d/f"} {
		must(t, os.Chown(dir+"/"+name, 1000, 42))
	}
	for _, tt := range []struct {
		as       int
		move     bool
		uid, gid uint32
		dir      fs.FileMode
		file     fs.FileMode
	}{
		{stranger, false, stranger, stranger, 0o707, 0o604},
		{0, false, 0, 42, 0o777, 0o664},
		{0, true, 1000, 42, 0o777, 0o664},
	} {
		to := dir + "/b/new"
		asUser(tt.as, func() {
			f := newFS(t, nil, dir+"/a", dir+"/b")
			if tt.move {
				must(t, f.Rename(t.Context(), dir+"/a/d", to, &rootedfs.RenameOptions{Copy: true}))
			} else {
				must(t, f.Copy(t.Context(), dir+"/a/d", to, nil))
			}
		})
		for path, mode := range map[string]fs.FileMode{to: tt.dir | fs.ModeDir, to + "/f": tt.file} {
			st, err := os.Stat(path)
			must(t, err)
			if s := st.Sys().(*syscall.Stat_t); s.Uid != tt.uid || s.Gid != tt.gid || st.Mode() != mode {
				t.Errorf("as %d, move %v: %s is %d:%d %v, want %d:%d %v", tt.as, tt.move, path, s.Uid, s.Gid, st.Mode(), tt.uid, tt.gid, mode)
			}
		}
		must(t, os.RemoveAll(to))
	}
}
