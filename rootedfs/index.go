package rootedfs

import (
	"slices"
	"strings"
)

// An index finds the innermost root that contains a path, by whole path elements.
// It is what [roots.Set.Find] is for the spellings that a set declares, but for
// the real ones too, and it answers with the root itself. It tries the lengths
// that keys have, the longest first. Few of them end where an element of the path
// ends, and only those cost a comparison, so the time hardly depends on how many
// roots there are.
type index struct{ groups []group }

// A group is the keys of one length. A key is a path without a slash at its end;
// that of the root directory is "".
type group struct {
	length int
	key    string // if there is just one key of this length
	root   *root
	many   map[string]*root // else
}

func newIndex(bySpelling map[string]*root) index {
	byLength := make(map[int]map[string]*root)
	for spelling, r := range bySpelling {
		key := strings.TrimSuffix(spelling, "/")
		if byLength[len(key)] == nil {
			byLength[len(key)] = make(map[string]*root)
		}
		byLength[len(key)][key] = r
	}
	var x index
	for length, keys := range byLength {
		g := group{length: length}
		if len(keys) > 1 {
			g.many = keys
		} else {
			for key, r := range keys {
				g.key, g.root = key, r
			}
		}
		x.groups = append(x.groups, g)
	}
	slices.SortFunc(x.groups, func(a, b group) int { return b.length - a.length })
	return x
}

// find returns the root that a clean absolute path lies in, and its name below
// that root, "" for the root itself; or nil.
func (x *index) find(clean string) (r *root, name string) {
	for i := range x.groups {
		g := &x.groups[i]
		n := g.length
		if n > len(clean) || n < len(clean) && clean[n] != '/' {
			continue
		}
		if g.many != nil {
			r = g.many[clean[:n]]
		} else if g.key == clean[:n] {
			r = g.root
		}
		if r != nil {
			return r, strings.TrimPrefix(clean[n:], "/")
		}
	}
	return nil, ""
}
