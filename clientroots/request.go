//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this package is about them.

package clientroots

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/roots"
)

// firstModern is the first revision without a handshake and without requests
// from the server.
const firstModern = "2026-07-28"

// A request is what matters here of a call from the client.
type request struct {
	session   *mcp.ServerSession
	meta      map[string]any
	responses mcp.InputResponseMap
}

// Modern reports whether a request is one of 2026-07-28 or later, whose roots
// came with it, if at all. It is false for requests that [Tracker.Roots] does not
// take.
func Modern(req mcp.Request) bool {
	r, ok := requestOf(req)
	return ok && r.modern()
}

// requestOf returns the request in req, if it is one that may ask for input.
func requestOf(req mcp.Request) (r request, ok bool) {
	switch req := req.(type) {
	case *mcp.CallToolRequest:
		if req == nil {
			return r, false
		}
		r.session = req.Session
		if p := req.Params; p != nil {
			r.meta, r.responses = p.Meta, p.InputResponses
		}
	case *mcp.GetPromptRequest:
		if req == nil {
			return r, false
		}
		r.session = req.Session
		if p := req.Params; p != nil {
			r.meta, r.responses = p.Meta, p.InputResponses
		}
	case *mcp.ReadResourceRequest:
		if req == nil {
			return r, false
		}
		r.session = req.Session
		if p := req.Params; p != nil {
			r.meta, r.responses = p.Meta, p.InputResponses
		}
	}
	return r, r.session != nil
}

// modern reports whether the request is one of 2026-07-28 or later. The session
// is not asked: it holds the version that its client wished for, not the one that
// was agreed on. Versions are dates and compare as text.
func (r request) modern() bool {
	v, _ := r.meta[mcp.MetaKeyProtocolVersion].(string)
	return v >= firstModern
}

// declares reports whether a modern request declares roots.
func (r request) declares() bool {
	switch c := r.meta[mcp.MetaKeyClientCapabilities].(type) {
	case map[string]any:
		return c["roots"] != nil
	case *mcp.ClientCapabilities: // made in this process
		return capability(c) != nil
	}
	return false
}

// fromRequest returns the list that a modern request carries or, within the TTL,
// the one that an earlier request of the session carried.
func (t *Tracker) fromRequest(ctx context.Context, r request) List {
	if !r.declares() {
		// An answer that nobody was allowed to ask for is not looked at.
		l := List{ClientList: roots.ClientList{State: roots.Undeclared}}
		if s := t.lookup(r.session); s != nil {
			s.mu.Lock()
			l.Generation = s.modern.list.Generation
			s.mu.Unlock()
		}
		return l
	}
	s := t.session(r.session)
	if answer, ok := r.responses[Key]; ok {
		return s.record(answer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modern.fresh(t.ttl) {
		return s.modern.list
	}
	// The answer may be missing from a second call too, where the client or
	// something between left it out. It is asked for again; clients cap the rounds.
	if d, ok := ctx.Value(deferKey{}).(*deferred); ok {
		d.asked.Store(true)
	}
	return List{
		ClientList: roots.ClientList{State: roots.Unasked},
		Generation: s.modern.list.Generation,
		Ask:        mcp.InputRequestMap{Key: &mcp.ListRootsParams{}},
	}
}

// record takes the answer that a modern request carries.
func (s *session) record(answer mcp.InputResponse) List {
	var cl roots.ClientList
	if res, ok := answer.(*mcp.ListRootsResult); ok {
		cl = read(res)
	} else {
		cl = roots.ClientList{State: roots.Failed, Why: "the client answered the question for its roots with something else"}
	}
	s.mu.Lock()
	l, news := s.set(&s.modern, cl)
	s.modern.at = time.Now()
	s.mu.Unlock()
	if news {
		s.t.warn(s.ss, l.Why)
	}
	return l
}
