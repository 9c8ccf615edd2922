//go:build linux || darwin

package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Read is read(2).
func Read(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, err := syscall.Read(fd, p)
		if err != syscall.EINTR {
			return n, errnoOf(err)
		}
	}
}

// Pread is pread(2).
func Pread(fd int, p []byte, offset int64) (int, syscall.Errno) {
	for {
		n, err := syscall.Pread(fd, p, offset)
		if err != syscall.EINTR {
			return n, errnoOf(err)
		}
	}
}

// Write is write(2): it may write less than all of p.
func Write(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, err := syscall.Write(fd, p)
		if err != syscall.EINTR {
			return n, errnoOf(err)
		}
	}
}

// Seek is lseek(2).
func Seek(fd int, offset int64, whence int) (int64, syscall.Errno) {
	n, err := syscall.Seek(fd, offset, whence)
	return n, errnoOf(err)
}

// Fchown is fchown(2); an id of -1 is left as it is.
func Fchown(fd, uid, gid int) syscall.Errno { return errnoOf(unix.Fchown(fd, uid, gid)) }

// Fchmod is fchmod(2), with the set-id and sticky bits.
func Fchmod(fd int, mode uint32) syscall.Errno { return errnoOf(unix.Fchmod(fd, mode)) }

// Ftruncate is ftruncate(2).
func Ftruncate(fd int, size int64) syscall.Errno {
	for {
		if err := unix.Ftruncate(fd, size); err != syscall.EINTR {
			return errnoOf(err)
		}
	}
}

// Fsync is fsync(2).
func Fsync(fd int) syscall.Errno {
	for {
		if err := unix.Fsync(fd); err != syscall.EINTR {
			return errnoOf(err)
		}
	}
}

// errnoOf returns the number in an error of x/sys/unix or syscall.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.EIO
}

// Rename is renameat(2): what newName was is replaced.
func Rename(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.Renameat(oldDir, oldName, newDir, newName))
}

// Unlinkat removes a name that is no directory.
func Unlinkat(dir int, name string) syscall.Errno { return errnoOf(unix.Unlinkat(dir, name, 0)) }

// Rmdirat removes an empty directory.
func Rmdirat(dir int, name string) syscall.Errno {
	return errnoOf(unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}

// Mkdirat makes a directory; the process's umask applies.
func Mkdirat(dir int, name string, mode uint32) syscall.Errno {
	return errnoOf(unix.Mkdirat(dir, name, mode))
}

// Symlinkat makes a link with the given text.
func Symlinkat(text string, dir int, name string) syscall.Errno {
	return errnoOf(unix.Symlinkat(text, dir, name))
}

// Linkat makes a hard link; of a symbolic link, to the link itself.
func Linkat(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.Linkat(oldDir, oldName, newDir, newName, 0))
}

// Pwrite is pwrite(2): it may write less than all of p.
func Pwrite(fd int, p []byte, offset int64) (int, syscall.Errno) {
	for {
		n, err := syscall.Pwrite(fd, p, offset)
		if err != syscall.EINTR {
			return n, errnoOf(err)
		}
	}
}

// What [Access] asks for.
const (
	MayWrite  = unix.W_OK
	MaySearch = unix.X_OK
)

// Access answers whether the process may do something with a name below a
// directory, or with the link itself if it is one, as the user that it acts for. See
// faccessat2(2).
func Access(dir int, name string, mode uint32) syscall.Errno {
	return errnoOf(unix.Faccessat(dir, name, mode, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW))
}
