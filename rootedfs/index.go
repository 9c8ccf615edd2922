package rootedfs

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
)

// An index finds the innermost root that contains a path, by whole path elements.
// It is what [roots.Set.Find] is for the spellings that a set declares, but for
// the real ones too, and it answers with the root itself. It tries the lengths
// that keys have, the longest first. Few of them end where an element of the path
// ends, and only those cost a comparison, so the time hardly depends on how many
// roots there are.
type index struct {
	groups []group
	nested bool // some root lies inside another
}

// A group is the keys of one length. A key is a path without a slash at its end;
// that of the root directory is "".
type group struct {
	length int
	slot   slot             // if there is just one key of this length
	ends   *ends            // if there are more, and their ends tell them apart
	many   map[string]*root // else
}

type slot struct {
	key  string
	root *root
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
		switch {
		case len(keys) == 1:
			for key, r := range keys {
				g.slot = slot{key, r}
			}
		default:
			if g.ends = newEnds(length, keys); g.ends == nil {
				g.many = keys
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
		key := clean[:n]
		switch {
		case g.ends != nil:
			r = g.ends.find(key)
		case g.many != nil:
			r = g.many[key]
		case g.slot.key == key:
			r = g.slot.root
		}
		if r != nil {
			return r, strings.TrimPrefix(clean[n:], "/")
		}
	}
	return nil, ""
}

// Ends is a hash table of keys of one length by their last bytes: where the paths
// of roots differ, as a rule. It takes half the time of a map.
type ends struct {
	slots  []slot // twice as many as keys, a power of two, and a few
	factor uint64
	shift  int
}

const (
	endBytes  = 8 // how many bytes of a key count
	maxProbes = 8 // in how many slots a key may be, so that nobody gets slow ones made
)

// newEnds returns nil if the keys are too short, or have too many ends in common.
func newEnds(length int, keys map[string]*root) *ends {
	if length < endBytes {
		return nil
	}
	size := bits.Len(uint(len(keys))) + 1
trial:
	for range 8 {
		e := &ends{slots: make([]slot, 1<<size+maxProbes), factor: rand.Uint64() | 1, shift: 64 - size}
		for key, r := range keys {
			free := slices.IndexFunc(e.probe(key), func(s slot) bool { return s.root == nil })
			if free < 0 {
				continue trial
			}
			e.probe(key)[free] = slot{key, r}
		}
		return e
	}
	return nil
}

// probe returns the slots in which a key may be, from the first on until one is free.
func (e *ends) probe(key string) []slot {
	b := key[len(key)-endBytes:]
	end := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
	first := end * e.factor >> e.shift
	return e.slots[first : first+maxProbes]
}

// find returns the root of a key, or nil.
func (e *ends) find(key string) *root {
	for _, s := range e.probe(key) {
		if s.root == nil || s.key == key {
			return s.root
		}
	}
	return nil
}
