package rootedfs_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/testenv"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

// TestRealGiven: a root whose real path is given is that place, wherever its
// declared path leads.
func TestRealGiven(t *testing.T) {
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "a/f", "b/f", "l -> b", "m -> a")
		given := func(declared, real string) roots.Set {
			uri, err := roots.FileURI(dir + declared)
			must(t, err)
			return roots.NewSet(1, roots.Root{URI: uri, Mode: roots.ReadWrite, Real: dir + real})
		}
		f, err := rootedfs.Open(given("/l", "/a"), o)
		must(t, err)
		for _, path := range []string{"/l/f", "/a/f"} {
			if got, err := read(f, dir+path); got != "a/f" {
				t.Errorf("%s: %q, %v, want a/f", path, got, err)
			}
		}
		if info := f.Roots()[0]; info.Real != dir+"/a" || len(info.Links) != 0 {
			t.Errorf("real path %s, links %q", info.Real, info.Links)
		}
		through, err := rootedfs.Open(given("/a", "/m"), o)
		must(t, err)
		if _, err := read(through, dir+"/a/f"); !errors.Is(err, rootedfs.ErrUnavailable) {
			t.Errorf("a given path through a link: %v, want unavailable", err)
		}
		// Another place is another root, the same one is kept.
		next, err := f.Update(given("/l", "/b"))
		must(t, err)
		if got, err := read(next, dir+"/l/f"); got != "b/f" {
			t.Errorf("given another place: %q, %v, want b/f", got, err)
		}
		resolved := newFS(t, o, dir+"/l")
		next, err = resolved.Update(given("/l", "/b"))
		must(t, err)
		if info := next.Roots()[0]; !slices.Equal(info.Links, []string{dir}) {
			t.Errorf("links %q of a root that was carried over, want those of before", info.Links)
		}
	})
}

// TestLinks: the directories of the links in a declared path are told.
func TestLinks(t *testing.T) {
	dir := newTree(t, "real/sub/dir/f", "x/l1 -> ../real/sub", "l2 -> x/l1/dir", "x/abs -> $DIR/l2", "loop -> loop",
		"dangling -> none/x", "x/n -> ../dangling", "x/up -> ../x/../real/sub/..")
	for _, tt := range []struct {
		declared, real string
		links          []string
	}{
		{"/real/sub", "/real/sub", nil},
		{"/x/l1", "/real/sub", []string{"/x"}},
		{"/x/l1/dir", "/real/sub/dir", []string{"/x"}},
		{"/l2", "/real/sub/dir", []string{"", "/x"}},
		{"/x/abs", "/real/sub/dir", []string{"/x", ""}},
		{"/x/abs/f", "/real/sub/dir/f", []string{"/x", ""}},
		{"/x/l1/none/y", "/real/sub/none/y", []string{"/x"}},
		{"/x/up", "/real", []string{"/x"}},
		// What does not exist is where its name says.
		{"/loop", "/loop", nil},
		{"/loop/y", "/loop/y", nil},
		{"/dangling/y", "/dangling/y", nil},
		{"/x/n", "/x/n", nil},
	} {
		info := newFS(t, nil, dir+tt.declared).Roots()[0]
		var links []string
		for _, l := range tt.links {
			links = append(links, dir+l)
		}
		if info.Real != dir+tt.real || !slices.Equal(info.Links, links) {
			t.Errorf("%s is %s by links in %q, want %s, %q", tt.declared, info.Real, info.Links, dir+tt.real, links)
		}
	}
}

// TestLinksBound: more links than a path may have do not lead anywhere.
func TestLinksBound(t *testing.T) {
	dir := newTree(t, "0/f")
	for i := range 41 {
		must(t, os.Symlink(fmt.Sprint(i), fmt.Sprintf("%s/%d", dir, i+1)))
	}
	if got, err := read(newFS(t, nil, dir+"/40"), dir+"/40/f"); got != "0/f" {
		t.Errorf("through 40 links: %q, %v", got, err)
	}
	if _, err := read(newFS(t, nil, dir+"/41"), dir+"/41/f"); !errors.Is(err, rootedfs.ErrUnavailable) {
		t.Errorf("through 41 links: %v, want unavailable", err)
	}
}

