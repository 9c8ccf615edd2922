//go:build linux && !amd64 && !arm64

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func fstatat(dir int, name string, st *unix.Stat_t, flags int) syscall.Errno {
	return errnoOf(unix.Fstatat(dir, name, st, flags))
}

func fstat(fd int, st *unix.Stat_t) syscall.Errno { return errnoOf(unix.Fstat(fd, st)) }
