package clientroots_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
)

// TestMain fails if a goroutine of the package outlives the sessions.
func TestMain(m *testing.M) {
	code := m.Run()
	deadline := time.Now().Add(5 * time.Second)
	for code == 0 {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		if !bytes.Contains(buf, []byte("/clientroots.(")) {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "goroutines are left over:\n%s\n", buf)
			code = 1
		}
		time.Sleep(10 * time.Millisecond)
	}
	os.Exit(code)
}

// A report is what the test server's handlers say of a list.
type report struct {
	State      string
	Roots      []string // "path mode name"
	Rejected   []string // "class"
	Why        string
	Generation uint64
	Current    bool
}

func (r report) String() string {
	s := r.State
	for _, root := range r.Roots {
		s += " " + strings.TrimSpace(root)
	}
	for _, class := range r.Rejected {
		s += " !" + class
	}
	return s
}

// A rig is a server with a tool, a prompt and a resource, each of which reports
// the roots that it sees.
type rig struct {
	server  *mcp.Server
	tracker *clientroots.Tracker
	log     *logBuffer
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) lines(word string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, word) {
			n++
		}
	}
	return n
}

func newRig(t testing.TB, o clientroots.Options) *rig {
	t.Helper()
	r := &rig{log: new(logBuffer)}
	o.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	r.tracker = clientroots.New(&o)
	r.server = mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	if err := r.tracker.Install(r.server); err != nil {
		t.Fatal(err)
	}
	mcp.AddTool(r.server, &mcp.Tool{Name: "roots"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		l := r.tracker.Roots(ctx, req)
		if l.Ask != nil {
			return &mcp.CallToolResult{InputRequests: l.Ask}, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.report(req.Session, l)}}}, nil, nil
	})
	mcp.AddTool(r.server, &mcp.Tool{Name: "known"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.report(req.Session, r.tracker.Known(req.Session))}}}, nil, nil
	})
	mcp.AddTool(r.server, &mcp.Tool{Name: "refresh"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		r.tracker.Refresh(req.Session)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "{}"}}}, nil, nil
	})
	r.server.AddPrompt(&mcp.Prompt{Name: "roots"}, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		l := r.tracker.Roots(ctx, req)
		if l.Ask != nil {
			return &mcp.GetPromptResult{InputRequests: l.Ask}, nil
		}
		return &mcp.GetPromptResult{Description: r.report(req.Session, l), Messages: []*mcp.PromptMessage{}}, nil
	})
	r.server.AddResource(&mcp.Resource{Name: "roots", URI: "test:///roots"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		l := r.tracker.Roots(ctx, req)
		if l.Ask != nil {
			return &mcp.ReadResourceResult{InputRequests: l.Ask, Contents: []*mcp.ResourceContents{}}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: r.report(req.Session, l)}}}, nil
	})
	return r
}

func (r *rig) report(ss *mcp.ServerSession, l clientroots.List) string {
	out := report{State: l.State.String(), Why: l.Why, Generation: l.Generation, Current: r.tracker.Current(ss, l.Generation)}
	for _, root := range l.Roots {
		out.Roots = append(out.Roots, root.Path()+" "+root.Mode.String()+" "+root.Name)
	}
	for _, bad := range l.Rejected {
		out.Rejected = append(out.Rejected, bad.Class)
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A frame is a message from the server.
type frame struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result struct {
		ResultType    string
		InputRequests map[string]struct{ Method string }
		Content       []struct{ Text string }
		IsError       bool
		Description   string
		Contents      []struct{ Text string }
	}
	Error *struct {
		Code    int
		Message string
	}
	raw string
}

// report is what the handler said, in whichever kind of result.
func (f frame) report(t testing.TB) report {
	t.Helper()
	text := f.Result.Description
	if len(f.Result.Content) > 0 {
		text = f.Result.Content[0].Text
	}
	if len(f.Result.Contents) > 0 {
		text = f.Result.Contents[0].Text
	}
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("the server sent %s: %v", f.raw, err)
	}
	return r
}

// A peer speaks JSON-RPC to the server with no SDK between, so that it can
// misbehave. It reads all the time.
type peer struct {
	t       testing.TB
	conn    net.Conn
	session *mcp.ServerSession
	ended   chan struct{} // closed when the server has closed the connection

	mu        sync.Mutex
	changed   *sync.Cond
	asked     []frame // roots/list requests, in order
	cancelled int
	answers   map[string]frame
	closed    bool
	hush      chan struct{}        // if not nil, nothing is read until it is closed
	respond   func(n int, f frame) // if set, called for each roots/list request, on the reading goroutine
}

func (r *rig) connect(t testing.TB) *peer {
	t.Helper()
	return r.restore(t, nil)
}

