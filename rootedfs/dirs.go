package rootedfs

import (
	"context"
	"errors"
	"path"
	"strings"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/roots"
)

// Mkdir makes a directory.
func (f *FS) Mkdir(path string, o *WriteOptions) error {
	return pathError("mkdir", path, f.mkdir(path, o))
}

func (f *FS) mkdir(path string, o *WriteOptions) error {
	pl, _, err := f.entry(path, entry, true)
	if err != nil {
		return err
	}
	defer pl.release()
	if pl.top {
		return syscall.EEXIST
	}
	if err := o.commit(); err != nil {
		return err
	}
	if errno := sys.Mkdirat(pl.fd, pl.base, o.mode(0o777)); errno != 0 {
		return errno
	}
	if o.sync() {
		return errOf(syncDir(pl.fd))
	}
	return nil
}

// MkdirAll makes a directory and all above it that are missing. If it is there
// already, or is a link to a directory, that is no error. It does not create what
// a link leads to: that is EEXIST.
func (f *FS) MkdirAll(path string, o *WriteOptions) error {
	return pathError("mkdir", path, f.mkdirAll(path, o))
}

func (f *FS) mkdirAll(name string, o *WriteOptions) error {
	clean, _, ok := cleanPath(name)
	if !ok {
		return ErrInvalid
	}
	committed := false
	for range maxRetries {
		pl, missing, err := f.deepest(clean)
		if err != nil || missing == "" {
			pl.release()
			return err
		}
		if !committed {
			if err = o.commit(); err == nil {
				committed = true
			}
		}
		if err == nil {
			err = errOf(mkdirBelow(pl.fd, missing, o))
		}
		pl.release()
		// Something may come into the way of the new names, or go, while they are made.
		if err != syscall.ENOTDIR && err != syscall.ELOOP && err != syscall.ENOENT {
			return err
		}
	}
	return syscall.EBUSY
}

// deepest opens the deepest directory on the way to an absolute path that exists,
// and returns what is missing below it. If something is, the directory may be
// written.
func (f *FS) deepest(clean string) (pl place, missing string, err error) {
	for dir := clean; ; dir = path.Dir(dir) {
		pl, err = f.resolve(request{path: dir, want: object, flags: sys.DirHandle, dir: true})
		if err == nil {
			missing = strings.Trim(strings.TrimPrefix(clean, dir), "/")
			if missing != "" && pl.root.enforced() == roots.ReadOnly {
				pl.release()
				return place{}, "", ErrReadOnly
			}
			return pl, missing, nil
		}
		if err != syscall.ENOENT { // not the same as errors.Is: an unavailable root is no place to go up from
			return place{}, "", err
		}
		// A link that dangles is something that exists.
		if link, err := f.resolve(request{path: dir, want: entry}); err == nil {
			var st sys.Stat
			errno := statEntry(&link, &st)
			link.release()
			if errno == 0 && st.Type() == sys.TypeLink {
				return place{}, "", syscall.EEXIST
			}
		}
		if dir == "/" {
			return place{}, "", err
		}
	}
}

// mkdirBelow makes the directories of a clean name, each below the handle of the
// one before.
func mkdirBelow(dir int, name string, o *WriteOptions) syscall.Errno {
	owned := false
	defer func() {
		if owned {
			sys.Close(dir)
		}
	}()
	for elem, rest, _ := nextElem(name); elem != ""; elem, rest, _ = nextElem(rest) {
		if errno := sys.Mkdirat(dir, elem, o.mode(0o777)); errno != 0 && errno != syscall.EEXIST {
			return errno
		}
		if o.sync() {
			if errno := syncDir(dir); errno != 0 {
				return errno
			}
		}
		fd, errno := sys.Openat(dir, elem, sys.DirHandle|sys.NoFollow, 0)
		if errno != 0 {
			return errno
		}
		if owned {
			sys.Close(dir)
		}
		dir, owned = fd, true
	}
	return 0
}

// Remove removes a file, a link or an empty directory. A root itself is not
// removed.
func (f *FS) Remove(path string, o *WriteOptions) error {
	return pathError("remove", path, f.remove(path, o))
}

