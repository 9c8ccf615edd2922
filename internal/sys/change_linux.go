package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Rename is renameat(2): what newName was is replaced.
func Rename(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.Renameat(oldDir, oldName, newDir, newName))
}

// RenameNoReplace renames, but answers EEXIST if newName exists. Where the file
// system cannot do that the answer is EINVAL, or ENOSYS. See renameat2(2).
func RenameNoReplace(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.Renameat2(oldDir, oldName, newDir, newName, unix.RENAME_NOREPLACE))
}

// RenameExchange swaps two names in one step. See renameat2(2).
func RenameExchange(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.Renameat2(oldDir, oldName, newDir, newName, unix.RENAME_EXCHANGE))
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

// ChmodHandle is fchmod(2) for any handle, also one that is not open for reading. It
// needs /proc.
func ChmodHandle(fd int, mode uint32) syscall.Errno {
	return errnoOf(unix.Chmod(procPath(fd), mode))
}

// SetTimes sets the times, in nanoseconds since 1970, of a name below a directory,
// and of the link itself if it is one.
func SetTimes(dir int, name string, atime, mtime int64) syscall.Errno {
	times := []unix.Timespec{unix.NsecToTimespec(atime), unix.NsecToTimespec(mtime)}
	return errnoOf(unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW))
}

// CopyRange copies up to n bytes between the offsets of two open files, inside
// the kernel. An errno of EXDEV, EINVAL, ENOSYS, EOPNOTSUPP or EPERM means that
// these two files have to be copied by reading and writing. See copy_file_range(2).
func CopyRange(dst, src, n int) (int, syscall.Errno) {
	for {
		n, err := unix.CopyFileRange(src, nil, dst, nil, n, 0)
		if err != syscall.EINTR {
			return n, errnoOf(err)
		}
	}
}

func getdents(fd int, buf []byte) (int, syscall.Errno) {
	for {
		n, err := unix.Getdents(fd, buf)
		if err != syscall.EINTR {
			return n, errnoOf(err)
		}
	}
}
