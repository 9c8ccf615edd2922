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
	fsys, walking := newFS(b, nil, dirs...), newFS(b, &rootedfs.Options{NoOpenat2: true}, dirs...)
	interleave(b, "raw/"+name, paths, rawOpen)
	interleave(b, "rooted/"+name, paths, func(path string) error { return handle(fsys, path) })
	interleave(b, "checked/"+name, paths, func(path string) error {
		f, err := fsys.OpenRead(path)
		if err != nil {
			return err
		}
		return f.Close()
	})
	interleave(b, "walk/"+name, paths, func(path string) error { return handle(walking, path) })
	if !all {
		return
	}
	root, err := os.OpenRoot(dirs[0])
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	rel, _ := filepath.Rel(dirs[0], paths[0])
	interleave(b, "osroot/"+name, paths, func(string) error { return openClose(root.Open(rel)) })
	interleave(b, "evalsymlinks/"+name, paths, func(path string) error {
		real, err := filepath.EvalSymlinks(path)
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
	interleave(b, "link/warm/"+name, []string{path}, func(path string) error { return handle(fsys, path) })
	interleave(b, "link/cold/"+name, []string{path}, func(path string) error {
		rootedfs.ForgetHints(fsys)
		return handle(fsys, path)
	})
	walking := newFS(b, &rootedfs.Options{NoOpenat2: true}, from, to)
	interleave(b, "link/walk/"+name, []string{path}, func(path string) error { return handle(walking, path) })
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

// interleave runs op b.N times, in blocks between blocks of rawOpen of the same
// paths. Each ratio is of two pairs of blocks, in which the one and the other comes
// first and finds the caches as the rest of the benchmark left them. The time and
// the memory stated are those of op alone.
func interleave(b *testing.B, name string, paths []string, op func(path string) error) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		const block = 32
		run := func(from, n int, op func(path string) error) time.Duration {
			start := time.Now()
			for i := range n {
				if err := op(paths[(from+i)%len(paths)]); err != nil {
					b.Fatal(err)
				}
			}
			return time.Since(start)
		}
		ratios := make([]float64, 0, b.N/(2*block)+1)
		var total time.Duration
		for done := 0; done < b.N; {
			var with, without time.Duration
			for pair := range 2 {
				n := min(block, b.N-done)
				if pair == 0 {
					without += run(done, n, rawOpen)
					with += run(done, n, op)
				} else {
					with += run(done, n, op)
					without += run(done, n, rawOpen)
				}
				done += n
			}
			total += with
			ratios = append(ratios, float64(with)/float64(without))
		}
		slices.Sort(ratios)
		allocs, bytes := memoryOf(func() error { return op(paths[0]) })
		b.ReportMetric(ratios[len(ratios)/2], "x-raw")
		b.ReportMetric(float64(total.Nanoseconds())/float64(b.N), "ns/op")
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
