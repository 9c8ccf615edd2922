package rootedfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound/internal/testtree"
	"github.com/rootbound/rootbound/rootedfs"
)

// consistencyTree has every kind of link that stays inside the root, and some
// that do not.
var consistencyTree = []string{
	"root/f", "root/d/g", "root/d/e/h", "root/empty/",
	"root/lf -> f", "root/ld -> d", "root/ldd -> d/e/..", "root/ldot -> .", "root/lslash -> d/",
	"root/d/up -> ../f", "root/d/e/upup -> ../../f", "root/abs -> $DIR/root/f", "root/absd -> $DIR/root/d",
	"root/back -> ../root/d", "root/chain1 -> chain2", "root/chain2 -> d/up",
	"root/loop -> loop", "root/pp -> pq", "root/pq -> pp", "root/dangling -> none", "root/danglingdir -> none/x",
	"root/filedot -> f/.", "root/fileslash -> f/", "root/phys -> ld/../f",
	"root/out -> $DIR/secret", "root/outrel -> ../secret", "root/outd -> $DIR/outside",
	"root/d/outup -> ../../secret", "root/toparent -> ..", "root/toslash -> /",
	"secret", "outside/x", "outside/back -> $DIR/root/f",
}

// What is requested below root, in three classes.
var (
	// staying is answered as package os answers it.
	staying = []string{
		"f", "d", "d/g", "d/e/h", "empty", "none", "none/x", "f/x", "d/", "f/", "d/.", "d/..", ".", "",
		"lf", "lf/", "ld", "ld/", "ld/g", "ld/e/h", "ldd", "ldd/g", "ldot", "ldot/f", "ldot/ldot/ldot/f", "lslash/g", "lslash",
		"d/up", "d/e/upup", "abs", "abs/x", "absd/g", "absd", "back/g", "back", "chain1", "chain1/x",
		"loop", "loop/x", "pp", "dangling", "danglingdir", "danglingdir/y", "dangling/", "filedot", "fileslash", "phys",
		"d/e/../g", "d/./g", "d//g", "ld/../f", strings.Repeat("d/../", 30) + "f",
		strings.Repeat("n", 255), strings.Repeat("n", 256),
	}
	// leaving is a link that leaves: outside for what follows a last link.
	leaving = []string{"out", "outrel", "outd", "d/outup", "absd/outup", "toparent", "toslash"}
	// left leaves before its end: outside for everything.
	left = []string{"outd/x", "outd/back", "outd/none", "outd/", "toparent/secret", "toslash/etc", "ldot/outd/x"}
)

// TestConsistency compares what reading operations answer with package os: they
// are the same, unless the path leaves the root.
func TestConsistency(t *testing.T) {
	dir, err := filepath.EvalSymlinks(testtree.New(t, consistencyTree...))
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	operations := []struct {
		name   string
		os     func(path string) (string, error)
		fs     func(f *rootedfs.FS, path string) (string, error)
		follow bool // the last link
	}{
		{
			"read",
			func(path string) (string, error) { b, err := os.ReadFile(path); return string(b), err },
			read, true,
		},
		{
			"stat",
			func(path string) (string, error) {
				st, err := os.Stat(path)
				if err != nil {
					return "", err
				}
				return st.Mode().String(), nil
			},
			func(f *rootedfs.FS, path string) (string, error) {
				st, err := f.Stat(path)
				return st.Mode.String(), err
			}, true,
		},
		{
			"lstat",
			func(path string) (string, error) {
				st, err := os.Lstat(path)
				if err != nil {
					return "", err
				}
				return st.Mode().String(), nil
			},
			func(f *rootedfs.FS, path string) (string, error) {
				st, err := f.Lstat(path)
				return st.Mode.String(), err
			}, false,
		},
		{
			"readlink", os.Readlink,
			func(f *rootedfs.FS, path string) (string, error) { return f.Readlink(path) }, false,
		},
		{
			"readdir",
			func(path string) (string, error) {
				es, err := os.ReadDir(path)
				var names []string
				for _, e := range es {
					names = append(names, e.Name()+" "+e.Type().String())
				}
				return strings.Join(names, "\n"), err
			},
			func(f *rootedfs.FS, path string) (string, error) {
				names, err := list(f, path)
				return strings.Join(names, "\n"), err
			}, true,
		},
	}
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		f := newFS(t, o, root)
		for _, op := range operations {
			for _, name := range slices.Concat(staying, leaving, left) {
				path := root + "/" + name
				got, err := op.fs(f, path)
				var pe *fs.PathError
				if err != nil && (!errors.As(err, &pe) || pe.Path != path) {
					t.Errorf("%s %s: %#v is no PathError with the path as requested", op.name, name, err)
				}
				if slices.Contains(left, name) || op.follow && slices.Contains(leaving, name) {
					if !errors.Is(err, rootedfs.ErrOutside) {
						t.Errorf("%s %s: %v, want outside", op.name, name, err)
					}
					continue
				}
				want, osErr := op.os(cleanForOS(path))
				if errnoOf(err) != errnoOf(osErr) {
					t.Errorf("%s %s: %v, but os: %v", op.name, name, err, osErr)
				} else if osErr == nil && got != want {
					t.Errorf("%s %s: %q, but os: %q", op.name, name, got, want)
				}
			}
		}
	})
}

// cleanForOS cleans a path as FS does, lexically, keeping the demand for a directory.
func cleanForOS(path string) string {
	clean := filepath.Clean(path)
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "", ".", "..":
		clean += "/"
	}
	return clean
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// list returns the entries of a directory, sorted.
func list(f *rootedfs.FS, path string) ([]string, error) {
	var names []string
	for e, err := range f.ReadDir(path) {
		if err != nil {
			return nil, err
		}
		names = append(names, e.Name+" "+e.Type.String())
	}
	slices.Sort(names)
	return names, nil
}
