package roots

import "fmt"

// A Policy says how a client's list combines with what the operator gave.
type Policy uint8

// The zero Policy is the one in which the client has no say.
const (
	Ignore  Policy = iota // what was given counts; the client's list is only shown
	Narrow                // what was given is a ceiling for the client's list
	Add                   // both count
	Replace               // the client's list counts instead
)

var policyNames = [...]string{"ignore", "narrow", "add", "replace"}

func (p Policy) String() string {
	if int(p) >= len(policyNames) {
		return fmt.Sprintf("Policy(%d)", p)
	}
	return policyNames[p]
}

// ParsePolicy is the inverse of [Policy.String].
func ParsePolicy(s string) (Policy, error) {
	for i, name := range policyNames {
		if s == name {
			return Policy(i), nil
		}
	}
	return Ignore, fmt.Errorf("no such way to combine roots: %q (ignore, narrow, add or replace)", s)
}

// A ListState says what is known of a client's list. None of the states but
// Answered says anything about directories, and none means "everything".
type ListState uint8

const (
	Undeclared ListState = iota // the client offers no roots, and is not asked
	Answered                    // it answered; the list may be empty
	Failed                      // it answered with an error, or not in time, or its latest answer could not be had
	Unasked                     // nobody has needed to ask it so far
)

var stateNames = [...]string{"undeclared", "answered", "failed", "unasked"}

func (s ListState) String() string {
	if int(s) >= len(stateNames) {
		return fmt.Sprintf("ListState(%d)", s)
	}
	return stateNames[s]
}

// A ClientList is what a client said of its roots.
type ClientList struct {
	State    ListState
	Roots    []Root     // the good entries, if Answered
	Rejected []Rejected // the bad ones
	Why      string     // what went wrong, if Failed
}

// Given is what the operator stated: nothing at all, or a list, which may be empty.
type Given struct {
	Stated bool // also if Roots is empty; implied if it is not
	Roots  []Root
}

// Nothing says why no root is in force.
type Nothing string

// The reasons of [Effective.Nothing]. The zero one means that there are roots,
// or that the operator's own list is empty.
const (
	NoRoots     Nothing = "no_roots"          // there are none
	Unavailable Nothing = "roots_unavailable" // the client should have said, and did not
)

// Effective is what a session may use, and what became of the rest.
type Effective struct {
	Roots    []Root
	Nothing  Nothing    // why Roots is empty
	Why      string     // the same for a person
	Fix      string     // what to do about it
	Rejected []Rejected // entries of the client's list that do not count, or not as stated
}

// Combine decides whose roots count. It is a pure function of its arguments:
//
//	policy                given  undeclared  a list            an empty list  failed
//	Ignore                yes    given       given             given          given
//	Narrow                yes    given       its part in given nothing        nothing
//	Add                   yes    given       both              given          given
//	Replace               yes    nothing     the list          nothing        nothing
//	any                   no     nothing     the list          nothing        nothing
//
// The operator's modes hold throughout: a client gets no writing inside a root
// that was given read-only, nor by a root that holds one. What lies in what is
// decided by [Root].Real where that is known, so that a name that is a link grants
// nothing. A root that counts on the client's word alone is first put to guard, by
// its name and by its real path; guard says why it must not count, or "". A nil
// guard lets all pass.
func Combine(given Given, client ClientList, policy Policy, guard func(Root) string) Effective {
	if len(given.Roots) > 0 {
		given.Stated = true
	}
	if !given.Stated {
		policy = Replace
	}
	e := Effective{Rejected: client.Rejected}
	if client.State == Answered {
		e.addClient(given, client.Roots, policy, guard)
	}
	switch {
	case policy == Ignore, policy == Add:
		e.Roots = append(e.Roots, given.Roots...)
	case policy == Narrow && client.State == Undeclared:
		e.Roots = append(e.Roots, given.Roots...)
	}
	if len(e.Roots) == 0 {
		e.Nothing, e.Why, e.Fix = nothing(given, client, policy, e.Rejected)
	}
	return e
}

