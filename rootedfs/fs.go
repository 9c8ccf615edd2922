package rootedfs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rootbound/rootbound/internal/sys"
	"github.com/rootbound/rootbound/roots"
)

// Options configures [Open]. Nil is the zero Options.
type Options struct {
	// NoOpenat2 does without openat2(2), even to find out whether it is there: what
	// older kernels and some filters force. Answers are the same, only slower.
	NoOpenat2 bool
	// NoRepin keeps a root unavailable when another directory has come into its
	// place, until [FS.Update] is given a list that names it again.
	NoRepin bool
}

// An FS performs operations inside one set of roots. See the package comment.
type FS struct {
	set     roots.Set
	roots   []*root // in the order of set
	index   index   // every spelling of every root, declared and real
	nested  bool    // some root lies inside another
	clock   *clock
	openat2 bool
	noRepin bool
}

// A root is a declared root in one FS.
type root struct {
	pin      atomic.Pointer[pin] // that of the anchor, at hand
	verified atomic.Uint64       // the epoch in which pin was verified
	hints    atomic.Pointer[[]hint]
	anchor   *anchor
	mode     roots.Mode // what is enforced
	inner    *root      // the read-only root because of which mode is not what was declared
	roots.Root
}

// Open opens the roots of a set. A root that is not there, or cannot be opened,
// stays declared: it is looked for again by each operation that wants it, see
// [FS.Roots].
//
// The links in a declared path are followed here, once. Later the root is known
// by its declared path and by its real one.
//
// On Windows the error is an [errors.ErrUnsupported]. There is no other error.
func Open(set roots.Set, o *Options) (*FS, error) {
	if !sys.Supported {
		return nil, fmt.Errorf("rootedfs: no race-free file operations on this system yet: %w", errors.ErrUnsupported)
	}
	if o == nil {
		o = new(Options)
	}
	f := &FS{set: set, clock: newClock(), noRepin: o.NoRepin}
	f.openat2 = !o.NoOpenat2 && sys.HasOpenat2()
	f.build(nil)
	return f, nil
}

// Update returns an FS with the roots of another set and the same options. A root
// that f has too, by its URI, is carried over: its links are not followed again,
// and what is at its real path is adopted under the rule that no component may be
// a link. f stays as it is, for the operations that run on it.
func (f *FS) Update(set roots.Set) (*FS, error) {
	next := &FS{set: set, clock: f.clock, openat2: f.openat2, noRepin: f.noRepin}
	next.build(f)
	return next, nil
}

// build finds the roots of f.set, and those among them that f may share with old.
func (f *FS) build(old *FS) {
	anchors := make(map[roots.URI]*anchor)
	if old != nil {
		for _, r := range old.roots {
			anchors[r.URI] = r.anchor
		}
	}
	for _, declared := range f.set.All() {
		a := anchors[declared.URI]
		switch {
		case a == nil:
			a = &anchor{real: realPath(declared.Path())}
		case f.noRepin:
			// The list is fresh, so the directory may be another one than before.
			a = &anchor{real: a.real}
		}
		r := &root{Root: declared, mode: declared.Mode, anchor: a}
		_, _ = f.live(r) // the anchor keeps the reason
		f.roots = append(f.roots, r)
	}
	bySpelling := f.spell()
	f.index = newIndex(bySpelling)
	f.restrict(bySpelling)
}

// realPath returns the path of a root without links. Of a path that does not
// exist it is the deepest ancestor that does whose links are followed; whatever
// comes to be below that is not believed to be a link's target.
func realPath(declared string) string {
	rest := ""
	for dir := declared; ; dir = path.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return path.Join(real, rest)
		} else if dir == "/" || !os.IsNotExist(err) {
			return declared
		}
		rest = path.Join(path.Base(dir), rest)
	}
}

// spell returns all spellings of the roots. Where two roots have one spelling in
// common, it is the one that was declared by it.
func (f *FS) spell() map[string]*root {
	bySpelling := make(map[string]*root)
	for _, r := range f.roots {
		bySpelling[r.Path()] = r
	}
	for _, r := range f.roots {
		if bySpelling[r.anchor.real] == nil {
			bySpelling[r.anchor.real] = r
		}
	}
	return bySpelling
}

