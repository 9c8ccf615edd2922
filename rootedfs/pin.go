package rootedfs

import (
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
)

// A pin is a root that is open. It is immutable, and closes itself when no
// operation holds it any more, so that replacing a root needs no lock and no
// count of users.
type pin struct {
	fd   int      // the root; of a root that is a file, the directory that holds it
	base string   // of a root that is a file, its name in that directory
	id   identity // of the directory fd
}

// An identity tells directories apart by what they are, not by their names.
type identity struct{ dev, ino uint64 }

func identityOf(st *sys.Stat) identity { return identity{st.Dev, st.Ino} }

func newPin(p pin) *pin {
	kept := &p
	runtime.AddCleanup(kept, func(fd int) { sys.Close(fd) }, p.fd)
	return kept
}

// deleted reports whether the pinned directory has been removed.
func (p *pin) deleted() bool {
	var st sys.Stat
	return sys.Fstat(p.fd, &st) != 0 || st.Nlink == 0
}

// An anchor is the place of a root on disk: its real path, and the pin that was
// found there. It outlives one FS when the next one declares the same root.
type anchor struct {
	pin      atomic.Pointer[pin] // nil before the root was first found
	verified atomic.Uint64       // the epoch in which pin was last seen at real, or 0

	real string // without links; fixed by the first look at the root

	mu     sync.Mutex
	reason error // why the root is unavailable, or nil; guarded by mu
}

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

// live returns the pin of a root, which was at the root's real path in this epoch.
func (f *FS) live(r *root) (*pin, error) {
	epoch := f.clock.epoch.Load()
	if p := r.pin.Load(); p != nil && r.verified.Load() == epoch {
		return p, nil
	}
	p, err := f.verify(r.anchor)
	if err == nil {
		r.pin.Store(p)
		r.verified.Store(epoch)
	}
	return p, err
}

// doubt makes the next operation verify the root.
func (r *root) doubt() {
	r.anchor.verified.Store(0)
	r.verified.Store(0)
}

// verify looks for the root at its real path and adopts what it finds there, by
// the rules in the package comment.
func (f *FS) verify(a *anchor) (*pin, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	epoch := f.clock.epoch.Load()
	old := a.pin.Load()
	if old != nil && a.verified.Load() == epoch {
		return old, nil // for another FS, or another goroutine meanwhile
	}
	found, errno := openPin(a.real, f.openat2)
	switch {
	case errno != 0:
		if kindOfErrno(errno) == Busy {
			return nil, errno // says nothing about the root
		}
		return nil, a.lose(errno)
	case old != nil && found.id == old.id && found.base == old.base:
		sys.Close(found.fd)
	case old != nil && (found.base != old.base || f.noRepin):
		// The old pin stays open: while it is, its inode cannot be given to another
		// directory that would then pass for the old one.
		sys.Close(found.fd)
		return nil, a.lose(errReplaced)
	default:
		old = newPin(found)
		a.pin.Store(old)
	}
	a.reason = nil
	a.verified.Store(epoch)
	f.clock.wind()
	return old, nil
}

const errReplaced = refusal("something else is in its place")

// lose notes why the root is unavailable. It is looked for again by the next
// operation that wants it.
func (a *anchor) lose(reason error) error {
	a.reason = reason
	a.verified.Store(0)
	return ErrUnavailable
}

// openPin opens what is at an absolute path, no component of which may be a link.
func openPin(real string, openat2 bool) (p pin, errno syscall.Errno) {
	for range maxRetries {
		p, errno = openPinOnce(real, openat2)
		if errno != syscall.EAGAIN {
			break
		}
	}
	return p, errno
}

// openPinOnce is openPin, but EAGAIN if things were swapped while it looked.
func openPinOnce(real string, openat2 bool) (pin, syscall.Errno) {
	fd, errno := openNoLinks(real, openat2)
	base := ""
	if errno == syscall.ENOTDIR {
		var dir string
		dir, base = path.Split(real)
		if fd, errno = openNoLinks(dir, openat2); errno == 0 {
			errno = isFile(fd, base)
		}
	}
	var st sys.Stat
	if errno == 0 {
		errno = sys.Fstat(fd, &st)
	}
	if errno != 0 {
		if fd >= 0 {
			sys.Close(fd)
		}
		return pin{}, errno
	}
	return pin{fd: fd, base: base, id: identityOf(&st)}, 0
}

func isFile(dir int, name string) syscall.Errno {
	var st sys.Stat
	if errno := sys.Lstatat(dir, name, &st); errno != 0 {
		return errno
	}
	switch st.Type() {
	case sys.TypeLink:
		return syscall.ELOOP
	case sys.TypeDir:
		return syscall.EAGAIN // it was not a moment ago
	}
	return 0
}

// openNoLinks opens a directory by an absolute path without links.
func openNoLinks(dir string, openat2 bool) (int, syscall.Errno) {
	if openat2 {
		fd, errno := sys.Openat2(sys.Cwd, dir, sys.DirHandle, 0, sys.NoLinks)
		if errno != syscall.ENOSYS {
			return fd, errno
		}
	}
	fd, errno := sys.Openat(sys.Cwd, "/", sys.DirHandle, 0)
	for elem, rest, _ := nextElem(dir); errno == 0 && elem != ""; elem, rest, _ = nextElem(rest) {
		parent := fd
		fd, errno = sys.Openat(parent, elem, sys.DirHandle|sys.NoFollow, 0)
		sys.Close(parent)
	}
	return fd, errno
}
