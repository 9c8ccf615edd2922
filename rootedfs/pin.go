package rootedfs

import (
	"path"
	"runtime"
	"syscall"

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
