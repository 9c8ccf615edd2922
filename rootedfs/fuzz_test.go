package rootedfs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/testtree"
	"github.com/rootbound/rootbound/roots"
)

// FuzzCleanPath compares with path.Clean.
func FuzzCleanPath(f *testing.F) {
	for _, s := range []string{"/", "/a", "/a/", "/a//b", "/./a", "/a/..", "/..a", "/a/.b", "/...", "//", "a", "", "/a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean, dir, ok := cleanPath(s)
		if valid := strings.HasPrefix(s, "/") && !strings.Contains(s, "\x00"); ok != valid {
			t.Fatalf("cleanPath(%q) ok = %v", s, ok)
		}
		if !ok {
			return
		}
		if want := path.Clean(s); clean != want {
			t.Errorf("cleanPath(%q) = %q, want %q", s, clean, want)
		}
		last := s[strings.LastIndexByte(s, '/')+1:]
		if want := last == "." || last == ".." || last == "" && s != "/"; dir != want && s != "/" {
			t.Errorf("cleanPath(%q) dir = %v, want %v", s, dir, want)
		}
		if hasDots(s[1:]) != (path.Clean(s) != s) {
			t.Errorf("hasDots(%q) = %v", s[1:], hasDots(s[1:]))
		}
	})
}

// FuzzIndex compares with roots.Set.Find.
func FuzzIndex(f *testing.F) {
	f.Add("/a\n/a/b\n/ab\n/", "/a/b/c")
	f.Add("/a/b", "/a/bc")
	f.Add("", "/")
	f.Add("/projects/one\n/projects/two\n/projects/six\n/projects/two/below/it", "/projects/two/x")
	f.Add("/projects/one\n/projects/two", "/projects/six")
	same := ""
	for i := range 40 { // keys that end alike
		same += fmt.Sprintf("/%02d/the-same-end\n", i)
	}
	f.Add(same, "/17/the-same-end/x")
	f.Add(same, "/47/the-same-end/x")
	f.Fuzz(func(t *testing.T, list, request string) {
		if !strings.HasPrefix(request, "/") {
			return
		}
		request = path.Clean(request)
		var declared []roots.Root
		spellings := make(map[string]*root)
		for line := range strings.Lines(list) {
			uri, err := roots.FileURI(strings.TrimSuffix(line, "\n"))
			if err != nil {
				continue
			}
			declared = append(declared, roots.Root{URI: uri})
			spellings[uri.Path()] = &root{Root: roots.Root{URI: uri}}
		}
		set := roots.NewSet(0, declared...)
		x := newIndex(spellings)
		r, name := x.find(request)
		i, want, ok := set.Find(request)
		if ok != (r != nil) || ok && (r.Path() != set.At(i).Path() || name != want) {
			t.Errorf("find(%q) among %q = %v, %q; Find says %v, %q", request, list, r, name, ok, want)
		}
	})
}

// FuzzRead asks for any path in a tree full of links: both resolvers give the same
// answer, which is never something from outside.
func FuzzRead(f *testing.F) {
	dir, err := filepath.EvalSymlinks(testtree.New(f,
		"secret", "out/secret", "a/f", "a/d/g", "a/d/up -> ..", "a/o -> ../out", "a/s -> $DIR/secret", "a/b -> ../b", "a/abs -> $DIR/b/h",
		"a/n -> none", "a/l -> l", "a/t -> /", "a/me -> ../a/d/.", "b/h", "b/a -> $DIR/a/me", "b/p -> d/../../a"))
	if err != nil {
		f.Fatal(err)
	}
	set := roots.NewSet(1)
	for _, name := range []string{"a", "b"} {
		uri, _ := roots.FileURI(dir + "/" + name)
		set = roots.NewSet(1, append(slicesOf(set), roots.Root{URI: uri})...)
	}
	fast, err := Open(set, nil)
	if err != nil {
		f.Skip(err)
	}
	slow, _ := Open(set, &Options{NoOpenat2: true})
	for _, s := range []string{"a/f", "a/b/a/up/f", "a/o/secret", "a/me/../s", "b/a/../f", "a/t/etc/passwd", "a/d/up/d/up/abs", "b/p/f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, path := range []string{dir + "/" + name, name, dir + "/a/" + name} {
			got, err := fast.ReadFile(path, 1<<20)
			slowGot, slowErr := slow.ReadFile(path, 1<<20)
			if KindOf(err) != KindOf(slowErr) || string(got) != string(slowGot) {
				t.Errorf("%q: %q, %v; without openat2 %q, %v", path, got, err, slowGot, slowErr)
			}
			if err == nil && !strings.HasPrefix(string(got), "a/") && !strings.HasPrefix(string(got), "b/") {
				t.Errorf("%q: escaped to %q", path, got)
			}
			if err == nil {
				if want, err := os.ReadFile(filepath.Clean(path)); err != nil || string(want) != string(got) {
					t.Errorf("%q: %q, but os reads %q, %v", path, got, want, err)
				}
			}
		}
	})
}

func slicesOf(set roots.Set) (rs []roots.Root) {
	for _, r := range set.All() {
		rs = append(rs, r)
	}
	return rs
}
