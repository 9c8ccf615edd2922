package roots_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/roots"
)

// root makes a root from a line: "/path", "/path ro" or "/path rw name".
func root(t testing.TB, line string) roots.Root {
	t.Helper()
	fields := append(strings.Fields(line), "rw", "")
	u, err := roots.FileURI(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	r := roots.Root{URI: u, Mode: roots.ReadWrite}
	if fields[1] == "ro" {
		r.Mode = roots.ReadOnly
	}
	if len(fields) > 4 {
		r.Name = fields[2]
	}
	return r
}

func list(t testing.TB, lines ...string) []roots.Root {
	t.Helper()
	var rs []roots.Root
	for _, l := range lines {
		rs = append(rs, root(t, l))
	}
	return rs
}

func show(rs []roots.Root) string {
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", r.Path(), r.Mode)
	}
	return b.String()
}

func TestLocate(t *testing.T) {
	for _, c := range []struct {
		name  string
		roots []string
		path  string
		root  string
		below string
		err   error
	}{
		{"itself", []string{"/a"}, "/a", "/a", ".", nil},
		{"trailing slash", []string{"/a"}, "/a/", "/a", ".", nil},
		{"below", []string{"/a"}, "/a/b/c", "/a", "b/c", nil},
		{"sibling with the same prefix", []string{"/a"}, "/ab", "", "", roots.ErrOutside},
		{"sibling with the same prefix, below", []string{"/a"}, "/a-x/f", "", "", roots.ErrOutside},
		{"parent", []string{"/a/b"}, "/a", "", "", roots.ErrOutside},
		{"nothing", nil, "/a", "", "", roots.ErrOutside},
		{"dot dot stays", []string{"/a"}, "/a/b/../c", "/a", "c", nil},
		{"dot dot leaves", []string{"/a"}, "/a/../b", "", "", roots.ErrOutside},
		{"dot dot enters", []string{"/a"}, "/x/../a/f", "/a", "f", nil},
		{"dot dot above the top", []string{"/a"}, "/../../a/f", "/a", "f", nil},
		{"double slashes", []string{"/a"}, "//a///f", "/a", "f", nil},
		{"a name that begins with dots", []string{"/a"}, "/a/..f", "/a", "..f", nil},
		{"top", []string{"/"}, "/", "/", ".", nil},
		{"below the top", []string{"/"}, "/etc/passwd", "/", "etc/passwd", nil},
		{"innermost of nested", []string{"/a", "/a/b/c", "/a/b"}, "/a/b/c/d", "/a/b/c", "d", nil},
		{"middle of nested", []string{"/a", "/a/b/c", "/a/b"}, "/a/b/cd", "/a/b", "cd", nil},
		{"top and nested", []string{"/", "/a"}, "/b", "/", "b", nil},
		{"nested below the top", []string{"/", "/a"}, "/a/b", "/a", "b", nil},
		{"blanks are part of names", []string{"/a "}, "/a /f", "/a ", "f", nil},
		{"blanks are not trimmed", []string{"/a "}, "/a/f", "", "", roots.ErrOutside},
		{"case counts", []string{"/A"}, "/a/f", "", "", roots.ErrOutside},
		{"bytes", []string{"/\xff"}, "/\xff/\xfe", "/\xff", "\xfe", nil},
		{"percent is a character", []string{"/a"}, "/a/%2e%2e/b", "/a", "%2e%2e/b", nil},
		{"empty", []string{"/"}, "", "", "", roots.ErrInvalid},
		{"relative", []string{"/"}, "a", "", "", roots.ErrInvalid},
		{"tilde", []string{"/"}, "~/a", "", "", roots.ErrInvalid},
		{"NUL", []string{"/"}, "/a\x00", "", "", roots.ErrInvalid},
		{"NUL outside", []string{"/a"}, "/b\x00", "", "", roots.ErrInvalid},
		{"longer than the system opens", []string{"/a"}, "/a/" + strings.Repeat("d/", 3000) + "f", "/a", strings.Repeat("d/", 3000) + "f", nil},
		{"longer than the system opens, outside", []string{"/a"}, "/b/" + strings.Repeat("d/", 3000) + "f", "", "", roots.ErrOutside},
		{"a root longer than the system opens", []string{"/" + strings.Repeat("d/", 3000)}, "/" + strings.Repeat("d/", 3000) + "f", "/" + strings.Repeat("d/", 2999) + "d", "f", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("paths of POSIX systems")
			}
			var rs []roots.Root
			for _, p := range c.roots {
				u, err := roots.FileURI(p)
				if err != nil {
					t.Fatal(err)
				}
				rs = append(rs, roots.Root{URI: u})
			}
			set := roots.NewSet(3, rs...)
			r, below, err := set.Locate(c.path)
			if c.err != nil {
				var pe *fs.PathError
				if !errors.Is(err, c.err) || !errors.As(err, &pe) || pe.Path != c.path {
					t.Fatalf("Locate(%q): %v, want a PathError that is %v", c.path, err, c.err)
				}
			} else if err != nil || r.Path() != c.root || below != c.below {
				t.Fatalf("Locate(%q) = %q, %q, %v; want %q, %q", c.path, r.Path(), below, err, c.root, c.below)
			}
			if got := set.Contains(c.path); got != (c.err == nil) {
				t.Errorf("Contains(%q) = %v", c.path, got)
			}
		})
	}
}

