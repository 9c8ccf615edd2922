//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this package is about them.

package clientroots

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods of interest.
const (
	initializeMethod  = "initialize"
	initializedMethod = "notifications/initialized"
	changedMethod     = "notifications/roots/list_changed"
	askMethod         = "roots/list"
	callToolMethod    = "tools/call"
	getPromptMethod   = "prompts/get"
	readMethod        = "resources/read"
)

// receive sees the messages of clients. The SDK runs it for notifications on the
// goroutine that takes the next message only when it has returned, which is what
// makes a change known before a call behind it is handled.
func (t *Tracker) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ss, _ := req.GetSession().(*mcp.ServerSession)
		if ss == nil {
			return next(ctx, method, req)
		}
		switch method {
		case initializeMethod:
			res, err := next(ctx, method, req)
			if err == nil {
				t.session(ss).handshake(initializing)
			}
			return res, err
		case initializedMethod:
			res, err := next(ctx, method, req)
			if s := t.lookup(ss); err == nil && s != nil {
				s.handshake(initialized)
			}
			return res, err
		case changedMethod:
			t.change(ss)
		case callToolMethod, getPromptMethod, readMethod:
			return deferAsking(ctx, ss, method, req, next)
		}
		return next(ctx, method, req)
	}
}

// change handles a notification of a change, declared or not.
func (t *Tracker) change(ss *mcp.ServerSession) {
	declares, _ := t.handshake(ss)
	s := t.lookup(ss)
	if s == nil {
		if !declares {
			return
		}
		s = t.session(ss)
	}
	if s.changed(declares) && t.onChange != nil {
		t.onChange(ss)
	}
}

// The SDK decides by the session whether a client understands a result that asks
// for input, not by the request. When a request of 2026-07-28 comes in a session
// that began with initialize, it would put the question itself, as a request that
// the client has not been promised to get, with no deadline. So the question is
// stopped on its way out, and the result that the handler meant is put in its
// place.
type (
	deferKey struct{}
	deferred struct{ asked atomic.Bool } // whether the handler was told to ask
)

var errDeferred = errors.New("clientroots: the question for roots goes into the result")

// deferAsking calls next, and repairs the result of a modern request in a legacy
// session that asks for roots.
func deferAsking(ctx context.Context, ss *mcp.ServerSession, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	p := ss.InitializeParams()
	if r, ok := requestOf(req); !ok || !r.modern() || p == nil || p.ProtocolVersion >= firstModern {
		return next(ctx, method, req)
	}
	d := new(deferred)
	res, err := next(context.WithValue(ctx, deferKey{}, d), method, req)
	if !d.asked.Load() || !errors.Is(err, errDeferred) {
		return res, err
	}
	switch method {
	case getPromptMethod:
		return inputRequired(&mcp.GetPromptResult{})
	case readMethod:
		return inputRequired(&mcp.ReadResourceResult{})
	}
	return inputRequired(&mcp.CallToolResult{})
}

// send stops the question that the SDK would put for a deferred one.
func (t *Tracker) send(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if d, ok := ctx.Value(deferKey{}).(*deferred); ok && method == askMethod && d.asked.Load() {
			return nil, errDeferred
		}
		return next(ctx, method, req)
	}
}

// inputRequired makes res a result that asks for roots. The type of a result can
// only be set by decoding it.
func inputRequired(res mcp.Result) (mcp.Result, error) {
	err := json.Unmarshal([]byte(`{"resultType":"input_required","inputRequests":{"`+Key+`":{"method":"`+askMethod+`","params":{}}}}`), res)
	if err != nil {
		return nil, err
	}
	return res, nil
}
