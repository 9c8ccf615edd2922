//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this is about them.

package mcpfs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/testtree"
)

// A write that began before its root was taken away must not land after it. The
// tools here take the root away between the snapshot and the write itself.
func TestChangeIsNotCommittedUnderAnOldList(t *testing.T) {
	dir := testtree.New(t, "a/f", "a/g", "b/f")
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	s, srv, err := newServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	client.AddRoots(&mcp.Root{URI: "file://" + a}, &mcp.Root{URI: "file://" + b})
	tries := 0
	for _, inner := range []tool{writeFile, moveFile} {
		outer := inner
		outer.name = "slow_" + inner.name
		outer.call = func(ctx context.Context, s *server, c *call) *mcp.CallToolResult {
			tries++
			if s.tracker.Current(c.session, c.list.Generation) && c.fs.Set().Contains(a) {
				client.RemoveRoots("file://" + a)
				for s.tracker.Current(c.session, c.list.Generation) {
					time.Sleep(time.Millisecond)
				}
			}
			return inner.call(ctx, s, c)
		}
		srv.AddTool(outer.describe(), s.handler(outer))
	}
	st, ct := mcp.NewInMemoryTransports()
	if _, err := srv.Connect(t.Context(), st, nil); err != nil {
		t.Fatal(err)
	}
	cs, err := client.Connect(t.Context(), ct, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()

	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"slow_write_file", map[string]any{"path": a + "/f", "content": "late"}, "outside_roots"},
		{"slow_move_file", map[string]any{"source": a + "/g", "destination": a + "/h"}, "outside_roots"},
		{"slow_write_file", map[string]any{"path": b + "/f", "content": "still granted"}, ""},
	} {
		client.AddRoots(&mcp.Root{URI: "file://" + a})
		tries = 0
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		if err != nil {
			t.Fatal(err)
		}
		code := ""
		if r, ok := res.Meta[RefusalKey].(map[string]any); ok {
			code, _ = r["code"].(string)
		}
		if code != c.want || tries != 2 {
			t.Errorf("%s %v: code %q after %d tries, want %q after 2", c.tool, c.args, code, tries, c.want)
		}
	}
	for name, want := range map[string]string{a + "/f": "a/f", a + "/g": "a/g", b + "/f": "still granted"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	for _, d := range []string{a, b} {
		entries, err := os.ReadDir(d)
		if err != nil || d == a && len(entries) != 2 || d == b && len(entries) != 1 {
			t.Errorf("%s holds %v, %v", d, entries, err)
		}
	}
}

func TestTooLong(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want bool
	}{
		{"a", 16 << 20, false},
		{"a", 20 << 20, false},
		{"a", 20<<20 + 1, true},
		{"\n", 10 << 20, false},
		{"\n", 10<<20 + 1, true},
		{"\x01", 3 << 20, false},
		{"\x01", 4 << 20, true},
	} {
		if got := tooLong(bytes.Repeat([]byte(c.text), c.n)); got != c.want {
			t.Errorf("%d times %q: %v", c.n, c.text, got)
		}
	}
}
