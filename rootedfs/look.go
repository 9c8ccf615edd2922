package rootedfs

import (
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
)

// A clock counts epochs, in which a root is verified once. It is stepped by a
// timer that runs only for a while after a verification, so that an operation
// pays for two atomic loads and an idle FS for nothing.
type clock struct {
	epoch atomic.Uint64
	armed atomic.Bool
}

// epochLength is half of the second that a moved root may at most be served for.
const epochLength = 500 * time.Millisecond

func newClock() *clock {
	c := new(clock)
	c.epoch.Store(1) // 0 is for roots that are not verified
	return c
}

// wind makes sure that the epoch ends.
func (c *clock) wind() {
	if !c.armed.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(epochLength, func() {
		// In this order: whoever finds the clock armed may count on a step to come.
		c.armed.Store(false)
		c.epoch.Add(1)
	})
}

// rules are what an FS and those that [FS.Update] makes of it have in common.
type rules struct {
	clock    *clock
	openat2  bool
	noRepin  bool
	patience time.Duration     // how long a look is waited for, from its beginning
	stall    func(path string) // for tests: called by a look before it asks the disk
}

// A spot is where a root is on disk.
type spot struct {
	real  string   // absolute, without links
	links []string // the real directories that hold the links on the declared path
}

// An anchor is the place of a root on disk, and the pin that was found there. It
// outlives one FS when the next one declares the same root.
//
// The disk is asked by a look, which runs in a goroutine of its own, one at a time
// for an anchor: a network file system whose server is gone may never answer, and
// no caller, and no lock, waits for that.
type anchor struct {
	pin      atomic.Pointer[pin]  // nil before the root was first found
	verified atomic.Uint64        // the epoch in which pin was last seen at the spot, or 0
	spot     atomic.Pointer[spot] // nil before the first look has answered; then fixed
	declared string

	writing sync.Mutex // held by who changes the content of a root that is a file

	mu      sync.Mutex
	reason  error // why the root is unavailable, or nil; guarded by mu
	looking *look // the look that runs, or nil; guarded by mu
}

// real is the path of the root without links, or "" if nothing is known yet. What
// is pinned has one.
func (a *anchor) real() string {
	if s := a.spot.Load(); s != nil {
		return s.real
	}
	return ""
}

// silent reports whether a look has not answered yet.
func (a *anchor) silent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.looking != nil
}

// A look asks the disk for a root. pin and err are the answer, when done is closed.
type look struct {
	began time.Time
	epoch uint64 // in which it began; 0 if the answer is doubted already
	done  chan struct{}
	pin   *pin
	err   error
}

// maxLooks bounds the looks that have not answered in this process: each of them
// may hold a thread for ever, and a process with too many threads is ended.
const maxLooks = 2048

var looks atomic.Int64

const (
	errReplaced = refusal("something else is in its place")
	errSilent   = refusal("its file system does not answer")
	errTooMany  = refusal("too many file systems do not answer")
)

// live returns the pin of a root, which was at the root's real path in this epoch.
func (f *FS) live(r *root) (*pin, error) {
	if p := r.pin.Load(); p != nil && r.verified.Load() == f.clock.epoch.Load() {
		return p, nil
	}
	l := r.anchor.look(&f.rules)
	if !l.answered(l.left(f.patience)) {
		return nil, ErrUnavailable
	}
	if f.unknown.Load() {
		f.arrange()
	}
	return r.take(l)
}

// take takes the answer of a look.
func (r *root) take(l *look) (*pin, error) {
	if l.err == nil {
		r.pin.Store(l.pin)
		r.verified.Store(l.epoch)
	}
	return l.pin, l.err
}

// lookAll looks for all roots, and returns why they are not there. It takes no
// longer than the patience that one of them is given.
func (f *FS) lookAll() []error {
	errs := make([]error, len(f.roots))
	asked := make([]*look, len(f.roots))
	end := time.Now().Add(f.patience)
	for i, r := range f.roots {
		asked[i] = r.anchor.look(&f.rules)
		// A disk that answers at once is asked for one root after the other, which is
		// the fastest. Who does not is left behind, to be waited for with the rest.
		turn := min(20*time.Millisecond, time.Until(end)/time.Duration(2*(len(f.roots)-i)))
		asked[i].answered(min(turn, asked[i].left(f.patience)))
	}
	for i, r := range f.roots {
		if l := asked[i]; l.answered(min(time.Until(end), l.left(f.patience))) {
			_, errs[i] = r.take(l)
		} else {
			errs[i] = ErrUnavailable
		}
	}
	if f.unknown.Load() {
		f.arrange()
	}
	return errs
}

// left is how much of its patience a look has left. A look that is overdue has none,
// so that nobody waits for it again.
func (l *look) left(patience time.Duration) time.Duration { return patience - time.Since(l.began) }

