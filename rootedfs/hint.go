package rootedfs

import (
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// A hint says where a link into another root was last seen: the name of the link
// below its root, all of whose directories are real. Without it each request
// through the link costs a failed openat2 and a walk. A hint is only where to
// look first: nothing that it says is believed, the link is read again.
type hint string

// maxHints bounds the hints of one root. Every request below a root that has
// hints compares its name with them.
const maxHints = 16

// remember adds a hint, in place of the oldest if there are too many.
func (r *root) remember(link string) {
	if hasDots(link) {
		return // from the text of another link: not a name that requests begin with
	}
	for {
		old := r.hints.Load()
		var hints []hint
		if old != nil {
			if slices.Contains(*old, hint(link)) {
				return
			}
			hints = append(hints, (*old)[max(0, len(*old)-maxHints+1):]...)
		}
		hints = append(hints, hint(link))
		if r.hints.CompareAndSwap(old, &hints) {
			return
		}
	}
}

// forget removes a hint that did not help.
func (r *root) forget(h hint) {
	old := r.hints.Load()
	if old == nil {
		return
	}
	hints := slices.DeleteFunc(slices.Clone(*old), func(o hint) bool { return o == h })
	next := &hints
	if len(hints) == 0 {
		next = nil
	}
	r.hints.CompareAndSwap(old, next) // if it fails, the next request tries again
}

// followHint moves the lookup through a link into another root, if there is a hint
// for the name and the link still is where it was.
func (l *lookup) followHint(hints []hint) bool {
	for _, h := range hints {
		rest, ok := strings.CutPrefix(l.name, string(h))
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if strings.Trim(rest, "/") == "" && l.want == entry {
			continue // the request is about the link itself
		}
		from := l.root
		if !l.readHint(h, rest) {
			from.forget(h)
			return false
		}
		return true
	}
	return false
}

// readHint reads the link of a hint. rest, what follows the link in the request,
// is "" or begins with a slash.
func (l *lookup) readHint(h hint, rest string) bool {
	dir, base := splitLast(string(h))
	fd := l.pin.fd
	if dir != "" {
		var errno syscall.Errno
		fd, errno = sys.Openat2(l.pin.fd, dir, sys.DirHandle, 0, sys.Beneath|sys.NoLinks)
		if errno != 0 {
			return false
		}
	}
	text, errno := sys.Readlinkat(fd, base)
	if dir != "" {
		sys.Close(fd)
	}
	switch {
	case errno != 0 || text == "":
		return false
	case text[0] == '/':
		return l.reanchor("/", text, rest)
	}
	// The directories are real, so ".." in front of the text may be read lexically
	// until it is above the root. If it is not, the kernel can follow the link.
	for {
		elem, more, _ := nextElem(text)
		switch {
		case elem != "..":
			return false
		case dir == "":
			return l.reanchor(path.Dir(l.root.anchor.real()), more, rest)
		}
		dir, _ = splitLast(dir)
		text = more
	}
}
