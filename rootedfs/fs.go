package rootedfs

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	// LookTimeout is how long an operation waits for the file system of a root to
	// tell whether the root is there; then the root is unavailable, until it does
	// tell. [Open], [FS.Update] and [FS.Roots] wait as long for all roots together.
	// 0 means 2 s.
	LookTimeout time.Duration

	stall func(path string) // see rules
}

// An FS performs operations inside one set of roots. See the package comment.
type FS struct {
	rules
	set   roots.Set
	roots []*root // in the order of set
	index atomic.Pointer[index]

	// unknown is set while the real path of some root is not known, because its file
	// system has not answered yet. When it does, arrange makes a new index.
	unknown    atomic.Bool
	arranging  sync.Mutex
	unanswered int // how many roots there were of which that is so; guarded by arranging
}

// A root is a declared root in one FS.
type root struct {
	pin      atomic.Pointer[pin] // that of the anchor, at hand
	verified atomic.Uint64       // the epoch in which pin was verified
	hints    atomic.Pointer[[]hint]
	anchor   *anchor
	inner    atomic.Pointer[root] // the read-only root because of which this one may not be written
	roots.Root
}

// enforced is the mode that operations meet.
func (r *root) enforced() roots.Mode {
	if r.inner.Load() != nil {
		return roots.ReadOnly
	}
	return r.Mode
}

// Open opens the roots of a set. A root that is not there, or cannot be opened,
// stays declared: it is looked for again by each operation that wants it, see
// [FS.Roots].
//
// The links in a declared path are followed here, once. Later the root is known
// by its declared path and by its real one. If [roots.Root].Real is set, that is
// the real path: no link is followed, and what is there is opened only if none of
// its components is one.
//
// On Windows the error is an [errors.ErrUnsupported]. There is no other error.
func Open(set roots.Set, o *Options) (*FS, error) {
	if !sys.Supported {
		return nil, fmt.Errorf("rootedfs: no race-free file operations on this system yet: %w", errors.ErrUnsupported)
	}
	if o == nil {
		o = new(Options)
	}
	f := &FS{set: set, rules: rules{clock: newClock(), noRepin: o.NoRepin, patience: o.LookTimeout, stall: o.stall}}
	f.openat2 = !o.NoOpenat2 && sys.HasOpenat2()
	if f.patience == 0 {
		f.patience = 2 * time.Second
	}
	f.build(nil)
	return f, nil
}

// Update returns an FS with the roots of another set and the same options. A root
// that f has too, by its URI and by [roots.Root].Real if that is set, is carried
// over: its links are not followed again, and what is at its real path is adopted
// under the rule that no component may be a link. f stays as it is, for the
// operations that run on it.
func (f *FS) Update(set roots.Set) (*FS, error) {
	next := &FS{set: set, rules: f.rules}
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
		r := &root{Root: declared, anchor: anchors[declared.URI]}
		known := ""
		if r.Real != "" {
			known = path.Clean("/" + r.Real)
		}
		switch a := r.anchor; {
		case a == nil || known != "" && known != a.real():
			r.anchor = &anchor{declared: r.Path()}
			if known != "" {
				r.anchor.spot.Store(&spot{real: known})
			}
		case f.noRepin && !a.silent():
			// The list is fresh, so the directory may be another one than before.
			r.anchor = &anchor{declared: a.declared}
			r.anchor.spot.Store(a.spot.Load())
		}
		f.roots = append(f.roots, r)
	}
	f.lookAll()
	f.unanswered = len(f.roots) + 1 // so that something is to be done
	f.unknown.Store(true)
	f.arrange()
}

// arrange makes the index, and finds out which roots may not be written, from the
// real paths that are known by now.
func (f *FS) arrange() {
	f.arranging.Lock()
	defer f.arranging.Unlock()
	unanswered := 0
	for _, r := range f.roots {
		if r.anchor.spot.Load() == nil {
			unanswered++
		}
	}
	if unanswered < f.unanswered {
		f.unanswered = unanswered
		bySpelling := f.spell()
		x := newIndex(bySpelling)
		x.nested = f.restrict(bySpelling)
		f.index.Store(&x)
	}
	if unanswered == 0 {
		f.unknown.Store(false)
	}
}

// find is [index.find] in the index of the moment.
func (f *FS) find(clean string) (r *root, name string) { return f.index.Load().find(clean) }

// spell returns all spellings of the roots. Where two roots have one spelling in
// common, it is the one that was declared by it.
func (f *FS) spell() map[string]*root {
	bySpelling := make(map[string]*root)
	for _, r := range f.roots {
		bySpelling[r.Path()] = r
	}
	for _, r := range f.roots {
		if real := r.anchor.real(); real != "" && bySpelling[real] == nil {
			bySpelling[real] = r
		}
	}
	return bySpelling
}

// restrict makes a writable root read-only if a read-only one lies inside it, by
// any spelling, or is the same directory. Who may write in the outer root could
// rename a parent of the inner one, or go around its name by a link, and reach it
// through the outer handle. It reports whether any root lies inside another.
func (f *FS) restrict(bySpelling map[string]*root) (nested bool) {
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
		if same := bySpelling[r.anchor.real()]; same != nil && same != r {
			same.deny(r)
			r.deny(same)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(bySpelling)) {
		for r := bySpelling[dir]; dir != "/"; {
			dir = path.Dir(dir)
			outer := bySpelling[dir]
			if outer != nil && outer != r {
				nested = true
				outer.deny(r)
			}
		}
	}
	return nested
}

// deny makes r read-only if inner was declared so.
func (r *root) deny(inner *root) {
	if inner.Mode == roots.ReadOnly && r.Mode == roots.ReadWrite {
		r.inner.CompareAndSwap(nil, inner)
	}
}

// Set returns the set that f was made for.
func (f *FS) Set() roots.Set { return f.set }

// Enforced returns the mode that operations meet in the i'th root of [FS.Set], as
// in [RootInfo], without looking at the disk.
func (f *FS) Enforced(i int) roots.Mode { return f.roots[i].enforced() }

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
	// Real is the path of the root without links. It is "" as long as nothing is
	// known of the root, because its file system has never answered.
	Real string
	// Links are the real directories that hold the links which were followed from the
	// declared path to Real. Who may write in one of them decides, by the link there,
	// what the next root of that path is.
	Links []string
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
	errs := f.lookAll()
	for i, r := range f.roots {
		info := RootInfo{Root: r.Root, Kind: KindUnknown, State: StateOK, Enforced: r.enforced()}
		if s := r.anchor.spot.Load(); s != nil {
			info.Real, info.Links = s.real, slices.Clone(s.links)
		}
		if inner := r.inner.Load(); inner != nil {
			info.Reason = fmt.Sprintf("read-only, because the read-only root %q lies inside", inner.Path())
		}
		if errs[i] != nil {
			info.State, info.Reason = StateUnavailable, r.anchor.why(errs[i])
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
