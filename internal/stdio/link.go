package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/frame"
)

// The protocol's words that the transport itself must know.
const (
	methodInitialize  = "initialize"
	methodCallTool    = "tools/call"
	methodCancelled   = "notifications/cancelled"
	methodRootsChange = "notifications/roots/list_changed"
	// methodRootsTypo is how some clients misspell it. The SDK knows only
	// requests that a server adds, no notifications, so it could not reach a
	// handler under this name: it is passed on under the right one.
	methodRootsTypo = "notifications/roots/listChanged"

	versionBatches   = "2025-03-26" // the only one that has batches
	versionHandshake = "2025-11-25" // the last one that begins with initialize
	versionModern    = "2026-07-28" // the first one without it
)

// link is the pipe, and everything that is in flight on it. One goroutine,
// pump, reads; any may write.
type link struct {
	in     *frame.Reader
	closer io.Closer
	out    io.Writer
	limits frame.Limits
	max    int // calls
	drain  time.Duration
	log    *slog.Logger

	// first is the session that requests go to, modern the one for those of
	// the era without a handshake, or nil if there is only one.
	first, modern *conn

	// ended is closed when the input has ended and its calls were waited for,
	// stopped when the session is over: nothing is read or written any more.
	ended, stopped chan struct{}
	stopping       sync.Once

	writing sync.Mutex // held over one Write to out

	mu      sync.Mutex
	calls   map[int64]*call  // unanswered calls by the number that the SDK knows
	byID    map[string]*call // and by the client's id, unless cancelled
	last    int64            // the last number
	busy    int              // calls whose answer has not been written
	idle    chan struct{}    // if not nil, closed when busy becomes 0
	asked   map[string]jsonrpc.ID
	version string // negotiated by initialize, or ""
	eof     bool   // the client cannot answer any more

	// Only pump uses these.
	usedModern bool
	misspelt   bool // a client has used methodRootsTypo
	refusals   int
}

// call is one unanswered call of the client.
type call struct {
	id         string // as the client wrote it
	number     int64
	conn       *conn
	batch      *batch // that it came in, or nil
	initialize bool
	cancelled  bool
	modern     bool
	extra      mcp.RequestExtra // see inFlight
	result     []byte           // what Results has made of the answer, if it did
	large      *mcp.CallToolResult
}

func newLink(t *Transport) *link {
	l := &link{
		in:      frame.NewReader(t.In, t.MaxFrame),
		closer:  t.In,
		out:     t.Out,
		limits:  frame.Limits{Depth: t.MaxDepth},
		max:     t.MaxCalls,
		drain:   t.Drain,
		log:     t.Logger,
		ended:   make(chan struct{}),
		stopped: make(chan struct{}),
		calls:   make(map[int64]*call),
		byID:    make(map[string]*call),
		asked:   make(map[string]jsonrpc.ID),
	}
	if l.max <= 0 {
		l.max = DefaultMaxCalls
	}
	if l.drain == 0 {
		l.drain = DefaultDrain
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	return l
}

// pump reads lines until the input ends.
func (l *link) pump() {
	for {
		line, err := l.in.Next()
		var bad *frame.Error
		switch {
		case err == nil:
			l.receive(line)
		case errors.As(err, &bad):
			l.refuse(bad, "", 0, nil)
		default:
			l.end(err)
			return
		}
		select {
		case <-l.stopped:
			return
		default:
		}
	}
}

// end waits for the calls in flight, so that a client that closes its side
// after the last request still gets the answers, and then ends the sessions.
func (l *link) end(err error) {
	select {
	case <-l.stopped: // which has closed the input
		return
	default:
	}
	if err != io.EOF {
		l.log.Info("reading from the client failed", "err", err)
	}
	l.mu.Lock()
	l.eof = true
	asked := l.asked
	l.asked = nil
	var idle chan struct{}
	if l.busy > 0 && l.drain > 0 {
		idle = make(chan struct{})
		l.idle = idle
	}
	l.mu.Unlock()
	// Answers that can no longer come are not to be waited for.
	for _, id := range asked {
		l.first.push(gone(id))
	}
	if idle != nil {
		timer := time.NewTimer(l.drain)
		defer timer.Stop()
		select {
		case <-idle:
		case <-timer.C:
			l.log.Info("calls are cancelled: the client has closed its side")
		case <-l.stopped:
		}
	}
	close(l.ended)
}

func gone(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeInternalError, Message: "the client has closed its side",
	}}
}

