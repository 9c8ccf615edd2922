package rootedfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound/rootedfs"
)

// TestErrors asks each documented error for its types and values.
func TestErrors(t *testing.T) {
	dir := newTree(t, "root/f", "root/d/x", "ro/f", "gone/", "root/l -> l", "secret")
	must(t, syscall.Mkfifo(dir+"/root/fifo", 0o644))
	f := newFS(t, nil, dir+"/root", "ro:"+dir+"/ro", dir+"/gone")
	must(t, os.Remove(dir+"/gone"))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	readErr := func(path string) error { _, err := read(f, path); return err }
	_, tooLarge := f.ReadFile(dir+"/root/f", 3)
	walk := f.Walk(t.Context(), dir+"/root", &rootedfs.WalkOptions{Nodes: 1}, func(*rootedfs.Node, error) error { return nil })
	_, abs := f.Abs("x")
	for _, tt := range []struct {
		name string
		err  error
		kind string
		is   []error
	}{
		{"outside", readErr(dir + "/secret"), "outside", []error{rootedfs.ErrOutside, fs.ErrPermission}},
		{"read-only", f.Remove(dir+"/ro/f", nil), "readonly", []error{rootedfs.ErrReadOnly, fs.ErrPermission}},
		{"invalid", readErr("x"), "invalid", []error{rootedfs.ErrInvalid, fs.ErrInvalid}},
		{"empty", readErr(""), "invalid", []error{rootedfs.ErrInvalid, fs.ErrInvalid}},
		{"nul", readErr(dir + "/root/\x00"), "invalid", []error{rootedfs.ErrInvalid, fs.ErrInvalid}},
		{"relative", abs, "invalid", []error{rootedfs.ErrInvalid, fs.ErrInvalid}},
		{"unavailable", readErr(dir + "/gone/x"), "unavailable", []error{rootedfs.ErrUnavailable, fs.ErrNotExist}},
		{"not regular", readErr(dir + "/root/fifo"), "notregular", []error{rootedfs.ErrNotRegular}},
		{"too large", tooLarge, "toolarge", []error{rootedfs.ErrTooLarge}},
		{"limit", walk, "limit", []error{rootedfs.ErrLimit}},
		{"canceled", f.RemoveAll(canceled, dir+"/root/d", nil), "canceled", []error{context.Canceled}},
		{"not found", readErr(dir + "/root/none"), "notfound", []error{fs.ErrNotExist, syscall.ENOENT}},
		{"exists", f.Create(dir+"/root/f", strings.NewReader(""), nil), "exists", []error{fs.ErrExist, syscall.EEXIST}},
		{"not a directory", readErr(dir + "/root/f/x"), "notdir", []error{syscall.ENOTDIR}},
		{"a directory", readErr(dir + "/root/d"), "isdir", []error{syscall.EISDIR}},
		{"loop", readErr(dir + "/root/l"), "loop", []error{syscall.ELOOP}},
		{"not empty", f.Remove(dir+"/root/d", nil), "notempty", []error{syscall.ENOTEMPTY}},
		{"too long", readErr(dir + "/root/" + strings.Repeat("n", 256)), "toolong", []error{syscall.ENAMETOOLONG}},
		{"a root", f.Remove(dir+"/root", nil), "denied", []error{fs.ErrPermission}},
	} {
		var pe *fs.PathError
		if !errors.As(tt.err, &pe) {
			t.Errorf("%s: %v is no *fs.PathError", tt.name, tt.err)
		}
		for _, target := range tt.is {
			if !errors.Is(tt.err, target) {
				t.Errorf("%s: %v is not %q", tt.name, tt.err, target)
			}
		}
		if got := rootedfs.KindOf(tt.err).String(); got != tt.kind {
			t.Errorf("%s: %v is of kind %s, want %s", tt.name, tt.err, got, tt.kind)
		}
		if got := rootedfs.KindOf(fmt.Errorf("wrapped: %w", tt.err)).String(); got != tt.kind {
			t.Errorf("%s: wrapped it is of kind %s, want %s", tt.name, got, tt.kind)
		}
	}
	var ambiguous *rootedfs.AmbiguousError
	if !errors.As(abs, &ambiguous) || len(ambiguous.Roots) != 3 {
		t.Errorf("%v is no AmbiguousError with the roots", abs)
	}
	if rootedfs.KindOf(nil) != rootedfs.OK || rootedfs.KindOf(io.ErrUnexpectedEOF) != rootedfs.IO {
		t.Error("KindOf of nil or of an unknown error")
	}
	if s := rootedfs.Kind(200).String(); s != "io" {
		t.Errorf("unknown kind is %q", s)
	}
}

