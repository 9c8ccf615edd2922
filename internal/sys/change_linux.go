package sys

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// RenameNoReplace renames, but answers EEXIST if newName exists. Where the file
// system cannot do that the answer is EINVAL, or ENOSYS. See renameat2(2).
func RenameNoReplace(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.Renameat2(oldDir, oldName, newDir, newName, unix.RENAME_NOREPLACE))
}

// RenameExchange swaps two names in one step. See renameat2(2).
func RenameExchange(oldDir int, oldName string, newDir int, newName string) syscall.Errno {
	return errnoOf(unix.Renameat2(oldDir, oldName, newDir, newName, unix.RENAME_EXCHANGE))
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

// Whences of [Seek] that find data and holes, see lseek(2).
const (
	SeekData = unix.SEEK_DATA
	SeekHole = unix.SEEK_HOLE
)

// Reserve makes sure that the first size bytes of an open file have room on the
// disk, without changing the file. An errno of EOPNOTSUPP, ENOSYS or EINVAL means
// that this file system cannot tell. See fallocate(2).
func Reserve(fd int, size int64) syscall.Errno {
	for {
		if err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size); err != syscall.EINTR {
			return errnoOf(err)
		}
	}
}
