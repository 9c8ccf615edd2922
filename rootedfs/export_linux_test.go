package rootedfs

import (
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// ForgetHints makes the next request through a link cost what the first one does.
func ForgetHints(f *FS) {
	for _, r := range f.roots {
		r.hints.Store(nil)
	}
}

// RenameByReserving renames in a directory as on a file system without a rename
// that replaces nothing.
func RenameByReserving(dir, from, to string) syscall.Errno {
	fd, errno := sys.Openat(sys.Cwd, dir, sys.DirHandle, 0)
	if errno != 0 {
		return errno
	}
	defer sys.Close(fd)
	return renameByReserving(fd, from, fd, to, syscall.EINVAL)
}

// MaxLooks is how many looks may be without an answer.
const MaxLooks = maxLooks

// Stall makes every look at a root call stall with the declared path, before it
// asks the disk: a file system that does not answer is one where that call blocks.
func Stall(o *Options, stall func(path string)) { o.stall = stall }