// answered waits for the answer, at most for a time that may be negative.
func (l *look) answered(within time.Duration) bool {
	select {
	case <-l.done:
		return true
	default:
	}
	if within <= 0 {
		return false
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-l.done:
		return true
	case <-timer.C:
		return false
	}
}

// doubt makes the next operation verify the root.
func (r *root) doubt() {
	a := r.anchor
	a.mu.Lock()
	defer a.mu.Unlock()
	a.verified.Store(0)
	r.verified.Store(0)
	if a.looking != nil {
		a.looking.epoch = 0 // it may have seen what is doubted
	}
}

// look returns the look for the root that runs, or begins one. There is nothing to
// wait for if the root was verified in this epoch, by another FS or goroutine.
func (a *anchor) look(u *rules) *look {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looking != nil {
		return a.looking
	}
	l := &look{began: time.Now(), epoch: u.clock.epoch.Load(), done: make(chan struct{})}
	switch p := a.pin.Load(); {
	case p != nil && a.verified.Load() == l.epoch:
		l.pin = p
		close(l.done)
	case looks.Load() >= maxLooks:
		l.err = a.lose(errTooMany)
		close(l.done)
	default:
		looks.Add(1)
		a.looking = l
		go a.run(l, *u)
	}
	return l
}

// run is the one function that asks the disk whether and where a root is.
func (a *anchor) run(l *look, u rules) {
	defer looks.Add(-1)
	if u.stall != nil {
		u.stall(a.declared)
	}
	s := a.spot.Load()
	if s == nil {
		s = resolveLinks(a.declared)
	}
	found, errno := openPin(s.real, u.openat2)

	a.mu.Lock()
	l.pin, l.err = a.adopt(found, errno, u.noRepin)
	a.spot.Store(s)
	if l.err == nil {
		a.reason = nil
		a.verified.Store(l.epoch)
		u.clock.wind()
	}
	a.looking = nil
	close(l.done)
	a.mu.Unlock()

	if errno == 0 && (l.pin == nil || l.pin.fd != found.fd) {
		sys.Close(found.fd) // without the lock, since that may hang too
	}
}

// adopt decides on what was found at the real path, by the rules in the package
// comment. What it does not adopt is for the caller to close, who holds a.mu.
func (a *anchor) adopt(found pin, errno syscall.Errno, noRepin bool) (*pin, error) {
	old := a.pin.Load()
	switch {
	case errno != 0:
		if kindOfErrno(errno) == Busy {
			return nil, errno // says nothing about the root
		}
		return nil, a.lose(errno)
	case old != nil && found.id == old.id && found.base == old.base:
		return old, nil
	case old != nil && (found.base != old.base || noRepin):
		// The old pin stays open: while it is, its inode cannot be given to another
		// directory that would then pass for the old one.
		return nil, a.lose(errReplaced)
	}
	adopted := newPin(found)
	a.pin.Store(adopted)
	return adopted, nil
}

// lose notes why the root is unavailable. It is looked for again by the next
// operation that wants it. The caller holds a.mu.
func (a *anchor) lose(reason error) error {
	a.reason = reason
	a.verified.Store(0)
	return ErrUnavailable
}

// why returns the reason for err, which a look gave, or the lack of an answer.
func (a *anchor) why(err error) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == ErrUnavailable && a.looking != nil:
		return errSilent.Error()
	case err == ErrUnavailable && a.reason != nil:
		return a.reason.Error()
	}
	return err.Error()
}

// resolveLinks follows the links of a declared path. If the path does not exist,
// or may not be looked at, it follows those of the deepest ancestor that does;
// whatever comes to be below that is not believed to be a link's target.
func resolveLinks(declared string) *spot {
	s := &spot{real: "/"}
	links := 0
	for elem, rest, _ := nextElem(declared); elem != ""; elem, rest, _ = nextElem(rest) {
		next, errno := s.descend(elem, &links)
		if errno != 0 {
			return &spot{real: path.Join(s.real, elem, rest), links: s.links}
		}
		s = next
	}
	return s
}

// descend returns the spot of a name below s, following the links that it leads to.
func (s *spot) descend(name string, links *int) (*spot, syscall.Errno) {
	next := &spot{real: s.real, links: slices.Clone(s.links)}
	for name != "" {
		elem, rest, _ := nextElem(name)
		name = rest
		switch elem {
		case "", ".":
			continue
		case "..":
			next.real = path.Dir(next.real)
			continue
		}
		at := path.Join(next.real, elem)
		text, errno := sys.Readlinkat(sys.Cwd, at)
		switch {
		case errno == syscall.EINVAL: // no link
			next.real = at
			continue
		case errno != 0:
			return nil, errno
		case text == "":
			return nil, syscall.ENOENT
		}
		if *links++; *links > maxLinks {
			return nil, syscall.ELOOP
		}
		if !slices.Contains(next.links, next.real) {
			next.links = append(next.links, next.real)
		}
		if text[0] == '/' {
			next.real = "/"
		}
		name = joinName(text, name)
	}
	return next, 0
}
