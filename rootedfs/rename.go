package rootedfs

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// RenameOptions say how [FS.Rename] and [FS.Copy] treat their destination. Nil is
// the zero RenameOptions: nothing is overwritten.
type RenameOptions struct {
	// Overwrite replaces a file at the destination, atomically. A directory is
	// replaced by a directory if it is empty. A copy replaces only a file that may be
	// written; to move something over it is, as in rename(2), a matter of the
	// directory that it is in.
	Overwrite bool
	// Copy lets [FS.Rename] copy and then remove what cannot be renamed because the
	// destination is on another file system. Otherwise that is EXDEV.
	//
	// Exactly what was copied is removed. If something comes, goes or changes in the
	// original while it is copied, that is EBUSY and nothing has changed. What comes
	// after that, by the hand of somebody who holds a directory of it open, stays
	// under the original's name, and EBUSY says so. Content that is written to a file
	// which is held open is lost with the file if it comes after the copy.
	Copy bool
	// Limit is how many files, links and directories are copied at most; more is
	// [ErrLimit], and nothing has changed. 0 means 100,000.
	Limit int
	// Sync and Commit are as in [WriteOptions]. A rename calls Commit a second time if
	// only the failure of the first trial showed that it takes a copy.
	Sync   bool
	Commit func() error
}

func (o *RenameOptions) writeOptions() *WriteOptions {
	return &WriteOptions{Sync: o.Sync, Commit: o.Commit}
}

// Rename renames a file, directory or link, also from one root to another. A last
// link is renamed itself, not what it leads to. A root, and a directory that holds
// one, is neither renamed nor replaced. The path in an error is the one that was
// refused.
func (f *FS) Rename(ctx context.Context, from, to string, o *RenameOptions) error {
	if o == nil {
		o = new(RenameOptions)
	}
	src, st, err := f.movable(from)
	if err != nil {
		return pathError("rename", from, err)
	}
	defer src.release()
	dst, err := f.destination(to, &st)
	if err != nil {
		return pathError("rename", to, err)
	}
	defer dst.release()
	if o.Copy && crossesMount(src.fd, dst.fd) {
		return f.moveByCopy(ctx, from, to, &src, &dst, o)
	}
	w := o.writeOptions()
	if err := w.commit(); err != nil {
		return pathError("rename", to, err)
	}
	errno := rename(src.fd, src.base, dst.fd, dst.base, o.Overwrite)
	switch {
	case errno == syscall.EXDEV && o.Copy: // a boundary inside a mount, as overlayfs and btrfs have
		return f.moveByCopy(ctx, from, to, &src, &dst, o)
	case errno != 0:
		return pathError("rename", renamed(errno, from, to), errno)
	}
	if o.Sync {
		errno := syncDir(dst.fd)
		if errno == 0 {
			errno = syncDir(src.fd)
		}
		return pathError("rename", to, errOf(errno))
	}
	return nil
}

// renamed returns which of its two paths a failed rename is about.
func renamed(errno syscall.Errno, from, to string) string {
	switch errno {
	case syscall.EEXIST, syscall.ENOTEMPTY, syscall.EISDIR, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ENOSPC:
		return to
	}
	return from
}

// destination resolves the path that something with the given Stat shall have.
func (f *FS) destination(to string, st *sys.Stat) (place, error) {
	dst, dir, err := f.entry(to, entry, true)
	if err != nil {
		return place{}, err
	}
	var there sys.Stat
	switch errno := statEntry(&dst, &there); {
	case errno == 0:
		err = f.guard(&dst, &there)
	case errno != syscall.ENOENT:
		err = errno
	case dst.top:
		err = ErrIsRoot // a file that is not there
	}
	if err == nil && dir && st.Type() != sys.TypeDir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		dst.release()
	}
	return dst, err
}

// crossesMount reports whether nothing can be renamed from one directory to
// another. The kernel compares the mounts before it looks for the names, so names
// that do not exist serve to ask.
func crossesMount(from, to int) bool {
	name := tempName()
	return sys.Rename(from, name, to, name) == syscall.EXDEV
}

