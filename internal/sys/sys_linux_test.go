package sys_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/internal/testenv"
)

func openDir(t *testing.T, dir string) int {
	t.Helper()
	fd, errno := sys.Openat(sys.Cwd, dir, sys.DirHandle, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { sys.Close(fd) })
	return fd
}

// TestNames gives each call names around the length at which they leave the stack,
// and names with a NUL, which must not be cut there.
func TestNames(t *testing.T) {
	testenv.Require(t, "openat2", sys.HasOpenat2(), "needs openat2, Linux 5.6")
	dir := t.TempDir()
	at := openDir(t, dir)
	if err := os.WriteFile(dir+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(name string) syscall.Errno{
		"openat2": func(name string) syscall.Errno {
			fd, errno := sys.Openat2(at, name, syscall.O_RDONLY, 0, sys.Beneath)
			if errno == 0 {
				sys.Close(fd)
			}
			return errno
		},
		"openat": func(name string) syscall.Errno {
			fd, errno := sys.Openat(at, name, syscall.O_RDONLY, 0)
			if errno == 0 {
				sys.Close(fd)
			}
			return errno
		},
		"lstatat":  func(name string) syscall.Errno { return sys.Lstatat(at, name, new(sys.Stat)) },
		"readlink": func(name string) syscall.Errno { _, errno := sys.Readlinkat(at, name); return errno },
	}
	for name, call := range calls {
		want := syscall.Errno(0)
		if name == "readlink" {
			want = syscall.EINVAL
		}
		for n := range 300 {
			long := strings.Repeat("./", n) + "f"
			if errno := call(long); errno != want {
				t.Errorf("%s of a name of %d bytes: %v, want %v", name, len(long), errno, want)
			}
			if errno := call(long + "\x00x"); errno != syscall.EINVAL {
				t.Errorf("%s of a name with a NUL at %d: %v, want EINVAL", name, len(long), errno)
			}
		}
		if errno := call(strings.Repeat("x/", 3000)); errno != syscall.ENAMETOOLONG {
			t.Errorf("%s of a name of 6,000 bytes: %v", name, errno)
		}
		if errno := call("none"); errno != syscall.ENOENT {
			t.Errorf("%s of nothing: %v", name, errno)
		}
	}
}

func TestReadlinkLong(t *testing.T) {
	dir := t.TempDir()
	at := openDir(t, dir)
	for _, n := range []int{1, 255, 256, 257, 4000} {
		text := strings.Repeat("x", n)
		name := fmt.Sprint(n)
		if errno := sys.Symlinkat(text, at, name); errno != 0 {
			t.Fatal(errno)
		}
		if got, errno := sys.Readlinkat(at, name); got != text || errno != 0 {
			t.Errorf("link of %d bytes: %d bytes, %v", n, len(got), errno)
		}
	}
}

func TestBeneath(t *testing.T) {
	testenv.Require(t, "openat2", sys.HasOpenat2(), "needs openat2, Linux 5.6")
	dir := t.TempDir()
	at := openDir(t, dir)
	for link, text := range map[string]string{"up": "..", "abs": dir, "loop": "loop", "in": "."} {
		if err := os.Symlink(text, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]syscall.Errno{
		"..": syscall.EXDEV, "/": syscall.EXDEV, "up": syscall.EXDEV, "abs": syscall.EXDEV, "loop": syscall.ELOOP, "in": 0, ".": 0,
	} {
		fd, errno := sys.Openat2(at, name, sys.DirHandle, 0, sys.Beneath)
		if errno != want {
			t.Errorf("%s: %v, want %v", name, errno, want)
		}
		if errno == 0 {
			sys.Close(fd)
		}
	}
}

func TestDirReader(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 500 {
		name := fmt.Sprintf("%d-%s", i, strings.Repeat("n", i/2))
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fd, errno := sys.Openat(sys.Cwd, dir, syscall.O_RDONLY|sys.Directory, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer sys.Close(fd)
	r := sys.NewDirReader(make([]byte, 2048))
	var got []string
	for {
		e, ok, errno := r.Next(fd)
		if errno != 0 {
			t.Fatal(errno)
		}
		if !ok {
			break
		}
		if e.Type != sys.TypeRegular || e.Ino == 0 {
			t.Errorf("%+v", e)
		}
		got = append(got, e.Name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %d names, want %d", len(got), len(want))
	}
}

func TestInProc(t *testing.T) {
	for dir, want := range map[string]bool{"/proc": false, "/proc/self/fd": true, "/proc/self": true, "/": false, t.TempDir(): false} {
		if got := sys.InProc(openDir(t, dir)); got != want {
			t.Errorf("InProc(%s) = %v", dir, got)
		}
	}
}

func TestPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := openDir(t, dir)
	if got, errno := sys.Path(at); got != dir || errno != 0 {
		t.Errorf("%q, %v, want %q", got, errno, dir)
	}
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	if got, _ := sys.Path(at); got != dir+"2" {
		t.Errorf("after a rename %q", got)
	}
	_ = os.Rename(dir+"2", dir)
}

func TestRenames(t *testing.T) {
	dir := t.TempDir()
	at := openDir(t, dir)
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if errno := sys.RenameNoReplace(at, "a", at, "b"); errno != syscall.EEXIST {
		t.Errorf("RenameNoReplace onto a file: %v", errno)
	}
	if errno := sys.RenameExchange(at, "a", at, "b"); errno != 0 {
		t.Errorf("RenameExchange: %v", errno)
	}
	if b, _ := os.ReadFile(dir + "/a"); string(b) != "b" {
		t.Errorf("after the exchange a holds %q", b)
	}
	if errno := sys.Rename(at, "a", at, "b"); errno != 0 {
		t.Errorf("Rename: %v", errno)
	}
	if b, _ := os.ReadFile(dir + "/b"); string(b) != "b" {
		t.Errorf("after the rename b holds %q", b)
	}
}

func TestCopyXattrs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	big := strings.Repeat("x", 2000)
	for name, value := range map[string]string{"user.small": "v", "user.big": big, "user.empty": ""} {
		err := syscall.Setxattr(dir+"/a", name, []byte(value), 0)
		testenv.Require(t, "xattr", err != syscall.ENOTSUP, "needs a file system with extended attributes")
		if err != nil {
			t.Fatal(err)
		}
	}
	// Power that a program had must not pass to other bytes.
	_ = syscall.Setxattr(dir+"/a", "security.capability", []byte("\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0)
	dst, errno := sys.Openat(sys.Cwd, dir+"/b", syscall.O_WRONLY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer sys.Close(dst)
	if errno := sys.CopyXattrs(openDir(t, dir), "a", dst); errno != 0 {
		t.Fatal(errno)
	}
	value := make([]byte, 4000)
	for name, want := range map[string]string{"user.small": "v", "user.big": big, "user.empty": ""} {
		n, err := syscall.Getxattr(dir+"/b", name, value)
		if err != nil || string(value[:n]) != want {
			t.Errorf("%s: %d bytes, %v, want %d", name, n, err, len(want))
		}
	}
	if _, err := syscall.Getxattr(dir+"/b", "security.capability", value); err != syscall.ENODATA {
		t.Errorf("capabilities were copied: %v", err)
	}
}

func TestAccess(t *testing.T) {
	testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"none": 0, "read": 0o444, "write": 0o666} {
		if err := os.WriteFile(dir+"/d/"+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir+"/d/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	at := openDir(t, dir+"/d")
	type question struct {
		name string
		mode uint32
	}
	as := func(user uintptr, want map[question]syscall.Errno) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // for ever: the thread ends with the goroutine
			syscall.RawSyscall(syscall.SYS_SETFSGID, user, 0, 0)
			syscall.RawSyscall(syscall.SYS_SETFSUID, user, 0, 0)
			for q, errno := range want {
				if got := sys.Access(at, q.name, q.mode); got != errno {
					t.Errorf("as %d: %s, %d: %v, want %v", user, q.name, q.mode, got, errno)
				}
			}
		}()
		<-done
	}
	as(0, map[question]syscall.Errno{
		{"none", sys.MayWrite}: 0, {"read", sys.MayWrite}: 0, {".", sys.MayWrite | sys.MaySearch}: 0,
		{"gone", sys.MayWrite}: syscall.ENOENT,
	})
	as(65534, map[question]syscall.Errno{
		{"none", sys.MayWrite}: syscall.EACCES, {"read", sys.MayWrite}: syscall.EACCES, {"write", sys.MayWrite}: 0,
		{".", sys.MaySearch}: 0, {".", sys.MayWrite | sys.MaySearch}: syscall.EACCES,
	})
}

func TestReserve(t *testing.T) {
	path := t.TempDir() + "/f"
	if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	switch errno := sys.Reserve(int(f.Fd()), 1<<20); errno {
	case 0, syscall.EOPNOTSUPP, syscall.ENOSYS:
	default:
		t.Error(errno)
	}
	if b, err := os.ReadFile(path); string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
	if n, errno := sys.Pwrite(int(f.Fd()), []byte("NT"), 2); n != 2 || errno != 0 {
		t.Errorf("Pwrite = %d, %v", n, errno)
	}
	if b, err := os.ReadFile(path); string(b) != "coNTent" {
		t.Errorf("%q, %v", b, err)
	}
}
