package rootedfs

import (
	"io"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// A draft is a temporary file in the directory of the file that it will become.
type draft struct {
	dir  int
	name string // "" when it has become the file
	fd   int
}

// newDraft makes an empty draft. The umask applies to mode.
func newDraft(dir int, mode uint32) (*draft, error) {
	const flags = syscall.O_WRONLY | syscall.O_CREAT | syscall.O_EXCL | sys.NoFollow
	for range maxRetries {
		name := tempName()
		fd, errno := sys.Openat(dir, name, flags, mode)
		switch errno {
		case 0:
			return &draft{dir, name, fd}, nil
		case syscall.EEXIST:
			continue // somebody guesses our names
		}
		return nil, errno
	}
	return nil, syscall.EEXIST
}

// discard closes the draft, and removes it unless it was published.
func (d *draft) discard() {
	sys.Close(d.fd)
	if d.name != "" {
		sys.Unlinkat(d.dir, d.name)
	}
}

// fill writes the content.
func (d *draft) fill(content io.Reader) error {
	_, err := io.Copy(descriptor(d.fd), content)
	return err
}

// A descriptor is an [io.Writer] whose errors are bare.
type descriptor int

func (d descriptor) Write(p []byte) (int, error) {
	if errno := writeAll(int(d), p); errno != 0 {
		return 0, errno
	}
	return len(p), nil
}

// inherit gives the draft the owner, extended attributes and mode of the file that
// it is going to replace, in an order in which at no time more people may read
// it than may read the old file.
func (d *draft) inherit(dir int, name string, old *sys.Stat) syscall.Errno {
	var st sys.Stat
	if errno := sys.Fstat(d.fd, &st); errno != 0 {
		return errno
	}
	mode := old.Mode & 0o1777 // the power that the set-id bits give was given to other content
	if st.UID != old.UID || st.GID != old.GID {
		if sys.Fchown(d.fd, int(old.UID), int(old.GID)) != 0 {
			// The group alone may be given away by its members.
			if st.GID != old.GID && sys.Fchown(d.fd, -1, int(old.GID)) != 0 {
				// What the old group had must not go to ours.
				mode &^= 0o070
			}
		}
	}
	if sys.CopyXattrs(dir, name, d.fd) != 0 {
		// The access control list is lost. With one, the group bits are what the list
		// grants to anybody, and without it they would be what the group has.
		mode &^= 0o070
	}
	return sys.Fchmod(d.fd, mode)
}

// publish gives the draft its name.
func (d *draft) publish(pl *place, o *WriteOptions, overwrite bool) error {
	if o.sync() {
		if errno := sys.Fsync(d.fd); errno != 0 {
			return errno
		}
	}
	if err := o.commit(); err != nil {
		return err
	}
	if errno := rename(d.dir, d.name, pl.fd, pl.base, overwrite); errno != 0 {
		return errno
	}
	d.name = ""
	if o.sync() {
		return errOf(syncDir(pl.fd))
	}
	return nil
}

// syncDir flushes a directory. Its handle may be one that cannot do that itself.
func syncDir(dir int) syscall.Errno {
	fd, errno := sys.Openat(dir, ".", syscall.O_RDONLY|sys.Directory, 0)
	if errno != 0 {
		return errno
	}
	defer sys.Close(fd)
	return sys.Fsync(fd)
}

// rename renames and, unless overwrite is set, never replaces anything.
func rename(oldDir int, oldName string, newDir int, newName string, overwrite bool) syscall.Errno {
	if overwrite {
		return sys.Rename(oldDir, oldName, newDir, newName)
	}
	errno := sys.RenameNoReplace(oldDir, oldName, newDir, newName)
	switch errno {
	case syscall.EINVAL, syscall.ENOSYS, syscall.ENOTSUP:
		return renameByReserving(oldDir, oldName, newDir, newName, errno)
	}
	return errno
}

// renameByReserving renames without replacing anything on file systems that have
// no such call. It takes two steps, so for a moment there are two names, or an
// empty directory.
func renameByReserving(oldDir int, oldName string, newDir int, newName string, because syscall.Errno) syscall.Errno {
	var st sys.Stat
	if errno := sys.Lstatat(oldDir, oldName, &st); errno != 0 {
		return errno
	}
	if st.Type() != sys.TypeDir {
		// link(2) does not replace.
		if errno := sys.Linkat(oldDir, oldName, newDir, newName); errno != 0 {
			if errno == syscall.EPERM || errno == syscall.ENOTSUP {
				return because // no hard links here; rather nothing than a guess
			}
			return errno
		}
		var made, left sys.Stat
		if sys.Lstatat(newDir, newName, &made) == 0 && sys.Lstatat(oldDir, oldName, &left) == 0 &&
			identityOf(&made) != identityOf(&left) {
			return 0 // something else has come to the old name, as it might a moment later
		}
		return sys.Unlinkat(oldDir, oldName)
	}
	// rename(2) replaces a directory only if it is empty, as the one we make is.
	if errno := sys.Mkdirat(newDir, newName, 0o700); errno != 0 {
		return errno
	}
	errno := sys.Rename(oldDir, oldName, newDir, newName)
	if errno != 0 {
		sys.Rmdirat(newDir, newName)
	}
	return errno
}