// Copy copies a file, or a directory with everything below it, also from one root
// to another. A last link in from is followed, links below are copied as links. The
// copy appears under its name whole or not at all, with the permissions, extended
// attributes and times of the original, but without set-id bits.
//
// A link whose copy would lead out of the roots is [ErrOutside]; a device, FIFO or
// socket below a directory is [ErrNotRegular]. The path in an error is the one that
// was refused.
func (f *FS) Copy(ctx context.Context, from, to string, o *RenameOptions) error {
	if o == nil {
		o = new(RenameOptions)
	}
	src, dir, err := f.entry(from, entryFollow, false)
	if err != nil {
		return pathError("copy", from, err)
	}
	defer src.release()
	var st sys.Stat
	switch errno := statEntry(&src, &st); {
	case errno != 0:
		return pathError("copy", from, errno)
	case (dir || src.mustDir) && st.Type() != sys.TypeDir:
		return pathError("copy", from, syscall.ENOTDIR)
	case st.Type() != sys.TypeDir && st.Type() != sys.TypeRegular:
		return pathError("copy", from, ErrNotRegular)
	}
	dst, err := f.destination(to, &st)
	if err != nil {
		return pathError("copy", to, err)
	}
	defer dst.release()
	return pathError("copy", to, f.copyEntry(ctx, &src, &dst, o))
}

// Symlink makes a link with the given text. The text, read from where the link
// really is, must lead into a root, or it is [ErrOutside]: a link that leaves could
// not be followed here, and might be by others. It need not lead to anything that
// exists.
func (f *FS) Symlink(text, path string, o *WriteOptions) error {
	return pathError("symlink", path, f.symlink(text, path, o))
}

func (f *FS) symlink(text, path string, o *WriteOptions) error {
	if text == "" || strings.IndexByte(text, 0) >= 0 {
		return ErrInvalid
	}
	pl, _, err := f.entry(path, entry, true)
	if err != nil {
		return err
	}
	defer pl.release()
	if pl.top {
		return syscall.EEXIST
	}
	dir, _ := sys.Path(pl.fd) // "" if it cannot be known
	if !f.staysInside(dir, text) {
		return ErrOutside
	}
	if err := o.commit(); err != nil {
		return err
	}
	if errno := sys.Symlinkat(text, pl.fd, pl.base); errno != 0 {
		return errno
	}
	if o.sync() {
		return errOf(syncDir(pl.fd))
	}
	return nil
}

// staysInside reports whether the text of a link in the directory dir leads into a
// root, read lexically. If dir is "" a relative text must not climb.
func (f *FS) staysInside(dir, text string) bool {
	switch {
	case text[0] == '/':
		dir = "/"
	case dir == "":
		return fs.ValidPath(path.Clean(text))
	}
	r, _ := f.find(path.Join(dir, text))
	return r != nil
}

// Link makes a hard link to a file, under another name in the same file system. Of
// a link it makes one to the link itself. Both names must be in roots that may be
// written: through the second one the file could be.
func (f *FS) Link(from, to string, o *WriteOptions) error {
	src, _, err := f.entry(from, entry, true)
	if err != nil {
		return pathError("link", from, err)
	}
	defer src.release()
	if src.top && src.pin.base == "" {
		return pathError("link", from, ErrIsRoot)
	}
	dst, _, err := f.entry(to, entry, true)
	if err != nil {
		return pathError("link", to, err)
	}
	defer dst.release()
	if dst.top {
		return pathError("link", to, syscall.EEXIST)
	}
	if err := o.commit(); err != nil {
		return pathError("link", to, err)
	}
	if errno := sys.Linkat(src.fd, src.base, dst.fd, dst.base); errno != 0 {
		return pathError("link", renamed(errno, from, to), errno)
	}
	if o.sync() {
		return pathError("link", to, errOf(syncDir(dst.fd)))
	}
	return nil
}