// writeGrace is how long a write that is under way when everything stops may
// take to finish: a client that reads should not see half a line.
const writeGrace = 500 * time.Millisecond

// stop ends everything at once. It interrupts a write that is stuck, if it can.
func (l *link) stop() {
	l.stopping.Do(func() {
		close(l.stopped)
		_ = l.closer.Close()
		if l.writing.TryLock() {
			l.writing.Unlock()
			return // nobody is writing, and nobody will
		}
		if out, ok := l.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
			if out.SetWriteDeadline(time.Now().Add(writeGrace)) == nil {
				return
			}
		}
		if out, ok := l.out.(io.Closer); ok {
			time.AfterFunc(writeGrace, func() {
				if l.writing.TryLock() {
					l.writing.Unlock()
					return
				}
				_ = out.Close()
			})
		}
	})
}

// receive handles one line.
func (l *link) receive(line []byte) {
	f, bad := frame.Parse(line, l.limits)
	switch {
	case bad == nil:
		l.deliver(&f, nil)
	case bad.Batch:
		l.receiveBatch(line, bad)
	default:
		l.refuse(bad, "", len(line), nil)
	}
}

// deliver gives a message to the SDK. The SDK keeps what it is given, so
// nothing of it may be a part of the line.
func (l *link) deliver(f *frame.Frame, b *batch) {
	switch f.Kind {
	case frame.Call:
		l.deliverCall(f, b)
	case frame.Notification:
		l.deliverNotification(f)
	case frame.Response:
		l.deliverResponse(f)
	}
}

func (l *link) deliverCall(f *frame.Frame, b *batch) {
	to := l.first
	if l.modern != nil && f.Version >= versionModern {
		to = l.modern
		l.usedModern = true
	}
	c, why := l.admit(f, to, b)
	if why != "" {
		l.refuse(&frame.Error{Code: frame.CodeInvalid, Message: why, Kind: frame.Call, ID: f.ID}, f.Method, len(f.Params), b)
		return
	}
	params := bytes.Clone(f.Params)
	if c.initialize {
		params = handshake(params)
	}
	if c.modern {
		params = mendRoots(params, "inputResponses", "roots", "roots")
	}
	req := &jsonrpc.Request{ID: number(c.number), Method: f.Method, Params: params}
	if f.Method == methodCallTool {
		inFlight.Store(&c.extra, c)
		req.Extra = &c.extra
	}
	to.push(req)
}

// admit records a call, or says why not.
func (l *link) admit(f *frame.Frame, to *conn, b *batch) (*call, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, twice := l.byID[string(f.ID)]; twice {
		return nil, "the id belongs to a call that is not answered yet"
	}
	if len(l.calls) >= l.max {
		return nil, "too many calls in flight, at most " + strconv.Itoa(l.max)
	}
	l.last++
	c := &call{id: string(f.ID), number: l.last, conn: to, batch: b, initialize: f.Method == methodInitialize, modern: f.Version >= versionModern}
	l.calls[c.number] = c
	l.byID[c.id] = c
	l.busy++
	if b != nil {
		b.open++
	}
	return c, ""
}

// number makes the id that the SDK sees. It goes through a float64, which is
// exact for the first 2^53 calls.
func number(n int64) jsonrpc.ID {
	id, _ := jsonrpc.MakeID(float64(n)) // a float64 is never refused
	return id
}

// handshake rewrites the version that an initialize request asks for if it is
// one that has no initialize. The SDK answers with an older version, as it
// should, but remembers the one asked for, and would then speak the newer
// protocol to a client that has been promised the older one.
func handshake(params []byte) []byte {
	const member = "protocolVersion"
	if version, ok := frame.Text(frame.Lookup(params, member)); ok && version >= versionModern {
		return frame.Replace(params, `"`+versionHandshake+`"`, member)
	}
	return params
}

