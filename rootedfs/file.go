package rootedfs

import (
	"io"
	"io/fs"
	"iter"
	"sync"
	"syscall"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
)

// A File is an open file or directory. It is a small value that owns a
// descriptor: copies are the same file, and exactly one of them is closed, once.
// The zero File is closed.
//
// It is not an [os.File] because that costs five system calls more, to find out
// about non-blocking use that regular files do not have: files are opened with
// O_NONBLOCK, so that a FIFO does not block, and for a regular file or directory
// that flag means nothing.
//
// Methods may be called concurrently, but Close only when no other call is running.
// Errors are [*fs.PathError] without a path, except for [io.EOF].
type File struct {
	n    int // the descriptor + 1, so that the zero File is not standard input
	size int64
}

func newFile(fd int) File { return File{n: fd + 1, size: -1} }

func (f File) fd() int { return f.n - 1 }

func (f File) fail(op string, errno syscall.Errno) error {
	if errno == syscall.EBADF && f.n == 0 {
		return pathError(op, "", fs.ErrClosed)
	}
	return pathError(op, "", errOf(errno))
}

// Close closes the file.
func (f File) Close() error {
	if errno := sys.Close(f.fd()); errno != 0 {
		return f.fail("close", errno)
	}
	return nil
}

// Size returns the size in bytes that a regular file had when [FS.OpenRead]
// opened it, and -1 for other files. It takes no system call.
func (f File) Size() int64 {
	if f.n == 0 {
		return -1
	}
	return f.size
}

// Read implements [io.Reader].
func (f File) Read(p []byte) (int, error) {
	n, errno := sys.Read(f.fd(), p)
	if errno != 0 {
		return 0, f.fail("read", errno)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ReadAt implements [io.ReaderAt].
func (f File) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		m, errno := sys.Pread(f.fd(), p[n:], offset+int64(n))
		if errno != 0 {
			return n, f.fail("read", errno)
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}

// Seek implements [io.Seeker].
func (f File) Seek(offset int64, whence int) (int64, error) {
	n, errno := sys.Seek(f.fd(), offset, whence)
	return n, f.fail("seek", errno)
}

// Stat returns what the system knows about the file.
func (f File) Stat() (Info, error) {
	var st sys.Stat
	if errno := sys.Fstat(f.fd(), &st); errno != 0 {
		return Info{}, f.fail("stat", errno)
	}
	return infoOf(&st), nil
}

// writeAll writes all of p.
func writeAll(fd int, p []byte) syscall.Errno {
	for len(p) > 0 {
		n, errno := sys.Write(fd, p)
		if errno != 0 {
			return errno
		}
		p = p[n:]
	}
	return 0
}

// An Entry is a name in a directory.
type Entry struct {
	// Name is any bytes but "/" and NUL, and need not be UTF-8.
	Name string
	// Type holds the type bits; 0 is a regular file.
	Type fs.FileMode
}

// IsDir reports whether the entry is a directory. A link to one is not.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// direntBuffers are the buffers that directories are read with: large enough that
// most take one system call.
var direntBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadDir yields the entries of a directory in the order of the file system,
// without "." and "..", reading on as the caller takes them: memory does not grow
// with the directory. Entries that are made or removed meanwhile may or may not
// be among them. After an error nothing more is yielded. A directory is read
// once: a second ReadDir goes on where the first one stopped, a buffer later.
func (f File) ReadDir() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		buf := direntBuffers.Get().(*[32 << 10]byte)
		defer direntBuffers.Put(buf)
		r := sys.NewDirReader(buf[:])
		for {
			e, ok, errno := r.Next(f.fd())
			if errno != 0 {
				yield(Entry{}, f.fail("readdir", errno))
				return
			}
			if !ok || !yield(Entry{e.Name, entryType(f.fd(), e)}, nil) {
				return
			}
		}
	}
}

// entryType returns the type bits of an entry, asking for them where the file
// system does not tell.
func entryType(dir int, e sys.Dirent) fs.FileMode {
	if e.Type != 0 {
		return fileMode(e.Type).Type()
	}
	var st sys.Stat
	if sys.Lstatat(dir, e.Name, &st) != 0 {
		return fs.ModeIrregular // gone, or not ours to know
	}
	return fileMode(st.Mode).Type()
}

// An Info is what the system knows about a file.
type Info struct {
	Mode     fs.FileMode // type and permissions
	Size     int64       // in bytes
	Links    uint64      // how many names the file has
	UID, GID uint32
	Dev, Ino uint64 // together they tell a file from every other
	Accessed time.Time
	Modified time.Time
	Changed  time.Time // of content or attributes
}

// IsDir reports whether the file is a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsRegular reports whether the file is a regular one.
func (i Info) IsRegular() bool { return i.Mode.IsRegular() }

func infoOf(st *sys.Stat) Info {
	return Info{
		Mode: fileMode(st.Mode), Size: st.Size, Links: st.Nlink,
		UID: st.UID, GID: st.GID, Dev: st.Dev, Ino: st.Ino,
		Accessed: time.Unix(0, st.Atime), Modified: time.Unix(0, st.Mtime), Changed: time.Unix(0, st.Ctime),
	}
}

// fileMode turns st_mode into the bits of package fs.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & sys.TypeMask {
	case sys.TypeDir:
		m |= fs.ModeDir
	case sys.TypeLink:
		m |= fs.ModeSymlink
	case sys.TypeFIFO:
		m |= fs.ModeNamedPipe
	case sys.TypeSocket:
		m |= fs.ModeSocket
	case sys.TypeChar:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case sys.TypeBlock:
		m |= fs.ModeDevice
	}
	if mode&syscall.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&syscall.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&syscall.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// unixMode is the inverse of fileMode for the permissions. The set-id bits are
// not among them: no caller has to give a program power.
func unixMode(m fs.FileMode) uint32 {
	mode := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		mode |= syscall.S_ISVTX
	}
	return mode
}