func TestBoundaryErrors(t *testing.T) {
	for _, c := range []struct {
		err, is error
		want    bool
	}{
		{roots.ErrOutside, fs.ErrPermission, true},
		{roots.ErrReadOnly, fs.ErrPermission, true},
		{roots.ErrInvalid, fs.ErrInvalid, true},
		{roots.ErrInvalid, fs.ErrPermission, false},
		{roots.ErrOutside, roots.ErrReadOnly, false},
		{roots.ErrOutside, fs.ErrNotExist, false},
	} {
		if got := errors.Is(c.err, c.is); got != c.want {
			t.Errorf("errors.Is(%v, %v) = %v", c.err, c.is, got)
		}
	}
}

func TestSet(t *testing.T) {
	given := list(t, "/b", "/a ro", "/a rw second", "/b/c", "/b rw")
	given = append(given, roots.Root{})
	set := roots.NewSet(7, given...)
	if got, want := show(collect(set)), "/a ro, /b rw, /b/c rw"; got != want {
		t.Errorf("the set is %s, want %s", got, want)
	}
	if set.At(0).Name != "second" {
		t.Errorf("the name of a duplicate is lost: %+v", set.At(0))
	}
	if set.Generation() != 7 || set.Len() != 3 {
		t.Errorf("generation %d, %d roots", set.Generation(), set.Len())
	}
	given[0] = root(t, "/changed")
	if set.Contains("/changed") || !set.Contains("/b") {
		t.Error("the set changed with the slice it was made from")
	}
	var zero roots.Set
	if zero.Len() != 0 || zero.Generation() != 0 || zero.Contains("/") || len(collect(zero)) != 0 || len(zero.Conflicts()) != 0 {
		t.Error("the zero set is not empty")
	}
}

func collect(s roots.Set) []roots.Root {
	var rs []roots.Root
	for _, r := range s.All() {
		rs = append(rs, r)
	}
	return rs
}

func TestConflicts(t *testing.T) {
	for _, c := range []struct {
		roots []string
		want  string
	}{
		{[]string{"/a", "/b ro"}, ""},
		{[]string{"/a ro", "/a/b"}, ""},
		{[]string{"/a ro", "/a/b ro"}, ""},
		{[]string{"/a", "/a/b ro"}, "/a>/a/b"},
		{[]string{"/", "/a/b ro"}, "/>/a/b"},
		{[]string{"/a", "/a/b ro", "/a/b/c", "/a/b/c/d ro"}, "/a>/a/b /a/b/c>/a/b/c/d /a>/a/b/c/d"},
	} {
		var got []string
		for _, x := range roots.NewSet(0, list(t, c.roots...)...).Conflicts() {
			got = append(got, x.Outer.Path()+">"+x.Inner.Path())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: conflicts %v, want %s", c.roots, got, c.want)
		}
	}
}

func TestFindDoesNotAllocate(t *testing.T) {
	set := manyRoots(t, 1000)
	paths := []string{"/srv/project-500/src/main.go", "/srv/elsewhere/f", "/"}
	if n := testing.AllocsPerRun(100, func() {
		for _, p := range paths {
			set.Find(p)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func manyRoots(t testing.TB, n int) roots.Set {
	var rs []roots.Root
	for i := range n {
		rs = append(rs, root(t, fmt.Sprintf("/srv/project-%d", i)))
	}
	return roots.NewSet(1, rs...)
}

func FuzzLocate(f *testing.F) {
	f.Add("/a", "/a/b", "/a/b/../c")
	f.Add("/", "/a ", "/../..//a /x")
	f.Add("/\xff", "/a/..", "/\xff/..\x00")
	f.Fuzz(func(t *testing.T, root1, root2, path string) {
		var rs []roots.Root
		for _, p := range []string{root1, root2} {
			if u, err := roots.FileURI(p); err == nil {
				rs = append(rs, roots.Root{URI: u})
			}
		}
		set := roots.NewSet(1, rs...)
		r, name, err := set.Locate(path)
		if err != nil {
			if set.Contains(path) {
				t.Fatalf("contains %q, but Locate says %v", path, err)
			}
			return
		}
		if !filepath.IsLocal(name) || filepath.Clean(name) != name {
			t.Fatalf("Locate(%q) gives the name %q below %q", path, name, r.Path())
		}
		if filepath.Join(r.Path(), name) != filepath.Clean(path) {
			t.Fatalf("Locate(%q) gives %q below %q, another path", path, name, r.Path())
		}
		if !r.Contains(path) {
			t.Fatalf("Locate(%q) gives the root %q, which does not contain it", path, r.Path())
		}
		for _, o := range set.All() {
			if o.Contains(path) && len(o.Path()) > len(r.Path()) {
				t.Fatalf("Locate(%q) gives %q, but %q is the innermost", path, r.Path(), o.Path())
			}
		}
	})
}

// The time of a look-up must not grow with the number of roots: compare roots=1 with roots=100000.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 100_000} {
		b.Run(fmt.Sprintf("roots=%d", n), func(b *testing.B) {
			set := manyRoots(b, n)
			paths := make([]string, 64)
			for i := range paths {
				paths[i] = fmt.Sprintf("/srv/project-%d/a/b/c/file.go", i*997%n)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, _, ok := set.Find(paths[i%len(paths)]); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}
