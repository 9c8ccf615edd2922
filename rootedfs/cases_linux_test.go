package rootedfs_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rootbound/rootbound/internal/testenv"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/vectors"
)

// A pathCase is one of vectors/path-cases.json, which explains the fields.
type pathCase struct {
	ID          string
	Roots       []string
	Layout      []fixture
	After       []fixture
	Op          string
	Path, Path2 string
	PathB64     string `json:"path_b64"`
	Target      string
	NoReplace   bool
	Relative    bool
	Want        string
	Content     *string
	Present     map[string]string
	Absent      []string
	IsLink      []string       `json:"is_link"`
	IsDir       []string       `json:"is_dir"`
	ModeAfter   map[string]int `json:"mode_after"`
	SameErrorAs string         `json:"same_error_as"`
	User        int
	Needs       []string
	FS          string
}

// A fixture is one step in making the tree of a case.
type fixture struct {
	Type         string
	Path, To     string
	PathB64      string `json:"path_b64"`
	Target       string
	Content      string
	Mode         *uint32
	Major, Minor uint32
}

func loadCases(t *testing.T) []pathCase {
	data, err := vectors.FS.ReadFile("path-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []pathCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 200 {
		t.Fatalf("%d cases, want more than 200", len(file.Cases))
	}
	return file.Cases
}

// TestPathCases runs the cases that any implementation can run.
func TestPathCases(t *testing.T) {
	cases := loadCases(t)
	eachResolver(t, func(t *testing.T, o *rootedfs.Options) {
		errs := make(map[string]error)
		for _, c := range cases {
			t.Run(c.ID, func(t *testing.T) { errs[c.ID] = c.run(t, o) })
		}
		for _, c := range cases {
			if c.SameErrorAs == "" || errs[c.ID] == nil {
				continue
			}
			if got, want := withoutPath(t, errs[c.ID]), withoutPath(t, errs[c.SameErrorAs]); got != want {
				t.Errorf("%s: error %q, but %s: %q: that is an existence oracle", c.ID, got, c.SameErrorAs, want)
			}
		}
	})
}

// withoutPath returns all that an error tells but the path that was requested.
func withoutPath(t *testing.T, err error) string {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		t.Fatalf("%v is no *fs.PathError", err)
	}
	return strings.ReplaceAll(err.Error(), pe.Path, "PATH")
}

func (c *pathCase) run(t *testing.T, o *rootedfs.Options) error {
	c.require(t)
	dir := caseDir(t)
	for _, f := range c.Layout {
		f.make(t, dir)
	}
	var declared []string
	for _, r := range c.Roots {
		declared = append(declared, expand(r, dir))
	}
	var got string
	var err error
	asUser(c.User, func() {
		fsys := newFS(t, o, declared...)
		for _, f := range c.After {
			f.make(t, dir)
		}
		got, err = c.do(t, fsys, dir)
	})
	kind := rootedfs.KindOf(err).String()
	if kind == "unavailable" { // the cases do not tell it apart
		kind = "notfound"
	}
	if kind != c.Want {
		t.Fatalf("%s %s: %v is %q, want %q", c.Op, c.Path, err, kind, c.Want)
	}
	if c.Content != nil && got != *c.Content {
		t.Errorf("content %q, want %q", got, *c.Content)
	}
	c.check(t, dir)
	return err
}

func (c *pathCase) require(t *testing.T) {
	if c.FS == "case-insensitive" {
		testenv.Require(t, "case-insensitive", false, "needs a case-insensitive volume")
	}
	if c.User != 0 || slices.Contains(c.Needs, "root") {
		testenv.Require(t, "root", os.Geteuid() == 0, "needs root")
	}
}

// caseDir returns a temporary directory that other users may pass through.
func caseDir(t *testing.T) string {
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o755) // as far as it is ours
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// asUser runs f on a thread whose file accesses are those of user, if that is not 0.
func asUser(user int, f func()) {
	if user == 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		// Raw calls, because package syscall would change all threads. The group goes
		// first, while the thread may still change it.
		syscall.RawSyscall(syscall.SYS_SETFSGID, uintptr(user), 0, 0)
		syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(user), 0, 0)
		f()
	}()
	<-done
}

var repeated = regexp.MustCompile(`\$\{([^*}]+)\*(\d+)\}`)

// expand replaces $T and ${text*number}.
func expand(s, dir string) string {
	s = strings.ReplaceAll(s, "$T", dir)
	return repeated.ReplaceAllStringFunc(s, func(m string) string {
		parts := repeated.FindStringSubmatch(m)
		n, _ := strconv.Atoi(parts[2])
		return strings.Repeat(parts[1], n)
	})
}

func decodePath(plain, b64, dir string) string {
	if b64 != "" {
		raw, err := base64.StdEncoding.DecodeString(b64)
		if err != nil {
			panic(err)
		}
		plain = string(raw)
	}
	return expand(plain, dir)
}

