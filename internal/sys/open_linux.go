package sys

import (
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has the calls that rootedfs is made of.
const Supported = true

// Flags of open(2) that package syscall does not have on every system.
const (
	// DirHandle opens a directory to start further lookups from. It needs no
	// permission to read the directory, only to search it.
	DirHandle = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	Directory = unix.O_DIRECTORY
	NoFollow  = unix.O_NOFOLLOW
	NoCTTY    = unix.O_NOCTTY
)

// Bits of openat2(2), field resolve.
const (
	// Beneath lets nothing lead out of the directory, by no link and no "..", and
	// no magic link of proc(5) anywhere.
	Beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	// NoLinks refuses every link, with ELOOP.
	NoLinks = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
)

// Cwd stands for the working directory, which an absolute name does not use.
const Cwd = unix.AT_FDCWD

// stackPath is how long a name may be, with its NUL, and still be copied to the
// stack. Longer ones are rare, and take an allocation.
const stackPath = 256

// Openat2 is openat2(2), Linux 5.6. It does not allocate for names under 256
// bytes.
func Openat2(dir int, name string, flags int, mode uint32, resolve uint64) (int, syscall.Errno) {
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC, Mode: uint64(mode), Resolve: resolve}
	if len(name) >= stackPath {
		return openat2Long(dir, name, how)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return -1, syscall.EINVAL
	}
	var path [stackPath]byte
	copy(path[:], name)
	for {
		fd, _, errno := syscall.Syscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(&path)),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		if errno != syscall.EINTR {
			return int(fd), errno
		}
	}
}

//go:noinline
func openat2Long(dir int, name string, how unix.OpenHow) (int, syscall.Errno) {
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if err != syscall.EINTR {
			return fd, errnoOf(err)
		}
	}
}

// HasOpenat2 finds out by trying whether openat2(2) works. It does not before
// Linux 5.6, in some emulations of Linux, and under a seccomp filter that does
// not know the call. Android's filter kills a process for an unknown call, so
// there the answer is no without a trial.
//
// The answer is not kept: a filter installed later makes it false.
func HasOpenat2() bool {
	if runtime.GOOS == "android" {
		return false
	}
	fd, errno := Openat2(unix.AT_FDCWD, "/", DirHandle, 0, unix.RESOLVE_NO_MAGICLINKS)
	if errno != 0 {
		return false
	}
	Close(fd)
	return true
}

// Openat is openat(2). It does not allocate for names under 256 bytes.
func Openat(dir int, name string, flags int, mode uint32) (int, syscall.Errno) {
	flags |= unix.O_CLOEXEC
	if len(name) >= stackPath {
		return openatLong(dir, name, flags, mode)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return -1, syscall.EINVAL
	}
	var path [stackPath]byte
	copy(path[:], name)
	for {
		fd, _, errno := syscall.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&path)),
			uintptr(flags|unix.O_LARGEFILE), uintptr(mode), 0, 0)
		if errno != syscall.EINTR {
			return int(fd), errno
		}
	}
}

//go:noinline
func openatLong(dir int, name string, flags int, mode uint32) (int, syscall.Errno) {
	for {
		fd, err := unix.Openat(dir, name, flags, mode)
		if err != syscall.EINTR {
			return fd, errnoOf(err)
		}
	}
}

// Close is close(2). There is no retry: on Linux the descriptor is gone even if
// the call was interrupted.
func Close(fd int) syscall.Errno {
	_, _, errno := syscall.Syscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	return errno
}

// Readlinkat returns the text of the link name, "" with EINVAL if it is no link.
func Readlinkat(dir int, name string) (string, syscall.Errno) {
	if len(name) >= stackPath {
		return readlinkatLong(dir, name)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return "", syscall.EINVAL
	}
	var path, text [stackPath]byte
	copy(path[:], name)
	n, _, errno := syscall.Syscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&path)),
		uintptr(unsafe.Pointer(&text)), stackPath, 0, 0)
	switch {
	case errno != 0:
		return "", errno
	case int(n) == stackPath: // perhaps cut
		return readlinkatLong(dir, name)
	}
	return string(text[:n]), 0
}

//go:noinline
func readlinkatLong(dir int, name string) (string, syscall.Errno) {
	for size := unix.PathMax; ; size *= 2 {
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
