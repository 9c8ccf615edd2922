//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this package is about them.

package clientroots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/roots"
)

// listen is how long an answer may take and still count, if nothing changed
// meanwhile. People answer permission dialogs within it.
const listen = time.Minute

// A session is what is known of one session.
//
// Its questions are put by one goroutine, which runs while there is a flight.
// mu is never held while the client is asked.
type session struct {
	t     *Tracker
	ss    *mcp.ServerSession
	ended chan struct{} // closed when the session has ended

	mu       sync.Mutex
	last     uint64 // the last generation given out
	legacy   line
	modern   line
	warned   bool // of the failure that lasts
	stage    stage
	prefetch bool // a Refresh waits for the end of the handshake

	epoch  uint64             // the number of changes
	burst  burst              // the changes not yet asked about
	flight *flight            // the question being put, or nil
	cancel context.CancelFunc // ends the wait for an answer that no longer counts
}

// A stage says how far the handshake has been seen.
type stage uint8

const (
	unseen       stage = iota // no initialize: there was none, or the session was restored
	initializing              // initialize was answered; the client may not be asked outside of calls
	initialized
)

// A line is the list of one era.
type line struct {
	list List
	at   time.Time // when the answer came
}

// fresh reports whether the line holds an answer not older than max.
func (l *line) fresh(max time.Duration) bool {
	return l.list.State == roots.Answered && max > 0 && time.Since(l.at) < max
}

// A flight is a question on its way, with all who wait for it. It ends with an
// answer or failure that nothing has overtaken.
type flight struct {
	ctx     context.Context // of the call that asks, without its end; guarded by session.mu
	waiting int             // callers; guarded by session.mu
	wanted  bool            // by a Refresh; guarded by session.mu

	done chan struct{}
	list List // valid when done is closed
}

func newSession(t *Tracker, ss *mcp.ServerSession) *session {
	s := &session{t: t, ss: ss, ended: make(chan struct{})}
	s.legacy.list.State = roots.Unasked
	s.modern.list.State = roots.Unasked
	return s
}

// wait returns the session's list, asking for it if need be.
func (s *session) wait(ctx context.Context) List {
	s.mu.Lock()
	if s.legacy.fresh(s.lifetime()) {
		defer s.mu.Unlock()
		return s.legacy.list
	}
	// The newest caller's context: over HTTP it leads to the stream on which the
	// client is listening. Its end must not end the question for the others.
	f := s.board(context.WithoutCancel(ctx))
	f.waiting++
	epoch := s.epoch
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		f.waiting--
		s.mu.Unlock()
	}()

	timer := time.NewTimer(s.t.timeout)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.list
	case <-timer.C:
		return s.overdue(f, epoch)
	case <-ctx.Done():
		return failed("the call was cancelled while waiting for the client's roots")
	}
}

// refresh asks in the background.
func (s *session) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stage == initializing:
		s.prefetch = true
	case !s.legacy.fresh(s.lifetime()):
		ctx := context.Background()
		if s.flight != nil {
			ctx = s.flight.ctx
		}
		s.board(ctx).wanted = true
	}
}

// lifetime is how long an answer counts: for ever if the client promised to say
// when it changes.
func (s *session) lifetime() time.Duration {
	if p := s.ss.InitializeParams(); p != nil {
		if c := capability(p.Capabilities); c != nil && c.ListChanged {
			return math.MaxInt64
		}
	}
	return s.t.reask
}

// board returns the flight under way, or a new one. It needs s.mu.
func (s *session) board(ctx context.Context) *flight {
	if s.flight == nil {
		s.flight = &flight{done: make(chan struct{})}
		go s.fly(s.flight)
	}
	s.flight.ctx = ctx
	return s.flight
}

// fly puts the question until there is an answer that counts, or nobody is
// interested any more.
func (s *session) fly(f *flight) {
	for {
		ctx, epoch := s.depart(f)
		cl, ended := s.ask(ctx, f, epoch)
		if s.arrive(f, epoch, cl, ended) {
			return
		}
	}
}

// depart waits until a burst of changes is over, then returns the context to ask
// with, and the epoch that the answer will be of.
func (s *session) depart(f *flight) (context.Context, uint64) {
	for ended := false; ; {
		s.mu.Lock()
		d := s.burst.quiet(time.Now(), s.t.timeout/2)
		if d <= 0 || ended { // if ended, the question will fail, which is the answer
			break
		}
		s.mu.Unlock()
		select {
		case <-time.After(d):
		case <-s.ended:
			ended = true
		}
	}
	defer s.mu.Unlock()
	// The deadline is the callers'. This one only bounds what is kept of a client
	// that never answers.
	ctx, cancel := context.WithTimeout(f.ctx, max(listen, s.t.timeout))
	s.cancel = cancel
	s.burst.asked()
	f.wanted = false
	return ctx, s.epoch
}

