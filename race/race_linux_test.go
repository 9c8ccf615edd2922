//go:build amd64 || arm64

package race

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound/internal/probe"
	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/internal/testenv"
)

const (
	// enoughCalls is how many calls of an operation have to be completed.
	enoughCalls = 10_000
	// leastShare is the share, in per cent, of the calls that have to be answered from
	// inside, and of those that have to be refused, under every attack: else the
	// attack did not meet the calls.
	leastShare = 5
	// atMost is how much longer than asked for an operation may take to reach
	// enoughCalls.
	atMost = 30 * time.Second
)

// First arguments that make the test binary something else.
const (
	controlArg  = "race-control"  // ROOT: the server that checks strings
	launcherArg = "race-launcher" // COMMAND ARGS…: run it so that openat2(2) kills it
)

var (
	// rootbound is the path of the program under attack.
	rootbound string
	// self is the test binary, which is also the attacker, the launcher and the
	// server that loses.
	self string
)

func TestMain(m *testing.M) {
	if ran, err := probe.AttackMain(os.Args[1:], os.Stdin, os.Stdout); ran {
		exit(err)
	}
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case controlArg:
			exit(serveControl(os.Args[2], os.Stdin, os.Stdout))
		case launcherArg:
			exit(launch(os.Args[2:]))
		}
	}
	os.Exit(testMain(m))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "race")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Built with -race, the attacker and the control would each sleep for a second
	// when they exit.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	rootbound = filepath.Join(dir, "rootbound")
	if self, err = os.Executable(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// launch becomes the command, under a filter that kills it if it uses openat2(2).
func launch(command []string) error {
	if err := sys.KillOnOpenat2(); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", command[0], syscall.Exec(command[0], command, os.Environ()))
}

// build makes the program under attack, once, and only for the tests that need it.
func build(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(rootbound); err == nil {
		return
	}
	const program = "../cmd/rootbound"
	if out, err := exec.Command("go", "build", "-o", rootbound, program).CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	testenv.Uses(t, program)
}

// arenaDir returns an empty directory for an attack: in memory if that can be, since
// it is the server that the attack is to meet, and not the disk. (A file system may
// write out a file when it is renamed onto another one, which takes longer than
// everything else together.) See shm_overview(7).
func arenaDir(t *testing.T) string {
	t.Helper()
	where := os.Getenv("ROOTBOUND_RACE_DIR")
	if where == "" {
		where = "/dev/shm"
		if unix.Access(where, unix.W_OK) != nil {
			return t.TempDir()
		}
	}
	dir, err := os.MkdirTemp(where, "rootbound-race-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// seconds is how long each operation is attacked with each resolver. The short run
// is one that ./check can afford.
func seconds(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("ROOTBOUND_RACE_SECONDS")
	if text == "" {
		return 3 * time.Second
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || s <= 0 {
		t.Fatalf("ROOTBOUND_RACE_SECONDS is %q, not a number of seconds", text)
	}
	return time.Duration(s * float64(time.Second))
}

func TestServerHolds(t *testing.T) {
	testenv.Require(t, "race", !testing.Short(), "races take longer than -short allows")
	build(t)
	for _, resolver := range []struct {
		name  string
		start func(root string) (*server, error)
	}{
		{"openat2", func(root string) (*server, error) { return startServer(rootbound, "serve", root) }},
		{"fallback", func(root string) (*server, error) {
			return startServer(self, launcherArg, rootbound, "serve", "--no-openat2", root)
		}},
	} {
		for _, op := range operations {
			t.Run(resolver.name+"/"+op.name, func(t *testing.T) {
				if resolver.name == "openat2" {
					testenv.Require(t, "openat2", sys.HasOpenat2(), "needs openat2(2), Linux 5.6 or later")
				}
				legs := time.Duration(len(op.modes))
				budget := seconds(t) / legs
				enough := func(took time.Duration, sum *tally) bool {
					return took >= budget && (sum.total() >= enoughCalls/int(legs)+1 || took >= budget+atMost/legs)
				}
				all := newTally()
				for _, mode := range op.modes {
					sum := run(t, resolver.start, op, mode, enough, true)
					t.Logf("%-8s %-8s %-8s %v", op.name, mode, resolver.name, sum)
					if sum.report.Swaps == 0 {
						t.Errorf("%s: nothing was swapped: the run proves nothing", mode)
					}
					for name, v := range map[string]verdict{"answered from inside": inside, "refused": refused} {
						if sum.share(v) < leastShare {
							t.Errorf("%s: only %.1f %% of the calls were %s: the run proves nothing", mode, sum.share(v), name)
						}
					}
					all.merge(sum)
				}
				t.Logf("%-8s %-8s %-8s %v", op.name, "all", resolver.name, all)
				if all.total() < enoughCalls {
					t.Errorf("%d calls: the run proves nothing", all.total())
				}
				if all.calls[escaped] > 0 || all.calls[wrong] > 0 {
					t.Errorf("%d escapes and %d wrong answers, among them:\n%s", all.calls[escaped], all.calls[wrong], strings.Join(all.bad, "\n"))
				}
				if all.opened > 0 {
					t.Errorf("something outside was opened, or more, %d times", all.opened)
				}
			})
		}
	}
}

// The attack is worth something because a server that checks strings loses.
func TestControlLoses(t *testing.T) {
	testenv.Require(t, "race", !testing.Short(), "races take longer than -short allows")
	start := func(root string) (*server, error) { return startServer(self, controlArg, root) }
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			all := newTally()
			legs := time.Duration(len(op.modes))
			budget := min(seconds(t), 5*time.Second) / 3 / legs
			for i, mode := range op.modes {
				sum := run(t, start, op, mode, func(took time.Duration, sum *tally) bool {
					// The first attack is the one that every operation loses to.
					return took >= budget && (i > 0 || sum.calls[escaped] > 0) || took >= atMost
				}, false)
				t.Logf("%-8s %-8s %-8s %v, %d events outside", op.name, mode, "control", sum, sum.opened)
				all.merge(sum)
			}
			t.Logf("%-8s %-8s %-8s %v", op.name, "all", "control", all)
			if all.calls[escaped] == 0 {
				t.Error("a server that checks strings was not led outside: the attack proves nothing")
			}
		})
	}
}

// The fallback is attacked under a filter. That the filter would kill is shown by
// the server that was not told to do without openat2(2).
func TestFilterKills(t *testing.T) {
	testenv.Require(t, "openat2", sys.HasOpenat2(), "needs openat2(2), Linux 5.6 or later")
	build(t)
	s, err := startServer(self, launcherArg, rootbound, "serve", t.TempDir())
	if err == nil {
		_, _ = s.call("list_directory", map[string]string{"path": "."})
		err = s.stop()
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSYS {
		t.Errorf("a server that uses openat2 ended with: %v; want the signal SIGSYS", err)
	}
}
