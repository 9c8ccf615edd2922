//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this is about them.

package mcpfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/testtree"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/roots"
)

func TestClientRootsAreFollowed(t *testing.T) {
	dir := testtree.New(t, "a/f", "b/f", "a/to-b -> ../b/f")
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	client, cs := connect(t, nil, "file://"+a)
	read := func(path, want string) {
		t.Helper()
		if r := callTool(t, cs, "read_text_file", args("path", path)); code(r) != want {
			t.Errorf("%s: code %q, want %q: %s", path, code(r), want, r.text)
		}
	}
	read(a+"/f", "")
	read(b+"/f", "outside_roots")
	read(a+"/to-b", "outside_roots")
	client.AddRoots(&mcp.Root{URI: "file://" + b, Name: "b"})
	read(b+"/f", "")
	read(a+"/to-b", "")
	client.RemoveRoots("file://" + a)
	read(a+"/f", "outside_roots")
	read(b+"/f", "")
	client.RemoveRoots("file://" + b)
	read(b+"/f", "no_roots")
	client.AddRoots(&mcp.Root{URI: "https://example.com/"})
	read(b+"/f", "no_roots")
	client.AddRoots(&mcp.Root{URI: "file://" + a})
	read(a+"/f", "")
}

// A client's word alone does not open the machine.
func TestSensitiveClientRoots(t *testing.T) {
	dir := testtree.New(t, "a/f")
	o := &mcpfs.Options{Guard: func(r roots.Root) string { return roots.Sensitive(r.Path(), "/home/ann") }}
	_, cs := connect(t, o, "file:///", "file:///home/ann", "file://"+dir+"/a")
	if r := callTool(t, cs, "list_directory", args("path", "/")); code(r) != "outside_roots" {
		t.Errorf("code %q: %s", code(r), r.text)
	}
	if r := callTool(t, cs, "read_text_file", args("path", dir+"/a/f")); r.isError {
		t.Error(r.text)
	}
	r := callTool(t, cs, "list_allowed_directories", args())
	for _, want := range []string{"Allowed directories:\n" + dir + "/a\n", `"file:///" is not used as stated: it is the whole file system; only the operator can grant it`} {
		if !strings.Contains(r.text, want) {
			t.Errorf("%q is not in\n%s", want, r.text)
		}
	}
}

func TestListAllowedDirectories(t *testing.T) {
	dir := testtree.New(t, "a/", "b/", "file")
	_, cs := connect(t, &mcpfs.Options{Given: given(t, dir+"/a", dir+"/b", dir+"/file")})
	// With nothing out of the ordinary the text is the reference server's.
	if r, want := callTool(t, cs, "list_allowed_directories", args()), "Allowed directories:\n"+dir+"/a\n"+dir+"/b\n"+dir+"/file"; r.text != want {
		t.Errorf("got %q, want %q", r.text, want)
	}
	g := given(t, dir+"/a", dir+"/missing")
	g.Roots[0].Mode = roots.ReadOnly
	_, cs = connect(t, &mcpfs.Options{Given: g})
	r := callTool(t, cs, "list_allowed_directories", args())
	for _, want := range []string{dir + "/a is read-only", dir + "/missing is unavailable: "} {
		if !strings.Contains(r.text, want) {
			t.Errorf("%q is not in\n%s", want, r.text)
		}
	}
	if r := callTool(t, cs, "read_text_file", args("path", dir+"/missing/f")); code(r) != "root_unavailable" {
		t.Errorf("in a missing root: %s", r.text)
	}
	if err := os.Mkdir(dir+"/missing", 0o777); err != nil {
		t.Fatal(err)
	}
	if r := callTool(t, cs, "list_directory", args("path", dir+"/missing")); r.isError {
		t.Errorf("a root that has appeared: %s", r.text)
	}
}

func TestNothingGivenMeansNothing(t *testing.T) {
	_, cs := connect(t, &mcpfs.Options{Given: roots.Given{Stated: true}})
	if r := callTool(t, cs, "list_directory", args("path", "/")); code(r) != "no_roots" || len(r.refusal.Roots) != 0 {
		t.Errorf("an empty list from the operator: %s", r.text)
	}
}

func TestRefusalListsAtMostTwentyRoots(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 33 {
		p := fmt.Sprintf("%s/r%02d", dir, i)
		if err := os.Mkdir(p, 0o777); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	_, cs := connect(t, &mcpfs.Options{Given: given(t, paths...)})
	r := callTool(t, cs, "read_text_file", args("path", "/etc/passwd"))
	if len(r.refusal.Roots) != 20 || r.refusal.MoreRoots != 13 || !strings.Contains(r.text, "and 13 more") {
		t.Errorf("%d roots, %d more: %s", len(r.refusal.Roots), r.refusal.MoreRoots, r.text)
	}
	// With several roots a relative path means none of them.
	r = callTool(t, cs, "read_text_file", args("path", "f"))
	if code(r) != "invalid_path" || !strings.Contains(r.text, dir+"/r00/f") {
		t.Errorf("a relative path under many roots: %s", r.text)
	}
}

func TestReadOnlyInsideWritableIsRefused(t *testing.T) {
	dir := testtree.New(t, "a/b/", "link -> a/b")
	for _, inner := range []string{dir + "/a/b", dir + "/link"} {
		g := given(t, dir+"/a")
		g.Roots = append(g.Roots, flagRoot(t, inner, roots.ReadOnly))
		if _, err := mcpfs.New(&mcpfs.Options{Given: g}); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s read-only inside of %s: %v", inner, dir+"/a", err)
		}
	}
}

