//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this package is about them.

package clientroots

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/roots"
)

// Options are the settings of a [Tracker]. The zero value, and nil, will do.
type Options struct {
	Timeout time.Duration // how long a call waits for the client's answer; 0 means 3 s
	Reask   time.Duration // how long an answer of a client that did not declare listChanged counts; 0 means 30 s

	// TTL is how long an answer given inside a call (2026-07-28) counts for later
	// calls of the same session. 0 means not at all: each call asks.
	TTL time.Duration

	// Logger gets one warning per session when a client's list cannot be had, and
	// again only after it has been had in between. nil means slog.Default().
	Logger *slog.Logger

	// Changed, if not nil, is called for each notification by which a session's
	// list has become stale. It runs on the goroutine that handles the session's
	// messages and must not block: it may call [Tracker.Refresh], and must not
	// call the client.
	Changed func(*mcp.ServerSession)
}

// Key is the name under which the question for roots travels in an
// [mcp.InputRequestMap], and the answer in an [mcp.InputResponseMap].
const Key = "roots"

// A Tracker keeps the roots of all sessions of a server. It is safe for
// concurrent use and needs no closing: what it keeps of a session goes when the
// session ends.
type Tracker struct {
	timeout, reask, ttl time.Duration
	logger              *slog.Logger
	onChange            func(*mcp.ServerSession)

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]*session
}

// New returns a Tracker. It knows of changes only on servers that it is
// installed on.
func New(o *Options) *Tracker {
	if o == nil {
		o = &Options{}
	}
	t := &Tracker{
		timeout:  o.Timeout,
		reask:    o.Reask,
		ttl:      o.TTL,
		logger:   o.Logger,
		onChange: o.Changed,
		sessions: make(map[*mcp.ServerSession]*session),
	}
	if t.timeout <= 0 {
		t.timeout = 3 * time.Second
	}
	if t.reask <= 0 {
		t.reask = 30 * time.Second
	}
	if t.logger == nil {
		t.logger = slog.Default()
	}
	return t
}

// A List is what is known of a client's roots.
type List struct {
	roots.ClientList

	// Generation tells an older list of a session from a newer one. It grows with
	// every notification of a change and every answer or failure that differs from
	// what was known; asking again and hearing the same keeps it. The two eras of
	// a session draw from one sequence.
	Generation uint64

	// Ask is not nil if a client of 2026-07-28 has to be asked first: return it as
	// InputRequests of the result, with nothing else in it. The client calls again
	// with the answer. (In an [mcp.ReadResourceResult] make Contents empty rather
	// than nil: the SDK refuses nil where the session began with initialize.)
	Ask mcp.InputRequestMap
}

// Roots returns the client's list for a request: an *[mcp.CallToolRequest],
// *[mcp.GetPromptRequest] or *[mcp.ReadResourceRequest], with the handler's
// context.
//
// For a request before 2026-07-28 it asks the client if it must, waiting at most
// [Options.Timeout]; any number of callers share one question. Ask is nil then,
// and the State is Undeclared, Answered or Failed. For a request of 2026-07-28 it
// returns at once, with the State Unasked if Ask is set.
//
// After a failure the next call asks again, or goes on waiting for the answer
// that is still owed. A caller whose context ends gets Failed, which says nothing
// of the session.
func (t *Tracker) Roots(ctx context.Context, req mcp.Request) List {
	r, ok := requestOf(req)
	if !ok {
		return failed("roots can be asked for only inside tools/call, prompts/get and resources/read")
	}
	if r.modern() {
		return t.fromRequest(ctx, r)
	}
	if declares, _ := t.handshake(r.session); !declares {
		return List{ClientList: roots.ClientList{State: roots.Undeclared}, Generation: t.generation(r.session)}
	}
	return t.session(r.session).wait(ctx)
}

