package rootedfs_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	uri, err := roots.FileURI(dir)
	if err != nil {
		log.Fatal(err)
	}
	fsys, err := rootedfs.Open(roots.NewSet(1, roots.Root{URI: uri, Mode: roots.ReadWrite}), nil)
	if errors.Is(err, errors.ErrUnsupported) {
		return // Windows
	}

	path := filepath.Join(dir, "notes.txt")
	if err := fsys.Replace(path, strings.NewReader("remember the milk"), nil); err != nil {
		log.Fatal(err)
	}
	text, err := fsys.ReadFile(path, 1<<20)
	fmt.Printf("%s, %v\n", text, err)

	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		log.Fatal(err)
	}
	_, err = fsys.ReadFile(filepath.Join(dir, "link"), 1<<20)
	fmt.Println(rootedfs.KindOf(err), errors.Is(err, rootedfs.ErrOutside))
	// Output:
	// remember the milk, <nil>
	// outside true
}
