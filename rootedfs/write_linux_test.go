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
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rootbound/rootbound/internal/testenv"
	"github.com/rootbound/rootbound/rootedfs"
)

func TestReplaceKeepsWhatItCan(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/f", "root/l -> f", "other")
		path := dir + "/root/f"
		must(t, os.Chmod(path, 0o751))
		must(t, os.Link(path, dir+"/second"))
		hasXattr := syscall.Setxattr(path, "user.comment", []byte("kept"), 0) == nil
		if os.Geteuid() == 0 {
			must(t, os.Chown(path, 1234, 1235))
		}
		f := newFS(t, o, dir+"/root")
		must(t, f.Replace(dir+"/root/l", strings.NewReader("new"), &rootedfs.WriteOptions{Mode: 0o600, Sync: true}))

		st, err := os.Lstat(path)
		must(t, err)
		if st.Mode() != 0o751 {
			t.Errorf("mode %v, want that of the old file", st.Mode())
		}
		if sys := st.Sys().(*syscall.Stat_t); os.Geteuid() == 0 && (sys.Uid != 1234 || sys.Gid != 1235) {
			t.Errorf("owner %d:%d, want that of the old file", sys.Uid, sys.Gid)
		}
		if hasXattr {
			value := make([]byte, 10)
			if n, err := syscall.Getxattr(path, "user.comment", value); err != nil || string(value[:n]) != "kept" {
				t.Errorf("attribute %q, %v", value[:max(n, 0)], err)
			}
		}
		if b, _ := os.ReadFile(path); string(b) != "new" {
			t.Errorf("content %q", b)
		}
		if b, _ := os.ReadFile(dir + "/second"); string(b) != "root/f" {
			t.Errorf("the other name of the old file holds %q", b)
		}
		if text, _ := os.Readlink(dir + "/root/l"); text != "f" {
			t.Errorf("the link holds %q", text)
		}
		noLitter(t, dir)
	})
}

// TestSetIDBits: who changes the content of a program takes its power from it.
func TestSetIDBits(t *testing.T) {
	testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	const owner = 1234
	content := func() io.Reader { return strings.NewReader("new") }
	for _, op := range []struct {
		name string
		do   func(f *rootedfs.FS, path string) error
		root bool // the file is itself the root
	}{
		{"replace", func(f *rootedfs.FS, path string) error { return f.Replace(path, content(), nil) }, false},
		{"append", func(f *rootedfs.FS, path string) error { return f.Append(path, content(), nil) }, false},
		{"truncate", func(f *rootedfs.FS, path string) error { return f.Truncate(path, 1, nil) }, false},
		{"in place", func(f *rootedfs.FS, path string) error { return f.Replace(path, content(), nil) }, true},
		{"copy over", func(f *rootedfs.FS, path string) error {
			return f.Copy(t.Context(), filepath.Dir(path)+"/other", path, &rootedfs.RenameOptions{Overwrite: true})
		}, false},
	} {
		for _, user := range []int{0, owner, 65534} {
			dir := caseDir(t)
			path := dir + "/f"
			must(t, os.Chmod(dir, 0o777))
			must(t, os.WriteFile(dir+"/other", []byte("other"), 0o644))
			must(t, os.WriteFile(path, []byte("old"), 0o666))
			must(t, os.Chown(path, owner, owner))
			must(t, os.Chmod(path, 0o777|fs.ModeSetuid|fs.ModeSetgid))
			asUser(user, func() {
				root := dir
				if op.root {
					root = path
				}
				if err := op.do(newFS(t, nil, root), path); err != nil {
					t.Errorf("%s as %d: %v", op.name, user, err)
				}
			})
			st, err := os.Stat(path)
			must(t, err)
			if st.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
				t.Errorf("%s as %d: mode %v", op.name, user, st.Mode())
			}
			// Nor does the wrong group get what the right one had.
			if want := fs.FileMode(0o707); op.name == "replace" && user == 65534 && st.Mode() != want {
				t.Errorf("%s as %d: mode %v, want %v", op.name, user, st.Mode(), want)
			}
		}
	}
}

