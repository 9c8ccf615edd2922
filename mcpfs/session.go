package mcpfs

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

// A snapshot is the file system of one call: the roots in force when it began. It
// does not change; a change of roots makes another snapshot.
type snapshot struct {
	fs        *rootedfs.FS
	effective roots.Effective
	list      clientroots.List
	fixed     bool // the operator's roots alone count
}

// A session keeps the newest snapshot of one client, so that calls under the same
// list share handles.
type session struct {
	mu  sync.Mutex
	cur *snapshot
	// all has the operator's roots and all that the client named last, whether they
	// count or not. From it a root that is named again keeps its place on disk.
	all *rootedfs.FS
}

// snapshot returns the file system that a call may use. If the client has to be
// asked first, ask is what to return to it.
func (s *server) snapshot(ctx context.Context, req *mcp.CallToolRequest) (v *snapshot, ask *mcp.CallToolResult, err error) {
	if s.fixed != nil {
		// The operator's word alone counts: no call waits for a client.
		return s.fixed, nil, nil
	}
	list := s.tracker.Roots(ctx, req)
	if list.Ask != nil {
		return nil, &mcp.CallToolResult{InputRequests: list.Ask}, nil
	}
	v, err = s.session(req.Session).update(s, list)
	return v, nil, err
}

// known returns the client's list as far as a call may show it. Where only the
// operator's roots count it is what has come in by itself.
func (s *server) known(c *call) clientroots.List {
	if c.fixed {
		return s.tracker.Known(c.session)
	}
	return c.list
}

func (s *server) session(ss *mcp.ServerSession) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[ss]
	if x == nil {
		x = new(session)
		s.sessions[ss] = x
		go func() {
			ss.Wait()
			s.mu.Lock()
			delete(s.sessions, ss)
			s.mu.Unlock()
		}()
	}
	return x
}

// update returns the snapshot for a list: the current one if the list means the
// same roots, else a new one. The current one is never replaced by an older list.
func (x *session) update(s *server, list clientroots.List) (*snapshot, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cur != nil && list.State == roots.Answered && x.cur.list.State == roots.Answered && x.cur.list.Generation == list.Generation {
		return x.cur, nil
	}
	e, err := x.combine(s, list)
	if err != nil {
		return nil, err
	}
	if x.cur != nil && slices.Equal(x.cur.effective.Roots, e.Roots) && len(e.Roots) > 0 {
		v := &snapshot{fs: x.cur.fs, effective: e, list: list}
		if list.Generation > x.cur.list.Generation {
			x.cur = v
		}
		return v, nil
	}
	fs, err := x.all.Update(roots.NewSet(list.Generation, e.Roots...))
	if err != nil {
		return nil, err
	}
	v := &snapshot{fs: fs, effective: e, list: list}
	if x.cur == nil || list.Generation > x.cur.list.Generation {
		x.cur = v
		s.opts.Logger.Info("roots", "generation", list.Generation, "client", list.State.String(), "roots", len(e.Roots), "rejected", len(e.Rejected))
	}
	return v, nil
}

// combine decides which roots count, by where they really are: a client's root
// that is spelt through a link is where the link leads. That is looked up once,
// and later opened without following any link.
func (x *session) combine(s *server, list clientroots.List) (roots.Effective, error) {
	named := append(slices.Clone(s.opts.Given.Roots), list.Roots...)
	set := roots.NewSet(list.Generation, named...)
	var err error
	if x.all == nil {
		x.all, err = s.given.Update(set)
	} else {
		x.all, err = x.all.Update(set)
	}
	if err != nil {
		return roots.Effective{}, err
	}
	real := make(map[roots.URI]string)
	for _, i := range x.all.Roots() {
		real[i.URI] = i.Real
	}
	given := s.opts.Given
	given.Roots = located(given.Roots, real)
	list.Roots = located(list.Roots, real)
	return roots.Combine(given, list.ClientList, s.opts.Policy, s.opts.Guard), nil
}

func located(rs []roots.Root, real map[roots.URI]string) []roots.Root {
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].Real = real[rs[i].URI]
	}
	return rs
}

// errStale aborts a change whose roots are no longer in force when it would commit.
var errStale = errors.New("the roots changed")

// commit returns the check to make before a change becomes visible, nil if the
// roots of this call cannot have changed: they are the operator's, or came with
// the request itself.
func (s *server) commit(req *mcp.CallToolRequest, v *snapshot) func() error {
	if v.fixed || clientroots.Modern(req) {
		return nil
	}
	return func() error {
		if !s.tracker.Current(req.Session, v.list.Generation) {
			return errStale
		}
		return nil
	}
}
