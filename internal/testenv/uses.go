package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Uses tells go test that a test depends on a program of this module which it
// builds and runs itself. Without it a result would be taken from the cache after
// the program has changed: go test knows only of the files and directories that a
// test has looked at, so Uses looks at those that the program is made of. pkg is
// relative to the directory of the test.
func Uses(t testing.TB, pkg string) {
	t.Helper()
	const own = "{{if .Module}}{{if .Module.Main}}{{.Dir}}\n{{.Module.Dir}}{{end}}{{end}}"
	dirs, err := exec.Command("go", "list", "-deps", "-f", own, pkg).Output()
	if err != nil {
		t.Fatalf("list what %s is made of: %v", pkg, err)
	}
	for _, dir := range strings.Fields(string(dirs)) {
		if _, err := os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
	}
}
