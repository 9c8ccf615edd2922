//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this is about them.

package mcpfs_test

import (
	"context"
	"encoding/json"
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

func flagRoot(t testing.TB, path string, mode roots.Mode) roots.Root {
	t.Helper()
	u, err := roots.FileURI(path)
	if err != nil {
		t.Fatal(err)
	}
	return roots.Root{URI: u, Mode: mode, Source: roots.FromFlag}
}

func given(t testing.TB, paths ...string) roots.Given {
	g := roots.Given{Stated: true}
	for _, p := range paths {
		g.Roots = append(g.Roots, flagRoot(t, p, roots.ReadWrite))
	}
	return g
}

// connect starts a server and a client of the SDK that talk in memory.
func connect(t testing.TB, o *mcpfs.Options, clientRoots ...string) (*mcp.Client, *mcp.ClientSession) {
	t.Helper()
	srv, err := mcpfs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	st, ct := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	ss, err := srv.Connect(ctx, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for _, r := range clientRoots {
		client.AddRoots(&mcp.Root{URI: r})
	}
	cs, err := client.Connect(ctx, ct, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		ss.Wait()
		cancel()
	})
	return client, cs
}

type result struct {
	text    string
	refusal *mcpfs.Refusal
	isError bool
	raw     *mcp.CallToolResult
}

func callTool(t testing.TB, cs *mcp.ClientSession, tool string, args map[string]any) result {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	r := result{isError: res.IsError, raw: res}
	if len(res.Content) != 1 {
		t.Fatalf("%s %v: %d content blocks", tool, args, len(res.Content))
	}
	r.text = res.Content[0].(*mcp.TextContent).Text
	if m, ok := res.Meta[mcpfs.RefusalKey]; ok {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &r.refusal); err != nil {
			t.Fatal(err)
		}
	}
	if structured, ok := res.StructuredContent.(map[string]any); res.IsError == ok || ok && structured["content"] != r.text {
		t.Errorf("%s %v: isError %v, structured content %v", tool, args, res.IsError, res.StructuredContent)
	}
	return r
}

func args(kv ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	return m
}

