package rootedfs

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
)

// A record is what was copied under one name, so that this is removed afterwards
// and nothing else.
type record struct {
	sys.Stat                    // as it was before it was copied
	below    map[string]*record // of a directory
}

func (r *record) add(name string, sub *record) {
	if r.below == nil {
		r.below = make(map[string]*record)
	}
	r.below[name] = sub
}

// cool waits until a change of the open file would show in its ctime. That counts
// the ticks of a clock, up to 10 ms each, so what is changed twice in a tick looks
// like what was changed once.
func (r *record) cool(fd int) syscall.Errno {
	const tick = 20 * time.Millisecond
	for range 5 { // whoever keeps writing will be found out
		age := time.Since(time.Unix(0, r.Ctime))
		if age > tick || age < -time.Hour {
			break
		}
		time.Sleep(min(tick, tick-age))
		if errno := sys.Fstat(fd, &r.Stat); errno != 0 {
			return errno
		}
	}
	return 0
}

// same reports whether st is of what was copied. To rename something changes its
// ctime, and so does the removal of another name that it has.
func (r *record) same(st *sys.Stat, ctime bool) bool {
	return identityOf(st) == identityOf(&r.Stat) && st.Mode == r.Mode && st.UID == r.UID && st.GID == r.GID &&
		st.Mtime == r.Mtime && st.Size == r.Size && (!ctime || st.Ctime == r.Ctime)
}

// moveByCopy copies, then removes what was copied. In between, the original is
// parked: it gets a name that nobody knows, so that it stays what it is while it is
// compared with what was copied, and removed. It keeps its own name as long as the
// copy is being made: whoever kills the process then finds everything in its place.
func (f *FS) moveByCopy(ctx context.Context, from, to string, src, dst *place, o *RenameOptions) error {
	// Before the work, not after. To park it is the proof.
	if errno := sys.Access(src.fd, ".", sys.MayWrite|sys.MaySearch); errno != 0 {
		return pathError("rename", from, errno)
	}
	c := copier{f: f, ctx: ctx, o: o, moves: true}
	defer c.discard()
	r, err := c.fill(src, dst)
	if err == nil {
		err = o.writeOptions().commit()
	}
	if err != nil {
		if c.atSource {
			to = from
		}
		return pathError("rename", to, err)
	}
	p, err := park(src, r)
	if err != nil {
		return pathError("rename", from, err)
	}
	defer p.restore()
	if err := r.unchanged(ctx, p.dir, p.name, true); err != nil {
		return pathError("rename", from, err)
	}
	if err := c.publish(dst); err != nil {
		return pathError("rename", to, err)
	}
	// From here on nothing is stopped half way, whatever happens to the context.
	errno := r.remove(p.dir, p.name, true)
	if errno == 0 && o.Sync {
		errno = syncDir(p.dir)
	}
	return pathError("rename", from, errOf(errno))
}

// A parked original is under another name in its directory.
type parked struct {
	dir       int
	name, was string
}

// park gives the original, if it still is what was copied, a name that nobody knows.
func park(src *place, r *record) (parked, error) {
	p := parked{dir: src.fd, name: tempName(), was: src.base}
	var st sys.Stat
	if errno := sys.Lstatat(p.dir, p.was, &st); errno != 0 {
		return p, errno
	}
	if !r.same(&st, true) {
		return p, syscall.EBUSY
	}
	switch errno := rename(p.dir, p.was, p.dir, p.name, false); errno {
	case 0:
		return p, nil
	case syscall.EXDEV:
		// overlayfs does not rename a directory of a lower layer at all. It is
		// compared and removed where it is.
		p.name = p.was
		return p, nil
	default:
		return p, errno
	}
}

// restore gives what is left of the original its name back, or if that is taken,
// one that shows where it is from.
func (p *parked) restore() {
	if p.name == p.was {
		return
	}
	errno := rename(p.dir, p.name, p.dir, p.was, false)
	if errno == syscall.EEXIST {
		rename(p.dir, p.name, p.dir, p.was+p.name, false)
	}
}

// unchanged returns nil if what is at a name is what was copied, all of it and
// nothing more.
func (r *record) unchanged(ctx context.Context, dir int, name string, top bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var st sys.Stat
	if r.Type() != sys.TypeDir {
		errno := sys.Lstatat(dir, name, &st)
		if errno == 0 && !r.same(&st, !top) {
			errno = syscall.EBUSY
		}
		return gone(errno)
	}
	fd, errno := sys.Openat(dir, name, syscall.O_RDONLY|sys.Directory|sys.NoFollow, 0)
	if errno != 0 {
		return gone(errno)
	}
	sub := newFile(fd)
	defer sub.Close()
	if errno := sys.Fstat(fd, &st); errno != 0 {
		return errno
	}
	if !r.same(&st, !top) {
		return syscall.EBUSY
	}
	n := 0
	for e, err := range sub.ReadDir() {
		if err != nil {
			return errors.Unwrap(err)
		}
		known := r.below[e.Name]
		if known == nil {
			return syscall.EBUSY
		}
		if err := known.unchanged(ctx, fd, e.Name, false); err != nil {
			return err
		}
		n++
	}
	if n != len(r.below) {
		return syscall.EBUSY
	}
	return nil
}

// gone turns the answers for what is not there any more, or is something else, into
// EBUSY.
func gone(errno syscall.Errno) error {
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP:
		errno = syscall.EBUSY
	}
	return errOf(errno)
}

// remove removes what was copied from under a name, and leaves everything else where
// it is: then it is EBUSY. It goes on after an error, so that what is left over is
// what could not be removed.
func (r *record) remove(dir int, name string, top bool) syscall.Errno {
	var st sys.Stat
	if r.Type() != sys.TypeDir {
		errno := sys.Lstatat(dir, name, &st)
		switch {
		case errno == syscall.ENOENT:
			return 0
		case errno != 0:
			return errno
		case !r.same(&st, !top && r.Nlink == 1):
			return syscall.EBUSY
		}
		return sys.Unlinkat(dir, name)
	}
	fd, errno := sys.Openat(dir, name, sys.DirHandle|sys.NoFollow, 0)
	switch errno {
	case 0:
	case syscall.ENOENT:
		return 0
	case syscall.ENOTDIR, syscall.ELOOP:
		return syscall.EBUSY
	default:
		return errno
	}
	defer sys.Close(fd)
	if errno := sys.Fstat(fd, &st); errno != 0 {
		return errno
	}
	if identityOf(&st) != identityOf(&r.Stat) {
		return syscall.EBUSY
	}
	var first syscall.Errno
	for name, sub := range r.below {
		if errno := sub.remove(fd, name, false); errno != 0 && first == 0 {
			first = errno
		}
	}
	if first != 0 {
		return first
	}
	errno = sys.Rmdirat(dir, name)
	switch errno {
	case syscall.ENOTEMPTY, syscall.EEXIST:
		return syscall.EBUSY
	case syscall.ENOENT:
		return 0
	}
	return errno
}
