//go:build linux && (amd64 || arm64)

package sys

import (
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fstatat is fstatat(2) without the allocation, for the two processors whose call
// fills a Stat_t as it is.
func fstatat(dir int, name string, st *unix.Stat_t, flags int) syscall.Errno {
	if len(name) >= stackPath {
		return fstatatLong(dir, name, st, flags)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return syscall.EINVAL
	}
	var path [stackPath]byte
	copy(path[:], name)
	_, _, errno := syscall.Syscall6(unix.SYS_NEWFSTATAT, uintptr(dir), uintptr(unsafe.Pointer(&path)),
		uintptr(unsafe.Pointer(st)), uintptr(flags), 0, 0)
	return errno
}

// fstat is fstat(2), without the call in between that makes an error of the number.
func fstat(fd int, st *unix.Stat_t) syscall.Errno {
	_, _, errno := syscall.Syscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(st)), 0)
	return errno
}

//go:noinline
func fstatatLong(dir int, name string, st *unix.Stat_t, flags int) syscall.Errno {
	// Filling a local keeps the caller's Stat_t from being moved to the heap.
	var long unix.Stat_t
	err := unix.Fstatat(dir, name, &long, flags)
	*st = long
	return errnoOf(err)
}
