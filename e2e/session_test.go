package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/testtree"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// newTree returns a tree with the directories a, b and c, and a file f in each.
func newTree(t *testing.T) string {
	return testtree.New(t, "a/f", "a/sub/f", "b/f", "c/f")
}

// A session is one rootbound serve and a client of lines. The client reads all
// that the server writes, and fails the test for a line that is no JSON-RPC
// message; what it writes and when is the test's business. Its methods may be
// called at the same time.
type session struct {
	t    *testing.T
	tree string // what $DIR stands for
	meta string // of each request, JSON; empty in the handshake protocol

	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *lockedBuffer
	eof    chan struct{} // closed when standard output has ended
	wait   func() error  // waits for the server's end, and returns how it ended

	writing sync.Mutex // held for one write, so that messages do not mix

	mu      sync.Mutex
	lastID  int
	waiting map[string]chan message // by the id's text
	answer  *answer
	asked   int
	held    []string // ids of roots/list requests that wait for an answer
}

// A message is any message from the server.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

// start starts rootbound serve with args, in which $DIR is tree. The session is
// ended with the test, and then the server must end with status 0.
func start(t *testing.T, tree string, args ...string) *session {
	t.Helper()
	return startIn(t, nil, tree, args...)
}

// startIn is start with additions to the server's environment.
func startIn(t *testing.T, env []string, tree string, args ...string) *session {
	t.Helper()
	s := &session{
		t: t, tree: tree, stderr: new(lockedBuffer),
		eof: make(chan struct{}), waiting: make(map[string]chan message), answer: silent(),
	}
	s.cmd = exec.Command(rootbound, "serve")
	for _, arg := range args {
		s.cmd.Args = append(s.cmd.Args, s.expand(arg))
	}
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stderr = s.stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = in
	s.wait = sync.OnceValue(s.waitOnce)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(out)
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Errorf("server, after its input ended: %v", err)
		}
		if t.Failed() {
			t.Logf("server's stderr:\n%s", s.stderr)
		}
	})
	return s
}

// end closes the server's input, waits for its end, and returns how it ended.
func (s *session) end() error {
	s.in.Close()
	return s.wait()
}

func (s *session) waitOnce() error {
	timer := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
	defer timer.Stop()
	<-s.eof // Wait closes the pipe, so it must not come before.
	return s.cmd.Wait()
}

func (s *session) expand(text string) string   { return strings.ReplaceAll(text, "$DIR", s.tree) }
func (s *session) collapse(text string) string { return strings.ReplaceAll(text, s.tree, "$DIR") }

// read handles the server's messages, one after another, until they end.
func (s *session) read(out io.Reader) {
	defer close(s.eof)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			return
		}
		if err != nil {
			s.t.Errorf("standard output ends in the middle of a line: %q", line)
			return
		}
		var m message
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&m); err != nil || m.JSONRPC != "2.0" || dec.More() {
			s.t.Errorf("standard output carries something else than JSON-RPC: %q (%v)", line, err)
			continue
		}
		switch {
		case m.Method == "roots/list" && m.ID != nil:
			s.asks(string(m.ID))
		case m.Method != "" && m.ID != nil:
			s.t.Errorf("the server asks for what the client did not declare: %s", line)
		case m.Method != "": // A notification is the server's business.
		case (m.Result == nil) == (m.Error == nil):
			s.t.Errorf("not one of result and error: %s", line)
		default:
			s.mu.Lock()
			c, ok := s.waiting[string(m.ID)]
			delete(s.waiting, string(m.ID))
			s.mu.Unlock()
			if ok {
				c <- m
			} else if string(m.ID) != "null" {
				s.t.Errorf("a response to no request: %s", line)
			}
		}
	}
}

// asks answers, or not, to a roots/list request.
func (s *session) asks(id string) {
	s.mu.Lock()
	s.asked++
	a := s.answer
	if a.Silent {
		s.held = append(s.held, id)
	}
	s.mu.Unlock()
	if !a.Silent {
		s.send(s.response(id, a))
	}
}

func (s *session) response(id string, a *answer) string {
	if a.Error != nil {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, a.Error.Code, encode(a.Error.Message))
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, s.result(a))
}

// result returns the list in an answer, JSON.
func (s *session) result(a *answer) string {
	if a.raw != "" {
		return s.expand(a.raw)
	}
	return s.expand(encode(struct {
		Roots []entry `json:"roots"`
	}{a.Roots}))
}

// encode returns v as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// send writes one message, or whatever line it is, and a newline. That the
// server no longer reads is not this method's business.
func (s *session) send(line string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	io.WriteString(s.in, line+"\n")
}

// setAnswer says how roots/list is answered from here on.
func (s *session) setAnswer(a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = a
}

// timesAsked returns how often the server asked for the roots.
func (s *session) timesAsked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

