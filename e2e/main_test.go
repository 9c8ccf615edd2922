package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rootbound/rootbound/internal/testenv"
)

// rootbound is the path of the binary that is tested.
var rootbound string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	if rootbound = os.Getenv("ROOTBOUND_E2E_BINARY"); rootbound != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "rootbound-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	rootbound = filepath.Join(dir, "rootbound")
	if runtime.GOOS == "windows" {
		rootbound += ".exe"
	}
	build := exec.Command("go", "build", "-o", rootbound)
	if raceEnabled {
		// The server is where the goroutines are, so that is what -race is for.
		build.Args = append(build.Args, "-race")
		// By default a racing program sleeps for a second when it ends.
		os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	}
	build.Args = append(build.Args, "../cmd/rootbound")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build.Args, err, out)
		return 1
	}
	return m.Run()
}

// The results of this package are those of the program, also for go test's cache.
func TestUsesProgram(t *testing.T) {
	testenv.Uses(t, "../cmd/rootbound")
}