// ask puts the question once. It also reports whether the session's end, rather
// than the client, is why there is no answer.
func (s *session) ask(ctx context.Context, f *flight, epoch uint64) (cl roots.ClientList, ended bool) {
	// Callers time out by themselves. This is for a question in which nobody but a
	// Refresh is interested, so that silence becomes known as a failure.
	silence := time.AfterFunc(s.t.timeout, func() { s.overdue(f, epoch) })
	defer silence.Stop()

	res, err := s.ss.ListRoots(ctx, nil)
	switch {
	case err == nil:
		return read(res), false
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return s.silent(), false
	}
	select {
	case <-s.ended:
		ended = true
	default: // the connection may know it first
		ended = errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, io.EOF)
	}
	return roots.ClientList{State: roots.Failed, Why: reason(err)}, ended
}

// arrive ends the flight with an answer, unless the list has changed since the
// question and there is somebody to ask again for.
func (s *session) arrive(f *flight, epoch uint64, cl roots.ClientList, ended bool) bool {
	s.mu.Lock()
	s.cancel()
	s.cancel = nil
	news := false
	switch {
	case s.epoch == epoch:
		f.list, news = s.set(&s.legacy, cl)
		s.legacy.at = time.Now()
		if f.waiting > 0 {
			s.burst.over()
		}
	case ended:
		f.list = List{ClientList: cl, Generation: s.legacy.list.Generation}
	case f.waiting > 0 || f.wanted:
		s.mu.Unlock()
		return false
	default:
		f.list = s.legacy.list
	}
	s.flight = nil
	close(f.done)
	s.mu.Unlock()
	if news && !ended {
		s.t.warn(s.ss, cl.Why)
	}
	return true
}

// overdue gives up waiting for a flight, which goes on, on behalf of somebody who
// has waited since the epoch. A list that was had before is gone: the client was
// asked for a newer one, and did not answer.
func (s *session) overdue(f *flight, epoch uint64) List {
	s.mu.Lock()
	if s.flight != f {
		s.mu.Unlock()
		<-f.done
		return f.list
	}
	var l List
	var news bool
	if s.epoch == epoch {
		l, news = s.set(&s.legacy, s.silent())
	} else {
		// A later question may yet be answered in time.
		l = List{ClientList: s.silent(), Generation: s.legacy.list.Generation}
		news, s.warned = !s.warned, true
	}
	s.mu.Unlock()
	if news {
		s.t.warn(s.ss, l.Why)
	}
	return l
}

func (s *session) silent() roots.ClientList {
	return roots.ClientList{State: roots.Failed, Why: fmt.Sprintf("the client did not answer within %v", s.t.timeout)}
}

// set makes cl what is known, as a new generation if it differs from what was. It
// reports whether to warn of it. It needs s.mu.
func (s *session) set(l *line, cl roots.ClientList) (_ List, warn bool) {
	if !same(l.list.ClientList, cl) {
		s.last++
		l.list = List{ClientList: cl, Generation: s.last}
	}
	switch cl.State {
	case roots.Answered:
		s.warned = false
	case roots.Failed:
		warn, s.warned = !s.warned, true
	}
	return l.list, warn
}

// forget makes nothing known, in a new generation. It needs s.mu.
func (s *session) forget(l *line) {
	s.last++
	l.list = List{ClientList: roots.ClientList{State: roots.Unasked}, Generation: s.last}
}

// changed takes note that the client's list has changed. It reports whether
// anything known or announced became stale by it. It never waits.
func (s *session) changed(legacy bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stale := legacy
	if legacy {
		s.epoch++
		s.burst.change(time.Now())
		s.forget(&s.legacy)
		if s.cancel != nil {
			s.cancel() // the answer would not count
		}
	}
	// 2026-07-28 has no such notification. A client that sends it all the same has
	// changed its list, and an answer kept by the TTL is no longer good.
	if s.modern.list.State != roots.Unasked {
		s.forget(&s.modern)
		stale = true
	}
	return stale
}

// handshake takes note of how far the handshake is.
func (s *session) handshake(to stage) {
	s.mu.Lock()
	s.stage = to
	prefetch := s.prefetch && to == initialized
	if prefetch {
		s.prefetch = false
	}
	s.mu.Unlock()
	if prefetch {
		s.refresh()
	}
}

func (s *session) sawInitialize() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage != unseen
}

// end releases who waits for a session that has ended.
func (s *session) end() {
	close(s.ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// same reports whether two lists say the same.
func same(a, b roots.ClientList) bool {
	return a.State == b.State && a.Why == b.Why && slices.Equal(a.Roots, b.Roots) && slices.Equal(a.Rejected, b.Rejected)
}
