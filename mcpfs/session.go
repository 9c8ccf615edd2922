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
	mu      sync.Mutex
	cur     *snapshot
	settled bool // all that cur depends on was known
	// all has the operator's roots and all that the client named last, whether they
	// count or not. From it a root that is named again keeps its handle.
	all *rootedfs.FS
	// places has where each root really was that the client has named. A root that
	// is named again is looked for there, without following a link: what has come
	// into its place meanwhile may be the work of whom the roots are to keep out.
	places map[roots.URI]string
	// written has the real paths of the directories that this session could write.
	// A link in one of them may be its own work and makes no root.
	written roots.Set
}

// maxPlaces bounds what a session remembers of the roots it had.
const maxPlaces = 16 * roots.MaxRoots

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
		x = &session{places: make(map[roots.URI]string)}
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
	if x.cur != nil && x.settled && list.State == roots.Answered && x.cur.list.State == roots.Answered && x.cur.list.Generation == list.Generation {
		return x.cur, nil
	}
	e, settled, err := x.combine(s, list)
	if err != nil {
		return nil, err
	}
	x.settled = settled
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
func (x *session) combine(s *server, list clientroots.List) (e roots.Effective, settled bool, err error) {
	named := append(slices.Clone(s.opts.Given.Roots), list.Roots...)
	for i := range named {
		named[i].Real = x.places[named[i].URI]
	}
	set := roots.NewSet(list.Generation, named...)
	if x.all == nil {
		x.all, err = s.given.Update(set)
	} else {
		x.all, err = x.all.Update(set)
	}
	if err != nil {
		return e, false, err
	}
	infos := make(map[roots.URI]rootedfs.RootInfo)
	for _, i := range x.all.Roots() {
		infos[i.URI] = i
	}
	given := s.opts.Given
	given.Roots = slices.Clone(given.Roots)
	for i, r := range given.Roots {
		given.Roots[i].Real = infos[r.URI].Real
	}
	x.remember(given.Roots)
	settled = true
	var found []roots.Root
	for _, r := range list.Roots {
		info := infos[r.URI]
		r.Real = info.Real
		if r.Real == "" {
			// It does not answer. Without its real path nothing can be granted.
			settled = false
			list.Rejected = append(slices.Clip(list.Rejected), reject(r, rejectedUnavailable, info.Reason))
			continue
		}
		found = append(found, r)
	}
	x.remember(found)
	list.Roots = nil
	for _, r := range found {
		if dir, ok := x.ownLink(r, infos[r.URI].Links); ok {
			why := "its path goes through a link in " + show(dir) + ", where this session may write; name the directory that it leads to"
			list.Rejected = append(slices.Clip(list.Rejected), reject(r, rejectedLink, why))
			continue
		}
		if len(x.places) < maxPlaces {
			x.places[r.URI] = r.Real
		}
		list.Roots = append(list.Roots, r)
	}
	return roots.Combine(given, list.ClientList, s.opts.Policy, s.opts.Guard), settled, nil
}

// Classes of [roots.Rejected] that only the disk can tell.
const (
	rejectedUnavailable = "unavailable"
	rejectedLink        = "link"
)

func reject(r roots.Root, class, why string) roots.Rejected {
	return roots.Rejected{
		Entry: roots.Entry{URI: r.URI.String(), Name: r.Name, Mode: r.Mode, Source: r.Source},
		Class: class, Why: why,
	}
}

// ownLink reports whether the path of a root goes through a link, in one of the
// given directories, that this session could have made, and that leads out of where
// it may write.
func (x *session) ownLink(r roots.Root, links []string) (dir string, ok bool) {
	for _, dir := range links {
		i, _, ok := x.written.Find(dir)
		if ok && !x.written.At(i).Contains(r.Real) {
			return dir, true
		}
	}
	return "", false
}

// remember adds to where the session may write, for good: what was made there
// outlasts the grant.
func (x *session) remember(rs []roots.Root) {
	var all []roots.Root
	for _, w := range x.written.All() {
		all = append(all, w)
	}
	for _, r := range rs {
		u, err := roots.FileURI(r.Real)
		if r.Mode == roots.ReadWrite && err == nil && len(all) < maxPlaces {
			all = append(all, roots.Root{URI: u, Mode: roots.ReadWrite})
		}
	}
	x.written = roots.NewSet(0, all...)
}

// errStale aborts a change whose roots are no longer in force when it would commit.
var errStale = errors.New("the roots changed")

// commit returns the check to make before a change becomes visible: that the call
// is still wanted, and that its roots are still in force. Those of the operator,
// and those that came with the request itself, are.
func (s *server) commit(ctx context.Context, req *mcp.CallToolRequest, v *snapshot) func() error {
	own := v.fixed || clientroots.Modern(req)
	return func() error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !own && !s.tracker.Current(req.Session, v.list.Generation):
			return errStale
		}
		return nil
	}
}
