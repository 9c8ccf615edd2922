package rootedfs

import (
	"context"
	"errors"
	"io"
	"math"
	"path"
	"sync"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// A copier copies one tree to a temporary name beside the one it shall have.
type copier struct {
	f    *FS
	ctx  context.Context
	o    *RenameOptions
	left int      // how many more files, links and directories
	self identity // of the directory that is being filled, so that it is not copied into itself

	moves    bool // the original is going to be removed
	atSource bool // it is the original that an error is about

	dir  int
	temp string // below dir; "" when it has been published
}

// copyEntry copies what is at src, which may be a link, and gives the copy the name dst.
func (f *FS) copyEntry(ctx context.Context, src, dst *place, o *RenameOptions) error {
	c := copier{f: f, ctx: ctx, o: o}
	defer c.discard()
	if _, err := c.fill(src, dst); err != nil {
		return err
	}
	if err := o.writeOptions().commit(); err != nil {
		return err
	}
	return c.publish(dst)
}

// fill makes the copy, and returns what was copied.
func (c *copier) fill(src, dst *place) (*record, error) {
	c.left = c.o.Limit
	if c.left <= 0 {
		c.left = 100_000
	}
	// Before the work, not after.
	var st sys.Stat
	if sys.Lstatat(dst.fd, dst.base, &st) == 0 {
		switch {
		case !c.o.Overwrite:
			return nil, syscall.EEXIST
		case !c.moves && st.Type() == sys.TypeRegular:
			if errno := mayWrite(dst.fd, dst.base); errno != 0 {
				return nil, errno
			}
		}
	}
	name := src.base
	if src.top && src.pin.base == "" {
		name = "."
	}
	at, _ := sys.Path(dst.fd) // for links; "" if it cannot be known
	if at != "" {
		at = path.Join(at, dst.base)
	}
	c.dir, c.temp = dst.fd, tempName()
	return c.copy(src.fd, name, c.dir, c.temp, at, 0)
}

// publish gives the copy its name.
func (c *copier) publish(dst *place) error {
	if errno := rename(c.dir, c.temp, dst.fd, dst.base, c.o.Overwrite); errno != 0 {
		return errno
	}
	c.temp = ""
	if c.o.Sync {
		return errOf(syncDir(dst.fd))
	}
	return nil
}

// discard removes a copy that was not published.
func (c *copier) discard() {
	if c.temp == "" {
		return
	}
	unlock(c.dir, c.temp, maxDepth+1)
	// Not with the context, whose end may be the reason.
	_ = removeTree(context.WithoutCancel(c.ctx), c.dir, c.temp, maxDepth+1)
}

// copy copies one name. at is the path that the copy will have, for links.
func (c *copier) copy(srcDir int, src string, dstDir int, dst, at string, depth int) (*record, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	if c.left--; c.left < 0 || depth > maxDepth {
		return nil, ErrLimit
	}
	r := new(record)
	if errno := sys.Lstatat(srcDir, src, &r.Stat); errno != 0 {
		return nil, errno
	}
	var err error
	switch r.Type() {
	case sys.TypeRegular:
		err = c.copyFile(srcDir, src, dstDir, dst, r)
	case sys.TypeDir:
		err = c.copyDir(srcDir, src, dstDir, dst, at, r, depth)
	case sys.TypeLink:
		return r, c.copyLink(srcDir, src, dstDir, dst, at)
	default:
		return nil, ErrNotRegular
	}
	if err == nil {
		sys.SetTimes(dstDir, dst, r.Atime, r.Mtime) // as well as it goes
	}
	return r, err
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

func (c *copier) copyFile(srcDir int, src string, dstDir int, dst string, r *record) error {
	fd, errno := sys.Openat(srcDir, src, readFlags|sys.NoFollow, 0)
	in, err := checkRegular(fd, errOf(errno))
	if err != nil {
		return err
	}
	defer in.Close()
	if errno := sys.Fstat(in.fd(), &r.Stat); errno != 0 {
		return errno
	}
	if c.moves {
		if errno := r.cool(in.fd()); errno != 0 {
			return errno
		}
	}
	out, errno := sys.Openat(dstDir, dst, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|sys.NoFollow, 0o600)
	if errno != 0 {
		return errno
	}
	defer sys.Close(out)
	if err := c.copyContent(out, in.fd(), r.Size); err != nil {
		return err
	}
	return errOf(c.finish(srcDir, src, out, &r.Stat))
}

// finish gives a copy the attributes of its original, in an order in which at no
// time more people may read it than may read the original.
func (c *copier) finish(dir int, name string, out int, st *sys.Stat) syscall.Errno {
	var made sys.Stat
	if errno := sys.Fstat(out, &made); errno != 0 {
		return errno
	}
	mode := st.Mode & 0o1777
	kept := made.GID == st.GID
	if c.moves && (made.UID != st.UID || !kept) && sys.Fchown(out, int(st.UID), int(st.GID)) == 0 {
		kept = true
	}
	if !kept && sys.Fchown(out, -1, int(st.GID)) != 0 {
		mode &^= 0o070 // what the old group had must not go to ours
	}
	if sys.CopyXattrs(dir, name, out) != 0 {
		mode &^= 0o070 // see draft.inherit
	}
	errno := sys.Fchmod(out, mode)
	if errno == 0 && c.o.Sync {
		errno = sys.Fsync(out)
	}
	return errno
}

// copyContent copies the size bytes of a file to an empty one, which gets holes
// where the original has some. A file may have more bytes than its size says, as
// those of proc(5), or have grown.
func (c *copier) copyContent(out, in int, size int64) error {
	for end := int64(0); size > 0; {
		data, errno := sys.Seek(in, end, sys.SeekData)
		switch errno {
		case 0:
		case syscall.ENXIO: // no more data, but perhaps a hole
			if size, errno = sys.Seek(in, 0, io.SeekEnd); errno == 0 {
				errno = sys.Ftruncate(out, size)
			}
			return errOf(errno)
		default: // the file system does not tell
			if end > 0 {
				return errno
			}
			size = 0
			continue
		}
		if end, errno = sys.Seek(in, data, sys.SeekHole); errno != 0 {
			return errno
		}
		for _, fd := range []int{in, out} {
			if _, errno := sys.Seek(fd, data, io.SeekStart); errno != 0 {
				return errno
			}
		}
		if err := c.copyBytes(out, in, end-data); err != nil {
			return err
		}
	}
	if _, errno := sys.Seek(in, 0, io.SeekStart); errno != 0 {
		return errno
	}
	return c.copyBytes(out, in, math.MaxInt64)
}

var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// copyBytes copies up to n bytes of one file to another, inside the kernel if it can.
func (c *copier) copyBytes(out, in int, n int64) error {
	const piece = 16 << 20 // so that the context is looked at
	for n > 0 {
		m, errno := sys.CopyRange(out, in, int(min(n, piece)))
		if errno != 0 || m == 0 {
			break // the end, or a file of proc(5), which has a size of 0 and content
		}
		n -= int64(m)
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	buf := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buf)
	for n > 0 {
		m, errno := sys.Read(in, buf[:min(n, int64(len(buf)))])
		if errno == 0 && m == 0 {
			return nil
		}
		if errno == 0 {
			errno = writeAll(out, buf[:m])
		}
		if errno != 0 {
			return errno
		}
		n -= int64(m)
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) copyDir(srcDir int, src string, dstDir int, dst, at string, r *record, depth int) error {
	const flags = syscall.O_RDONLY | sys.Directory | sys.NoFollow
	in, errno := sys.Openat(srcDir, src, flags, 0)
	if errno != 0 {
		return errno
	}
	from := newFile(in)
	defer from.Close()
	if errno := sys.Fstat(in, &r.Stat); errno != 0 {
		return errno
	}
	if identityOf(&r.Stat) == c.self {
		return syscall.EINVAL // as rename(2), when a directory shall be its own child
	}
	if c.moves && depth > 0 && crossesMount(srcDir, in) {
		c.atSource = true
		return syscall.EBUSY // what is mounted here cannot be removed
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
		sub, err := c.copy(in, e.Name, out, e.Name, below, depth+1)
		if err != nil {
			return err
		}
		if c.moves {
			r.add(e.Name, sub)
		}
	}
	if len(r.below) > 0 {
		if errno := sys.Access(in, ".", sys.MayWrite|sys.MaySearch); errno != 0 {
			c.atSource = true
			return errno // what is in it could not be removed
		}
	}
	return errOf(c.finish(srcDir, src, out, &r.Stat))
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
