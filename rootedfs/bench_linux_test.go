package rootedfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rootbound/rootbound/rootedfs"
)

// BenchmarkOpen opens and closes a file in a root in several ways. Each is run in
// turns with the bare openat(2) of the same absolute path, and x-raw is the median
// of the ratios of neighbours: what else the machine does meanwhile hits both.
//
//	raw           syscall.Open of the absolute path: what no checking costs
//	rooted        FS.Handle
//	checked       FS.OpenRead, which looks at the type
//	walk          FS.Handle without openat2
//	osroot        os.Root.Open, for roots whose links stay inside
//	evalsymlinks  filepath.EvalSymlinks, a comparison and os.Open: not race-free
//	link          FS.Handle through a link into another root
func BenchmarkOpen(b *testing.B) {
	for _, depth := range []int{1, 5, 12} {
		root := benchTree(b, depth)
		path := benchFile(root, depth)
		benchOpen(b, fmt.Sprintf("depth=%d", depth), []string{root}, []string{path}, true)
	}
	for _, n := range []int{1, 10, 100, 1000} {
		parent := b.TempDir()
		var dirs, paths []string
		for i := range n {
			dir := filepath.Join(parent, fmt.Sprintf("project-%04d", i))
			fillTree(b, dir, 4)
			dirs, paths = append(dirs, dir), append(paths, benchFile(dir, 4))
		}
		benchOpen(b, fmt.Sprintf("roots=%d", n), dirs, paths, n == 1)
	}
	for _, depth := range []int{1, 4} {
		for _, kind := range []string{"absolute", "relative"} {
			benchLink(b, kind, depth)
		}
	}
}

func benchTree(b *testing.B, depth int) string {
	root := filepath.Join(b.TempDir(), "root")
	fillTree(b, root, depth)
	return root
}

func benchFile(root string, depth int) string {
	return root + strings.Repeat("/dir", depth-1) + "/file.txt"
}

func fillTree(b *testing.B, root string, depth int) {
	path := benchFile(root, depth)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
		b.Fatal(err)
	}
}

// benchOpen runs all ways to open, each path in its turn.
func benchOpen(b *testing.B, name string, dirs, paths []string, all bool) {
	i := 0
	next := func() string {
		i++
		return paths[i%len(paths)]
	}
	fsys, walking := newFS(b, nil, dirs...), newFS(b, &rootedfs.Options{NoOpenat2: true}, dirs...)
	interleave(b, "raw/"+name, paths, func() error { return rawOpen(next()) })
	interleave(b, "rooted/"+name, paths, func() error { return handle(fsys, next()) })
	interleave(b, "checked/"+name, paths, func() error {
		f, err := fsys.OpenRead(next())
		if err != nil {
			return err
		}
		return f.Close()
	})
	interleave(b, "walk/"+name, paths, func() error { return handle(walking, next()) })
	if !all {
		return
	}
	root, err := os.OpenRoot(dirs[0])
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	rel, _ := filepath.Rel(dirs[0], paths[0])
	interleave(b, "osroot/"+name, paths, func() error { return openClose(root.Open(rel)) })
	interleave(b, "evalsymlinks/"+name, paths, func() error {
		real, err := filepath.EvalSymlinks(paths[0])
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(dirs[0], real); err != nil || !filepath.IsLocal(rel) {
			return os.ErrPermission
		}
		return openClose(os.Open(real))
	})
}

// benchLink opens a file of one root through a link in another.
func benchLink(b *testing.B, kind string, depth int) {
	parent := b.TempDir()
	from, to := filepath.Join(parent, "from"), filepath.Join(parent, "to")
	fillTree(b, from, depth)
	fillTree(b, to, 2)
	link := from + strings.Repeat("/dir", depth-1) + "/link"
	target := to
	if kind == "relative" {
		target = strings.Repeat("../", depth) + "to"
	}
	if err := os.Symlink(target, link); err != nil {
		b.Fatal(err)
	}
	path := link + "/dir/file.txt"
	fsys := newFS(b, nil, from, to)
	name := fmt.Sprintf("%s/depth=%d", kind, depth)
	interleave(b, "link/warm/"+name, []string{path}, func() error { return handle(fsys, path) })
	interleave(b, "link/cold/"+name, []string{path}, func() error {
		rootedfs.ForgetHints(fsys)
		return handle(fsys, path)
	})
	walking := newFS(b, &rootedfs.Options{NoOpenat2: true}, from, to)
	interleave(b, "link/walk/"+name, []string{path}, func() error { return handle(walking, path) })
}

func handle(fsys *rootedfs.FS, path string) error {
	f, err := fsys.Handle(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func openClose(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

// rawOpen is what the others are compared with: the bare calls, as package syscall
// has them.
func rawOpen(path string) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return syscall.Close(fd)
}

// interleave runs op b.N times, in blocks between blocks of rawOpen. The time and
// the allocations stated are those of op alone.
func interleave(b *testing.B, name string, paths []string, op func() error) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		const block = 32
		run := func(n int, op func() error) time.Duration {
			start := time.Now()
			for range n {
				if err := op(); err != nil {
					b.Fatal(err)
				}
			}
			return time.Since(start)
		}
		i := 0
		raw := func() error {
			i++
			return rawOpen(paths[i%len(paths)])
		}
		ratios := make([]float64, 0, b.N/block+1)
		var total time.Duration
		for done := 0; done < b.N; done += block {
			n := min(block, b.N-done)
			var with, without time.Duration
			if done/block%2 == 0 { // neither always comes first
				without, with = run(n, raw), run(n, op)
			} else {
				with, without = run(n, op), run(n, raw)
			}
			total += with
			ratios = append(ratios, float64(with)/float64(without))
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "x-raw")
		b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/op")
		allocs, bytes := memoryOf(op)
		b.ReportMetric(allocs, "allocs/op")
		b.ReportMetric(bytes, "B/op")
	})
}

// memoryOf returns what op allocates, without what comes up once in many runs.
func memoryOf(op func() error) (allocs, bytes float64) {
	const runs = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		_ = op()
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / runs), float64((after.TotalAlloc - before.TotalAlloc) / runs)
}