// TestReplaceUnwritable: that the directory may be written does not mean that each
// file in it may.
func TestReplaceUnwritable(t *testing.T) {
	testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	const user = 65534
	for _, tt := range []struct {
		name  string
		owner int
		mode  fs.FileMode
		as    int
		want  rootedfs.Kind
	}{
		{"own, read-only", user, 0o444, user, rootedfs.Denied},
		{"another's", 0, 0o644, user, rootedfs.Denied},
		{"another's, for all to write", 0, 0o666, user, rootedfs.OK},
		{"own", user, 0o600, user, rootedfs.OK},
		{"as root", user, 0o444, 0, rootedfs.OK},
	} {
		eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
			dir := caseDir(t)
			must(t, os.Chmod(dir, 0o777))
			must(t, os.WriteFile(dir+"/other", []byte("other"), 0o644))
			path := dir + "/f"
			must(t, os.WriteFile(path, []byte("old"), 0o644))
			must(t, os.Chown(path, tt.owner, tt.owner))
			must(t, os.Chmod(path, tt.mode))
			must(t, os.Symlink("f", dir+"/l"))
			asUser(tt.as, func() {
				f := newFS(t, o, dir)
				if err := f.Replace(path, strings.NewReader("new"), nil); rootedfs.KindOf(err) != tt.want {
					t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
				}
				if tt.want == rootedfs.OK {
					return
				}
				for name, err := range map[string]error{
					"through a link": f.Replace(dir+"/l", strings.NewReader("new"), nil),
					"copy":           f.Copy(t.Context(), dir+"/other", path, &rootedfs.RenameOptions{Overwrite: true}),
				} {
					if rootedfs.KindOf(err) != tt.want {
						t.Errorf("%s, %s: %v, want %v", tt.name, name, err, tt.want)
					}
				}
			})
			b, err := os.ReadFile(path)
			must(t, err)
			if denied := tt.want == rootedfs.Denied; denied != (string(b) == "old") {
				t.Errorf("%s: the file holds %q", tt.name, b)
			}
			noLitter(t, dir)
		})
	}
}

// TestReplaceFailures: nothing is changed and nothing left when a replacement fails.
func TestReplaceFailures(t *testing.T) {
	cause := errors.New("cause")
	half := io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(cause))
	refuse := &rootedfs.WriteOptions{Commit: func() error { return cause }}
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/f", "root/d/g", "single")
		f := newFS(t, o, dir+"/root", dir+"/single")
		before := snapshot(t, dir)
		for name, err := range map[string]error{
			"replace/reader":    f.Replace(dir+"/root/f", half, nil),
			"create/reader":     f.Create(dir+"/root/new", iotest.ErrReader(cause), nil),
			"append/reader":     f.Append(dir+"/root/f", iotest.ErrReader(cause), nil),
			"in place/reader":   f.Replace(dir+"/single", iotest.ErrReader(cause), nil),
			"replace/commit":    f.Replace(dir+"/root/f", strings.NewReader("W"), refuse),
			"new/commit":        f.Replace(dir+"/root/new", strings.NewReader("W"), refuse),
			"in place/commit":   f.Replace(dir+"/single", strings.NewReader("W"), refuse),
			"create/commit":     f.Create(dir+"/root/new", strings.NewReader("W"), refuse),
			"append/commit":     f.Append(dir+"/root/f", strings.NewReader("W"), refuse),
			"append new/commit": f.Append(dir+"/root/new", strings.NewReader("W"), refuse),
			"truncate/commit":   f.Truncate(dir+"/root/f", 0, refuse),
			"mkdir/commit":      f.Mkdir(dir+"/root/new", refuse),
			"mkdirall/commit":   f.MkdirAll(dir+"/root/new/x", refuse),
			"remove/commit":     f.Remove(dir+"/root/f", refuse),
			"removeall/commit":  f.RemoveAll(t.Context(), dir+"/root/d", refuse),
			"symlink/commit":    f.Symlink("f", dir+"/root/new", refuse),
			"link/commit":       f.Link(dir+"/root/f", dir+"/root/new", refuse),
			"rename/commit":     f.Rename(t.Context(), dir+"/root/f", dir+"/root/new", &rootedfs.RenameOptions{Commit: refuse.Commit}),
			"copy/commit":       f.Copy(t.Context(), dir+"/root/d", dir+"/root/new", &rootedfs.RenameOptions{Commit: refuse.Commit}),
		} {
			var pe *fs.PathError
			if !errors.Is(err, cause) || !errors.As(err, &pe) {
				t.Errorf("%s: %v, want a PathError with the cause", name, err)
			}
		}
		if after := snapshot(t, dir); !slices.Equal(before, after) {
			t.Errorf("something changed:\n%q\n%q", before, after)
		}
	})
}

