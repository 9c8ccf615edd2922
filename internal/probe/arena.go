package probe

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// A Mode is a kind of attack, by what is swapped.
type Mode string

// The attacks. All but two exchange what belongs at a name with a link that leads
// outside, so that a check sees one and the use the other.
const (
	// Directory swaps the directory that holds the files.
	Directory Mode = "dir"
	// File swaps the first of the files.
	File Mode = "file"
	// Parent swaps the parent of the directory that holds the files.
	Parent Mode = "parent"
	// Relink swaps a link to a directory inside with one to a directory outside: the
	// innocent link makes a server follow links by itself, or remember them.
	Relink Mode = "relink"
	// DotDot moves a directory up and down under a link whose text starts with "..":
	// a server that asks a directory for its parent is led out.
	DotDot Mode = "dotdot"
	// Dangling makes a link appear and vanish at a free name, the one called
	// [FreeName]; its target does not exist, but would be outside.
	Dangling Mode = "dangling"
)

// FreeName is the name in an arena that is free at rest, and that a [Dangling]
// attack makes a link.
const FreeName = "free"

// An Arena is a tree on disk in which an attack can take place. It is safe for
// concurrent use.
type Arena struct {
	// Root is the root that the server is given.
	Root string
	// Outside is a directory next to it that the server must not reach.
	Outside string
	// Victim is the directory in Root that calls go through. It holds the files.
	Victim string
	// Twin is where Victim leads when the attack has struck: Outside or a directory
	// in it, with files of the same names.
	Twin string
	// Inside is Victim's directory, and stays that wherever the attack moves it.
	Inside *os.Root
	// Swap is the attack.
	Swap Swap

	canary string

	mu     sync.RWMutex
	before map[string]entry // by path, the state that Remember saw
}

// NewArena makes an arena for an attack in dir, an existing directory by an absolute path.
// The directory under attack holds a file of each of the names, with [Arena.Content],
// and so does its twin outside, with [Arena.Secret].
// File attacks the first name. The caller closes the arena and removes dir.
func NewArena(dir string, mode Mode, names ...string) (*Arena, error) {
	// The random text makes the canary, and the names outside, impossible to guess
	// and to confuse with those of another run.
	a := &Arena{Root: filepath.Join(dir, "root"), Outside: filepath.Join(dir, "shared"), canary: "canary-" + rand.Text()}
	a.Twin = a.Outside
	var home string // where Victim's directory is at rest
	switch mode {
	case Directory:
		home = filepath.Join(a.Root, "d")
		a.Victim = home
		a.Swap = Swap{Dir: a.Root, Name: "d", Spare: ".link", Link: a.Outside}
	case Parent:
		home = filepath.Join(a.Root, "p", "q")
		a.Victim = home
		a.Twin = filepath.Join(a.Outside, "q")
		a.Swap = Swap{Dir: a.Root, Name: "p", Spare: ".link", Link: a.Outside}
	case File:
		if len(names) == 0 {
			return nil, errors.New("a file attack needs the name of a file")
		}
		home = filepath.Join(a.Root, "d")
		a.Victim = home
		a.Swap = Swap{Dir: home, Name: names[0], Spare: ".link", Link: filepath.Join(a.Outside, names[0])}
	case Dangling:
		home = filepath.Join(a.Root, "d")
		a.Victim = home
		a.Swap = Swap{Dir: home, Name: FreeName, Spare: ".link", Link: filepath.Join(a.Outside, FreeName), Plain: true}
	case Relink:
		home = filepath.Join(a.Root, "real")
		a.Victim = filepath.Join(a.Root, "d")
		a.Swap = Swap{Dir: a.Root, Name: "d", Spare: ".link", Link: a.Outside}
	case DotDot:
		// a/b/link leads to shared in the root from a/b, and to the one outside from b.
		home = filepath.Join(a.Root, "shared")
		a.Victim = filepath.Join(a.Root, "a", "b", "link")
		a.Swap = Swap{Dir: a.Root, Name: "a/b", Spare: "b", Plain: true}
	default:
		return nil, fmt.Errorf("no attack is called %q", mode)
	}

	for _, d := range []string{home, a.Twin, filepath.Dir(a.Victim)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(home, name), []byte(a.Content(name)), 0o644); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(a.Twin, name), []byte(a.Secret(name)), 0o644); err != nil {
			return nil, err
		}
	}
	// A listing of the twin shows this name, and no listing of the root does.
	if err := os.WriteFile(filepath.Join(a.Twin, a.canary), []byte(a.Secret(a.canary)), 0o644); err != nil {
		return nil, err
	}
	if a.Swap.Link != "" {
		if err := os.Symlink(a.Swap.Link, filepath.Join(a.Swap.Dir, a.Swap.Spare)); err != nil {
			return nil, err
		}
	}
	switch mode {
	case Relink:
		if err := os.Symlink(home, a.Victim); err != nil {
			return nil, err
		}
	case DotDot:
		if err := os.Symlink("../../shared", a.Victim); err != nil {
			return nil, err
		}
	}

	var err error
	if a.Inside, err = os.OpenRoot(home); err != nil {
		return nil, err
	}
	if err := a.Remember(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close closes a.Inside. The tree stays.
func (a *Arena) Close() error { return a.Inside.Close() }

// Content is what the file of that name in the root holds.
func (a *Arena) Content(name string) string { return "inside: " + name + "\n" }

// Secret is what the file of that name outside holds: the canary.
func (a *Arena) Secret(name string) string { return "outside: " + name + " " + a.canary + "\n" }
