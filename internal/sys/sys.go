// Package sys holds the system calls that packages os and syscall lack, and is
// the only package of this module that imports x/sys/unix or unsafe.
//
//	fd, errno := sys.Openat2(dir, name, flags, 0, sys.Beneath)
//
// Functions take descriptors and names, and return a [syscall.Errno], 0 for
// success, so that a caller can switch on it and nothing is allocated on the way.
// EINTR is retried here. No function returns a descriptor that a child process
// would inherit.
//
// # Limits
//
// Linux has everything. Darwin has no openat2 and no handle that grants less than
// reading; Windows has nothing at all. What a system lacks answers ENOSYS, which
// is an [errors.ErrUnsupported], and [Supported] says so in advance.
package sys

import "syscall"

// A Stat is what stat(2) tells, in one form for all systems. Times are in
// nanoseconds since 1970.
type Stat struct {
	Dev, Ino, Nlink     uint64
	Mode                uint32 // type and permission bits, as st_mode
	UID, GID            uint32
	Size                int64
	Atime, Mtime, Ctime int64
}

// The type in Stat.Mode, see inode(7). The numbers are the same on all systems
// with such a call.
const (
	TypeMask    = 0o170000
	TypeFIFO    = 0o010000
	TypeChar    = 0o020000
	TypeDir     = 0o040000
	TypeBlock   = 0o060000
	TypeRegular = 0o100000
	TypeLink    = 0o120000
	TypeSocket  = 0o140000
)

// Type returns the file type in s.Mode.
func (s *Stat) Type() uint32 { return s.Mode & TypeMask }

// A Dirent is one entry of a directory.
type Dirent struct {
	Name string
	Ino  uint64
	Type uint32 // as in [Stat.Type]; 0 if the file system does not say
}

// A DirReader reads the entries of an open directory, a buffer of the caller's at
// a time, so that a directory of any size takes the same memory.
type DirReader struct {
	buf      []byte
	pos, end int
}

// NewDirReader returns a reader that uses buf, of at least 2 KiB: one entry must fit.
func NewDirReader(buf []byte) DirReader { return DirReader{buf: buf} }

// Next returns the next entry of the directory fd, in the order of the file
// system, without "." and "..". At the end ok is false and errno is 0.
func (r *DirReader) Next(fd int) (e Dirent, ok bool, errno syscall.Errno) {
	for {
		if r.pos >= r.end {
			n, errno := getdents(fd, r.buf)
			if errno != 0 || n <= 0 {
				return Dirent{}, false, errno
			}
			r.pos, r.end = 0, n
		}
		e, size := parseDirent(r.buf[r.pos:r.end])
		if size <= 0 {
			return Dirent{}, false, syscall.EIO
		}
		r.pos += size
		// Inode 0 marks an entry that was deleted, on file systems that keep those.
		if e.Ino != 0 && e.Name != "." && e.Name != ".." {
			return e, true, 0
		}
	}
}