// TestCommitOnce counts the calls of Commit, and looks at what is visible then.
func TestCommitOnce(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/f", "root/d/g")
		f := newFS(t, o, dir+"/root")
		for _, step := range []struct {
			name string
			do   func(w *rootedfs.WriteOptions) error
		}{
			{"create", func(w *rootedfs.WriteOptions) error {
				return f.Create(dir+"/root/new", strings.NewReader("W"), w)
			}},
			{"replace", func(w *rootedfs.WriteOptions) error {
				return f.Replace(dir+"/root/f", strings.NewReader("W"), w)
			}},
			{"append", func(w *rootedfs.WriteOptions) error { return f.Append(dir+"/root/f", strings.NewReader("W"), w) }},
			{"append new", func(w *rootedfs.WriteOptions) error {
				return f.Append(dir+"/root/app", strings.NewReader("W"), w)
			}},
			{"mkdirall", func(w *rootedfs.WriteOptions) error { return f.MkdirAll(dir+"/root/m/n/o", w) }},
			{"copy", func(w *rootedfs.WriteOptions) error {
				return f.Copy(t.Context(), dir+"/root/d", dir+"/root/e", &rootedfs.RenameOptions{Commit: w.Commit})
			}},
			{"removeall", func(w *rootedfs.WriteOptions) error { return f.RemoveAll(t.Context(), dir+"/root/e", w) }},
		} {
			before := visible(t, dir)
			calls := 0
			err := step.do(&rootedfs.WriteOptions{Commit: func() error {
				calls++
				if now := visible(t, dir); !slices.Equal(before, now) {
					t.Errorf("%s: visible before Commit:\n%q\n%q", step.name, before, now)
				}
				return nil
			}})
			if err != nil || calls != 1 {
				t.Errorf("%s: %v, Commit called %d times", step.name, err, calls)
			}
			if slices.Equal(before, visible(t, dir)) {
				t.Errorf("%s changed nothing", step.name)
			}
		}
		noLitter(t, dir)
	})
}

// visible is snapshot without temporary files.
func visible(t *testing.T, dir string) []string {
	return slices.DeleteFunc(snapshot(t, dir), func(line string) bool { return strings.Contains(line, rootedfs.TempPrefix) })
}

// TestReplaceFullDisk writes more than a small file system takes.
func TestReplaceFullDisk(t *testing.T) {
	dir := newTree(t, "m/")
	err := syscall.Mount("tmpfs", dir+"/m", "tmpfs", 0, "size=256k")
	testenv.Require(t, "mount", !errors.Is(err, syscall.EPERM), "needs the right to mount")
	must(t, err)
	defer func() { must(t, syscall.Unmount(dir+"/m", detach)) }()
	must(t, os.WriteFile(dir+"/m/f", []byte("old"), 0o644))
	f := newFS(t, nil, dir+"/m")
	big := strings.Repeat("x", 1<<20)
	for name, err := range map[string]error{
		"replace": f.Replace(dir+"/m/f", strings.NewReader(big), nil),
		"create":  f.Create(dir+"/m/g", strings.NewReader(big), nil),
	} {
		if rootedfs.KindOf(err) != rootedfs.NoSpace {
			t.Errorf("%s: %v is %v, want nospace", name, err, rootedfs.KindOf(err))
		}
	}
	if b, _ := os.ReadFile(dir + "/m/f"); string(b) != "old" {
		t.Errorf("content %.20q, want the old one", b)
	}
	if es, _ := os.ReadDir(dir + "/m"); len(es) != 1 {
		t.Errorf("%v is left", es)
	}
}

