package roots_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"github.com/rootbound/rootbound/roots"
	"github.com/rootbound/rootbound/vectors"
)

type uriCase struct {
	ID, OS, URI, Why string
	URIBack          string `json:"uri_back"`
	Want             struct {
		Path    *string
		PathB64 string `json:"path_b64"`
		Error   string
	}
}

func (c uriCase) path(t *testing.T) string {
	if c.Want.Path != nil {
		return *c.Want.Path
	}
	b, err := base64.StdEncoding.DecodeString(c.Want.PathB64)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func uriCases(t testing.TB, system string) []uriCase {
	t.Helper()
	data, err := vectors.FS.ReadFile("uri-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []uriCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var found []uriCase
	for _, c := range file.Cases {
		if c.OS == system {
			found = append(found, c)
		}
	}
	if len(found) < 40 {
		t.Fatalf("only %d cases for %s", len(found), system)
	}
	return found
}

func TestParseURI(t *testing.T) {
	system := "posix"
	if runtime.GOOS == "windows" {
		system = "windows"
	}
	for _, c := range uriCases(t, system) {
		t.Run(c.ID, func(t *testing.T) {
			u, err := roots.ParseURI(c.URI)
			if c.Want.Error != "" {
				var e *roots.URIError
				if !errors.As(err, &e) || string(e.Class) != c.Want.Error || e.URI != c.URI {
					t.Fatalf("ParseURI(%q) = %q, %v; want a URIError of class %s (%s)", c.URI, u.Path(), err, c.Want.Error, c.Why)
				}
				if e.Error() == "" || !u.IsZero() {
					t.Errorf("ParseURI(%q) failed with URI %v and reason %q", c.URI, u, e.Error())
				}
				return
			}
			if err != nil || u.Path() != c.path(t) {
				t.Fatalf("ParseURI(%q) = %q, %v; want %q (%s)", c.URI, u.Path(), err, c.path(t), c.Why)
			}
			if u.String() != c.URIBack {
				t.Errorf("ParseURI(%q).String() = %q; want %q", c.URI, u, c.URIBack)
			}
		})
	}
}

func TestFileURI(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of POSIX systems")
	}
	for _, c := range uriCases(t, "posix") {
		if c.Want.Error != "" {
			continue
		}
		u, err := roots.FileURI(c.path(t))
		if err != nil || u.String() != c.URIBack {
			t.Errorf("%s: FileURI(%q) = %v, %v; want %s", c.ID, c.path(t), u, err, c.URIBack)
		}
	}
	for path, class := range map[string]roots.URIClass{
		"":        roots.ClassNoPath,
		"a/b":     roots.ClassNoPath,
		"~/a":     roots.ClassNoPath,
		"/a\x00b": roots.ClassNUL,
	} {
		var e *roots.URIError
		if _, err := roots.FileURI(path); !errors.As(err, &e) || e.Class != class {
			t.Errorf("FileURI(%q): %v; want class %s", path, err, class)
		}
	}
}

func TestURIText(t *testing.T) {
	var got struct{ U roots.URI }
	if err := json.Unmarshal([]byte(`{"U":"file:///a%20b"}`), &got); err != nil || got.U.Path() != "/a b" {
		t.Errorf("unmarshalled %v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"U":"file:///a%2Fb"}`), &got); err == nil {
		t.Errorf("unmarshalled a URI with an encoded separator to %v", got)
	}
	got.U, _ = roots.ParseURI("file:///a b")
	if b, err := json.Marshal(got); err != nil || string(b) != `{"U":"file:///a%20b"}` {
		t.Errorf("marshalled %s, %v", b, err)
	}
}

func TestHasDotSegments(t *testing.T) {
	for uri, want := range map[string]bool{
		"file:///a/b":        false,
		"file:///a/..b/c..":  false,
		"file:///a/.../b":    false,
		"file:///a/../b":     true,
		"file:///a/./b":      true,
		"file:///a/.":        true,
		"file:///a/%2e%2E/b": true,
		"file:///a/.%2e":     true,
		"file:///a/%252e":    false,
		"file:/..":           true,
	} {
		if got := roots.HasDotSegments(uri); got != want {
			t.Errorf("HasDotSegments(%q) = %v", uri, got)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	for _, system := range []string{"posix", "windows"} {
		for _, c := range uriCases(f, system) {
			f.Add(c.URI)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := roots.ParseURI(text)
		if err != nil {
			return
		}
		again, err := roots.ParseURI(u.String())
		if err != nil || again != u {
			t.Fatalf("%q: parsed again, %q is %q (%v), not %q", text, u, again.Path(), err, u.Path())
		}
		if back, err := roots.FileURI(u.Path()); err != nil || back != u {
			t.Fatalf("%q: FileURI(%q) = %q, %v", text, u.Path(), back, err)
		}
	})
}