func (f *fixture) make(t *testing.T, dir string) {
	path := filepath.Join(dir, decodePath(f.Path, f.PathB64, dir))
	mode := func(byDefault uint32) uint32 {
		if f.Mode != nil {
			return *f.Mode
		}
		return byDefault
	}
	var err error
	switch f.Type {
	case "dir":
		if err = os.MkdirAll(path, 0o755); err == nil {
			err = os.Chmod(path, fs.FileMode(mode(0o755)))
		}
	case "file":
		_ = os.Remove(path)
		if err = os.WriteFile(path, []byte(f.Content), 0o644); err == nil {
			err = os.Chmod(path, fs.FileMode(mode(0o644)))
		}
	case "symlink":
		err = os.Symlink(expand(f.Target, dir), path)
	case "hardlink":
		err = os.Link(filepath.Join(dir, f.Target), path)
	case "fifo":
		err = syscall.Mknod(path, syscall.S_IFIFO|mode(0o644), 0)
	case "socket":
		err = syscall.Mknod(path, syscall.S_IFSOCK|mode(0o644), 0)
	case "chardev":
		err = syscall.Mknod(path, syscall.S_IFCHR|mode(0o644), int(f.Major<<8|f.Minor))
	case "chmod":
		err = os.Chmod(path, fs.FileMode(mode(0)))
	case "rename":
		err = os.Rename(path, filepath.Join(dir, f.To))
	case "remove":
		err = os.Remove(path)
	case "removeall":
		err = os.RemoveAll(path)
	case "tmpfs", "bind":
		if f.Type == "tmpfs" {
			err = syscall.Mount("tmpfs", path, "tmpfs", 0, "size=1m")
		} else {
			err = syscall.Mount(filepath.Join(dir, expand(f.Target, dir)), path, "", syscall.MS_BIND, "")
		}
		testenv.Require(t, "mount", !errors.Is(err, syscall.EPERM), "needs the right to mount")
		if err == nil {
			t.Cleanup(func() { _ = syscall.Unmount(path, detach) })
		}
	default:
		t.Fatalf("unknown fixture %q", f.Type)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// detach is MNT_DETACH of umount(2): an FS holds its roots open.
const detach = 2

func (c *pathCase) do(t *testing.T, fsys *rootedfs.FS, dir string) (string, error) {
	path, path2 := decodePath(c.Path, c.PathB64, dir), expand(c.Path2, dir)
	if c.Relative {
		abs, err := fsys.Abs(path)
		if err != nil {
			return "", err
		}
		path = abs
	}
	w := strings.NewReader("W")
	switch c.Op {
	case "read":
		return read(fsys, path)
	case "stat":
		_, err := fsys.Stat(path)
		return "", err
	case "lstat":
		_, err := fsys.Lstat(path)
		return "", err
	case "readlink":
		return fsys.Readlink(path)
	case "list":
		for _, err := range fsys.ReadDir(path) {
			if err != nil {
				return "", err
			}
		}
		return "", nil
	case "create":
		return "", fsys.Create(path, w, nil)
	case "replace":
		return "", fsys.Replace(path, w, nil)
	case "append":
		return "", fsys.Append(path, w, nil)
	case "truncate":
		return "", fsys.Truncate(path, 0, nil)
	case "mkdir":
		return "", fsys.Mkdir(path, nil)
	case "mkdirall":
		return "", fsys.MkdirAll(path, nil)
	case "remove":
		return "", fsys.Remove(path, nil)
	case "rename":
		return "", fsys.Rename(t.Context(), path, path2, &rootedfs.RenameOptions{Overwrite: !c.NoReplace})
	case "symlink":
		return "", fsys.Symlink(expand(c.Target, dir), path, nil)
	case "link":
		return "", fsys.Link(path, path2, nil)
	}
	t.Errorf("unknown operation %q", c.Op)
	return "", nil
}

func read(fsys *rootedfs.FS, path string) (string, error) {
	f, err := fsys.OpenRead(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, f)
	return b.String(), err
}

func (c *pathCase) check(t *testing.T, dir string) {
	for name, want := range c.Present {
		if got, err := os.ReadFile(filepath.Join(dir, expand(name, dir))); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range c.Absent {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there (%v)", name, err)
		}
	}
	for _, name := range c.IsLink {
		if st, err := os.Lstat(filepath.Join(dir, name)); err != nil || st.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link (%v)", name, err)
		}
	}
	for _, name := range c.IsDir {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || !st.IsDir() {
			t.Errorf("%s is no directory (%v)", name, err)
		}
	}
	for name, want := range c.ModeAfter {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || int(st.Mode().Perm()) != want {
			t.Errorf("%s has mode %v, %v, want %o", name, st.Mode(), err, want)
		}
	}
	noLitter(t, dir)
}

// noLitter fails the test if a temporary file is left anywhere below dir.
func noLitter(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), rootedfs.TempPrefix) {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}