func (l *link) deliverNotification(f *frame.Frame) {
	switch f.Method {
	case methodCancelled:
		l.cancel(f)
		return
	case methodRootsTypo:
		f.Method = methodRootsChange
		if !l.misspelt {
			l.misspelt = true
			l.log.Warn("the client misspells a notification", "method", methodRootsTypo, "right", methodRootsChange)
		}
	}
	if f.Method == methodRootsChange && l.usedModern {
		// Whoever remembers roots must hear of it, in whichever era.
		l.modern.push(&jsonrpc.Request{Method: f.Method, Params: bytes.Clone(f.Params)})
	}
	l.first.push(&jsonrpc.Request{Method: f.Method, Params: bytes.Clone(f.Params)})
}

// cancel forgets that a call wants an answer and tells the SDK to cancel it.
func (l *link) cancel(f *frame.Frame) {
	id := frame.Lookup(f.Params, "requestId")
	l.mu.Lock()
	c := l.byID[string(id)]
	// The specification forbids to cancel initialize.
	if c == nil || c.initialize {
		l.mu.Unlock()
		l.log.Debug("a cancellation of no call in flight", "id", cut(string(id), 64))
		return
	}
	c.cancelled = true
	delete(l.byID, c.id)
	b := c.batch
	c.batch = nil
	l.mu.Unlock()
	if b != nil {
		l.release(b, nil)
	}
	c.conn.push(&jsonrpc.Request{
		Method: methodCancelled,
		Params: []byte(`{"requestId":` + strconv.FormatInt(c.number, 10) + `}`),
	})
}

func (l *link) deliverResponse(f *frame.Frame) {
	l.mu.Lock()
	id, known := l.asked[string(f.ID)]
	delete(l.asked, string(f.ID))
	l.mu.Unlock()
	switch {
	case f.ID == nil:
		l.log.Debug("the client reports an error with no request", "size", len(f.Error))
	case !known:
		l.log.Debug("a response to no request", "id", cut(string(f.ID), 64))
	case f.Error != nil:
		l.first.push(&jsonrpc.Response{ID: id, Error: decodeError(f.Error)})
	default:
		l.first.push(&jsonrpc.Response{ID: id, Result: mendRoots(bytes.Clone(f.Result), "roots")})
	}
}

// refuse answers a line or message that is not served, if its sender can be
// told, and logs it, with its method and size as far as they are known. If it
// is a response that we wait for, the wait is over.
func (l *link) refuse(bad *frame.Error, method string, size int, b *batch) {
	l.refusals++
	// A client that sends garbage in a loop must not fill the log, or block us
	// when nobody reads it: after the first ones, one line for each doubling.
	if n := l.refusals; n <= 16 || n&(n-1) == 0 {
		l.log.LogAttrs(context.Background(), slog.LevelWarn, "refused a message",
			slog.String("reason", bad.Message), slog.String("kind", bad.Kind.String()), slog.String("method", cut(method, 64)),
			slog.String("id", cut(string(bad.ID), 64)), slog.Int("size", size), slog.Int("count", n))
	}
	if bad.ID == nil {
		return
	}
	switch bad.Kind {
	case frame.Call:
		e := &jsonrpc.Error{Code: int64(bad.Code), Message: bad.Message}
		if b != nil {
			l.mu.Lock()
			b.answers = appendAnswer(append(b.answers, ','), string(bad.ID), nil, e)
			l.mu.Unlock()
			return
		}
		buf := getBuffer()
		*buf = append(appendAnswer(*buf, string(bad.ID), nil, e), '\n')
		_ = l.write(*buf) // the session ends if it fails
		putBuffer(buf)
	case frame.Response:
		l.mu.Lock()
		id, known := l.asked[string(bad.ID)]
		delete(l.asked, string(bad.ID))
		l.mu.Unlock()
		if known {
			l.first.push(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeInternalError, Message: "the client's answer was refused: " + bad.Message,
			}})
		}
	}
}