func TestToolsAreTheReferences(t *testing.T) {
	_, cs := connect(t, nil)
	res, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range res.Tools {
		in := tool.InputSchema.(map[string]any)
		out := tool.OutputSchema.(map[string]any)
		props, _ := in["properties"].(map[string]any)
		required := fmt.Sprint(in["required"])
		got = append(got, fmt.Sprintf("%s %q %v %s ro=%v", tool.Name, tool.Title, len(props), required, tool.Annotations.ReadOnlyHint))
		if in["type"] != "object" || in["additionalProperties"] != nil || fmt.Sprint(out["required"]) != "[content]" || out["additionalProperties"] != false {
			t.Errorf("%s: schemas %v and %v", tool.Name, in, out)
		}
		if tool.Annotations.OpenWorldHint == nil || *tool.Annotations.OpenWorldHint {
			t.Errorf("%s: open world", tool.Name)
		}
	}
	want := []string{
		`list_allowed_directories "List Allowed Directories" 0 <nil> ro=true`,
		`list_directory "List Directory" 2 [path] ro=true`,
		`move_file "Move File" 2 [source destination] ro=false`,
		`read_text_file "Read Text File" 3 [path] ro=true`,
		`write_file "Write File" 2 [path content] ro=false`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOtherFamiliesAreNotOffered(t *testing.T) {
	_, cs := connect(t, nil)
	if _, err := cs.ListPrompts(t.Context(), nil); err == nil {
		t.Error("prompts/list is answered")
	}
	if _, err := cs.ListResources(t.Context(), nil); err == nil {
		t.Error("resources/list is answered")
	}
	if caps := cs.InitializeResult().Capabilities; caps.Logging != nil || caps.Prompts != nil || caps.Tools == nil {
		t.Errorf("capabilities %+v", caps)
	}
}

// A client's root that is spelt through a link is where the link leads.
func TestLinkGrantsNothing(t *testing.T) {
	guard := func(r roots.Root) string { return roots.Sensitive(r.Path(), "/home/ann") }
	for _, c := range []struct {
		name       string
		policy     roots.Policy
		given, ro  []string
		client     []string
		read       map[string]string // path → code
		write      map[string]string
		notGranted string
	}{
		{
			name: "out of the ceiling", policy: roots.Narrow, given: []string{"app"},
			client:     []string{"app/out", "app/sub"},
			read:       map[string]string{"app/out/f": "outside_roots", "out/f": "outside_roots", "app/sub/f": ""},
			notGranted: "app/out",
		},
		{
			name: "a file out of the ceiling", policy: roots.Narrow, given: []string{"app"},
			client: []string{"app/file"},
			read:   map[string]string{"app/file": "outside_roots", "out/f": "outside_roots"},
		},
		{
			name: "the ceiling's real name", policy: roots.Narrow, given: []string{"link"},
			client: []string{"app/sub"},
			read:   map[string]string{"app/sub/f": "", "app/f": "outside_roots"},
		},
		{
			name: "to the whole system", client: []string{"top", "app"},
			read: map[string]string{"top/etc/passwd": "outside_roots", "app/f": ""},
		},
		{
			name: "into a read-only root", policy: roots.Add, ro: []string{"app"},
			client: []string{"link/sub"},
			read:   map[string]string{"link/sub/f": ""},
			write:  map[string]string{"link/sub/f": "read_only", "app/sub/f": "read_only"},
		},
		{
			name: "a read-only root that is one", policy: roots.Add, ro: []string{"link"},
			client: []string{"app/sub"},
			write:  map[string]string{"app/sub/f": "read_only", "link/sub/f": "read_only"},
		},
		{
			name: "replaced, but read-only", policy: roots.Replace, given: []string{"out"}, ro: []string{"app"},
			client: []string{"app/sub"},
			write:  map[string]string{"app/sub/f": "read_only", "out/f": "outside_roots"},
		},
		{
			name: "replaced by what holds it", policy: roots.Replace, ro: []string{"app/sub"},
			client: []string{"app"},
			write:  map[string]string{"app/sub/f": "read_only", "app/f": "read_only"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := testtree.New(t, "app/f", "app/sub/f", "app/out -> ../out", "app/file -> ../out/f", "out/f", "link -> app", "top -> /")
			g := roots.Given{}
			for _, p := range c.given {
				g.Roots = append(g.Roots, flagRoot(t, dir+"/"+p, roots.ReadWrite))
			}
			for _, p := range c.ro {
				g.Roots = append(g.Roots, flagRoot(t, dir+"/"+p, roots.ReadOnly))
			}
			var uris []string
			for _, p := range c.client {
				uris = append(uris, "file://"+dir+"/"+p)
			}
			_, cs := connect(t, &mcpfs.Options{Given: g, Policy: c.policy, Guard: guard}, uris...)
			for path, want := range c.read {
				r := callTool(t, cs, "read_text_file", args("path", dir+"/"+path))
				if got := code(r); got != want && !(want == "outside_roots" && got == "no_roots") {
					t.Errorf("read %s: code %q, want %q: %s", path, got, want, r.text)
				}
			}
			for path, want := range c.write {
				if r := callTool(t, cs, "write_file", args("path", dir+"/"+path, "content", "x")); code(r) != want {
					t.Errorf("write %s: code %q, want %q: %s", path, code(r), want, r.text)
				}
			}
			if r := callTool(t, cs, "list_allowed_directories", args()); c.notGranted != "" &&
				!strings.Contains(r.text, `"file://`+dir+"/"+c.notGranted+`" is not used as stated`) {
				t.Errorf("not a word on %s: %s", c.notGranted, r.text)
			}
		})
	}
}
