// Package stdio is the stdio transport of our servers: strict, and impossible
// to kill by what a client writes. It stands between the pipe and the Go SDK.
//
//	server := mcp.NewServer(…)
//	server.AddReceivingMiddleware(stdio.Recover(logger))
//	err := stdio.Serve(ctx, server, &stdio.Transport{In: os.Stdin, Out: os.Stdout, Logger: logger})
//
// A line that is not exactly one message, read the same way by every parser
// (see package frame), is refused and forgotten: with an error response if the
// id of a call can be told, else with a log line only, because a response
// without an id ends the session of many clients. Whatever arrives, the next
// good line is served. Only the end of the input, a broken output, or the
// context ends a session.
//
// The client's ids go back byte by byte as they came: the SDK, which reads ids
// as floating-point numbers, sees numbers of our own instead.
//
// # Two eras on one process
//
// Up to 2025-11-25 a session begins with an initialize request; from
// 2026-07-28 on every request stands for itself and names its version in
// _meta. A client may probe with one and go on with the other. The SDK settles
// on one era for a session, by its first request. So [Serve] connects the
// server twice and sends each request to the session of its era. Both use the
// same pipe. Notifications belong to the first one; a change of roots is told
// to both.
//
// # Limits
//
// Frames are bounded (Transport.MaxFrame), and so are calls in flight
// (Transport.MaxCalls), but not their product. Notifications are handled by
// the SDK one after the other without a bound, so their handlers must be quick.
// Progress tokens still pass through the SDK as floating-point numbers.
// Writing to standard output whose reader is gone raises SIGPIPE; a program
// must ignore that signal to end in its own way.
package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/frame"
)

// Defaults of a [Transport]'s bounds.
const (
	DefaultMaxFrame = frame.DefaultMax
	DefaultMaxCalls = 256
	DefaultDrain    = time.Second
)

// Transport is one pipe to one client. In and Out are required. A Transport is
// for one session: for one call of [Serve] or of [mcp.Server.Connect].
type Transport struct {
	// In is what the client writes. It is closed when the session ends.
	In io.ReadCloser
	// Out is what the client reads. Every message is one call of Write. It is
	// closed at the end only if a Write is stuck then and Out is an
	// [io.Closer] without SetWriteDeadline.
	Out io.Writer
	// MaxFrame is the longest line accepted, in bytes. A longer one is dropped
	// as it arrives, and refused. 0 means DefaultMaxFrame, 64 MiB.
	MaxFrame int
	// MaxDepth is how deep a message may nest. 0 means [frame.DefaultDepth], 512.
	MaxDepth int
	// MaxCalls is how many calls may be unanswered at a time. Further ones are
	// refused at once, rather than kept waiting: what is not read is no
	// cancellation either. 0 means DefaultMaxCalls, 256.
	MaxCalls int
	// Drain is how long calls may go on after the end of the input, so that
	// the last answers are not lost. Then they are cancelled. 0 means
	// DefaultDrain, 1 s; negative means not at all.
	Drain time.Duration
	// Logger gets a line for each refusal, of bounded length and without
	// content. Of a flood of them, most are only counted. nil discards.
	Logger *slog.Logger
}

// Connect implements [mcp.Transport], for a server of one era. Without
// [Serve], what era a session of the SDK is depends on its first request. The
// session ends with ctx.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	l := newLink(t)
	l.first = newConn(l)
	context.AfterFunc(ctx, l.stop)
	go l.pump()
	return l.first, nil
}

// stopping is how long [Serve] waits for handlers that have been told to end.
const stopping = 2 * time.Second

// ErrStuck means that a session could not be ended: a handler ignores its
// context, or the client has stopped reading and a write cannot be interrupted.
// The goroutine in question is left behind.
var ErrStuck = errors.New("a call did not end in time")

// Serve serves both eras on one pipe until the client closes it, which is no
// error, or ctx is done, whose error it returns. It returns at most a few
// seconds after either, though a handler may still be running then.
func Serve(ctx context.Context, server *mcp.Server, t *Transport) error {
	l := newLink(t)
	l.first, l.modern = newConn(l), newConn(l)
	defer l.stop()
	done := make(chan struct{})
	var sessions []*mcp.ServerSession
	for _, c := range []*conn{l.first, l.modern} {
		session, err := server.Connect(ctx, handed{c}, nil)
		if err != nil {
			return err
		}
		sessions = append(sessions, session)
	}
	go func() {
		defer close(done)
		for _, s := range sessions {
			_ = s.Wait() // how it ended has been logged where it was seen
		}
	}()
	go l.pump()

	select {
	case <-done:
		return nil
	case <-ctx.Done():
	case <-l.ended:
	}
	if ctx.Err() == nil {
		// The input has ended and its calls have been waited for. What still
		// runs is being cancelled.
		if wait(done, stopping) {
			return nil
		}
	}
	l.stop()
	if !wait(done, stopping) {
		l.log.Error("a call did not end in time")
		return ErrStuck
	}
	return ctx.Err()
}

func wait(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// handed is a transport whose connection exists already.
type handed struct{ c *conn }

func (h handed) Connect(context.Context) (mcp.Connection, error) { return h.c, nil }
