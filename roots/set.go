package roots

import (
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// A Set is an immutable list of roots with a generation: the number by which a
// session tells a newer list from an older one. Sets are small values, to be
// copied freely and used by any number of goroutines. The zero Set has no roots
// and contains nothing.
type Set struct{ x *index }

type index struct {
	generation uint64
	roots      []Root         // by path, without duplicates
	byKey      map[string]int // key of a root → its place in roots
	lengths    [maxKey / 64]uint64
	long       bool // some key is maxKey bytes or longer
}

// maxKey bounds the bit set of key lengths. Linux cannot open a longer path.
const maxKey = 4096

const separator = string(filepath.Separator)

// key is what a path has before the separator in front of the names below it.
// That is the path itself, but for "/" and the root of a Windows volume.
func key(path string) string { return strings.TrimSuffix(path, separator) }

// NewSet returns the set of the given roots. Roots may be nested: a path belongs
// to the innermost root that contains it. Of two roots with the same path one
// stays, read-only if either is, with the first name that is not empty. Roots
// with a zero URI are left out. See [Set.Conflicts] for what no mode can express.
func NewSet(generation uint64, roots ...Root) Set {
	x := &index{generation: generation, byKey: make(map[string]int, len(roots))}
	x.roots = slices.DeleteFunc(slices.Clone(roots), func(r Root) bool { return r.URI.IsZero() })
	slices.SortStableFunc(x.roots, func(a, b Root) int { return strings.Compare(a.Path(), b.Path()) })
	n := 0
	for _, r := range x.roots {
		if n > 0 && x.roots[n-1].URI == r.URI {
			kept := &x.roots[n-1]
			kept.Mode = min(kept.Mode, r.Mode)
			if kept.Name == "" {
				kept.Name = r.Name
			}
			continue
		}
		x.roots[n] = r
		n++
	}
	x.roots = slices.Clip(x.roots[:n])
	for i, r := range x.roots {
		k := key(r.Path())
		x.byKey[k] = i
		if len(k) < maxKey {
			x.lengths[len(k)/64] |= 1 << (len(k) % 64)
		} else {
			x.long = true
		}
	}
	return Set{x}
}

// Generation returns the generation that the set was made with.
func (s Set) Generation() uint64 {
	if s.x == nil {
		return 0
	}
	return s.x.generation
}

// Len returns the number of roots.
func (s Set) Len() int {
	if s.x == nil {
		return 0
	}
	return len(s.x.roots)
}

// At returns the i'th root in the order of paths.
func (s Set) At(i int) Root { return s.x.roots[i] }

// All yields the roots in the order of their paths.
func (s Set) All() iter.Seq2[int, Root] {
	if s.x == nil {
		return func(func(int, Root) bool) {}
	}
	return slices.All(s.x.roots)
}

// Contains reports whether path, an absolute path, is a root or lies under one,
// comparing whole path elements after lexical cleaning. It is lexical: it reads
// no file system and follows no link.
func (s Set) Contains(path string) bool {
	_, _, err := s.Locate(path)
	return err == nil
}

// Locate returns the innermost root that contains path, and the name of path
// below that root: "." for the root itself, else relative, clean, never with a
// ".." element. The path must be absolute; it is cleaned lexically first, so that
// the answer cannot depend on what exists.
//
// The error is a [*fs.PathError] that is [ErrOutside] or [ErrInvalid].
func (s Set) Locate(path string) (root Root, name string, err error) {
	if !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
		return Root{}, "", &fs.PathError{Op: "locate", Path: path, Err: ErrInvalid}
	}
	i, name, ok := s.Find(filepath.Clean(path))
	if !ok {
		return Root{}, "", &fs.PathError{Op: "locate", Path: path, Err: ErrOutside}
	}
	if name == "" {
		name = "."
	}
	return s.x.roots[i], name, nil
}

// Find is the part of [Set.Locate] for callers that have an absolute, lexically
// clean path already. It does not allocate. It returns the place of the root in
// the order of [Set.All], and the name below it, "" for the root itself.
//
// It tries the ancestors of the path, the longest first. A bit set of the
// lengths in use keeps most of those from being hashed, so the time depends on
// the length of the path and hardly on the number of roots.
func (s Set) Find(clean string) (i int, name string, ok bool) {
	x := s.x
	if x == nil {
		return 0, "", false
	}
	if i, ok := x.lookup(clean); ok {
		return i, "", true
	}
	for end := len(clean) - 1; end >= 0; end-- {
		if clean[end] != filepath.Separator {
			continue
		}
		if i, ok := x.lookup(clean[:end]); ok {
			return i, clean[end+1:], true
		}
	}
	return 0, "", false
}

func (x *index) lookup(k string) (int, bool) {
	n := len(k)
	if n < maxKey {
		if x.lengths[n/64]&(1<<(n%64)) == 0 {
			return 0, false
		}
	} else if !x.long {
		return 0, false
	}
	i, ok := x.byKey[k]
	return i, ok
}

// A Conflict is a read-only root inside a writable one. It cannot be kept as it
// is stated: who may rename inside the outer root can move the inner one aside,
// and a link elsewhere in the outer root reaches it.
type Conflict struct{ Outer, Inner Root }

// Conflicts returns the conflicts of the set, as far as paths show them. A root
// spelt through a link is not seen here; rootedfs compares the real paths too.
func (s Set) Conflicts() []Conflict {
	var found []Conflict
	for _, inner := range s.All() {
		if inner.Mode != ReadOnly {
			continue
		}
		for dir := inner.Path(); dir != filepath.Dir(dir); {
			dir = filepath.Dir(dir)
			i, _, ok := s.Find(dir)
			if !ok {
				break
			}
			outer := s.At(i)
			if outer.Mode == ReadWrite {
				found = append(found, Conflict{Outer: outer, Inner: inner})
			}
			dir = outer.Path()
		}
	}
	return found
}
