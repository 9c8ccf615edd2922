package rootedfs

import (
	"context"
	"errors"
	"path"
	"sync"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// A copier copies one tree.
type copier struct {
	f    *FS
	ctx  context.Context
	left int      // how many more files, links and directories
	self identity // of the directory that is being filled, so that it is not copied into itself
}

// copyEntry copies what is at src, which may be a link, to a temporary name beside
// dst and then gives it the name.
func (f *FS) copyEntry(ctx context.Context, src, dst *place, o *RenameOptions) error {
	c := copier{f: f, ctx: ctx, left: o.Limit}
	if c.left <= 0 {
		c.left = 100_000
	}
	if !o.Overwrite {
		var st sys.Stat
		if sys.Lstatat(dst.fd, dst.base, &st) == 0 {
			return syscall.EEXIST // before the work, not after
		}
	}
	name := src.base
	if src.top && src.pin.base == "" {
		name = "."
	}
	dir, _ := sys.Path(dst.fd) // for links; "" if it cannot be known
	if dir != "" {
		dir = path.Join(dir, dst.base)
	}
	temp := tempName()
	discard := func() {
		unlock(dst.fd, temp, maxDepth+1)
		// Not with ctx, whose end may be the reason.
		_ = removeTree(context.WithoutCancel(ctx), dst.fd, temp, maxDepth+1)
	}
	if err := c.copy(src.fd, name, dst.fd, temp, dir, o.Sync, 0); err != nil {
		discard()
		return err
	}
	w := o.writeOptions()
	if err := w.commit(); err != nil {
		discard()
		return err
	}
	if errno := rename(dst.fd, temp, dst.fd, dst.base, o.Overwrite); errno != 0 {
		discard()
		return errno
	}
	if o.Sync {
		return errOf(syncDir(dst.fd))
	}
	return nil
}

// copy copies one name. at is the path that the copy will have, for links.
func (c *copier) copy(srcDir int, src string, dstDir int, dst, at string, sync bool, depth int) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if c.left--; c.left < 0 || depth > maxDepth {
		return ErrLimit
	}
	var st sys.Stat
	if errno := sys.Lstatat(srcDir, src, &st); errno != 0 {
		return errno
	}
	var err error
	switch st.Type() {
	case sys.TypeRegular:
		err = c.copyFile(srcDir, src, dstDir, dst, sync)
	case sys.TypeDir:
		err = c.copyDir(srcDir, src, dstDir, dst, at, sync, depth)
	case sys.TypeLink:
		return c.copyLink(srcDir, src, dstDir, dst, at)
	default:
		return ErrNotRegular
	}
	if err == nil {
		sys.SetTimes(dstDir, dst, st.Atime, st.Mtime) // as well as it goes
	}
	return err
}

func (c *copier) copyLink(srcDir int, src string, dstDir int, dst, at string) error {
	text, errno := sys.Readlinkat(srcDir, src)
	if errno != 0 {
		return errno
	}
	dir := ""
	if at != "" {
		dir = path.Dir(at)
	}
	if text == "" || !c.f.staysInside(dir, text) {
		return ErrOutside
	}
	return errOf(sys.Symlinkat(text, dstDir, dst))
}

func (c *copier) copyFile(srcDir int, src string, dstDir int, dst string, sync bool) error {
	fd, errno := sys.Openat(srcDir, src, readFlags|sys.NoFollow, 0)
	in, err := checkRegular(fd, errOf(errno))
	if err != nil {
		return err
	}
	defer in.Close()
	var st sys.Stat
	if errno := sys.Fstat(in.fd(), &st); errno != 0 {
		return errno
	}
	out, errno := sys.Openat(dstDir, dst, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|sys.NoFollow, 0o600)
	if errno != 0 {
		return errno
	}
	defer sys.Close(out)
	if err := c.copyBytes(out, in.fd()); err != nil {
		return err
	}
	mode := st.Mode & 0o1777
	if sys.CopyXattrs(srcDir, src, out) != 0 {
		mode &^= 0o070 // see draft.inherit
	}
	if errno := sys.Fchmod(out, mode); errno != 0 {
		return errno
	}
	if sync {
		return errOf(sys.Fsync(out))
	}
	return nil
}

var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// copyBytes copies the rest of one file to another, inside the kernel if it can.
func (c *copier) copyBytes(out, in int) error {
	const piece = 16 << 20 // so that the context is looked at
	for {
		n, errno := sys.CopyRange(out, in, piece)
		if errno != 0 {
			break
		}
		if n == 0 {
			break // the end, or a file of proc(5), which has a size of 0 and content
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	buf := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buf)
	for {
		n, errno := sys.Read(in, buf[:])
		if errno == 0 && n == 0 {
			return nil
		}
		if errno == 0 {
			errno = writeAll(out, buf[:n])
		}
		if errno != 0 {
			return errno
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
}

func (c *copier) copyDir(srcDir int, src string, dstDir int, dst, at string, sync bool, depth int) error {
	const flags = syscall.O_RDONLY | sys.Directory | sys.NoFollow
	in, errno := sys.Openat(srcDir, src, flags, 0)
	if errno != 0 {
		return errno
	}
	from := newFile(in)
	defer from.Close()
	var st sys.Stat
	if errno := sys.Fstat(in, &st); errno != 0 {
		return errno
	}
	if identityOf(&st) == c.self {
		return syscall.EINVAL // as rename(2), when a directory shall be its own child
	}
	if errno := sys.Mkdirat(dstDir, dst, 0o700); errno != 0 {
		return errno
	}
	out, errno := sys.Openat(dstDir, dst, flags, 0)
	if errno != 0 {
		return errno
	}
	defer sys.Close(out)
	if depth == 0 {
		var self sys.Stat
		if errno := sys.Fstat(out, &self); errno != 0 {
			return errno
		}
		c.self = identityOf(&self)
	}
	for e, err := range from.ReadDir() {
		if err != nil {
			return errors.Unwrap(err)
		}
		below := at
		if at != "" {
			below = at + "/" + e.Name
		}
		if err := c.copy(in, e.Name, out, e.Name, below, sync, depth+1); err != nil {
			return err
		}
	}
	mode := st.Mode & 0o1777
	if sys.CopyXattrs(srcDir, src, out) != 0 {
		mode &^= 0o070
	}
	errno = sys.Fchmod(out, mode)
	if errno == 0 && sync {
		errno = sys.Fsync(out)
	}
	return errOf(errno)
}

// unlock makes the directories of an unfinished copy writable for us, as copies of
// read-only ones are not, so that they can be removed.
func unlock(dir int, name string, depth int) {
	handle, errno := sys.Openat(dir, name, sys.DirHandle|sys.NoFollow, 0)
	if errno != 0 {
		return
	}
	defer sys.Close(handle)
	if depth == 0 || sys.ChmodHandle(handle, 0o700) != 0 {
		return
	}
	fd, errno := sys.Openat(handle, ".", readFlags|sys.Directory, 0)
	if errno != 0 {
		return
	}
	sub := newFile(fd)
	defer sub.Close()
	for e := range sub.ReadDir() {
		if e.IsDir() {
			unlock(fd, e.Name, depth-1)
		}
	}
}
