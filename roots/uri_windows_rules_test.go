package roots

import (
	"encoding/json"
	"testing"

	"github.com/rootbound/rootbound/vectors"
)

// The rules of Windows are pure functions; their cases run on every system.
func TestParseURIOfWindows(t *testing.T) {
	data, err := vectors.FS.ReadFile("uri-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID, OS, URI string
			URIBack     string `json:"uri_back"`
			Want        struct{ Path, Error string }
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range file.Cases {
		if c.OS != "windows" {
			continue
		}
		n++
		path, class := parseURI(c.URI, true)
		if path != c.Want.Path || string(class) != c.Want.Error {
			t.Errorf("%s: %q is %q, class %q; want %q, class %q", c.ID, c.URI, path, class, c.Want.Path, c.Want.Error)
			continue
		}
		if class == "" {
			if back := formatURI(path, true); back != c.URIBack {
				t.Errorf("%s: %q is written %q, want %q", c.ID, path, back, c.URIBack)
			}
		}
	}
	if n == 0 {
		t.Fatal("no cases")
	}
}

func FuzzParseURIOfWindows(f *testing.F) {
	f.Add("file:///c:/x")
	f.Add("file://server/share/d")
	f.Fuzz(func(t *testing.T, text string) {
		path, class := parseURI(text, true)
		if class != "" {
			return
		}
		again, class := parseURI(formatURI(path, true), true)
		if class != "" || again != path {
			t.Fatalf("%q is %q, written %q, which is %q (%s)", text, path, formatURI(path, true), again, class)
		}
	})
}
