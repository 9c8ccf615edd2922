package rootedfs

import (
	"errors"
	"io"
	"iter"
	"strings"
	"syscall"

	"github.com/rootbound/rootbound/internal/sys"
)

// readFlags opens for reading without waiting for the other end of a FIFO, and
// without making a terminal the controlling one.
const readFlags = syscall.O_RDONLY | syscall.O_NONBLOCK | sys.NoCTTY

// Handle opens what path leads to, for reading and whatever it is: the caller
// looks at the handle before using it. This is the shortest way from a path to a
// handle, one system call; [FS.OpenRead] and [FS.OpenDir] add the look.
func (f *FS) Handle(path string) (File, error) {
	fd, err := f.openRead(path, readFlags)
	if err != nil {
		return File{}, pathError("open", path, err)
	}
	return newFile(fd), nil
}

// OpenRead opens a regular file for reading. A directory is EISDIR; a device, FIFO
// or socket [ErrNotRegular].
func (f *FS) OpenRead(path string) (File, error) {
	fd, err := f.openRead(path, readFlags)
	file, err := checkRegular(fd, err)
	if err != nil {
		return File{}, pathError("open", path, err)
	}
	return file, nil
}

// OpenDir opens a directory, for [File.ReadDir] and [File.Stat].
func (f *FS) OpenDir(path string) (File, error) {
	fd, err := f.openRead(path, readFlags|sys.Directory)
	if err != nil {
		return File{}, pathError("open", path, err)
	}
	return newFile(fd), nil
}

// open returns the descriptor of what path leads to, and the root and pin that it is in.
func (f *FS) open(path string, flags int, mode uint32, write bool) (place, error) {
	l := lookup{f: f, request: request{path: path, want: object, flags: flags, mode: mode, write: write}}
	ok := false
	l.path, l.dir, ok = cleanPath(path)
	if !ok {
		return place{}, ErrInvalid
	}
	err := l.run()
	return l.place, err
}

// openRead is open for reading.
func (f *FS) openRead(path string, flags int) (int, error) {
	fd, r, name := f.quick(path, flags)
	switch {
	case fd >= 0:
		return fd, nil
	case r == nil || strings.IndexByte(name, 0) >= 0:
		pl, err := f.open(path, flags, 0, false)
		return pl.fd, err
	}
	l := lookup{f: f, request: request{path: path, want: object, flags: flags}, name: name}
	l.root = r
	if err := l.run(); err != nil {
		return -1, err
	}
	return l.fd, nil
}

// openRegular opens a regular file for writing with the given flags, which hold
// O_NONBLOCK. release closes it.
func (f *FS) openRegular(path string, flags int, mode uint32) (file File, release func(), err error) {
	pl, err := f.open(path, flags, mode, true)
	if file, err = checkRegular(pl.fd, err); err != nil {
		return File{}, nil, err
	}
	unlock := pl.root.exclusive(pl.pin)
	return file, func() { file.Close(); unlock() }, nil
}

// checkRegular makes a File of fd, which it closes if that is no regular file. err
// is what opening fd gave.
func checkRegular(fd int, err error) (File, error) {
	if err != nil {
		if err == syscall.ENXIO || err == syscall.ENODEV {
			err = ErrNotRegular // a socket, a FIFO without a reader, a device without a driver
		}
		return File{}, err
	}
	typ, size, errno := sys.FstatType(fd)
	if errno == 0 && typ == sys.TypeRegular {
		return File{n: fd + 1, size: size}, nil
	}
	sys.Close(fd)
	switch {
	case errno != 0:
		return File{}, errno
	case typ == sys.TypeDir:
		return File{}, syscall.EISDIR
	}
	return File{}, ErrNotRegular
}

// ReadFile returns the content of a regular file, or [ErrTooLarge] if it has more
// than limit bytes.
func (f *FS) ReadFile(path string, limit int64) ([]byte, error) {
	file, err := f.OpenRead(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.size > limit {
		return nil, pathError("read", path, ErrTooLarge)
	}
	// One byte more than there should be shows the end without another buffer, and
	// a file that has grown. Files of proc(5) are of size 0 and are read all the same.
	data := make([]byte, 0, max(file.size, 512)+1)
	for {
		n, errno := sys.Read(file.fd(), data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errno != 0:
			return nil, pathError("read", path, errno)
		case int64(len(data)) > limit:
			return nil, pathError("read", path, ErrTooLarge)
		case n == 0:
			return data, nil
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// Stat returns what the system knows about what path leads to.
func (f *FS) Stat(path string) (Info, error) {
	info, err := f.stat(path, entryFollow)
	return info, pathError("stat", path, err)
}

// Lstat does not follow a last link: it describes the link, which may lead anywhere.
// If the path ends in a slash the link is followed.
func (f *FS) Lstat(path string) (Info, error) {
	info, err := f.stat(path, entry)
	return info, pathError("lstat", path, err)
}

func (f *FS) stat(path string, want want) (Info, error) {
	clean, dir, ok := cleanPath(path)
	if !ok {
		return Info{}, ErrInvalid
	}
	// The kernel has no stat that is confined to a directory, so the entry is found
	// first. Only a link there makes following worth the price.
	q := request{path: clean, want: entry}
	if dir {
		q.want, want = entryFollow, entryFollow
	}
	for range maxRetries {
		pl, err := f.resolve(q)
		if err != nil {
			return Info{}, err
		}
		var st sys.Stat
		errno := statEntry(&pl, &st)
		pl.release()
		switch {
		case errno != 0:
			return Info{}, errno
		case st.Type() == sys.TypeLink && want == entryFollow:
			q.want = entryFollow // for the first time, or it came just now
			continue
		case (dir || pl.mustDir) && st.Type() != sys.TypeDir:
			return Info{}, syscall.ENOTDIR
		}
		return infoOf(&st), nil
	}
	return Info{}, syscall.EBUSY
}

// statEntry stats the entry at a place, and a root by its handle.
func statEntry(pl *place, st *sys.Stat) syscall.Errno {
	if pl.top && pl.pin.base == "" {
		return sys.Fstat(pl.fd, st)
	}
	return sys.Lstatat(pl.fd, pl.base, st)
}

// Readlink returns the text of a link, which is data of the root: it may name
// anything.
func (f *FS) Readlink(path string) (string, error) {
	pl, dir, err := f.entry(path, entry, false)
	if err != nil {
		return "", pathError("readlink", path, err)
	}
	defer pl.release()
	if dir { // the spelling follows the link, so this is about a directory, or fails
		if _, err = f.stat(path, entryFollow); err == nil {
			err = syscall.EINVAL
		}
		return "", pathError("readlink", path, err)
	}
	if pl.top && pl.pin.base == "" {
		return "", pathError("readlink", path, syscall.EINVAL)
	}
	text, errno := sys.Readlinkat(pl.fd, pl.base)
	return text, pathError("readlink", path, errOf(errno))
}

// entry resolves path to an entry.
func (f *FS) entry(path string, want want, write bool) (pl place, dir bool, err error) {
	clean, dir, ok := cleanPath(path)
	if !ok {
		return place{}, false, ErrInvalid
	}
	pl, err = f.resolve(request{path: clean, want: want, write: write})
	return pl, dir, err
}

// ReadDir yields the entries of a directory as [File.ReadDir] does. The directory
// is opened when the iteration begins and closed when it ends.
func (f *FS) ReadDir(path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		dir, err := f.OpenDir(path)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer dir.Close()
		for e, err := range dir.ReadDir() {
			if err != nil {
				err = pathError("readdir", path, errors.Unwrap(err))
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

var _ io.Reader = File{}