// Known returns what is known of a session's roots without asking or waiting: the
// State is Unasked if the client has not been asked since its last change. For a
// session of 2026-07-28 it is what the last call said. It is for showing; a
// request is answered by [Tracker.Roots].
func (t *Tracker) Known(ss *mcp.ServerSession) List {
	if ss == nil {
		return List{}
	}
	declares, legacy := t.handshake(ss)
	s := t.lookup(ss)
	switch {
	case legacy && !declares:
		return List{Generation: t.generation(ss)}
	case s == nil:
		return List{ClientList: roots.ClientList{State: roots.Unasked}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if legacy {
		return s.legacy.list
	}
	return s.modern.list
}

// Refresh asks the client in the background, if it may be asked and the list is
// stale, so that the next call need not wait. It returns at once, and may be
// called as often as one likes: a burst leads to one question. Before the client
// has said that it is initialized the question is put off until then.
//
// It does nothing over HTTP, where a question needs the stream of a call to
// travel on: without one the SDK loses it or keeps it for later, and a client may
// refuse it (SEP-2260).
func (t *Tracker) Refresh(ss *mcp.ServerSession) {
	if ss == nil || ss.ID() != "" { // only HTTP sessions have an ID
		return
	}
	if declares, _ := t.handshake(ss); declares {
		t.session(ss).refresh()
	}
}

// Current reports whether no newer list than that of the given generation is
// known, and none has been announced. It is for a last look before the effects of
// a call become visible.
func (t *Tracker) Current(ss *mcp.ServerSession, generation uint64) bool {
	s := t.lookup(ss)
	if s == nil {
		return generation == 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return generation == s.legacy.list.Generation || generation == s.modern.list.Generation
}

// Install makes the tracker see the messages of a server's sessions. Call it
// once, before the first session. The error says that s is nil.
func (t *Tracker) Install(s *mcp.Server) error {
	if s == nil {
		return errors.New("clientroots: no server")
	}
	s.AddReceivingMiddleware(t.receive)
	s.AddSendingMiddleware(t.send)
	return nil
}

// handshake says whether the session's initialize request declared roots, and
// whether there was one at all. The SDK keeps in the same place what the first
// request of a 2026-07-28 session says of itself alone, so the place is not
// enough; only the version of an initialize request that asked for 2026-07-28
// looks the same, and that one the tracker has seen.
func (t *Tracker) handshake(ss *mcp.ServerSession) (declares, legacy bool) {
	p := ss.InitializeParams()
	if p == nil {
		return false, false
	}
	if p.ProtocolVersion >= firstModern {
		s := t.lookup(ss)
		if s == nil || !s.sawInitialize() {
			return false, false
		}
	}
	return capability(p.Capabilities) != nil, true
}

// capability returns the roots capability, or nil.
func capability(c *mcp.ClientCapabilities) *mcp.RootCapabilities {
	switch {
	case c == nil:
		return nil
	case c.RootsV2 != nil:
		return c.RootsV2
	case c.Roots.ListChanged:
		// A session restored from storage: RootsV2 is not stored.
		return &mcp.RootCapabilities{ListChanged: true}
	}
	return nil
}

// session returns the state of a session, making it if need be.
func (t *Tracker) session(ss *mcp.ServerSession) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[ss]
	if s == nil {
		s = newSession(t, ss)
		t.sessions[ss] = s
		go func() {
			_ = ss.Wait() // how it ended is its owner's business
			t.mu.Lock()
			delete(t.sessions, ss)
			t.mu.Unlock()
			s.end()
		}()
	}
	return s
}

// lookup returns the state of a session, or nil.
func (t *Tracker) lookup(ss *mcp.ServerSession) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions[ss]
}

// generation returns the generation that an undeclared list has.
func (t *Tracker) generation(ss *mcp.ServerSession) uint64 {
	s := t.lookup(ss)
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.legacy.list.Generation
}

// warn logs that a session's list cannot be had.
func (t *Tracker) warn(ss *mcp.ServerSession, why string) {
	t.logger.Warn("the client's roots are not known", "session", ss.ID(), "why", why)
}

func failed(why string) List {
	return List{ClientList: roots.ClientList{State: roots.Failed, Why: why}}
}