// TestInPlaceFullDisk: a root that is a file is as it was if there is no room for
// what it shall become.
func TestInPlaceFullDisk(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "m/")
		err := syscall.Mount("tmpfs", dir+"/m", "tmpfs", 0, "size=256k")
		testenv.Require(t, "mount", !errors.Is(err, syscall.EPERM), "needs the right to mount")
		must(t, err)
		defer func() { must(t, syscall.Unmount(dir+"/m", detach)) }()
		old := strings.Repeat("old content ", 1000)
		must(t, os.WriteFile(dir+"/m/f", []byte(old), 0o644))
		f := newFS(t, o, dir+"/m/f", dir+"/m/new")
		big := strings.Repeat("x", 1<<20)
		if err := f.Replace(dir+"/m/f", strings.NewReader(big), nil); rootedfs.KindOf(err) != rootedfs.NoSpace {
			t.Errorf("%v, want nospace", err)
		}
		if b, _ := os.ReadFile(dir + "/m/f"); string(b) != old {
			t.Errorf("%d bytes, %.20q, want the old content", len(b), b)
		}
		for _, content := range []string{"short", strings.Repeat("long", 40_000), ""} {
			must(t, f.Replace(dir+"/m/f", strings.NewReader(content), nil))
			if b, _ := os.ReadFile(dir + "/m/f"); string(b) != content {
				t.Errorf("%d bytes, want %d", len(b), len(content))
			}
		}
	})
}

// TestInPlaceWithoutReserve does it where the file system reserves no room, as
// ramfs, which has no limit, but the process has one.
func TestInPlaceWithoutReserve(t *testing.T) {
	dir := newTree(t, "m/")
	err := syscall.Mount("ramfs", dir+"/m", "ramfs", 0, "")
	testenv.Require(t, "mount", !errors.Is(err, syscall.EPERM), "needs the right to mount")
	must(t, err)
	defer func() { must(t, syscall.Unmount(dir+"/m", detach)) }()
	must(t, os.WriteFile(dir+"/m/f", []byte("old content"), 0o644))
	f := newFS(t, nil, dir+"/m/f")
	for _, content := range []string{"short", "longer than the old content", "", "new"} {
		must(t, f.Replace(dir+"/m/f", strings.NewReader(content), nil))
		if b, _ := os.ReadFile(dir + "/m/f"); string(b) != content {
			t.Errorf("%q, want %q", b, content)
		}
	}
}

// TestInPlaceWhole has many change one root that is a file, also through an FS that
// [rootedfs.FS.Update] made: in the end it holds what one of them wrote.
func TestInPlaceWhole(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "f")
		f := newFS(t, o, dir+"/f")
		next, err := f.Update(f.Set())
		must(t, err)
		for range scaled(10) {
			var wg sync.WaitGroup
			for i, c := range []string{"A", "B", "C", "D"} {
				fsys := f
				if i%2 == 0 {
					fsys = next
				}
				wg.Go(func() {
					if err := fsys.Replace(dir+"/f", strings.NewReader(strings.Repeat(c, (i+1)*200_000)), nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			b, _ := os.ReadFile(dir + "/f")
			if len(b) == 0 || strings.Trim(string(b), string(b[:1])) != "" || len(b) != (int(b[0]-'A')+1)*200_000 {
				t.Fatalf("%d bytes, from %.1q to %q", len(b), b, b[max(0, len(b)-1):])
			}
		}
	})
}

func TestReplaceLongName(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/")
		f := newFS(t, o, dir+"/root")
		for _, name := range []string{strings.Repeat("n", 255), "\xff\xfe\n\"", "-rf", " "} {
			path := dir + "/root/" + name
			must(t, f.Create(path, strings.NewReader("1"), nil))
			must(t, f.Replace(path, strings.NewReader("2"), nil))
			if got, err := read(f, path); got != "2" || err != nil {
				t.Errorf("%q: %q, %v", name, got, err)
			}
		}
		if err := f.Create(dir+"/root/"+strings.Repeat("n", 256), strings.NewReader(""), nil); rootedfs.KindOf(err) != rootedfs.TooLong {
			t.Errorf("a name of 256 bytes: %v", err)
		}
	})
}

