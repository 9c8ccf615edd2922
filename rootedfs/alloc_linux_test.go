package rootedfs_test

import (
	"testing"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/internal/testenv"
	"github.com/rootbound/rootbound/rootedfs"
)

// TestNoAllocations: to open what is in a root does not allocate.
func TestNoAllocations(t *testing.T) {
	testenv.Require(t, "openat2", sys.HasOpenat2(), "needs openat2, Linux 5.6")
	dir := newTree(t, "root/a/b/c/f", "other/f")
	f := newFS(t, nil, dir+"/root", dir+"/other")
	walking := newFS(t, &rootedfs.Options{NoOpenat2: true}, dir+"/root", dir+"/other")
	path, sub, root := dir+"/root/a/b/c/f", dir+"/root/a", dir+"/root"
	for name, do := range map[string]func() (rootedfs.File, error){
		"Handle":               func() (rootedfs.File, error) { return f.Handle(path) },
		"OpenRead":             func() (rootedfs.File, error) { return f.OpenRead(path) },
		"OpenDir":              func() (rootedfs.File, error) { return f.OpenDir(sub) },
		"OpenDir of a root":    func() (rootedfs.File, error) { return f.OpenDir(root) },
		"Handle by the walk":   func() (rootedfs.File, error) { return walking.Handle(path) },
		"OpenRead by the walk": func() (rootedfs.File, error) { return walking.OpenRead(path) },
	} {
		n := testing.AllocsPerRun(100, func() {
			file, err := do()
			if err != nil {
				t.Fatal(err)
			}
			file.Close()
		})
		// One in a hundred runs may meet the end of an epoch and verify the root.
		if n >= 1 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
