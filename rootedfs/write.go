package rootedfs

import (
	"crypto/rand"
	"io"
	"io/fs"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// WriteOptions say how a change is made. Nil is the zero WriteOptions.
type WriteOptions struct {
	// Mode holds the permissions of what is created, from which the process's umask
	// is taken. 0 means 0666 for files and 0777 for directories.
	Mode fs.FileMode
	// Sync returns only when the change would survive a power failure: the content
	// is flushed before it gets its name, and the directory after. Without it,
	// after a crash there may be the old file or the new one; that a file comes out
	// empty is prevented by ext4, btrfs and xfs, not by every file system.
	Sync bool
	// Commit, if not nil, is called once, right before the change becomes visible. An
	// error from it is returned in the PathError, and leaves everything as it was.
	Commit func() error
}

func (o *WriteOptions) commit() error {
	if o == nil || o.Commit == nil {
		return nil
	}
	return o.Commit()
}

func (o *WriteOptions) sync() bool { return o != nil && o.Sync }

func (o *WriteOptions) mode(byDefault uint32) uint32 {
	if o == nil || o.Mode == 0 {
		return byDefault
	}
	return unixMode(o.Mode)
}

// TempPrefix begins the name of every temporary file and directory that this
// package makes. They are removed when an operation ends, also when it fails, but
// not when the process is killed; a name with this prefix that is hours old is
// litter. If the process is killed in the last moments of a [FS.Rename] that copies,
// what was renamed may have such names at both places, but no other: so whoever
// removes litter looks first whether the one without the prefix is there.
const TempPrefix = ".rootbound-"

// tempName is far shorter than the longest name a file system takes, so that a
// file whose own name is of that length can be replaced too.
func tempName() string { return TempPrefix + rand.Text()[:13] }

// Create makes a file with the given content. If the name exists, even as a link
// that leads nowhere, that is EEXIST. The file appears whole or not at all.
func (f *FS) Create(path string, content io.Reader, o *WriteOptions) error {
	return pathError("create", path, f.create(path, content, o))
}

func (f *FS) create(path string, content io.Reader, o *WriteOptions) error {
	pl, dir, err := f.entry(path, entry, true)
	if err != nil {
		return err
	}
	defer pl.release()
	var st sys.Stat
	switch errno := statEntry(&pl, &st); {
	case errno == 0:
		return syscall.EEXIST
	case errno != syscall.ENOENT:
		return errno
	case dir:
		return syscall.EISDIR // as open(2) with O_CREAT
	case pl.top:
		return f.writeInPlace(&pl, content, o)
	}
	d, err := newDraft(pl.fd, o.mode(0o666))
	if err != nil {
		return err
	}
	defer d.discard()
	if err := d.fill(content); err != nil {
		return err
	}
	return d.publish(&pl, o, false)
}

// Replace gives a file new content, atomically: who opens it finds the old content
// or the new one, whole. A file that does not exist is created. Through a last
// link, the file that the link leads to is replaced and the link stays.
//
// The new file has the permissions and extended attributes of the old one, and
// its owner if that is permitted; it has no set-id bits. It is a new file all the
// same: other hard links to the old one keep the old content. A file that may not
// be written is not replaced, though the directory would allow it.
//
// If anything fails, a full disk for instance, the old file is as it was. The one
// exception is a root that is a single file. The directory around it is not ours,
// so there is no place for a temporary file: it is written in place, one change at a
// time. A full disk is met before a byte is changed, unless the file system writes
// elsewhere what is overwritten, as btrfs does. But who reads meanwhile may find new
// content followed by old, and so may everybody if the process is killed in the
// middle, or the disk fails.
func (f *FS) Replace(path string, content io.Reader, o *WriteOptions) error {
	return pathError("replace", path, f.replace(path, content, o))
}

func (f *FS) replace(path string, content io.Reader, o *WriteOptions) error {
	pl, old, err := f.fileEntry(path)
	if err != nil {
		return err
	}
	defer pl.release()
	if pl.top {
		return f.writeInPlace(&pl, content, o)
	}
	mode := o.mode(0o666)
	if old != nil {
		if errno := mayWrite(pl.fd, pl.base); errno != 0 {
			return errno
		}
		mode = 0o600 // until it has the owner and the attributes of the old file
	}
	d, err := newDraft(pl.fd, mode)
	if err != nil {
		return err
	}
	defer d.discard()
	if err := d.fill(content); err != nil {
		return err
	}
	if old != nil {
		if errno := d.inherit(pl.fd, pl.base, old); errno != 0 {
			return errno
		}
	}
	return d.publish(&pl, o, true)
}

// fileEntry resolves path to the entry of a regular file, or of none: then old is nil.
func (f *FS) fileEntry(path string) (pl place, old *sys.Stat, err error) {
	for range maxRetries {
		pl, dir, err := f.entry(path, entryFollow, true)
		if err != nil {
			return place{}, nil, err
		}
		var st sys.Stat
		errno := statEntry(&pl, &st)
		switch {
		case errno == syscall.ENOENT && !dir && !pl.mustDir:
			return pl, nil, nil
		case errno == 0 && st.Type() == sys.TypeRegular && !dir && !pl.mustDir:
			return pl, &st, nil
		}
		pl.release()
		switch {
		case errno != 0:
			return place{}, nil, errno
		case st.Type() == sys.TypeLink:
			continue // it came after the path was resolved
		case st.Type() == sys.TypeDir:
			return place{}, nil, syscall.EISDIR
		case st.Type() == sys.TypeRegular:
			return place{}, nil, syscall.ENOTDIR
		}
		return place{}, nil, ErrNotRegular
	}
	return place{}, nil, syscall.EBUSY
}

// mayWrite returns 0 if the file of a name could be opened for writing.
func mayWrite(dir int, name string) syscall.Errno { return sys.Access(dir, name, sys.MayWrite) }

// dropSetID takes from an open file the power that its set-id bits give to its
// content, which is about to change. The system does so if a user without privileges
// writes; and only the owner could, so that a failure is no reason not to go on.
func dropSetID(fd int) {
	const bits = syscall.S_ISUID | syscall.S_ISGID
	var st sys.Stat
	if sys.Fstat(fd, &st) == 0 && st.Mode&bits != 0 {
		sys.Fchmod(fd, st.Mode&0o7777&^bits)
	}
}

// writeInPlace writes a root that is a file. All content is read first, so that a
// reader that fails does no harm.
func (f *FS) writeInPlace(pl *place, content io.Reader, o *WriteOptions) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	defer pl.root.exclusive(pl.pin)()
	const flags = syscall.O_WRONLY | syscall.O_NONBLOCK | sys.NoCTTY | sys.NoFollow
	fd, errno := sys.Openat(pl.fd, pl.base, flags, 0)
	if errno != 0 && errno != syscall.ENOENT {
		return errno
	}
	isNew := errno == syscall.ENOENT
	var file File
	if !isNew {
		if file, err = checkRegular(fd, nil); err != nil {
			return err
		}
		defer file.Close()
	}
	if err := o.commit(); err != nil {
		return err
	}
	if isNew {
		fd, errno = sys.Openat(pl.fd, pl.base, flags|syscall.O_CREAT|syscall.O_EXCL, o.mode(0o666))
		if errno != 0 {
			return errno
		}
		defer sys.Close(fd)
	}
	if errno := overwrite(fd, file.size, data); errno != 0 {
		if isNew {
			sys.Unlinkat(pl.fd, pl.base)
		}
		return errno
	}
	if o.sync() {
		return errOf(sys.Fsync(fd))
	}
	return nil
}