// restrict makes a writable root read-only if a read-only one lies inside it, by
// any spelling, or is the same directory. Who may write in the outer root could
// rename a parent of the inner one, or go around its name by a link, and reach it
// through the outer handle.
func (f *FS) restrict(bySpelling map[string]*root) {
	seen := make(map[identity]*root)
	for _, r := range f.roots {
		p := r.anchor.pin.Load()
		if p == nil || p.base != "" {
			continue
		}
		if same := seen[p.id]; same == nil {
			seen[p.id] = r
		} else {
			same.deny(r)
			r.deny(same)
		}
	}
	for _, r := range f.roots {
		if same := bySpelling[r.anchor.real]; same != r {
			same.deny(r)
			r.deny(same)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(bySpelling)) {
		for r := bySpelling[dir]; dir != "/"; {
			dir = path.Dir(dir)
			outer := bySpelling[dir]
			if outer != nil && outer != r {
				f.nested = true
				outer.deny(r)
			}
		}
	}
}

// deny makes r read-only if inner was declared so.
func (r *root) deny(inner *root) {
	if inner.Mode == roots.ReadOnly && r.mode == roots.ReadWrite {
		r.mode, r.inner = roots.ReadOnly, inner
	}
}

// Set returns the set that f was made for.
func (f *FS) Set() roots.Set { return f.set }

// A State says whether a root can be used.
type State string

// The states of a root.
const (
	StateOK          State = "ok"
	StateUnavailable State = "unavailable"
)

// A RootKind says what a root is on disk.
type RootKind string

// The kinds of roots. A root that was never available is unknown.
const (
	KindUnknown   RootKind = "unknown"
	KindDirectory RootKind = "dir"
	KindFile      RootKind = "file"
)

// A RootInfo tells how a declared root fares.
type RootInfo struct {
	roots.Root
	Kind  RootKind
	State State
	// Real is the path of the root without links.
	Real string
	// Enforced is the mode that operations meet. It is stricter than the declared
	// Mode of a writable root that holds a read-only one.
	Enforced roots.Mode
	// Reason says, for people, why State or Enforced is not as one would wish.
	Reason string
}

// Roots looks for every root, as an operation would, and tells how it fares, in
// the order of [FS.Set].
func (f *FS) Roots() []RootInfo {
	infos := make([]RootInfo, len(f.roots))
	for i, r := range f.roots {
		info := RootInfo{Root: r.Root, Kind: KindUnknown, State: StateOK, Real: r.anchor.real, Enforced: r.mode}
		if r.inner != nil {
			info.Reason = fmt.Sprintf("read-only, because the read-only root %q lies inside", r.inner.Path())
		}
		if _, err := f.live(r); err != nil {
			info.State, info.Reason = StateUnavailable, r.anchor.why(err)
		}
		if p := r.anchor.pin.Load(); p != nil {
			info.Kind = KindDirectory
			if p.base != "" {
				info.Kind = KindFile
			}
		}
		infos[i] = info
	}
	return infos
}

// why returns the reason for err, which live returned.
func (a *anchor) why(err error) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == ErrUnavailable && a.reason != nil {
		return a.reason.Error()
	}
	return err.Error()
}

// Abs returns the absolute path that a request for path means: path itself if it
// is absolute, else the path below the one root that is a directory, if there is
// just one. A root that was never found counts as a directory. Nothing is guessed:
// not the working directory, no home directory, no variable. The path is neither
// trimmed nor cleaned.
//
// The error is a [*fs.PathError] that is [ErrInvalid]; if it wraps an
// [AmbiguousError], that lists the absolute choices.
func (f *FS) Abs(path string) (string, error) {
	switch {
	case path == "" || strings.IndexByte(path, 0) >= 0:
		return "", pathError("resolve", path, ErrInvalid)
	case path[0] == '/':
		return path, nil
	}
	e := &AmbiguousError{}
	for _, r := range f.roots {
		if p := r.anchor.pin.Load(); p == nil || p.base == "" {
			e.Roots = append(e.Roots, r.Path())
		}
	}
	if len(e.Roots) == 1 {
		return strings.TrimSuffix(e.Roots[0], "/") + "/" + path, nil
	}
	return "", pathError("resolve", path, e)
}

// An AmbiguousError means that a path is relative where nothing says to what. It
// is an [ErrInvalid].
type AmbiguousError struct {
	Roots []string // the directories below which an absolute path is welcome
}

func (e *AmbiguousError) Error() string {
	const shown = 20
	switch n := len(e.Roots); {
	case n == 0:
		return "relative path, and there is no root directory"
	case n > shown:
		return fmt.Sprintf("relative path; use an absolute one below one of %q and %d more", e.Roots[:shown], n-shown)
	}
	return fmt.Sprintf("relative path; use an absolute one below one of %q", e.Roots)
}

// Is makes the error an [ErrInvalid], and so an [fs.ErrInvalid].
func (e *AmbiguousError) Is(target error) bool {
	return target == error(ErrInvalid) || ErrInvalid.Is(target)
}