const listChanged = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`

// initialize opens the session in the handshake protocol.
func (s *session) initialize(version, capabilities string) {
	s.t.Helper()
	m := s.request("initialize", fmt.Sprintf(`{"protocolVersion":%s,"capabilities":%s,"clientInfo":{"name":"rootbound-e2e","version":"1"}}`, encode(version), capabilities))
	var result struct{ ProtocolVersion string }
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil || result.ProtocolVersion != version {
		s.t.Fatalf("initialize: %+v %s", m.Error, m.Result)
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// modern makes each request from here on one of the stateless protocol.
func (s *session) modern(capabilities string) {
	s.meta = fmt.Sprintf(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rootbound-e2e","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`, capabilities)
}

// begin sends a request and returns where its response will come.
func (s *session) begin(method, params string) <-chan message {
	c := make(chan message, 1)
	s.mu.Lock()
	s.lastID++
	id := fmt.Sprint(s.lastID)
	s.waiting[id] = c
	s.mu.Unlock()
	if s.meta != "" {
		members := strings.TrimPrefix(params, "{")
		if members != "}" {
			members = "," + members
		}
		params = `{"_meta":` + s.meta + members
	}
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, encode(method), params))
	return c
}

// request sends a request and returns its response.
func (s *session) request(method, params string) message {
	s.t.Helper()
	return s.await(s.begin(method, params))
}

// await waits for a response. Where none comes the test ends.
func (s *session) await(c <-chan message) message {
	s.t.Helper()
	select {
	case m := <-c:
		return m
	case <-s.eof:
		select {
		case m := <-c: // It came just before the end.
			return m
		default:
			s.t.Fatal("the server ended instead of answering")
		}
	case <-time.After(patience):
		s.t.Fatal("no response")
	}
	panic("not reached")
}

// call calls a tool and answers the server's question for the roots in between.
func (s *session) call(tool string, args map[string]string) outcome {
	s.t.Helper()
	params := s.callParams(tool, args)
	m := s.request("tools/call", params)
	for range 5 {
		asks, err := asksForRoots(m.Result)
		if err != nil {
			s.t.Errorf("%v: %s", err, m.Result)
		}
		if asks == "" {
			return s.outcome(m)
		}
		s.mu.Lock()
		s.asked++
		a := s.answer
		s.mu.Unlock()
		if a.Error != nil || a.Silent {
			return outcome{Failure: a.Error}
		}
		m = s.request("tools/call", fmt.Sprintf(`%s,"inputResponses":{%s:%s}}`, strings.TrimSuffix(params, "}"), encode(asks), s.result(a)))
	}
	s.t.Fatalf("the server asks again and again: %s", m.Result)
	panic("not reached")
}

func (s *session) callParams(tool string, args map[string]string) string {
	return fmt.Sprintf(`{"name":%s,"arguments":%s}`, encode(tool), s.expand(encode(args)))
}

// asksForRoots returns the key under which a result of the stateless protocol
// asks for the roots, if it does. See "Multi round-trip requests" in the MCP
// specification of 2026-07-28.
func asksForRoots(result json.RawMessage) (key string, err error) {
	var r struct {
		ResultType    string
		InputRequests map[string]struct{ Method string }
		RequestState  *string
	}
	if json.Unmarshal(result, &r) != nil || r.ResultType != "input_required" {
		return "", nil
	}
	if r.RequestState != nil {
		return "", errors.New("state that a client could forge")
	}
	if len(r.InputRequests) != 1 {
		return "", errors.New("not one request")
	}
	for key, request := range r.InputRequests {
		if request.Method != "roots/list" {
			return "", errors.New("asks for something else")
		}
		return key, nil
	}
	panic("not reached")
}

// outcome returns what a response to tools/call means.
func (s *session) outcome(m message) outcome {
	if m.Error != nil {
		return outcome{Failure: m.Error}
	}
	var result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal([]byte(s.collapse(string(m.Result))), &result); err != nil {
		s.t.Errorf("result %s: %v", m.Result, err)
	}
	got := outcome{IsError: result.IsError, Structured: result.StructuredContent, Meta: result.Meta}
	for _, block := range result.Content {
		got.Text += block.Text
	}
	return got
}

// play does the steps of a scenario and checks each as it is done.
func (s *session) play(t *testing.T, steps []step) {
	t.Helper()
	for i, step := range steps {
		begin := time.Now()
		got := s.do(step)
		got.MS = int(time.Since(begin).Milliseconds())
		got.Asked = s.timesAsked()
		step.checkIn(t, i, got)
	}
}

func (s *session) do(st step) outcome {
	s.t.Helper()
	switch st.Do {
	case "call":
		return s.call(st.Tool, st.Args)
	case "change":
		s.setAnswer(st.Answer)
		if s.meta == "" {
			s.send(listChanged)
		}
		return outcome{}
	case "slip":
		s.setAnswer(st.Answer)
		return outcome{}
	case "pause":
		time.Sleep(st.pause)
		return outcome{}
	case "release":
		s.mu.Lock()
		s.answer = st.Answer
		held := s.held
		s.held = nil
		s.mu.Unlock()
		for _, id := range held {
			s.send(s.response(id, st.Answer))
		}
		return outcome{Released: len(held)}
	}
	panic("the client of lines does not know how to " + st.Do)
}

// A lockedBuffer is a buffer that a process may write and a test read.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
