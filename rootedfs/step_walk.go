package rootedfs

import (
	"path"
	"strings"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// maxTrail is how many directories below a root the walk holds open at a time.
const maxTrail = 512

// A trail is the chain of directory handles from a root down to where the walk
// is. Going up a level is to drop a handle: openat(dir, "..") would ask the
// directory, which may have been moved out of the root meanwhile.
type trail struct {
	root int
	few  [12]int // the usual case, without an allocation
	many []int
	n    int
}

func (t *trail) top() int {
	switch {
	case t.n == 0:
		return t.root
	case t.n <= len(t.few):
		return t.few[t.n-1]
	}
	return t.many[len(t.many)-1]
}

func (t *trail) push(fd int) {
	if t.n < len(t.few) {
		t.few[t.n] = fd
	} else {
		t.many = append(t.many, fd)
	}
	t.n++
}

// pop gives up the last handle, which the caller owns from now on.
func (t *trail) pop() int {
	fd := t.top()
	if t.n > len(t.few) {
		t.many = t.many[:len(t.many)-1]
	}
	t.n--
	return fd
}

func (t *trail) close() {
	for t.n > 0 {
		sys.Close(t.pop())
	}
}

// walk resolves the name one element at a time, each by a call that follows no
// link, and reads links itself. It is for what openat2 cannot do: to find the link
// that leaves the root, and to work where there is no openat2.
//
// It never opens, reads or stats anything that is not a name in a directory
// reached from the root in this way.
func (l *lookup) walk() (done bool, err error) {
	t := trail{root: l.pin.fd}
	defer t.close()
	var (
		rem   = l.name // what remains to be resolved
		link  string   // the first link followed, as a part of l.name
		count = 0      // of links followed here
		raced = 0
	)
	for {
		elem, rest, slash := nextElem(rem)
		switch elem {
		case "": // the name leads to the directory at the end of the trail
			return true, l.walkEnd(&t)
		case ".":
			rem = rest
			continue
		case "..":
			switch {
			case t.n > 0:
				sys.Close(t.pop())
			case l.root.anchor.real() != "/":
				// Above the root only text counts, starting from its real name.
				return l.leave(path.Dir(l.root.anchor.real()), rest, link, count)
			}
			rem = rest
			continue
		}

		last := rest == ""
		text, isLink, err := l.walkElem(&t, elem, last, slash)
		switch {
		case err == errSwapped:
			if raced++; raced > maxRetries*4 {
				return true, syscall.EBUSY
			}
			continue
		case err != nil:
			return true, err
		case !isLink && last:
			return true, nil
		case !isLink:
			if t.n > maxTrail {
				return true, ErrLimit
			}
			rem = rest
			continue
		}

		// The target of the link takes its place in what remains.
		if _, err := l.follow(); err != nil || sys.InProc(t.top()) {
			return true, syscall.ELOOP
		}
		if text == "" {
			return true, syscall.ENOENT // as path_resolution(7) has it
		}
		if count++; count == 1 {
			link = strings.TrimRight(l.name[:len(l.name)-len(rest)], "/")
		}
		switch {
		case !last:
			text += "/" + rest
		case slash:
			text += "/" // still demands a directory
		}
		if text[0] == '/' {
			return l.leave("/", text, link, count)
		}
		rem = text
	}
}

const errSwapped = refusal("swapped meanwhile")

// walkElem takes one element of the walk, which is not special: it goes down into
// a directory, makes the last element the answer, or returns the text of a link.
func (l *lookup) walkElem(t *trail, elem string, last, slash bool) (text string, isLink bool, err error) {
	dir := t.top()
	if last && l.want != object {
		if l.want == entryFollow {
			text, errno := sys.Readlinkat(dir, elem)
			if errno != syscall.EINVAL && errno != syscall.ENOENT {
				return text, true, errOf(errno)
			}
		}
		l.walkEntry(t, elem, slash)
		return "", false, nil
	}
	flags, mode := sys.DirHandle, uint32(0)
	if last {
		flags, mode = l.flags, l.mode
		if slash || l.dir {
			flags |= sys.Directory
		}
	}
	fd, errno := sys.Openat(dir, elem, flags|sys.NoFollow, mode)
	switch {
	case errno == 0 && last:
		l.take(fd)
		return "", false, nil
	case errno == 0:
		t.push(fd)
		return "", false, nil
	case errno != syscall.ELOOP && errno != syscall.ENOTDIR:
		return "", false, errno
	}
	text, notLink := sys.Readlinkat(dir, elem)
	switch notLink {
	case 0:
		return text, true, nil
	case syscall.EINVAL, syscall.ENOENT:
		// Either it is a file where a directory is needed, or it was swapped between
		// the two calls.
		var st sys.Stat
		if errno == syscall.ENOTDIR && sys.Lstatat(dir, elem, &st) == 0 &&
			st.Type() != sys.TypeDir && st.Type() != sys.TypeLink {
			return "", false, errno
		}
		return "", false, errSwapped
	}
	return "", false, notLink
}

// leave goes on where a link leads that leaves the root. It is remembered if it
// was the first link: then its name in the request is its real name.
func (l *lookup) leave(dir, text, link string, count int) (done bool, err error) {
	from := l.root
	if !l.reanchor(dir, text, "") {
		return true, ErrOutside
	}
	if count == 1 {
		from.remember(link)
	}
	return false, nil
}

// walkEntry makes a name in the directory at the end of the trail the answer.
func (l *lookup) walkEntry(t *trail, name string, dir bool) {
	l.fd, l.base, l.mustDir = t.root, name, dir
	if t.n > 0 {
		l.take(t.pop())
	}
}

// walkEnd makes the directory at the end of the trail the answer: the root itself,
// or what a link with the text "." or "a/.." leads to.
func (l *lookup) walkEnd(t *trail) error {
	switch {
	case l.want != object:
		l.top = t.n == 0
		l.walkEntry(t, ".", true)
		return nil
	case l.flags&syscall.O_EXCL != 0:
		return syscall.EEXIST
	}
	fd, errno := sys.Openat(t.top(), ".", l.flags, l.mode)
	if errno == 0 {
		l.take(fd)
	}
	return errOf(errno)
}
