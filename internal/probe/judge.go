package probe

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is what the judge remembers of a file outside.
type entry struct {
	info    fs.FileInfo
	content string // of a file; the target of a link
}

// Leaks reports whether an answer, as the bytes that came over the wire, shows
// anything of what is outside: content, a name, or where a link leads.
func (a *Arena) Leaks(answer []byte) bool {
	return bytes.Contains(answer, []byte(a.canary)) || bytes.Contains(answer, []byte(a.Outside))
}

// Remember takes what is outside now as the state that [Arena.Changes] compares
// with. [NewArena] has done so; a caller that changes something outside does it again.
func (a *Arena) Remember() error {
	now, err := look(a.Outside)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.before = now
	a.mu.Unlock()
	// The clock of the file system may be as coarse as a timer tick of 10 ms. A
	// change has to get another time than the state that was remembered.
	time.Sleep(20 * time.Millisecond)
	return nil
}

// Changes lists what differs outside from the state remembered: what was added,
// removed, replaced, written or touched, though it may look the same. The time of a
// directory tells of a temporary file that is gone by now. A failure to look counts
// as a change: somebody made it so.
func (a *Arena) Changes() []string {
	now, err := look(a.Outside)
	if err != nil {
		return []string{err.Error()}
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(a.before)) {
		was := a.before[name]
		is, ok := now[name]
		switch {
		case !ok:
			changes = append(changes, fmt.Sprintf("%s is gone", name))
		case is.content != was.content:
			changes = append(changes, fmt.Sprintf("%s holds %q instead of %q", name, is.content, was.content))
		case !sameFile(was.info, is.info):
			changes = append(changes, fmt.Sprintf("%s was %s and is %s", name, describe(was.info), describe(is.info)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := a.before[name]; !ok {
			changes = append(changes, fmt.Sprintf("%s is new and holds %q", name, now[name].content))
		}
	}
	return changes
}

// Changed reports whether the file of that name in a.Twin differs from the state
// remembered, without opening it: quick enough to ask after every call.
func (a *Arena) Changed(name string) bool {
	path := filepath.Join(a.Twin, name)
	is, err := os.Lstat(path)
	a.mu.RLock()
	was, ok := a.before[path]
	a.mu.RUnlock()
	if !ok {
		return err == nil
	}
	return err != nil || !sameFile(was.info, is)
}

// Repair puts the file of that name in a.Twin back as it was, and remembers the one
// it made, so that the next escape through the same name can be told from this one.
func (a *Arena) Repair(name string) error {
	path := filepath.Join(a.Twin, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	was, ok := a.before[path]
	if !ok {
		return nil
	}
	if err := os.WriteFile(path, []byte(was.content), was.info.Mode().Perm()); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	was.info = info
	a.before[path] = was
	return nil
}

// Smuggled lists what in the root came from outside: files that hold the canary or
// are one of the files outside, and names. Call it when the attack is over.
func (a *Arena) Smuggled() []string {
	inside, err := look(a.Root)
	if err != nil {
		return []string{err.Error()}
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	var found []string
	for _, name := range slices.Sorted(maps.Keys(inside)) {
		e := inside[name]
		switch {
		case strings.Contains(name, a.canary):
			found = append(found, name+" has a name from outside")
		case e.info.Mode().IsRegular() && strings.Contains(e.content, a.canary):
			found = append(found, name+" holds the canary")
		case e.info.Mode().IsRegular():
			for other, was := range a.before {
				if os.SameFile(e.info, was.info) {
					found = append(found, name+" is "+other)
				}
			}
		}
	}
	return found
}

// look reads a tree, following no links.
func look(dir string) (map[string]entry, error) {
	tree := make(map[string]entry)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		e := entry{info: info}
		switch info.Mode().Type() {
		case 0:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			e.content = string(data)
		case fs.ModeSymlink:
			if e.content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		tree[path] = e
		return nil
	})
	return tree, err
}

// sameFile reports whether nothing was done to a file between two looks. The size
// of a directory says nothing that its time does not.
func sameFile(was, is fs.FileInfo) bool {
	return os.SameFile(was, is) && was.Mode() == is.Mode() && was.ModTime().Equal(is.ModTime()) &&
		(was.IsDir() || was.Size() == is.Size())
}

func describe(i fs.FileInfo) string {
	return fmt.Sprintf("%v of %d bytes, modified %s", i.Mode(), i.Size(), i.ModTime().Format("15:04:05.000000000"))
}