func TestReadTextFile(t *testing.T) {
	dir := testtree.New(t, "app/", "secret")
	for name, content := range map[string]string{
		"three":   "1\n2\n3\n",
		"open":    "1\n2\n3",
		"crlf":    "1\r\n2\r\n3\r\n",
		"blank":   "\n\n",
		"empty":   "",
		"bom":     "\ufeffx",
		"latin1":  "caf\xe9",
		"binary":  "a\x00\xff\xfe",
		"lines":   strings.Repeat("a line of some length\n", 10_000),
		"oneline": strings.Repeat("x", 200_000) + "\nlast",
		"control": "\x1b[31m\u202e",
	} {
		if err := os.WriteFile(filepath.Join(dir, "app", name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, cs := connect(t, &mcpfs.Options{Given: given(t, filepath.Join(dir, "app")), MaxRead: 1 << 20})
	for _, c := range []struct {
		name       string
		file       string
		head, tail any
		want, code string
	}{
		{name: "whole", file: "three", want: "1\n2\n3\n"},
		{name: "crlf is kept", file: "crlf", want: "1\r\n2\r\n3\r\n"},
		{name: "empty", file: "empty", want: ""},
		{name: "byte order mark is kept", file: "bom", want: "\ufeffx"},
		{name: "control characters of the content are kept", file: "control", want: "\x1b[31m\u202e"},
		{name: "head", file: "three", head: 2, want: "1\n2"},
		{name: "head beyond the end", file: "three", head: 9, want: "1\n2\n3"},
		{name: "head beyond any file", file: "three", head: 1e308, want: "1\n2\n3"},
		{name: "head of an open end", file: "open", head: 3, want: "1\n2\n3"},
		{name: "head of nothing", file: "empty", head: 3, want: ""},
		{name: "head 0 is not given", file: "three", head: 0, want: "1\n2\n3\n"},
		{name: "tail", file: "three", tail: 1, want: "3"},
		{name: "tail 2", file: "three", tail: 2, want: "2\n3"},
		{name: "tail beyond the start", file: "three", tail: 9, want: "1\n2\n3"},
		{name: "tail of an open end", file: "open", tail: 2, want: "2\n3"},
		{name: "tail of crlf", file: "crlf", tail: 1, want: "3\r"},
		{name: "tail of blank lines", file: "blank", tail: 1, want: ""},
		{name: "tail of nothing", file: "empty", tail: 3, want: ""},
		{name: "tail over blocks", file: "lines", tail: 5000, want: strings.TrimSuffix(strings.Repeat("a line of some length\n", 5000), "\n")},
		{name: "tail over a long line", file: "oneline", tail: 2, want: strings.Repeat("x", 200_000) + "\nlast"},
		{name: "head and tail 0", file: "three", head: 1, tail: 0, want: "1"},
		{name: "both", file: "three", head: 1, tail: 1, code: "arguments"},
		{name: "negative", file: "three", head: -1, code: "arguments"},
		{name: "fraction", file: "three", tail: 1.5, code: "arguments"},
		{name: "text for a number", file: "three", tail: "1", code: "arguments"},
		{name: "latin-1", file: "latin1", code: "not_text"},
		{name: "binary", file: "binary", code: "not_text"},
		{name: "missing", file: "none", code: "not_found"},
		{name: "directory", file: ".", code: "is_a_directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := args("path", filepath.Join(dir, "app")+"/"+c.file)
			if c.head != nil {
				a["head"] = c.head
			}
			if c.tail != nil {
				a["tail"] = c.tail
			}
			r := callTool(t, cs, "read_text_file", a)
			switch {
			case c.code == "arguments":
				if !r.isError || !strings.HasPrefix(r.text, "invalid arguments for read_text_file: ") {
					t.Errorf("got %q", r.text)
				}
			case c.code != "":
				if r.refusal == nil || r.refusal.Code != c.code {
					t.Errorf("got %q, want the code %s", r.text, c.code)
				}
			case r.isError || r.text != c.want:
				t.Errorf("got %.100q (error %v), want %.100q", r.text, r.isError, c.want)
			}
		})
	}
}

func TestReadBound(t *testing.T) {
	dir := testtree.New(t, "app/")
	name := filepath.Join(dir, "app", "f")
	if err := os.WriteFile(name, []byte(strings.Repeat("0123456789\n", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	_, cs := connect(t, &mcpfs.Options{Given: given(t, filepath.Join(dir, "app")), MaxRead: 1099})
	for _, a := range []map[string]any{args("path", name), args("path", name, "head", 200), args("path", name, "tail", 200)} {
		r := callTool(t, cs, "read_text_file", a)
		want := "too_large"
		if len(a) == 2 {
			want = "" // without the last line ending it fits
		}
		if got := code(r); got != want {
			t.Errorf("%v: code %q, want %q: %s", a, got, want, r.text)
		}
	}
	if r := callTool(t, cs, "read_text_file", args("path", name, "head", 5)); r.isError || !strings.Contains(callTool(t, cs, "read_text_file", args("path", name)).refusal.Next, "head") {
		t.Errorf("a part of a file that is too large: %q", r.text)
	}
}

func code(r result) string {
	if r.refusal == nil {
		return ""
	}
	return r.refusal.Code
}

func TestRefusalIsForAModelAndAProgram(t *testing.T) {
	dir := testtree.New(t, "app/f", "app/out -> ../secret", "app/gone -> ../missing", "secret", "app/sub/")
	app := filepath.Join(dir, "app")
	_, cs := connect(t, &mcpfs.Options{Given: given(t, app)})
	for _, c := range []struct {
		name, tool, path, code string
	}{
		{"outside", "read_text_file", dir + "/secret", "outside_roots"},
		{"outside and missing", "read_text_file", dir + "/missing", "outside_roots"},
		{"by dot dot", "read_text_file", app + "/../secret", "outside_roots"},
		{"by link", "read_text_file", app + "/out", "outside_roots"},
		{"by dangling link", "read_text_file", app + "/gone", "outside_roots"},
		{"list the parent", "list_directory", dir, "outside_roots"},
		{"list the top", "list_directory", "/", "outside_roots"},
		{"a name that shares a prefix", "read_text_file", app + "lication/f", "outside_roots"},
		{"by URI", "read_text_file", "file://" + dir + "/secret", "outside_roots"},
		{"by encoded URI", "read_text_file", "file://" + app + "/%2e%2e/secret", "outside_roots"},
		{"bad URI", "read_text_file", "file://" + app + "/a%2Fb", "invalid_path"},
		{"other host", "read_text_file", "file://host" + app + "/f", "invalid_path"},
		{"empty", "read_text_file", "", "invalid_path"},
		{"NUL", "read_text_file", app + "/f\x00", "invalid_path"},
		{"tilde", "read_text_file", "~/f", "not_found"},
		{"not trimmed", "read_text_file", app + "/f ", "not_found"},
		{"not decoded", "read_text_file", app + "/%66", "not_found"},
		{"bidirectional", "read_text_file", "/\u202etxt\x1b[31m\n" + strings.Repeat("x", 999), "outside_roots"},
		{"a file as directory", "list_directory", app + "/f", "not_a_directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := callTool(t, cs, c.tool, args("path", c.path))
			if !r.isError || code(r) != c.code {
				t.Fatalf("%s(%q): code %q, want %q: %s", c.tool, c.path, code(r), c.code, r.text)
			}
			f := r.refusal
			if f.Argument != "/path" || f.Reason == "" || f.Next == "" || f.Requested == "" || len(f.Roots) != 1 || f.Roots[0].Mode != "rw" {
				t.Errorf("an incomplete refusal: %+v", f)
			}
			for _, part := range []string{f.Requested, f.Reason, f.Code, app, f.Next} {
				if !strings.Contains(r.text, part) {
					t.Errorf("the text does not say %s: %s", part, r.text)
				}
			}
			if len(r.text) > 2000 || strings.ContainsAny(r.text, "\x1b\u202e\n") {
				t.Errorf("raw or long text: %q", r.text)
			}
			if c.code == "outside_roots" && !strings.Contains(c.path, "secret") && strings.Contains(r.text, "secret") {
				t.Errorf("the refusal tells where the link leads: %s", r.text)
			}
		})
	}
}

// What exists outside must be answered exactly like what does not.
func TestOutsideIsNoOracle(t *testing.T) {
	dir := testtree.New(t,
		"app/f", "app/l-file -> ../secret", "app/l-none -> ../nothing", "app/l-dir -> ../d", "app/l-abs -> $DIR/secret", "app/l-absx -> $DIR/nothin",
		"secret", "d/secret")
	app := filepath.Join(dir, "app")
	_, cs := connect(t, &mcpfs.Options{Given: given(t, app)})
	pairs := [][2]string{
		{dir + "/secret", dir + "/nothin"},
		{dir + "/d/secret", dir + "/x/secret"},
		{app + "/l-file", app + "/l-none"},
		{app + "/l-dir/secret", app + "/l-dir/nothin"},
		{app + "/l-file/x", app + "/l-none/x"},
		{app + "/l-abs", app + "/l-absx"},
	}
	for _, call := range []struct {
		tool string
		args func(path string) map[string]any
	}{
		{"read_text_file", func(p string) map[string]any { return args("path", p) }},
		{"list_directory", func(p string) map[string]any { return args("path", p) }},
		{"write_file", func(p string) map[string]any { return args("path", p, "content", "x") }},
		{"move_file", func(p string) map[string]any { return args("source", p+"/x", "destination", app+"/y") }},
		{"move_file", func(p string) map[string]any { return args("source", app+"/f", "destination", p+"/x") }},
	} {
		for _, p := range pairs {
			var got [2]string
			for i, path := range p {
				r := callTool(t, cs, call.tool, call.args(path))
				if code(r) != "outside_roots" {
					t.Errorf("%s %s: code %q: %s", call.tool, path, code(r), r.text)
				}
				b, err := json.Marshal(r.raw)
				if err != nil {
					t.Fatal(err)
				}
				got[i] = strings.ReplaceAll(string(b), path, "PATH")
			}
			if got[0] != got[1] {
				t.Errorf("%s tells %s from %s:\n%s\n%s", call.tool, p[0], p[1], got[0], got[1])
			}
		}
	}
}

func TestListDirectory(t *testing.T) {
	dir := testtree.New(t, "app/b", "app/a/", "app/.hidden", "app/link -> a", "app/é", "app/Z", "app/10", "app/9")
	app := filepath.Join(dir, "app")
	for _, name := range []string{"x\n[DIR] forged", "\xff", "esc\x1b[0m", "bidi\u202e"} {
		if err := os.WriteFile(filepath.Join(app, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, cs := connect(t, &mcpfs.Options{Given: given(t, app)})
	base := "file://" + app + "/"
	want := strings.Join([]string{
		"[FILE] .hidden", "[FILE] 10", "[FILE] 9", "[FILE] Z", "[DIR] a", "[FILE] b", "[FILE] " + base + "bidi%E2%80%AE",
		"[FILE] " + base + "esc%1B%5B0m", "[FILE] link", "[FILE] " + base + "x%0A%5BDIR%5D%20forged", "[FILE] é", "[FILE] " + base + "%FF",
	}, "\n")
	if r := callTool(t, cs, "list_directory", args("path", app)); r.text != want {
		t.Errorf("got\n%s\nwant\n%s", r.text, want)
	}
	// Each spelling of the listing is a path that the tools take.
	for _, uri := range []string{base + "x%0A%5BDIR%5D%20forged", base + "%FF"} {
		if r := callTool(t, cs, "read_text_file", args("path", uri)); r.isError {
			t.Errorf("%s cannot be read: %s", uri, r.text)
		}
	}
	if r := callTool(t, cs, "list_directory", args("path", app+"/a")); r.text != "" || r.isError {
		t.Errorf("an empty directory is %q", r.text)
	}
}

func TestListDirectoryPages(t *testing.T) {
	dir := testtree.New(t, "app/")
	app := filepath.Join(dir, "app")
	const n = 107
	for i := range n {
		if err := os.WriteFile(filepath.Join(app, fmt.Sprintf("f%03d", i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, cs := connect(t, &mcpfs.Options{Given: given(t, app), MaxEntries: 10})
	var all []string
	after := ""
	for pages := 0; ; pages++ {
		r := callTool(t, cs, "list_directory", args("path", app, "after", after))
		lines := strings.Split(r.text, "\n")
		last := lines[len(lines)-1]
		if !strings.HasPrefix(last, "[MORE] ") {
			all = append(all, lines...)
			break
		}
		if want := fmt.Sprintf("[MORE] %d entries more", n-10*(pages+1)); !strings.HasPrefix(last, want) {
			t.Fatalf("page %d ends with %q, want %q", pages, last, want)
		}
		lines = lines[:len(lines)-1]
		if len(lines) != 10 {
			t.Fatalf("page %d has %d entries", pages, len(lines))
		}
		all = append(all, lines...)
		after = strings.TrimPrefix(lines[9], "[FILE] ")
	}
	if len(all) != n || all[0] != "[FILE] f000" || all[n-1] != "[FILE] f106" {
		t.Errorf("%d entries over all pages, %s to %s", len(all), all[0], all[len(all)-1])
	}
}

func TestWriteAndMove(t *testing.T) {
	dir := testtree.New(t, "app/f", "app/sub/", "app/link -> f", "app/out -> ../secret", "lib/", "ref/r", "secret")
	app, lib, ref := filepath.Join(dir, "app"), filepath.Join(dir, "lib"), filepath.Join(dir, "ref")
	g := given(t, app, lib)
	g.Roots = append(g.Roots, flagRoot(t, ref, roots.ReadOnly))
	_, cs := connect(t, &mcpfs.Options{Given: g})
	for _, c := range []struct {
		name, tool string
		args       map[string]any
		code, text string
	}{
		{"new file", "write_file", args("path", app+"/new", "content", "one"), "", "Successfully wrote to " + app + "/new"},
		{"replace", "write_file", args("path", app+"/new", "content", "two"), "", "Successfully wrote to " + app + "/new"},
		{"no directory", "write_file", args("path", app+"/no/new", "content", ""), "not_found", ""},
		{"a directory", "write_file", args("path", app+"/sub", "content", ""), "is_a_directory", ""},
		{"read-only", "write_file", args("path", ref+"/new", "content", ""), "read_only", ""},
		{"read-only, existing", "write_file", args("path", ref+"/r", "content", ""), "read_only", ""},
		{"outside", "write_file", args("path", dir+"/new", "content", ""), "outside_roots", ""},
		{"through a link that leaves", "write_file", args("path", app+"/out", "content", ""), "outside_roots", ""},
		{"move", "move_file", args("source", app+"/new", "destination", app+"/sub/new"), "", "Successfully moved " + app + "/new to " + app + "/sub/new"},
		{"move to another root", "move_file", args("source", app+"/sub/new", "destination", lib+"/new"), "", "Successfully moved " + app + "/sub/new to " + lib + "/new"},
		{"move onto something", "move_file", args("source", lib+"/new", "destination", app+"/f"), "exists", ""},
		{"move nothing", "move_file", args("source", app+"/none", "destination", app+"/g"), "not_found", ""},
		{"move a root", "move_file", args("source", lib, "destination", app+"/lib"), "permission_denied", ""},
		{"move out", "move_file", args("source", app+"/f", "destination", dir+"/f"), "outside_roots", ""},
		{"move in", "move_file", args("source", dir+"/secret", "destination", app+"/secret"), "outside_roots", ""},
		{"move from read-only", "move_file", args("source", ref+"/r", "destination", app+"/r"), "read_only", ""},
		{"move into read-only", "move_file", args("source", app+"/f", "destination", ref+"/f"), "read_only", ""},
		{"move a link", "move_file", args("source", app+"/out", "destination", app+"/moved"), "", "Successfully moved " + app + "/out to " + app + "/moved"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := callTool(t, cs, c.tool, c.args)
			if code(r) != c.code || c.code == "" && r.text != c.text {
				t.Errorf("code %q, want %q: %s", code(r), c.code, r.text)
			}
		})
	}
	if b, err := os.ReadFile(lib + "/new"); err != nil || string(b) != "two" {
		t.Errorf("what was written and moved is %q, %v", b, err)
	}
	if target, err := os.Readlink(app + "/moved"); err != nil || target != "../secret" {
		t.Errorf("the moved link leads to %q, %v", target, err)
	}
	if b, err := os.ReadFile(dir + "/secret"); err != nil || string(b) != "secret" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
	// The side at fault is named.
	if r := callTool(t, cs, "move_file", args("source", app+"/f", "destination", dir+"/f")); r.refusal.Argument != "/destination" {
		t.Errorf("the argument at fault is %q", r.refusal.Argument)
	}
}

func TestArguments(t *testing.T) {
	dir := testtree.New(t, "app/f")
	_, cs := connect(t, &mcpfs.Options{Given: given(t, filepath.Join(dir, "app"))})
	for _, c := range []struct {
		tool string
		args any
		want string
	}{
		{"read_text_file", args(), `"path" is required`},
		{"read_text_file", args("path", 5), `"/path" must be a string`},
		{"read_text_file", args("path", nil), `"path" is required`},
		{"read_text_file", args("path", []string{"a"}), `must be a string`},
		{"read_text_file", []int{1}, `one JSON object`},
		{"write_file", args("path", "f"), `"content" is required`},
		{"move_file", args("source", "f"), `"destination" is required`},
		{"read_text_file", json.RawMessage(`{"Path":"f"}`), `"path" is required`},
	} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		if err != nil {
			t.Errorf("%s %v: %v", c.tool, c.args, err)
			continue
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if !res.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: %q, want %q in it", c.tool, c.args, text, c.want)
		}
	}
	// Arguments that a tool does not know are ignored, as the reference server does.
	if r := callTool(t, cs, "read_text_file", args("path", "f", "colour", "blue")); r.isError {
		t.Errorf("an unknown argument: %s", r.text)
	}
}