func TestEnforced(t *testing.T) {
	dir := newTree(t, "a/b/", "c/", "d/")
	f := newFS(t, nil, dir+"/a", "ro:"+dir+"/a/b", dir+"/c", "ro:"+dir+"/d")
	for i, want := range []roots.Mode{roots.ReadOnly, roots.ReadOnly, roots.ReadWrite, roots.ReadOnly} {
		if got := f.Enforced(i); got != want || got != f.Roots()[i].Enforced {
			t.Errorf("%s: %v, want %v", f.Set().At(i).Path(), got, want)
		}
	}
}

// A hung file system is one on which some paths do not answer until it is released.
type hung struct {
	mu    sync.Mutex
	paths map[string]chan struct{}
	looks map[string]int
}

// options returns options that wait for d.
func (h *hung) options(o *rootedfs.Options, d time.Duration) *rootedfs.Options {
	with := rootedfs.Options{LookTimeout: d}
	if o != nil {
		with.NoOpenat2 = o.NoOpenat2
	}
	rootedfs.Stall(&with, func(path string) {
		h.mu.Lock()
		h.looks[path]++
		c := h.paths[path]
		h.mu.Unlock()
		if c != nil {
			<-c
		}
	})
	return &with
}

// asked returns how often was looked at which root.
func (h *hung) asked() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.looks)
}

func (h *hung) hang(paths ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range paths {
		h.paths[p] = make(chan struct{})
	}
}

func (h *hung) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.paths {
		close(c)
	}
	clear(h.paths)
}

func newHung(t *testing.T) *hung {
	h := &hung{paths: make(map[string]chan struct{}), looks: make(map[string]int)}
	t.Cleanup(h.release)
	return h
}

// took fails the test if do takes longer than d.
func took(t *testing.T, what string, d time.Duration, do func()) {
	t.Helper()
	start := time.Now()
	do()
	if now := time.Since(start); now > d {
		t.Errorf("%s took %v, want less than %v", what, now, d)
	}
}

// TestHungRoots: roots whose file system does not answer cost the wait for one of
// them, once, and the others nothing; when it answers they are there.
func TestHungRoots(t *testing.T) {
	t.Parallel()
	const wait = 200 * time.Millisecond
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "good/f", "late/sub/f", "l -> late", "rw/in/f", "ro -> rw/in")
		h := newHung(t)
		h.hang(dir+"/l", dir+"/ro")
		var many []string
		for i := range 50 {
			many = append(many, fmt.Sprintf("%s/many/%d", dir, i))
		}
		h.hang(many...)
		var f *rootedfs.FS
		took(t, "Open", 5*wait, func() {
			f = newFS(t, h.options(o, wait), append(many, dir+"/good", dir+"/l", dir+"/rw", "ro:"+dir+"/ro")...)
		})
		took(t, "everything else", wait, func() {
			if got, err := read(f, dir+"/good/f"); got != "good/f" {
				t.Errorf("a root that answers: %q, %v", got, err)
			}
			must(t, f.Create(dir+"/rw/new", strings.NewReader("W"), nil))
			for range 3 {
				if _, err := read(f, dir+"/l/sub/f"); !errors.Is(err, rootedfs.ErrUnavailable) {
					t.Errorf("%v, want unavailable", err)
				}
			}
			next, err := f.Update(f.Set())
			must(t, err)
			for _, info := range next.Roots() {
				if slices.Contains(many, info.Path()) || info.Path() == dir+"/l" {
					if info.State != rootedfs.StateUnavailable || info.Real != "" || !strings.Contains(info.Reason, "does not answer") {
						t.Errorf("%+v", info)
					}
				}
			}
		})
		for path, n := range h.asked() {
			if n != 1 && path != dir+"/good" && path != dir+"/rw" {
				t.Errorf("%d looks at %s, want one at a time", n, path)
			}
		}

		h.release()
		within(t, time.Second, "the root is there when it answers", func() bool {
			got, err := read(f, dir+"/l/sub/f")
			if err != nil && !errors.Is(err, rootedfs.ErrUnavailable) {
				t.Fatal(err)
			}
			return got == "late/sub/f"
		})
		// By its real path too, and what that path means for other roots holds.
		if got, err := read(f, dir+"/late/sub/f"); got != "late/sub/f" {
			t.Errorf("by its real path: %q, %v", got, err)
		}
		within(t, time.Second, "the outer root is read-only", func() bool {
			return errors.Is(f.Create(dir+"/rw/in/new", strings.NewReader("W"), nil), rootedfs.ErrReadOnly)
		})
		if info := f.Roots()[slices.IndexFunc(f.Roots(), func(i rootedfs.RootInfo) bool { return i.Path() == dir+"/l" })]; info.Real != dir+"/late" {
			t.Errorf("%+v", info)
		}
	})
}

