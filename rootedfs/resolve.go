package rootedfs

import (
	"path"
	"runtime"
	"strings"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/roots"
)

const (
	// maxLinks is how many links one request may follow in all its roots together,
	// as many as Linux follows (MAXSYMLINKS, path_resolution(7)).
	maxLinks = 40
	// maxRetries bounds the repetition of what a concurrent rename made void:
	// openat2(2) gives EAGAIN when anything on the machine is renamed while it
	// resolves "..". An attacker can keep renaming, so there is an end.
	maxRetries = 16
	// pathMax is PATH_MAX of Linux, with the NUL.
	pathMax = 4096
)

// A want says what a request resolves to.
type want uint8

const (
	object      want = iota // a descriptor of what the path leads to
	entry                   // the directory that holds the last name; a link there is not followed
	entryFollow             // the same for what a link there leads to, which need not exist
)

// A request is a path to resolve, and what for.
type request struct {
	path  string // absolute, clean
	want  want
	flags int // of open(2), for an object
	mode  uint32
	dir   bool // the spelling demands a directory
	write bool // something is going to change
}

// A place is what a request resolves to: a descriptor, and for an entry a name
// below it. It is released when it has been used.
type place struct {
	fd      int
	owned   bool   // fd is closed on release; else it is the pin's
	base    string // for an entry, a single name; or "." for a directory that has no name here
	top     bool   // the entry is a root itself
	mustDir bool   // the entry must be a directory
	root    *root
	pin     *pin
}

func (pl *place) release() {
	if pl.owned {
		sys.Close(pl.fd)
		pl.owned = false
	}
	runtime.KeepAlive(pl.pin)
}

// take makes fd the answer, which the place then owns.
func (pl *place) take(fd int) { pl.fd, pl.owned = fd, true }

// A lookup is the resolution of one request: the one way from a path to a
// descriptor. It matches the path against the roots as text, then takes steps.
// Each step resolves a name beneath one root, and ends in the answer or at a link
// that leads to another root.
type lookup struct {
	f *FS
	request
	place        // root and pin are where the lookup is; the rest is the answer
	name  string // what is to be resolved beneath root: clean at first, "" for root itself
	links int    // how many were followed
}

// resolve resolves a request. Its errors carry no path.
func (f *FS) resolve(q request) (place, error) {
	l := lookup{f: f, request: q}
	err := l.run()
	return l.place, err
}

// quick takes the first step of the usual request to read, a clean path that the
// kernel can resolve, laid out flat: that halves what this package costs on top of
// the system call. If fd is -1 the answer, be it a failure, is for a lookup, which
// need not look for the root again if that is not nil.
func (f *FS) quick(path string, flags int) (fd int, r *root, name string) {
	if path == "" || hasDots(path[1:]) {
		return -1, nil, ""
	}
	r, name = f.find(path) // an absolute path, since it begins with that of a root
	if r == nil || name == "" || !f.openat2 || r.hints.Load() != nil {
		return -1, r, name
	}
	p := r.pin.Load()
	if p == nil || p.base != "" || r.verified.Load() != f.clock.epoch.Load() {
		return -1, r, name
	}
	fd, errno := sys.Openat2(p.fd, name, flags, 0, sys.Beneath) // refuses a NUL byte
	runtime.KeepAlive(p)
	if errno != 0 {
		return -1, r, name
	}
	return fd, r, name
}

func (l *lookup) run() error {
	if l.f.unknown.Load() {
		l.f.arrange()
	}
	if l.root == nil {
		l.root, l.name = l.f.find(l.path)
	}
	if l.root == nil {
		return ErrOutside
	}
	if len(l.name) >= pathMax {
		return syscall.ENAMETOOLONG
	}
	again := false
	for {
		p, err := l.f.live(l.root)
		if err != nil {
			return err
		}
		l.pin = p
		done, err := l.step()
		if !done {
			continue
		}
		// A removed root answers like this for ever, but there may be another in its place.
		suspect := err == syscall.ENOENT || err == nil && (l.name == "" || l.fd == p.fd)
		if suspect && !again && p.deleted() {
			l.release()
			l.root.doubt()
			l.place = place{root: l.root}
			again = true
			continue
		}
		runtime.KeepAlive(p)
		return err
	}
}

// step resolves the name beneath the root. It is not done if it has met a link
// that leads to another root: then root and name are where that leads.
func (l *lookup) step() (done bool, err error) {
	if l.write && l.root.enforced() == roots.ReadOnly {
		return l.probe()
	}
	if l.pin.base != "" {
		return l.file()
	}
	if l.f.openat2 {
		if hints := l.root.hints.Load(); hints != nil && l.followHint(*hints) {
			return l.follow()
		}
		switch errno := l.kernel(); errno {
		case 0:
			return true, nil
		case syscall.EXDEV, syscall.ELOOP, syscall.EAGAIN, syscall.ENOSYS:
			// A link leads out, or there are too many, or something was renamed. The
			// walk finds out which. (ENOSYS: a filter came over us since Open.)
		default:
			return true, errno // arose inside, so it may be shown
		}
	}
	return l.walk()
}

// follow counts a link.
func (l *lookup) follow() (done bool, err error) {
	if l.links++; l.links > maxLinks {
		return true, syscall.ELOOP
	}
	return false, nil
}

