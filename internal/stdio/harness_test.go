//lint:file-ignore SA1019 the SDK marks all of roots as deprecated, and these tests are about roots

package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/stdio"
)

// client is a raw client of a real server on a real pipe.
type client struct {
	t    testing.TB
	in   *os.File // what the server reads
	out  *bufio.Reader
	outf *os.File
	done chan error // gets what Serve returned
	log  *logBuffer
	stop context.CancelFunc
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start serves server, or the test server if nil, on a pipe.
func start(t testing.TB, server *mcp.Server, options stdio.Transport) *client {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, in: inW, out: bufio.NewReaderSize(outR, 1<<20), outf: outR, done: make(chan error, 1), log: new(logBuffer)}
	log := slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if server == nil {
		server = testServer(log)
	}
	options.In, options.Out = inR, outW
	if options.Logger == nil {
		options.Logger = log
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() {
		err := stdio.Serve(ctx, server, &options)
		outW.Close()
		c.done <- err
	}()
	t.Cleanup(func() {
		stop()
		inW.Close()
		outR.Close()
		if t.Failed() {
			t.Logf("the server's log:\n%s", c.log)
		}
	})
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if !strings.HasSuffix(l, "\n") {
			l += "\n"
		}
		if _, err := io.WriteString(c.in, l); err != nil {
			c.t.Fatalf("send: %v", err)
		}
	}
}

// line returns the next line of the server, or "" at the end.
func (c *client) line() string {
	c.t.Helper()
	_ = c.outf.SetReadDeadline(time.Now().Add(10 * time.Second))
	s, err := c.out.ReadString('\n')
	if err == io.EOF && s == "" {
		return ""
	}
	if err != nil {
		c.t.Fatalf("read: %v (after %q)", err, s)
	}
	return strings.TrimSuffix(s, "\n")
}

// want reads the next line and compares it with a pattern, in which * stands
// for anything.
func (c *client) want(pattern string) string {
	c.t.Helper()
	got := c.line()
	if !matches(pattern, got) {
		c.t.Fatalf("got  %.600s\nwant %s", got, pattern)
	}
	return got
}

func matches(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(s, p)
		if !ok {
			return false
		}
		s = after
	}
	return strings.HasSuffix(s, last)
}

// ping shows that the session is alive, and that nothing else was answered.
func (c *client) ping() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"alive?","method":"ping"}`)
	c.want(`{"jsonrpc":"2.0","id":"alive?","result":{}}`)
}

// handshake begins a session of a version with one.
func (c *client) handshake(version string) {
	c.t.Helper()
	c.send(initialize(version, rootsCap), initialized)
	c.want(`{"jsonrpc":"2.0","id":0,"result":*`)
}

// end closes the client's side and waits for the server to end.
func (c *client) end() {
	c.t.Helper()
	c.in.Close()
	if rest := c.line(); rest != "" {
		c.t.Fatalf("after the end: %s", rest)
	}
	select {
	case err := <-c.done:
		if err != nil {
			c.t.Fatalf("Serve: %v", err)
		}
	case <-time.After(10 * time.Second):
		c.t.Fatal("the server goes on")
	}
}

const (
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	rootsCap    = `"roots":{"listChanged":true}`
)

func initialize(version, capabilities string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{` + capabilities + `},"clientInfo":{"name":"p","version":"0"}}}`
}

func call(id, tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

func meta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"0"},"io.modelcontextprotocol/clientCapabilities":{` + capabilities + `}}`
}

// modern is a call of the era without a handshake; more goes into its params.
func modern(id, tool, arguments, capabilities, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `,` + meta(capabilities) + more + `}}`
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func uris(roots []*mcp.Root) string {
	var s []string
	for _, r := range roots {
		s = append(s, r.URI) // panics for a null entry, as handlers do
	}
	return fmt.Sprintf("%q", s)
}

// testServer has handlers as people write them, with the SDK's traps in them.
func testServer(log *slog.Logger) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "p", Version: "0"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	type none struct{}
	type path struct {
		Path string `json:"path"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in path) (*mcp.CallToolResult, any, error) {
		return said(strconv.Quote(in.Path)), nil, nil
	})
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(strconv.Itoa(len(r.Params.Arguments))), nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "caps"}, func(_ context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		return said(fmt.Sprintf("ver=%s roots=%v", r.ProtocolVersion(), r.ClientCapabilities() != nil && r.ClientCapabilities().RootsV2 != nil)), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "listroots"}, func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		res, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		return said(uris(res.Roots)), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "mrtr"}, func(_ context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		if r.Params.InputResponses == nil {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil, nil
		}
		return said(uris(r.Params.InputResponses["roots"].(*mcp.ListRootsResult).Roots)), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "panic"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		panic("a secret")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(30 * time.Second):
			return said("slept"), nil, nil
		}
	})
	mcp.AddTool(s, &mcp.Tool{Name: "nap"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		time.Sleep(50 * time.Millisecond)
		return said("napped"), nil, nil
	})
	s.AddReceivingMiddleware(stdio.Recover(log))
	return s
}
