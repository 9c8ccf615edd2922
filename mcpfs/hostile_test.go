//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this is about them.

package mcpfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/testtree"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/roots"
)

// A root that is named again is looked for where it was: a link that has come into
// its place leads nowhere, whatever the list was in between.
func TestRootNamedAgainIsNoLink(t *testing.T) {
	for _, between := range []string{"the same list", "an empty list", "another list"} {
		t.Run(between, func(t *testing.T) {
			dir := testtree.New(t, "w/in/f", "p/in/f", "out/f")
			for _, parent := range []string{"w", "p"} {
				in := dir + "/" + parent + "/in"
				list := []*mcp.Root{{URI: "file://" + in}}
				if parent == "w" {
					list = append(list, &mcp.Root{URI: "file://" + dir + "/w"})
				}
				client, cs := connect(t, nil)
				client.AddRoots(list...)
				if r := callTool(t, cs, "read_text_file", args("path", in+"/f")); r.isError {
					t.Fatal(r.text)
				}
				for _, err := range []error{os.Rename(in, in+"2"), os.Symlink("../out", in)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				var uris []string
				for _, r := range list {
					uris = append(uris, r.URI)
				}
				switch between {
				case "an empty list":
					client.RemoveRoots(uris...)
					callTool(t, cs, "read_text_file", args("path", in+"/f"))
				case "another list":
					client.RemoveRoots(uris...)
					client.AddRoots(&mcp.Root{URI: "file://" + dir + "/elsewhere"})
					callTool(t, cs, "read_text_file", args("path", in+"/f"))
				}
				client.AddRoots(list...)
				r := callTool(t, cs, "read_text_file", args("path", in+"/f"))
				// For less than a second, what was moved away may still be served.
				if r.text != parent+"/in/f" && !r.isError {
					t.Errorf("in %s, after %s, a link in place of a root is followed: %q", parent, between, r.text)
				}
			}
		})
	}
}

// The tools and a client that reopens a folder must not be enough to get out.
func TestLinkMovedIntoPlaceIsNoRoot(t *testing.T) {
	dir := testtree.New(t, "w/in/f", "w/evil -> ../out", "out/f")
	client, cs := connect(t, nil, "file://"+dir+"/w")
	move := func(from, to string) {
		t.Helper()
		if r := callTool(t, cs, "move_file", args("source", dir+"/w/"+from, "destination", dir+"/w/"+to)); r.isError {
			t.Fatal(r.text)
		}
	}
	move("in", "in2")
	move("evil", "in")
	client.AddRoots(&mcp.Root{URI: "file://" + dir + "/w/in"})
	for _, p := range []string{"/w/in/f", "/out/f"} {
		if r := callTool(t, cs, "read_text_file", args("path", dir+p)); code(r) != "outside_roots" {
			t.Errorf("%s: code %q: %s", p, code(r), r.text)
		}
	}
	if r := callTool(t, cs, "list_allowed_directories", args()); !strings.Contains(r.text, "goes through a link in "+dir+"/w,") {
		t.Errorf("not a word on the link: %s", r.text)
	}
	// What was writable stays so in this respect when it is not any more.
	client.RemoveRoots("file://" + dir + "/w")
	if r := callTool(t, cs, "read_text_file", args("path", dir+"/w/in/f")); !r.isError {
		t.Errorf("after the outer root was taken away: %q", r.text)
	}
}

// A call that was cancelled while it waited for the client's roots changes nothing.
func TestCancelledWriteIsNotDone(t *testing.T) {
	dir := testtree.New(t, "app/f")
	srv, err := mcpfs.New(&mcpfs.Options{Given: given(t, dir+"/app"), Policy: roots.Add, RootsTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	st, ct := mcp.NewInMemoryTransports()
	if _, err := srv.Connect(t.Context(), st, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "silent", Version: "1"}, nil)
	var asked atomic.Bool
	ask, release := make(chan struct{}), make(chan struct{})
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "roots/list" {
				if asked.CompareAndSwap(false, true) {
					close(ask)
				}
				<-release
				return nil, errors.New("too late")
			}
			return next(ctx, method, req)
		}
	})
	cs, err := client.Connect(t.Context(), ct, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-ask
		cancel()
	}()
	_, err = cs.CallTool(ctx, &mcp.CallToolParams{Name: "write_file", Arguments: args("path", dir+"/app/f", "content", "late")})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the call came to %v", err)
	}
	close(release)
	cs.Close()
	if b, err := os.ReadFile(dir + "/app/f"); err != nil || string(b) != "app/f" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

func TestPagingOverNamesThatAreNotText(t *testing.T) {
	dir := testtree.New(t, "app/")
	for i := range 5 {
		for _, name := range []string{fmt.Sprintf("a\xff%d", i), fmt.Sprintf("b\n%d", i), fmt.Sprintf(`c"%d`, i)} {
			if err := os.WriteFile(dir+"/app/"+name, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, cs := connect(t, &mcpfs.Options{Given: given(t, dir+"/app"), MaxEntries: 2})
	seen := map[string]bool{}
	after := ""
	for range 20 {
		r := callTool(t, cs, "list_directory", args("path", dir+"/app", "after", after))
		lines := strings.Split(r.text, "\n")
		for _, l := range lines {
			if name, ok := strings.CutPrefix(l, "[FILE] "); ok {
				if seen[name] {
					t.Fatalf("%s is listed twice", name)
				}
				seen[name] = true
				after = name
			}
		}
		if !strings.HasPrefix(lines[len(lines)-1], "[MORE] ") {
			break
		}
	}
	if len(seen) != 15 {
		t.Errorf("%d of 15 entries were listed", len(seen))
	}
	if r := callTool(t, cs, "list_directory", args("path", dir+"/app", "after", "file://%zz")); code(r) != "invalid_path" || r.refusal.Argument != "/after" {
		t.Errorf("a broken continuation: %s", r.text)
	}
}

// A result is bounded as it is sent: as JSON a control character takes six bytes.
func TestResultIsBounded(t *testing.T) {
	dir := testtree.New(t, "app/")
	if err := os.WriteFile(dir+"/app/control", bytes.Repeat([]byte{1}, 4<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	_, cs := connect(t, &mcpfs.Options{Given: given(t, dir+"/app")})
	if r := callTool(t, cs, "read_text_file", args("path", dir+"/app/control")); code(r) != "too_large" {
		t.Errorf("code %q: %.200s", code(r), r.text)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []*mcpfs.Options{
		{Policy: 77},
		{MaxRead: -1},
		{MaxEntries: -1},
		{RootsTimeout: -1},
	} {
		if _, err := mcpfs.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
