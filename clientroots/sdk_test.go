//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use.

package clientroots_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
)

// dial connects the SDK's client.
func dial(t testing.TB, r *rig, client *mcp.Client, version string) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := r.server.Connect(context.Background(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := client.Connect(context.Background(), ours, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		ss.Wait() //nolint:errcheck // the pipe was closed under it
	})
	return cs
}

func callRoots(t testing.TB, cs *mcp.ClientSession) report {
	t.Helper()
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "roots"})
	if err != nil {
		t.Error(err)
		return report{}
	}
	var r report
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &r); err != nil {
		t.Error(err)
	}
	return r
}

var implementation = &mcp.Implementation{Name: "client", Version: "1"}

func TestTheSDKsClientInEveryRevision(t *testing.T) {
	for _, version := range mcp.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			client := mcp.NewClient(implementation, nil)
			client.AddRoots(&mcp.Root{URI: "file:///a", Name: "A"})
			r := newRig(t, clientroots.Options{})
			cs := dial(t, r, client, version)
			want(t, "a call", callRoots(t, cs), "answered /a rw A")

			prompt, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "roots"})
			if err != nil {
				t.Fatal(err)
			}
			f := frame{}
			f.Result.Description = prompt.Description
			want(t, "a prompt", f.report(t), "answered /a rw A")
			resource, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test:///roots"})
			if err != nil {
				t.Fatal(err)
			}
			f.Result.Description = resource.Contents[0].Text
			want(t, "a resource", f.report(t), "answered /a rw A")

			client.AddRoots(&mcp.Root{URI: "file:///b"})
			want(t, "after an addition", callRoots(t, cs), "answered /a rw A /b rw")
			client.RemoveRoots("file:///a", "file:///b")
			want(t, "after the removal of all", callRoots(t, cs), "answered")

			silent := dial(t, r, mcp.NewClient(implementation, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}), version)
			want(t, "a client that declares nothing", callRoots(t, silent), "undeclared")
		})
	}
}

// The fence again, with the SDK at both ends and other callers about.
func TestTheSDKsClientNeverSeesAnOldList(t *testing.T) {
	r := newRig(t, clientroots.Options{Timeout: time.Minute})
	client := mcp.NewClient(implementation, nil)
	cs := dial(t, r, client, "2025-11-25")
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(2 * time.Millisecond):
					callRoots(t, cs)
				}
			}
		})
	}
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for i := range rounds {
		uri := fmt.Sprintf("file:///v%d", i)
		client.AddRoots(&mcp.Root{URI: uri})
		want(t, "after an addition", callRoots(t, cs), fmt.Sprintf("answered /v%d rw", i))
		client.RemoveRoots(uri)
		want(t, "after a removal", callRoots(t, cs), "answered")
	}
	close(stop)
	others.Wait()
}

// Over HTTP a question travels on the stream of the call that asks it.
func TestStreamableHTTP(t *testing.T) {
	r := newRig(t, clientroots.Options{TTL: time.Hour})
	for _, test := range []struct {
		version   string
		stateless bool
	}{
		{"2025-11-25", false},
		{"2026-07-28", true},
	} {
		t.Run(test.version, func(t *testing.T) {
			h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return r.server },
				&mcp.StreamableHTTPOptions{Stateless: test.stateless, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			srv := httptest.NewServer(h)
			defer srv.Close()
			dialHTTP := func(root string) *mcp.ClientSession {
				client := mcp.NewClient(implementation, nil)
				client.AddRoots(&mcp.Root{URI: root})
				cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint:             srv.URL,
					DisableStandaloneSSE: true, // the harder case
				}, &mcp.ClientSessionOptions{ProtocolVersion: test.version})
				if err != nil {
					t.Fatal(err)
				}
				return cs
			}
			a, b := dialHTTP("file:///a"), dialHTTP("file:///b")
			defer a.Close()
			defer b.Close()
			// A question outside of a call has no way to travel.
			if _, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "refresh"}); err != nil {
				t.Error(err)
			}
			for range 3 {
				// A TTL, and whatever else is kept, never crosses to another client.
				want(t, "one client", callRoots(t, a), "answered /a rw")
				want(t, "the other", callRoots(t, b), "answered /b rw")
			}
			if n := r.log.lines("not known"); n != 0 {
				t.Errorf("%d warnings", n)
			}
		})
	}
}