// restore connects a peer whose session has a state already.
func (r *rig) restore(t testing.TB, state *mcp.ServerSessionOptions) *peer {
	t.Helper()
	ours, theirs := net.Pipe()
	session, err := r.server.Connect(context.Background(), clientroots.Transport(&mcp.IOTransport{Reader: theirs, Writer: theirs}, slog.New(slog.NewTextHandler(r.log, nil))), state)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: ours, session: session, ended: make(chan struct{}), answers: map[string]frame{}}
	p.changed = sync.NewCond(&p.mu)
	go p.read()
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true // so that an answer on its way may fail
		p.mu.Unlock()
		ours.Close()
		<-p.ended
		session.Wait() //nolint:errcheck // the pipe was closed under it
	})
	return p
}

func (p *peer) read() {
	defer close(p.ended)
	br := bufio.NewReader(p.conn)
	for {
		p.mu.Lock()
		hush := p.hush
		p.mu.Unlock()
		if hush != nil {
			<-hush
		}
		line, err := br.ReadString('\n')
		if err != nil {
			p.mu.Lock()
			p.closed = true
			p.changed.Broadcast()
			p.mu.Unlock()
			return
		}
		f := frame{raw: line}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			p.t.Errorf("the server sent %q: %v", line, err)
			continue
		}
		p.mu.Lock()
		var respond func(int, frame)
		switch {
		case f.Method == "roots/list":
			p.asked = append(p.asked, f)
			respond = p.respond
		case f.Method == "notifications/cancelled":
			p.cancelled++
		case f.Method == "":
			p.answers[string(f.ID)] = f
		}
		n := len(p.asked)
		p.changed.Broadcast()
		p.mu.Unlock()
		if respond != nil {
			go respond(n, f) // a pipe has no buffer: reading must go on
		}
	}
}

// deaf makes the peer read one more message at most, until the returned function
// is called.
func (p *peer) deaf() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hush = make(chan struct{})
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.hush)
		p.hush = nil
	}
}

// send writes one or more lines in one go.
func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.conn, strings.Join(lines, "\n")+"\n"); err != nil && !p.isClosed() {
		p.t.Errorf("the server took no more: %v", err)
	}
}

func (p *peer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// until waits until ok, called with mu held, is true.
func (p *peer) until(what string, ok func() bool) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ok() {
		if p.closed {
			p.t.Fatalf("the server hung up before %s", what)
		}
		p.changed.Wait()
	}
}

// answer waits for the answer to the request with the id.
func (p *peer) answer(id int) frame {
	p.t.Helper()
	key := fmt.Sprint(id)
	p.until("it answered request "+key, func() bool { _, ok := p.answers[key]; return ok })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[key]
}

// question waits for the nth roots/list request, from 1.
func (p *peer) question(n int) frame {
	p.t.Helper()
	p.until(fmt.Sprintf("it asked %d times", n), func() bool { return len(p.asked) >= n })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[n-1]
}

func (p *peer) questions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// respondWith answers each roots/list request with the result that it is given.
func (p *peer) respondWith(result func(n int) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.respond = func(n int, f frame) { p.send(resultOf(f, result(n))) }
}

func resultOf(f frame, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, f.ID, result)
}

func errorOf(f frame, code int, message string) string {
	m, _ := json.Marshal(message)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, f.ID, code, m)
}

// one is a result with one root.
func one(path string) string { return fmt.Sprintf(`{"roots":[{"uri":"file://%s"}]}`, path) }

// handshake initializes a session of 2025-11-25; capabilities is JSON.
func (p *peer) handshake(capabilities string) {
	p.t.Helper()
	p.initialize("2025-11-25", capabilities)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (p *peer) initialize(version, capabilities string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"p","version":"0"}}}`, version, capabilities))
	p.answer(0)
}

const (
	listChanged = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	declared    = `{"roots":{"listChanged":true}}`
)

// call is a legacy tools/call of a tool without arguments.
func call(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
}

// roots calls the tool and returns its report.
func (p *peer) roots(id int) report {
	p.t.Helper()
	p.send(call(id, "roots"))
	return p.answer(id).report(p.t)
}

// known is what the tracker knows, asked by a call.
func (p *peer) known(id int) report {
	p.t.Helper()
	p.send(call(id, "known"))
	return p.answer(id).report(p.t)
}

// knownNow is what the tracker knows, asked without a message.
func (r *rig) knownNow(p *peer) report {
	f := frame{raw: "Known"}
	f.Result.Description = r.report(p.session, r.tracker.Known(p.session))
	return f.report(p.t)
}

func want(t testing.TB, what string, got report, state string) {
	t.Helper()
	if got.String() != state {
		t.Errorf("%s: %q (%s), want %q", what, got, got.Why, state)
	}
}