// TestReplaceIsWhole reads a file while it is being replaced.
func TestReplaceIsWhole(t *testing.T) {
	dir := newTree(t, "root/f")
	f := newFS(t, nil, dir+"/root")
	path := dir + "/root/f"
	content := func(i int) string { return strings.Repeat(fmt.Sprintf("%04d", i), 10_000) }
	must(t, f.Replace(path, strings.NewReader(content(0)), nil))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b, err := f.ReadFile(path, 1<<20)
				if err != nil || len(b) != 40_000 || strings.Repeat(string(b[:4]), 10_000) != string(b) {
					t.Errorf("torn: %d bytes, %v", len(b), err)
					return
				}
			}
		})
	}
	for i := range 200 {
		must(t, f.Replace(path, strings.NewReader(content(i)), nil))
	}
	close(stop)
	wg.Wait()
}

// TestConcurrentCreate lets many try to create one name: one of them does.
func TestConcurrentCreate(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/")
		f := newFS(t, o, dir+"/root")
		errs := make([]error, 16)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = f.Create(dir+"/root/f", strings.NewReader(fmt.Sprint(i)), nil) })
		}
		wg.Wait()
		created := 0
		for i, err := range errs {
			if err == nil {
				created++
				if got, _ := read(f, dir+"/root/f"); got != fmt.Sprint(i) {
					t.Errorf("%d created it, and it holds %q", i, got)
				}
			} else if rootedfs.KindOf(err) != rootedfs.Exists {
				t.Error(err)
			}
		}
		if created != 1 {
			t.Errorf("%d created it", created)
		}
		noLitter(t, dir)
	})
}

// TestAppendStaysTogether appends from many sides; no line is torn.
func TestAppendStaysTogether(t *testing.T) {
	dir := newTree(t, "root/")
	f := newFS(t, nil, dir+"/root")
	line := strings.Repeat("x", 999) + "\n"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := f.Append(dir+"/root/log", strings.NewReader(line), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if b, _ := os.ReadFile(dir + "/root/log"); string(b) != strings.Repeat(line, 400) {
		t.Errorf("%d bytes, want 400 whole lines", len(b))
	}
}

// TestSpecialFiles opens what must not be opened for content, which must neither
// block nor succeed.
func TestSpecialFiles(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "root/x")
		must(t, syscall.Mkfifo(dir+"/root/fifo", 0o644))
		must(t, syscall.Mknod(dir+"/root/socket", syscall.S_IFSOCK|0o644, 0))
		f := newFS(t, o, dir+"/root")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, name := range []string{"fifo", "socket"} {
				path := dir + "/root/" + name
				_, readErr := f.OpenRead(path)
				for what, err := range map[string]error{
					"read":     readErr,
					"replace":  f.Replace(path, strings.NewReader("W"), nil),
					"append":   f.Append(path, strings.NewReader("W"), nil),
					"truncate": f.Truncate(path, 0, nil),
					"copy":     f.Copy(ctx, path, dir+"/root/copy", nil),
				} {
					if !errors.Is(err, rootedfs.ErrNotRegular) {
						t.Errorf("%s %s: %v, want not regular", what, name, err)
					}
				}
				if err := f.Rename(ctx, path, path+"2", nil); err != nil {
					t.Errorf("rename %s: %v", name, err)
				}
			}
		}()
		select {
		case <-done:
		case <-ctx.Done():
			t.Fatal("blocked")
		}
	})
}

func TestTruncate(t *testing.T) {
	dir := newTree(t, "root/f")
	f := newFS(t, nil, dir+"/root")
	for _, size := range []int64{3, 10, 0} {
		must(t, f.Truncate(dir+"/root/f", size, &rootedfs.WriteOptions{Sync: true}))
		if st, _ := f.Stat(dir + "/root/f"); st.Size != size {
			t.Errorf("size %d, want %d", st.Size, size)
		}
	}
	if err := f.Truncate(dir+"/root/f", -1, nil); rootedfs.KindOf(err) != rootedfs.Invalid {
		t.Errorf("negative size: %v", err)
	}
}