func (f *FS) remove(path string, o *WriteOptions) error {
	pl, st, err := f.movable(path)
	if err != nil {
		return err
	}
	defer pl.release()
	if err := o.commit(); err != nil {
		return err
	}
	errno := syscall.Errno(0)
	if st.Type() == sys.TypeDir {
		errno = sys.Rmdirat(pl.fd, pl.base)
	} else {
		errno = sys.Unlinkat(pl.fd, pl.base)
	}
	if errno == 0 && o.sync() {
		errno = syncDir(pl.fd)
	}
	return errOf(errno)
}

// RemoveAll removes a file or link, or a directory with everything below it,
// following no link. It is bounded to a depth of 512. What was removed before an
// error or the end of ctx stays removed. A directory that is or holds a root is
// not removed, nor is anything in it. That path does not exist is an error.
func (f *FS) RemoveAll(ctx context.Context, path string, o *WriteOptions) error {
	return pathError("remove", path, f.removeAll(ctx, path, o))
}

func (f *FS) removeAll(ctx context.Context, path string, o *WriteOptions) error {
	pl, _, err := f.movable(path)
	if err != nil {
		return err
	}
	defer pl.release()
	if err := o.commit(); err != nil {
		return err
	}
	if err := removeTree(ctx, pl.fd, pl.base, maxDepth); err != nil {
		return err
	}
	if o.sync() {
		return errOf(syncDir(pl.fd))
	}
	return nil
}

// maxDepth is how deep below its start an operation on a tree goes by default, and
// at most: each level takes a descriptor.
const maxDepth = 512

// removeTree removes a name in a directory, and what is below it.
func removeTree(ctx context.Context, dir int, name string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch errno := sys.Unlinkat(dir, name); errno {
	case 0, syscall.ENOENT:
		return nil
	case syscall.EISDIR, syscall.EPERM: // a directory, to Linux and to other systems
	default:
		return errno
	}
	if depth == 0 {
		return ErrLimit
	}
	fd, errno := sys.Openat(dir, name, syscall.O_RDONLY|sys.Directory|sys.NoFollow, 0)
	switch errno {
	case 0:
	case syscall.ENOTDIR:
		return syscall.EPERM // so the first answer was meant
	default:
		return errno
	}
	sub := newFile(fd)
	defer sub.Close()
	for range maxRetries {
		for e, err := range sub.ReadDir() {
			if err == nil {
				err = removeTree(ctx, fd, e.Name, depth-1)
			} else {
				err = errors.Unwrap(err)
			}
			if err != nil {
				return err
			}
		}
		errno = sys.Rmdirat(dir, name)
		if errno != syscall.ENOTEMPTY {
			break
		}
		// Some file systems skip entries when others are removed meanwhile.
		if _, err := sub.Seek(0, 0); err != nil {
			return errors.Unwrap(err)
		}
	}
	if errno == syscall.ENOENT {
		errno = 0
	}
	return errOf(errno)
}

// movable resolves path to an entry that may be removed or renamed: something that
// exists and neither is a root nor holds one.
func (f *FS) movable(path string) (pl place, st sys.Stat, err error) {
	pl, dir, err := f.entry(path, entry, true)
	if err != nil {
		return place{}, st, err
	}
	if errno := statEntry(&pl, &st); errno != 0 {
		err = errno
	} else if (dir || pl.mustDir) && st.Type() != sys.TypeDir {
		err = syscall.ENOTDIR
	} else {
		err = f.guard(&pl, &st)
	}
	if err != nil {
		pl.release()
	}
	return pl, st, err
}

// guard refuses an entry that is a root, by whatever name, or a directory that
// holds one.
func (f *FS) guard(pl *place, st *sys.Stat) error {
	if pl.top {
		return ErrIsRoot
	}
	var parent sys.Stat
	for _, r := range f.roots {
		p := r.anchor.pin.Load()
		switch {
		case p == nil:
		case p.base == "":
			if st.Type() == sys.TypeDir && p.id == identityOf(st) {
				return ErrIsRoot
			}
		case p.base == pl.base:
			if sys.Fstat(pl.fd, &parent) == 0 && p.id == identityOf(&parent) {
				return ErrIsRoot
			}
		}
	}
	if !f.index.Load().nested || st.Type() != sys.TypeDir {
		return nil
	}
	dir, errno := sys.Path(pl.fd)
	if errno != 0 {
		return errno
	}
	inside := path.Join(dir, pl.base) + "/"
	for _, r := range f.roots {
		real := r.anchor.real()
		if real == "" {
			real = r.Path()
		}
		if strings.HasPrefix(real, inside) {
			return ErrHoldsRoot
		}
	}
	return nil
}
