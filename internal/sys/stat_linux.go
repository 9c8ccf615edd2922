package sys

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Fstat is fstat(2).
func Fstat(fd int, s *Stat) syscall.Errno {
	var st unix.Stat_t
	if errno := fstat(fd, &st); errno != 0 {
		return errno
	}
	s.set(&st)
	return 0
}

// FstatType is the part of fstat(2) that tells whether a file is a regular one, and
// its size. It is on the way of every read, where the rest of a Stat would show.
func FstatType(fd int) (typ uint32, size int64, errno syscall.Errno) {
	var st unix.Stat_t
	errno = fstat(fd, &st)
	return uint32(st.Mode) & TypeMask, st.Size, errno
}

// Lstatat stats a name below a directory, and the link itself if it is one.
func Lstatat(dir int, name string, s *Stat) syscall.Errno {
	var st unix.Stat_t
	if errno := fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); errno != 0 {
		return errno
	}
	s.set(&st)
	return 0
}

// The conversions are needed where a field has another size.
//
//nolint:unconvert
func (s *Stat) set(st *unix.Stat_t) {
	*s = Stat{
		Dev: uint64(st.Dev), Ino: uint64(st.Ino), Nlink: uint64(st.Nlink),
		Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid, Size: st.Size,
		Atime: st.Atim.Nano(), Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

// InProc reports whether the directory fd is one of proc(5) in which links may be
// magic: they lead where their text does not say. The top of a proc holds plain
// links only, such as /proc/self.
func InProc(fd int) bool {
	const topInode = 1 // PROC_ROOT_INO, fixed in the kernel's fs/proc
	var sfs unix.Statfs_t
	if unix.Fstatfs(fd, &sfs) != nil || int64(sfs.Type) != unix.PROC_SUPER_MAGIC {
		return false
	}
	var st Stat
	return Fstat(fd, &st) != 0 || st.Ino != topInode
}

// Path returns the absolute path by which the kernel knows the directory fd at
// this moment. It needs /proc.
func Path(fd int) (string, syscall.Errno) {
	return Readlinkat(Cwd, procPath(fd))
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
