package sys

import (
	"bytes"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has the calls that rootedfs is made of.
const Supported = true

// Flags of open(2) that package syscall does not have on every system.
const (
	// DirHandle opens a directory to start further lookups from. Here that takes
	// the permission to read it.
	DirHandle = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	Directory = unix.O_DIRECTORY
	NoFollow  = unix.O_NOFOLLOW
	NoCTTY    = unix.O_NOCTTY
)

// Bits of openat2(2), which only Linux has.
const (
	Beneath = 0
	NoLinks = 0
)

// Cwd stands for the working directory, which an absolute name does not use.
const Cwd = unix.AT_FDCWD

// Openat2 answers ENOSYS.
func Openat2(dir int, name string, flags int, mode uint32, resolve uint64) (int, syscall.Errno) {
	return -1, syscall.ENOSYS
}

// HasOpenat2 reports false.
func HasOpenat2() bool { return false }

// Openat is openat(2).
func Openat(dir int, name string, flags int, mode uint32) (int, syscall.Errno) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		if err != syscall.EINTR {
			return fd, errnoOf(err)
		}
	}
}

// Close is close(2).
func Close(fd int) syscall.Errno { return errnoOf(unix.Close(fd)) }

// Readlinkat returns the text of the link name, "" with EINVAL if it is no link.
func Readlinkat(dir int, name string) (string, syscall.Errno) {
	for size := 256; ; size *= 4 {
		text := make([]byte, size)
		n, err := unix.Readlinkat(dir, name, text)
		if err != nil {
			return "", errnoOf(err)
		}
		if n < size {
			return string(text[:n]), 0
		}
	}
}

// Fstat is fstat(2).
func Fstat(fd int, s *Stat) syscall.Errno {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errnoOf(err)
	}
	s.set(&st)
	return 0
}

// FstatType is the part of fstat(2) that tells whether a file is a regular one, and
// its size.
func FstatType(fd int) (typ uint32, size int64, errno syscall.Errno) {
	var st Stat
	errno = Fstat(fd, &st)
	return st.Type(), st.Size, errno
}

// Lstatat stats a name below a directory, and the link itself if it is one.
func Lstatat(dir int, name string, s *Stat) syscall.Errno {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return errnoOf(err)
	}
	s.set(&st)
	return 0
}

func (s *Stat) set(st *unix.Stat_t) {
	*s = Stat{
		Dev: uint64(st.Dev), Ino: st.Ino, Nlink: uint64(st.Nlink),
		Mode: uint32(st.Mode), UID: st.Uid, GID: st.Gid, Size: st.Size,
		Atime: st.Atim.Nano(), Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

// InProc reports false: there is no proc here, and no magic link.
func InProc(fd int) bool { return false }

// Path returns the absolute path by which the kernel knows the directory fd at
// this moment. See fcntl(2), F_GETPATH.
func Path(fd int) (string, syscall.Errno) {
	var buf [unix.PathMax]byte
	//lint:ignore SA1019 package unix has no wrapper that takes a buffer
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETPATH, uintptr(unsafe.Pointer(&buf)))
	runtime.KeepAlive(&buf)
	if errno != 0 {
		return "", errno
	}
	path, _, _ := bytes.Cut(buf[:], []byte{0})
	return string(path), 0
}

// RenameNoReplace renames, but answers EEXIST if newName exists. Where the file
// system cannot do that the answer is ENOTSUP. See renameatx_np(2).
func RenameNoReplace(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.RenameatxNp(oldDir, oldName, newDir, newName, unix.RENAME_EXCL))
}

// RenameExchange swaps two names in one step. See renameatx_np(2).
func RenameExchange(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.RenameatxNp(oldDir, oldName, newDir, newName, unix.RENAME_SWAP))
}

// ChmodHandle is fchmod(2).
func ChmodHandle(fd int, mode uint32) syscall.Errno { return Fchmod(fd, mode) }

// SetTimes answers ENOSYS: package unix has no utimensat(2) for a descriptor here.
func SetTimes(dir int, name string, atime, mtime int64) syscall.Errno { return syscall.ENOSYS }

// CopyRange answers ENOSYS.
func CopyRange(dst, src, n int) (int, syscall.Errno) { return 0, syscall.ENOSYS }

// CopyXattrs gives the open file dst the extended attributes of the name below
// dir, as far as they may be read.
func CopyXattrs(dir int, name string, dst int) syscall.Errno {
	src, errno := Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errno != 0 {
		return 0
	}
	defer Close(src)
	list := make([]byte, 1<<16)
	n, err := unix.Flistxattr(src, list)
	if err != nil {
		return 0
	}
	value := make([]byte, 1<<16)
	for name := range bytes.SplitSeq(list[:n], []byte{0}) {
		if n, err := unix.Fgetxattr(src, string(name), value); err == nil && len(name) > 0 {
			_ = unix.Fsetxattr(dst, string(name), value[:n], 0) // best effort, as cp -p
		}
	}
	return 0
}

func getdents(fd int, buf []byte) (int, syscall.Errno) {
	var base uintptr
	n, err := unix.Getdirentries(fd, buf, &base)
	return n, errnoOf(err)
}

// Offsets in struct dirent.
const (
	direntType = 20
	direntName = 21
)

// Whences of [Seek] that find data and holes, see lseek(2).
const (
	SeekHole = 3
	SeekData = 4
)

// Reserve answers ENOSYS: fcntl(2) with F_PREALLOCATE reserves beyond the end only.
func Reserve(fd int, size int64) syscall.Errno { return syscall.ENOSYS }