func (e *Effective) addClient(given Given, list []Root, policy Policy, guard func(Root) string) {
	if policy == Ignore {
		return
	}
	g := newGround(given.Roots)
	for _, r := range list {
		outer, inside := g.around(r)
		if policy == Narrow && !inside {
			e.clip(r, given.Roots)
			continue
		}
		if holder, ok := g.readOnly(r, outer, inside); ok {
			e.reject(r, RejectedMode, "read-only: the operator gave "+holder.Path()+" read-only")
			r.Mode = ReadOnly
		}
		alone := policy == Replace || !inside
		if why := guarded(r, guard); alone && why != "" {
			e.reject(r, RejectedSensitive, why+"; only the operator can grant it")
			continue
		}
		e.Roots = append(e.Roots, r)
	}
}

// A ground is what the operator gave, by where it really is.
type ground struct {
	roots []Root
	set   Set // of the real paths
}

func newGround(given []Root) ground {
	g := ground{roots: given}
	var reals []Root
	for _, r := range given {
		reals = append(reals, Root{URI: URI{r.real()}, Mode: r.Mode})
	}
	g.set = NewSet(0, reals...)
	return g
}

// around returns the innermost given root that r really lies in.
func (g ground) around(r Root) (outer Root, ok bool) {
	real, _, err := g.set.Locate(r.real())
	if err != nil {
		return Root{}, false
	}
	for _, o := range g.roots {
		// Of two names for one place the stricter one decides, as in the set.
		if o.real() == real.Path() && (!ok || o.Mode < outer.Mode) {
			outer, ok = o, true
		}
	}
	return outer, ok
}

// readOnly returns the given root because of which r must not be written in.
func (g ground) readOnly(r, outer Root, inside bool) (Root, bool) {
	if r.Mode == ReadOnly {
		return Root{}, false
	}
	if inside && outer.Mode == ReadOnly {
		return outer, true
	}
	place := Root{URI: URI{r.real()}}
	for _, o := range g.roots {
		if o.Mode == ReadOnly && place.Contains(o.real()) {
			return o, true
		}
	}
	return Root{}, false
}

func guarded(r Root, guard func(Root) string) string {
	if guard == nil {
		return ""
	}
	why := guard(r)
	if why == "" && r.Real != "" && r.Real != r.Path() {
		r.URI = URI{r.Real}
		if why = guard(r); why != "" {
			why = "it is a link, and where that leads, " + why
		}
	}
	return why
}

// clip keeps those of the given roots that lie in r.
func (e *Effective) clip(r Root, given []Root) {
	why := "outside of what the operator gave"
	place := Root{URI: URI{r.real()}}
	for _, g := range given {
		if place.Contains(g.real()) {
			g.Mode = min(g.Mode, r.Mode)
			e.Roots = append(e.Roots, g)
			why = "wider than what the operator gave; clipped to that"
		}
	}
	e.reject(r, RejectedCeiling, why)
}

func (e *Effective) reject(r Root, class, why string) {
	// The list it came from is the caller's.
	e.Rejected = append(e.Rejected[:len(e.Rejected):len(e.Rejected)], Rejected{
		Entry: Entry{URI: r.URI.String(), Name: r.Name, Mode: r.Mode, Source: r.Source},
		Class: class,
		Why:   why,
	})
}

func nothing(given Given, client ClientList, policy Policy, rejected []Rejected) (_ Nothing, why, fix string) {
	name := "name a directory when starting the server"
	if given.Stated {
		name = "start the server with --client-roots=ignore, so that what the operator gave counts"
	}
	if given.Stated && policy != Replace && len(given.Roots) == 0 {
		return NoRoots, "the operator's list of roots is empty", "ask the operator to name a directory"
	}
	switch client.State {
	case Failed:
		why := client.Why
		if why == "" {
			why = "no answer"
		}
		return Unavailable, "the client was asked for its roots and did not name them: " + why, "try again, or " + name
	case Answered:
		if len(rejected) > 0 {
			return NoRoots, "the client named no root that can be used", "call list_allowed_directories to see why, or " + name
		}
		return NoRoots, "the client's list of roots is empty", "open a folder in the client, or " + name
	}
	return NoRoots, "the client offers no roots", name
}
