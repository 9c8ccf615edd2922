package stdio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/frame"
)

// conn is one session of the SDK on a link. It implements [mcp.Connection].
type conn struct {
	link *link
	in   chan jsonrpc.Message
}

func newConn(l *link) *conn {
	// A few places, so that under load the reader and the SDK do not take
	// turns for each message. Not many: each may hold a large one.
	return &conn{link: l, in: make(chan jsonrpc.Message, 8)}
}

func (c *conn) SessionID() string { return "" }

// push gives a message to the SDK.
func (c *conn) push(m jsonrpc.Message) {
	select {
	case c.in <- m:
	case <-c.link.ended:
	case <-c.link.stopped:
	}
}

// Read implements [mcp.Connection].
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.link.ended:
		select {
		case m := <-c.in:
			return m, nil
		default:
			return nil, io.EOF
		}
	case <-c.link.stopped:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements [mcp.Connection]. The SDK calls it when a session has ended
// and nothing is in flight on it any more.
func (c *conn) Close() error {
	c.link.stop()
	return nil
}

// Write implements [mcp.Connection]. A failure ends the session, so the SDK
// gets the end of the stream for an error: a client that leaves is no fault.
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch m := m.(type) {
	case *jsonrpc.Response:
		return c.answer(m)
	case *jsonrpc.Request:
		if m.IsCall() {
			return c.ask(m)
		}
		return c.notify(m)
	}
	return fmt.Errorf("unexpected message %T", m)
}

// answer writes the response to a call of the client, unless it was cancelled:
// a cancelled request must not be answered.
func (c *conn) answer(r *jsonrpc.Response) error {
	l := c.link
	n, _ := r.ID.Raw().(int64)
	l.mu.Lock()
	call := l.calls[n]
	if call == nil {
		l.mu.Unlock()
		l.log.Error("an answer to no call")
		return nil
	}
	delete(l.calls, n)
	cancelled := call.cancelled
	if !cancelled {
		delete(l.byID, call.id)
	}
	if call.initialize && r.Error == nil && l.version == "" {
		l.version, _ = frame.Text(frame.Lookup(r.Result, "protocolVersion"))
	}
	l.mu.Unlock()
	inFlight.Delete(&call.extra)
	defer l.done()
	if cancelled {
		return nil
	}
	if call.large != nil {
		return l.writeLarge(call)
	}
	result := []byte(r.Result)
	if call.result != nil {
		result = call.result
	}
	if c == l.modern {
		result = named(result, n, call.id)
	}
	buf := getBuffer()
	defer putBuffer(buf)
	*buf = appendAnswer(*buf, call.id, result, r.Error)
	if call.batch != nil {
		return l.release(call.batch, *buf)
	}
	*buf = append(*buf, '\n')
	return l.write(*buf)
}

// done counts one call as answered.
func (l *link) done() {
	l.mu.Lock()
	l.busy--
	if l.busy == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
	l.mu.Unlock()
}

// ask writes a request to the client. Its id is the SDK's own.
func (c *conn) ask(r *jsonrpc.Request) error {
	l := c.link
	if c == l.modern {
		// A server of this era puts its questions into its answers.
		c.push(&jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeMethodNotFound, Message: "no requests to a client of version " + versionModern,
		}})
		return nil
	}
	n, ok := r.ID.Raw().(int64)
	if !ok {
		return fmt.Errorf("unexpected id %v", r.ID.Raw())
	}
	id := strconv.FormatInt(n, 10)
	l.mu.Lock()
	eof := l.eof
	if !eof {
		l.asked[id] = r.ID
	}
	l.mu.Unlock()
	if eof {
		c.push(gone(r.ID))
		return nil
	}
	return c.request(id, r.Method, r.Params)
}

// notify writes a notification to the client.
func (c *conn) notify(r *jsonrpc.Request) error {
	l := c.link
	params := []byte(r.Params)
	l.mu.Lock()
	if r.Method == methodCancelled {
		delete(l.asked, string(frame.Lookup(params, "requestId")))
	}
	early := l.modern != nil && c == l.first && l.version == ""
	var listen *call
	if c == l.modern && bytes.Contains(params, []byte(mcp.MetaKeySubscriptionID)) {
		n, _ := strconv.ParseInt(string(frame.Lookup(params, "_meta", mcp.MetaKeySubscriptionID)), 10, 64)
		listen = l.calls[n]
	}
	l.mu.Unlock()
	if early {
		// The SDK announces changes also to a session that nobody has begun.
		return nil
	}
	if listen != nil {
		params = named(params, listen.number, listen.id)
	}
	return c.request("", r.Method, params)
}

// named replaces our number for a call by the client's id where a message
// names the call in _meta: there a message of a subscription says to which one
// it belongs.
func named(object []byte, number int64, id string) []byte {
	const member = mcp.MetaKeySubscriptionID
	if !bytes.Contains(object, []byte(member)) {
		return object
	}
	if v := frame.Lookup(object, "_meta", member); string(v) != strconv.FormatInt(number, 10) {
		return object
	}
	return frame.Replace(object, id, "_meta", member)
}

func (c *conn) request(id, method string, params []byte) error {
	buf := getBuffer()
	defer putBuffer(buf)
	*buf = append(appendRequest(*buf, id, method, params), '\n')
	return c.link.write(*buf)
}

// errOutput is what the SDK gets when the client cannot be written to.
var errOutput = fmt.Errorf("the client has gone: %w", io.EOF)

// write writes one line, in one call. After a failure, which may have left a
// part of it on the pipe, nothing more is written.
func (l *link) write(line []byte) error {
	l.writing.Lock()
	err := l.writeLocked(line)
	l.writing.Unlock()
	return l.written(err)
}

// writeLarge encodes a large result, and writes it, when its turn has come.
func (l *link) writeLarge(c *call) error {
	l.writing.Lock()
	line := append(make([]byte, 0, size(c.large)+64), `{"jsonrpc":"2.0","id":`...)
	line = append(append(line, c.id...), `,"result":`...)
	line, err := appendResult(line, c.large, c.modern)
	if err != nil {
		l.log.Error("a result cannot be encoded", "err", err)
		line = appendAnswer(nil, c.id, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result cannot be encoded"})
		line = line[:len(line)-1]
	}
	err = l.writeLocked(append(line, "}\n"...))
	l.writing.Unlock()
	return l.written(err)
}

func (l *link) writeLocked(line []byte) error {
	select {
	case <-l.stopped:
		return errOutput
	default:
	}
	n, err := l.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return err
}

// written ends the session if a write has failed.
func (l *link) written(err error) error {
	if err == nil || err == errOutput {
		return err
	}
	l.log.Info("writing to the client failed", "err", err)
	l.stop()
	return errOutput
}
