package rootedfs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// WalkOptions bound a [FS.Walk]. Nil is the zero WalkOptions.
type WalkOptions struct {
	// Depth is how many levels below the start are visited: 1 is the entries of the
	// start itself. 0, and anything above, means 512. Each level takes a descriptor.
	Depth int
	// Nodes is how many entries are visited. 0 means no bound.
	Nodes int
}

// A Node is an entry that a walk visits. It is good until the visit ends.
type Node struct {
	Entry
	// Path is the name below the start of the walk, with slashes.
	Path string
	// Depth is 1 for the entries of the start itself.
	Depth int

	dir int
}

// Stat returns what the system knows about the entry. If it is a link, that is
// what is described.
func (n *Node) Stat() (Info, error) {
	var st sys.Stat
	if errno := sys.Lstatat(n.dir, n.Name, &st); errno != 0 {
		return Info{}, pathError("lstat", n.Path, errno)
	}
	return infoOf(&st), nil
}

// OpenRead opens the entry, if it is a regular file, by the handle of its
// directory: it is the file that was found, wherever the directory is now.
func (n *Node) OpenRead() (File, error) {
	fd, errno := sys.Openat(n.dir, n.Name, readFlags|sys.NoFollow, 0)
	err := errOf(errno)
	if errno == syscall.ELOOP {
		err = ErrNotRegular // a link
	}
	file, err := checkRegular(fd, err)
	return file, pathError("open", n.Path, err)
}

// Walk calls visit for everything below a directory, parents first, each
// directory in the order of the file system. It follows no link, and enters no
// directory that is its own ancestor, as a mount can make it. Memory grows with
// the depth only.
//
// If a directory cannot be read, visit is called for it a second time, with the
// error. What visit returns ends the walk, except for [fs.SkipDir], which leaves
// out what is below a directory, and [fs.SkipAll], which ends it without an error.
//
// Walk returns [ErrLimit], after everything else was visited, if directories lay
// deeper than allowed, and at once when there were more nodes than allowed.
// The paths of errors that it hands to visit are below the start.
func (f *FS) Walk(ctx context.Context, path string, o *WalkOptions, visit func(n *Node, err error) error) error {
	dir, err := f.OpenDir(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	w := walker{ctx: ctx, visit: visit, depth: maxDepth}
	if o != nil {
		if o.Depth > 0 && o.Depth < maxDepth {
			w.depth = o.Depth
		}
		w.nodes = o.Nodes
	}
	var st sys.Stat
	if errno := sys.Fstat(dir.fd(), &st); errno != 0 {
		return pathError("walk", path, errno)
	}
	w.above = append(w.above, identityOf(&st))
	err = w.below(dir, "")
	switch {
	case err == fs.SkipAll:
		return nil
	case err == nil && w.cut:
		err = ErrLimit
	case err == nil:
		return nil
	case errors.Is(err, errVisit):
		return errors.Unwrap(err)
	}
	return pathError("walk", path, err)
}

// errVisit marks what visit returned, which belongs to the caller as it is.
var errVisit = errors.New("visit")

type visitError struct{ err error }

func (e visitError) Error() string   { return e.err.Error() }
func (e visitError) Unwrap() error   { return e.err }
func (e visitError) Is(t error) bool { return t == errVisit }

type walker struct {
	ctx     context.Context
	visit   func(*Node, error) error
	depth   int
	nodes   int // bound, 0 for none
	visited int
	above   []identity // of the directories that the walk is in
	cut     bool       // something was too deep
}

// below visits what is below an open directory. Its error is fs.SkipAll, a
// visitError, or one of the walk itself.
func (w *walker) below(dir File, name string) error {
	for e, err := range dir.ReadDir() {
		if err != nil {
			return errors.Unwrap(err)
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.visited++; w.nodes > 0 && w.visited > w.nodes {
			return ErrLimit
		}
		n := Node{Entry: e, Path: joinName(name, e.Name), Depth: len(w.above), dir: dir.fd()}
		skip, err := w.tell(&n, nil)
		if err != nil {
			return err
		}
		if !e.IsDir() || skip {
			continue
		}
		if err := w.enter(&n); err != nil {
			return err
		}
	}
	return nil
}

// tell calls visit.
func (w *walker) tell(n *Node, about error) (skip bool, err error) {
	switch err := w.visit(n, about); err {
	case nil:
		return false, nil
	case fs.SkipDir:
		return true, nil
	case fs.SkipAll:
		return false, err
	default:
		return false, visitError{err}
	}
}

// enter visits what is below a directory that was found.
func (w *walker) enter(n *Node) error {
	if len(w.above) >= w.depth {
		// Only a directory that has something below it is cut.
		w.cut = w.cut || !isEmpty(n.dir, n.Name)
		return nil
	}
	var st sys.Stat
	fd, errno := sys.Openat(n.dir, n.Name, readFlags|sys.Directory|sys.NoFollow, 0)
	if errno == 0 {
		defer sys.Close(fd)
		errno = sys.Fstat(fd, &st)
	}
	for _, id := range w.above {
		if errno == 0 && id == identityOf(&st) {
			errno = syscall.ELOOP
		}
	}
	if errno == 0 {
		w.above = append(w.above, identityOf(&st))
		err := w.below(newFile(fd), n.Path)
		w.above = w.above[:len(w.above)-1]
		var ok bool
		if errno, ok = err.(syscall.Errno); !ok {
			return err
		}
	}
	// This directory could not be read; the walk is about the others too.
	_, err := w.tell(n, pathError("readdir", n.Path, errno))
	return err
}

func isEmpty(dir int, name string) bool {
	fd, errno := sys.Openat(dir, name, readFlags|sys.Directory|sys.NoFollow, 0)
	if errno != 0 {
		return true // and nothing that a walk could have visited
	}
	d := newFile(fd)
	defer d.Close()
	for range d.ReadDir() {
		return false
	}
	return true
}