// exclusive keeps other changes away from a root that is a file, by whatever FS that
// has it of the same one, until the function that it returns is called.
func (r *root) exclusive(p *pin) (release func()) {
	if p.base == "" {
		return func() {}
	}
	r.anchor.writing.Lock()
	return r.anchor.writing.Unlock
}

// overwrite gives an open file of some size new content. What takes room on the disk
// comes first, so that nothing has changed if there is none.
func overwrite(fd int, size int64, data []byte) syscall.Errno {
	length := int64(len(data))
	if length > 0 {
		switch errno := sys.Reserve(fd, length); errno {
		case 0:
		case syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EINVAL:
			// The next best: what goes beyond the end.
			if errno := writeAt(fd, data[min(size, length):], size); errno != 0 {
				sys.Ftruncate(fd, size)
				return errno
			}
		default:
			return errno
		}
	}
	dropSetID(fd)
	if errno := writeAt(fd, data, 0); errno != 0 {
		return errno
	}
	return sys.Ftruncate(fd, length)
}

// writeAt writes all of p from an offset on.
func writeAt(fd int, p []byte, offset int64) syscall.Errno {
	for len(p) > 0 {
		n, errno := sys.Pwrite(fd, p, offset)
		if errno != 0 {
			return errno
		}
		p, offset = p[n:], offset+int64(n)
	}
	return 0
}

// Append adds content to the end of a regular file, which is created if it does
// not exist. All content is read first and handed to the system at once, so that
// it stays together when others append to the file. A full disk may leave a part
// of it.
func (f *FS) Append(path string, content io.Reader, o *WriteOptions) error {
	return pathError("append", path, f.append(path, content, o))
}

func (f *FS) append(path string, content io.Reader, o *WriteOptions) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	const flags = syscall.O_WRONLY | syscall.O_APPEND | syscall.O_NONBLOCK | sys.NoCTTY
	file, release, err := f.openRegular(path, flags, 0)
	isNew := err == syscall.ENOENT
	if err != nil && !isNew {
		return err
	}
	if !isNew {
		defer release()
	}
	if err := o.commit(); err != nil {
		return err
	}
	if isNew {
		file, release, err = f.openRegular(path, flags|syscall.O_CREAT, o.mode(0o666))
		if err != nil {
			return err
		}
		defer release()
	}
	dropSetID(file.fd())
	if errno := writeAll(file.fd(), data); errno != 0 {
		return errno
	}
	if o.sync() {
		return errOf(sys.Fsync(file.fd()))
	}
	return nil
}

// Truncate cuts or extends a regular file to size bytes.
func (f *FS) Truncate(path string, size int64, o *WriteOptions) error {
	return pathError("truncate", path, f.truncate(path, size, o))
}

func (f *FS) truncate(path string, size int64, o *WriteOptions) error {
	// Not O_TRUNC, which would act before anyone has looked at what was opened.
	file, release, err := f.openRegular(path, syscall.O_WRONLY|syscall.O_NONBLOCK|sys.NoCTTY, 0)
	if err != nil {
		return err
	}
	defer release()
	if size < 0 {
		return ErrInvalid
	}
	if err := o.commit(); err != nil {
		return err
	}
	dropSetID(file.fd())
	if errno := sys.Ftruncate(file.fd(), size); errno != 0 {
		return errno
	}
	if o.sync() {
		return errOf(sys.Fsync(file.fd()))
	}
	return nil
}