// TestKindOfErrno: a kind for each errno that a file operation is known to give.
func TestKindOfErrno(t *testing.T) {
	for errno, want := range map[syscall.Errno]rootedfs.Kind{
		syscall.EACCES: rootedfs.Denied, syscall.EPERM: rootedfs.Denied, syscall.EROFS: rootedfs.ReadOnly,
		syscall.EXDEV: rootedfs.CrossDevice, syscall.EBUSY: rootedfs.Busy, syscall.ETXTBSY: rootedfs.Busy,
		syscall.EMFILE: rootedfs.Busy, syscall.ENOSPC: rootedfs.NoSpace, syscall.EDQUOT: rootedfs.NoSpace,
		syscall.EFBIG: rootedfs.NoSpace, syscall.EIO: rootedfs.IO, syscall.EINVAL: rootedfs.Invalid,
		syscall.ENXIO: rootedfs.NotRegular,
	} {
		if got := rootedfs.KindOf(errno); got != want {
			t.Errorf("%v is %v, want %v", errno, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	dir := newTree(t, "root/f", "root/d/x")
	f := newFS(t, nil, dir+"/root")
	file, err := f.OpenRead(dir + "/root/f")
	must(t, err)
	if file.Size() != 6 {
		t.Errorf("size %d", file.Size())
	}
	b := make([]byte, 4)
	if n, err := file.ReadAt(b, 4); n != 2 || err != io.EOF || string(b[:2]) != "/f" {
		t.Errorf("ReadAt = %d, %v, %q", n, err, b)
	}
	if n, err := file.Seek(-2, io.SeekEnd); n != 4 || err != nil {
		t.Errorf("Seek = %d, %v", n, err)
	}
	if b, err := io.ReadAll(file); string(b) != "/f" || err != nil {
		t.Errorf("ReadAll = %q, %v", b, err)
	}
	if n, err := file.Read(nil); n != 0 || err != nil {
		t.Errorf("Read(nil) = %d, %v", n, err)
	}
	st, err := file.Stat()
	must(t, err)
	osSt, _ := os.Stat(dir + "/root/f")
	if st.Mode != osSt.Mode() || st.Size != 6 || !st.Modified.Equal(osSt.ModTime()) || !st.IsRegular() || st.IsDir() || st.Links != 1 {
		t.Errorf("Stat = %+v", st)
	}
	must(t, file.Close())

	d, err := f.OpenDir(dir + "/root/d")
	must(t, err)
	defer d.Close()
	if _, err := d.Read(b); rootedfs.KindOf(err) != rootedfs.IsDir {
		t.Errorf("read of a directory: %v", err)
	}
	if d.Size() != -1 {
		t.Errorf("size of a directory: %d", d.Size())
	}
	if _, err := f.OpenDir(dir + "/root/f"); rootedfs.KindOf(err) != rootedfs.NotDir {
		t.Errorf("OpenDir of a file: %v", err)
	}

	var zero rootedfs.File
	if _, err := zero.Read(b); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read of the zero File: %v", err)
	}
	if err := zero.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("close of the zero File: %v", err)
	}
	if zero.Size() != -1 {
		t.Errorf("size of the zero File: %d", zero.Size())
	}
}

func TestReadFile(t *testing.T) {
	dir := newTree(t, "root/f", "root/empty")
	big := strings.Repeat("x", 10_000)
	must(t, os.WriteFile(dir+"/root/big", []byte(big), 0o644))
	must(t, os.WriteFile(dir+"/root/empty", nil, 0o644))
	f := newFS(t, nil, dir+"/root", "/proc/self/status", "/proc")
	for path, want := range map[string]string{"/root/f": "root/f", "/root/big": big, "/root/empty": ""} {
		if b, err := f.ReadFile(dir+path, 10_000); string(b) != want || err != nil {
			t.Errorf("%s: %.20q, %v", path, b, err)
		}
	}
	if _, err := f.ReadFile(dir+"/root/big", 9_999); !errors.Is(err, rootedfs.ErrTooLarge) {
		t.Errorf("one byte over: %v", err)
	}
	// Sizes of proc(5) are 0.
	if b, err := f.ReadFile("/proc/self/status", 1<<20); err != nil || !strings.HasPrefix(string(b), "Name:") {
		t.Errorf("%.20q, %v", b, err)
	}
	if _, err := f.ReadFile("/proc/meminfo", 10); !errors.Is(err, rootedfs.ErrTooLarge) {
		t.Errorf("a file that does not tell its size: %v", err)
	}
}