// TestHungLater: a root whose file system stops to answer is unavailable after the
// wait, and comes back.
func TestHungLater(t *testing.T) {
	t.Parallel()
	const wait = 100 * time.Millisecond
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		dir := newTree(t, "a/f", "b/f")
		h := newHung(t)
		f := newFS(t, h.options(o, wait), dir+"/a", dir+"/b")
		h.hang(dir + "/a")
		within(t, time.Second, "a root that does not answer is unavailable", func() bool {
			_, err := read(f, dir+"/a/f")
			return errors.Is(err, rootedfs.ErrUnavailable)
		})
		took(t, "reading", wait, func() {
			for range 3 {
				if _, err := read(f, dir+"/a/f"); !errors.Is(err, rootedfs.ErrUnavailable) {
					t.Errorf("%v, want unavailable", err)
				}
				if got, err := read(f, dir+"/b/f"); got != "b/f" {
					t.Errorf("the other: %q, %v", got, err)
				}
			}
			if info := f.Roots()[0]; info.State != rootedfs.StateUnavailable || info.Real != dir+"/a" || info.Kind != rootedfs.KindDirectory {
				t.Errorf("%+v", info)
			}
		})
		h.release()
		within(t, time.Second, "it comes back", func() bool {
			got, _ := read(f, dir+"/a/f")
			return got == "a/f"
		})
	})
}

// TestTooManyHung: there is a bound to what may hang. (Not parallel: it is one for the
// process.)
func TestTooManyHung(t *testing.T) {
	dir := newTree(t, "good/f")
	h := newHung(t)
	var many []string
	for i := range rootedfs.MaxLooks + 10 {
		many = append(many, fmt.Sprintf("%s/many/%d", dir, i))
	}
	h.hang(many...)
	f := newFS(t, h.options(nil, 50*time.Millisecond), many...)
	within(t, 5*time.Second, "all that may be are asked", func() bool { return len(h.asked()) >= rootedfs.MaxLooks })
	if asked := len(h.asked()); asked != rootedfs.MaxLooks {
		t.Errorf("%d looks, want %d", asked, rootedfs.MaxLooks)
	}
	if info := f.Roots()[len(many)-1]; info.State != rootedfs.StateUnavailable {
		t.Errorf("%+v", info)
	}
	good := newFS(t, nil, dir+"/good")
	if _, err := read(good, dir+"/good/f"); !errors.Is(err, rootedfs.ErrUnavailable) {
		t.Errorf("one more: %v, want unavailable", err)
	}
	h.release()
	within(t, time.Second, "there is room again", func() bool {
		got, _ := read(good, dir+"/good/f")
		return got == "good/f"
	})
}

// TestHungFUSE mounts a file system that nobody serves.
func TestHungFUSE(t *testing.T) {
	t.Parallel()
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	testenv.Require(t, "fuse", err == nil, "needs /dev/fuse")
	aborted := sync.OnceFunc(func() { syscall.Close(fd) })
	defer aborted()
	dir := newTree(t, "m/", "good/f", "l -> m/sub")
	err = syscall.Mount("rootbound-test", dir+"/m", "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))
	testenv.Require(t, "fuse", !errors.Is(err, syscall.EPERM), "needs the right to mount")
	must(t, err)
	defer func() { must(t, syscall.Unmount(dir+"/m", detach)) }()
	const wait = 200 * time.Millisecond
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		with := &rootedfs.Options{LookTimeout: wait, NoOpenat2: o != nil}
		var f *rootedfs.FS
		took(t, "Open", 5*wait, func() { f = newFS(t, with, dir+"/m", dir+"/m/sub/dir", dir+"/l", dir+"/good") })
		took(t, "reading and Roots", wait, func() {
			if got, err := read(f, dir+"/good/f"); got != "good/f" {
				t.Errorf("a root that answers: %q, %v", got, err)
			}
			for _, path := range []string{"/m/f", "/m/sub/dir/f", "/l/f"} {
				if _, err := read(f, dir+path); !errors.Is(err, rootedfs.ErrUnavailable) {
					t.Errorf("%s: %v, want unavailable", path, err)
				}
			}
			for _, info := range f.Roots() {
				if bad := info.Path() != dir+"/good"; bad != (info.State == rootedfs.StateUnavailable) || bad != (info.Real == "") {
					t.Errorf("%+v", info)
				}
			}
		})
	})
	aborted() // ends what hangs, so that no thread is left behind
}
