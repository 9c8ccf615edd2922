package rootedfs_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/internal/testenv"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

// filterEnv makes the test binary install a filter against openat2 before the tests.
const filterEnv = "ROOTEDFS_TEST_FILTER"

func TestMain(m *testing.M) {
	if err := installFilter(os.Getenv(filterEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	before := descriptors()
	code := m.Run()
	if leaked := leakedDescriptors(before); len(leaked) > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "descriptors leaked: %q\n", leaked)
		code = 1
	}
	os.Exit(code)
}

func installFilter(filter string) error {
	switch filter {
	case "":
		return nil
	case "kill":
		return sys.KillOnOpenat2()
	case "ENOSYS":
		return sys.DenyOpenat2(syscall.ENOSYS)
	case "EPERM":
		return sys.DenyOpenat2(syscall.EPERM)
	}
	return fmt.Errorf("%s=%q?", filterEnv, filter)
}

// descriptors returns what is open, by number.
func descriptors() map[string]string {
	open := make(map[string]string)
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open[e.Name()] = to
		}
	}
	return open
}

// leakedDescriptors returns what is open and was not before. Roots are closed by
// the garbage collector, so it waits for that.
func leakedDescriptors(before map[string]string) (leaked []string) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		leaked = nil
		for fd, to := range descriptors() {
			if before[fd] != to && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "pipe:") {
				leaked = append(leaked, fd+" "+to)
			}
		}
		if len(leaked) == 0 || time.Now().After(deadline) {
			return leaked
		}
	}
}

// eachResolver runs a test with openat2 and with the walk.
func eachResolver(t *testing.T, test func(t *testing.T, o *rootedfs.Options)) {
	t.Helper()
	if os.Getenv(filterEnv) != "kill" {
		t.Run("openat2", func(t *testing.T) {
			// Under a filter this is the walk by another way: Open finds out.
			if os.Getenv(filterEnv) == "" {
				testenv.Require(t, "openat2", sys.HasOpenat2(), "needs openat2, Linux 5.6")
			}
			test(t, nil)
		})
	}
	t.Run("walk", func(t *testing.T) {
		test(t, &rootedfs.Options{NoOpenat2: true})
	})
}

// TestFilters runs the tests of behaviour again where openat2 fails, as on old
// kernels and in some containers, and where using it is deadly: that NoOpenat2
// means never.
func TestFilters(t *testing.T) {
	if os.Getenv(filterEnv) != "" {
		t.Skip("this is the run under a filter")
	}
	testenv.Require(t, "openat2", runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64", "has no seccomp filter for this processor")
	for _, filter := range []string{"ENOSYS", "EPERM", "kill"} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.short",
				"-test.run=^(TestPathCases|TestConsistency|TestFilterWorks|TestReadOnly|TestReplace.*|TestRename.*|TestWalk.*|TestMkdirAll.*|TestFreshness.*)$")
			cmd.Env = append(os.Environ(), filterEnv+"="+filter)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestFilterWorks checks in a run under a filter that there is one. In the run
// where openat2 is deadly it cannot try; a child does.
func TestFilterWorks(t *testing.T) {
	switch filter := os.Getenv(filterEnv); filter {
	case "":
		if os.Getenv("ROOTEDFS_TEST_DIE") != "" {
			t.Fatal("no filter")
		}
		t.Skip("for runs under a filter")
	case "kill":
		if os.Getenv("ROOTEDFS_TEST_DIE") != "" {
			sys.HasOpenat2()
			t.Fatal("openat2 was called and this process lives")
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFilterWorks$")
		cmd.Env = append(os.Environ(), "ROOTEDFS_TEST_DIE=1")
		err := cmd.Run()
		state := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !state.Signaled() || state.Signal() != syscall.SIGSYS {
			t.Errorf("a process that called openat2 ended with %v, want SIGSYS", err)
		}
	default:
		if sys.HasOpenat2() {
			t.Error("openat2 works under the filter")
		}
	}
}

// newFS opens the given directories, writable if mode is not given as a prefix
// "ro:".
func newFS(t testing.TB, o *rootedfs.Options, dirs ...string) *rootedfs.FS {
	t.Helper()
	if o == nil && os.Getenv(filterEnv) == "kill" {
		o = &rootedfs.Options{NoOpenat2: true}
	}
	f, err := rootedfs.Open(newSet(t, dirs...), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newSet(t testing.TB, dirs ...string) roots.Set {
	t.Helper()
	var rs []roots.Root
	for _, dir := range dirs {
		mode := roots.ReadWrite
		if d, ok := strings.CutPrefix(dir, "ro:"); ok {
			dir, mode = d, roots.ReadOnly
		}
		uri, err := roots.FileURI(dir)
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, roots.Root{URI: uri, Mode: mode})
	}
	return roots.NewSet(1, rs...)
}

// secondsEnv, which says how long the attack of package race is, makes the tests
// that race here as many times as long.
const secondsEnv = "ROOTBOUND_RACE_SECONDS"

// scaled returns how often to do what is worth n times: more if the environment asks
// for long tests, less for short ones.
func scaled(n int) int {
	if text := os.Getenv(secondsEnv); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 1 {
			panic(fmt.Sprintf("%s is %q, not a number of seconds", secondsEnv, text))
		}
		return n * max(1, seconds)
	}
	if testing.Short() {
		return max(1, n/5)
	}
	return n
}