// probe finds out whether a request to write leads from a read-only root to
// another one. What ends in this root is refused, whether or not it exists.
func (l *lookup) probe() (done bool, err error) {
	q := *l
	q.write, q.want, q.dir = false, entryFollow, false
	if l.want == entry || l.flags&syscall.O_EXCL != 0 {
		q.want = entry
	}
	done, err = q.step()
	q.release()
	l.root, l.name, l.links = q.root, q.name, q.links
	if done && (err == nil || err == syscall.ENOENT || err == syscall.ENOTDIR) {
		err = ErrReadOnly
	}
	return done, err
}

// file resolves a name beneath a root that is a file: there is only the file. If
// someone put a link in its place, that may lead into a root.
func (l *lookup) file() (done bool, err error) {
	if l.name != "" || l.dir {
		return true, syscall.ENOTDIR
	}
	p := l.pin
	if l.want != entry {
		text, errno := sys.Readlinkat(p.fd, p.base)
		if errno == 0 {
			if !l.reanchor(path.Dir(l.root.anchor.real()), text, "") {
				return true, ErrOutside
			}
			return l.follow()
		}
	}
	if l.want != object {
		l.fd, l.base, l.top = p.fd, p.base, true
		return true, nil
	}
	fd, errno := sys.Openat(p.fd, p.base, l.flags|sys.NoFollow, l.mode)
	if errno != 0 {
		return true, errno
	}
	l.take(fd)
	return true, nil
}

// kernel lets the kernel resolve the name, which it does in one call.
func (l *lookup) kernel() syscall.Errno {
	if l.want != object {
		return l.kernelEntry()
	}
	name, flags := l.name, l.flags
	if name == "" {
		name = "."
	}
	if l.dir {
		flags |= sys.Directory
	}
	fd, errno := l.openat2(name, flags)
	if errno == 0 {
		l.take(fd)
	}
	return errno
}

// kernelEntry is the part of kernel for entries.
func (l *lookup) kernelEntry() syscall.Errno {
	dir, base := splitLast(l.name)
	switch {
	case l.name == "":
		l.fd, l.base, l.top = l.pin.fd, ".", true
		return 0
	case base == "" || base == "." || base == "..":
		return syscall.ELOOP // from the text of a link; the walk knows what it means
	case dir == "":
		l.fd = l.pin.fd
	default:
		fd, errno := l.openat2(dir, sys.DirHandle)
		if errno != 0 {
			return errno
		}
		l.take(fd)
	}
	l.base = base
	if l.want == entryFollow {
		_, errno := sys.Readlinkat(l.fd, base)
		if errno == syscall.EINVAL || errno == syscall.ENOENT {
			return 0 // not a link
		}
		l.release()
		if errno == 0 {
			errno = syscall.ELOOP // a link, which the walk follows
		}
		return errno
	}
	return 0
}

func (l *lookup) openat2(name string, flags int) (fd int, errno syscall.Errno) {
	how := uint64(sys.Beneath)
	if l.links > 0 {
		// The kernel would start a new count of links; the walk goes on with ours.
		how |= sys.NoLinks
	}
	for range maxRetries {
		fd, errno = sys.Openat2(l.pin.fd, name, flags, l.mode, how)
		if errno != syscall.EAGAIN {
			break
		}
	}
	return fd, errno
}

// reanchor moves the lookup to the root that a link leads into. The link is in the
// directory dir and has the given text; rest is what follows it in the request, ""
// or with a slash in front. It reports false if there is no such root.
//
// The part in front of a root's name is read lexically: it lies outside, where
// nothing is looked at. From there on ".." stays for the step in that root, where
// it means the parent of what is really there.
func (l *lookup) reanchor(dir, text, rest string) bool {
	mustDir := strings.HasSuffix(text, "/") && rest == "" || strings.HasSuffix(rest, "/")
	if strings.HasPrefix(text, "/") {
		dir = ""
	}
	dir, text, rest = strings.TrimSuffix(dir, "/"), strings.TrimRight(text, "/"), strings.TrimRight(rest, "/")
	sep := "/"
	if text == "" || text[0] == '/' {
		sep = ""
	}
	var r *root
	var name, more string
	if !hasDots(strings.TrimPrefix(text, "/")) && !hasDots(strings.TrimPrefix(rest, "/")) {
		r, name = l.f.find(dir + sep + text + rest)
	} else {
		r, name, more = l.f.reanchorDots(dir, text+rest)
	}
	if r == nil {
		return false
	}
	l.root, l.name = r, joinName(name, more)
	if mustDir {
		l.name = joinName(l.name, "./") // which is not absolute for the root itself
	}
	return true
}

// reanchorDots is reanchor for text that is not clean. more is what has to be
// resolved beneath name.
func (f *FS) reanchorDots(dir, text string) (r *root, name, more string) {
	if dir == "" {
		dir = "/"
	}
	for r, _ = f.find(dir); r == nil; r, _ = f.find(dir) {
		elem, rest, _ := nextElem(text)
		if elem == "" {
			return nil, "", ""
		}
		dir, text = path.Join(dir, elem), rest
	}
	// The innermost root counts, so add what is certain to lie below dir.
	for elem, rest, _ := nextElem(text); elem != "" && elem != ".."; elem, rest, _ = nextElem(text) {
		dir, text = path.Join(dir, elem), rest
	}
	r, name = f.find(dir)
	return r, name, text
}
