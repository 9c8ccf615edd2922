package roots_test

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound/roots"
)

// TestCombine is the table of docs/design.md, each cell a case.
func TestCombine(t *testing.T) {
	given := []string{"/given", "/shared"}
	answer := []string{"/shared/sub", "/theirs"}
	for _, c := range []struct {
		policy roots.Policy
		given  bool
		state  roots.ListState
		list   []string
		want   string
		why    roots.Nothing
	}{
		{roots.Ignore, true, roots.Undeclared, nil, "/given rw, /shared rw", ""},
		{roots.Ignore, true, roots.Answered, answer, "/given rw, /shared rw", ""},
		{roots.Ignore, true, roots.Answered, nil, "/given rw, /shared rw", ""},
		{roots.Ignore, true, roots.Failed, nil, "/given rw, /shared rw", ""},
		{roots.Ignore, true, roots.Unasked, nil, "/given rw, /shared rw", ""},

		{roots.Narrow, true, roots.Undeclared, nil, "/given rw, /shared rw", ""},
		{roots.Narrow, true, roots.Answered, answer, "/shared/sub rw", ""},
		{roots.Narrow, true, roots.Answered, nil, "", roots.NoRoots},
		{roots.Narrow, true, roots.Failed, nil, "", roots.Unavailable},

		{roots.Add, true, roots.Undeclared, nil, "/given rw, /shared rw", ""},
		{roots.Add, true, roots.Answered, answer, "/shared/sub rw, /theirs rw, /given rw, /shared rw", ""},
		{roots.Add, true, roots.Answered, nil, "/given rw, /shared rw", ""},
		{roots.Add, true, roots.Failed, nil, "/given rw, /shared rw", ""},

		{roots.Replace, true, roots.Undeclared, nil, "", roots.NoRoots},
		{roots.Replace, true, roots.Answered, answer, "/shared/sub rw, /theirs rw", ""},
		{roots.Replace, true, roots.Answered, nil, "", roots.NoRoots},
		{roots.Replace, true, roots.Failed, nil, "", roots.Unavailable},

		{roots.Ignore, false, roots.Undeclared, nil, "", roots.NoRoots},
		{roots.Ignore, false, roots.Answered, answer, "/shared/sub rw, /theirs rw", ""},
		{roots.Ignore, false, roots.Answered, nil, "", roots.NoRoots},
		{roots.Ignore, false, roots.Failed, nil, "", roots.Unavailable},
		{roots.Narrow, false, roots.Answered, answer, "/shared/sub rw, /theirs rw", ""},
		{roots.Narrow, false, roots.Undeclared, nil, "", roots.NoRoots},
		{roots.Narrow, false, roots.Failed, nil, "", roots.Unavailable},
		{roots.Add, false, roots.Answered, nil, "", roots.NoRoots},
		{roots.Replace, false, roots.Failed, nil, "", roots.Unavailable},
	} {
		name := c.policy.String() + "/" + c.state.String()
		g := roots.Given{Stated: c.given}
		if c.given {
			g.Roots = list(t, given...)
		} else {
			name += "/nothing given"
		}
		if c.state == roots.Answered && c.list == nil {
			name += " []"
		}
		t.Run(name, func(t *testing.T) {
			e := roots.Combine(g, roots.ClientList{State: c.state, Roots: list(t, c.list...)}, c.policy, nil)
			if show(e.Roots) != c.want || e.Nothing != c.why {
				t.Errorf("got [%s] %q, want [%s] %q", show(e.Roots), e.Nothing, c.want, c.why)
			}
			if (e.Why != "") != (e.Nothing != "") || (e.Fix != "") != (e.Nothing != "") {
				t.Errorf("nothing is %q, but why is %q and the fix %q", e.Nothing, e.Why, e.Fix)
			}
		})
	}
}

func TestCombineModes(t *testing.T) {
	for _, c := range []struct {
		name     string
		policy   roots.Policy
		given    []string
		list     []string
		want     string
		rejected string
	}{
		{
			"a given mode holds below it", roots.Narrow,
			[]string{"/a ro"},
			[]string{"/a/b"},
			"/a/b ro", "read-only /a/b",
		},
		{
			"a given mode holds when roots are added", roots.Add,
			[]string{"/a ro"},
			[]string{"/a/b"},
			"/a/b ro, /a ro", "read-only /a/b",
		},
		{
			"a client may ask for less", roots.Narrow,
			[]string{"/a"},
			[]string{"/a/b ro"},
			"/a/b ro", "",
		},
		{
			"wider than given: clipped and named", roots.Narrow,
			[]string{"/a/b", "/a/c ro", "/x"},
			[]string{"/a"},
			"/a/b rw, /a/c ro", "ceiling /a",
		},
		{
			"wider than given and read-only", roots.Narrow,
			[]string{"/a/b"},
			[]string{"/a ro"},
			"/a/b ro", "ceiling /a",
		},
		{
			"beside what was given", roots.Narrow,
			[]string{"/a/b"},
			[]string{"/a/bc", "/a/b"},
			"/a/b rw", "ceiling /a/bc",
		},
		{
			"sensitive roots need the operator", roots.Add,
			[]string{"/a"},
			[]string{"/", "/b"},
			"/b rw, /a rw", "sensitive /",
		},
		{
			"what was given is not sensitive", roots.Narrow,
			[]string{"/"},
			[]string{"/", "/b"},
			"/ rw, /b rw", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			guard := func(r roots.Root) string { return roots.Sensitive(r.Path(), "") }
			answer := roots.ClientList{State: roots.Answered, Roots: list(t, c.list...)}
			e := roots.Combine(roots.Given{Stated: true, Roots: list(t, c.given...)}, answer, c.policy, guard)
			var rejected []string
			for _, r := range e.Rejected {
				rejected = append(rejected, r.Class+" "+strings.TrimPrefix(r.Entry.URI, "file://"))
			}
			if show(e.Roots) != c.want || strings.Join(rejected, ", ") != c.rejected {
				t.Errorf("got [%s], rejected %v; want [%s], rejected %s", show(e.Roots), rejected, c.want, c.rejected)
			}
		})
	}
}

// A list that was rejected entirely is not the same as an empty one, to its reader.
func TestCombineSaysWhy(t *testing.T) {
	for _, c := range []struct {
		client roots.ClientList
		want   string
	}{
		{roots.ClientList{State: roots.Undeclared}, "offers no roots"},
		{roots.ClientList{State: roots.Answered}, "is empty"},
		{roots.ClientList{State: roots.Answered, Rejected: []roots.Rejected{{}}}, "no root that can be used"},
		{roots.ClientList{State: roots.Failed, Why: "no answer within 3s"}, "no answer within 3s"},
	} {
		if e := roots.Combine(roots.Given{}, c.client, roots.Ignore, nil); !strings.Contains(e.Why, c.want) {
			t.Errorf("%v: %q does not say %q", c.client.State, e.Why, c.want)
		}
	}
}

func TestPolicyNames(t *testing.T) {
	for _, p := range []roots.Policy{roots.Ignore, roots.Narrow, roots.Add, roots.Replace} {
		if got, err := roots.ParsePolicy(p.String()); err != nil || got != p {
			t.Errorf("ParsePolicy(%q) = %v, %v", p, got, err)
		}
	}
	if p, err := roots.ParsePolicy("all"); err == nil || p != roots.Ignore {
		t.Errorf(`ParsePolicy("all") = %v, %v`, p, err)
	}
}

// at makes roots from lines "/spelling=/real/path mode".
func at(t *testing.T, lines ...string) []roots.Root {
	t.Helper()
	var rs []roots.Root
	for _, l := range lines {
		spelling, mode, _ := strings.Cut(l, " ")
		spelling, real, _ := strings.Cut(spelling, "=")
		r := root(t, spelling+" "+mode)
		r.Real = real
		rs = append(rs, r)
	}
	return rs
}

// A root is where its links lead, not where its name is.
func TestCombineByRealPath(t *testing.T) {
	for _, c := range []struct {
		name          string
		policy        roots.Policy
		given, list   []string
		want, classes string
	}{
		{"a link out of the ceiling", roots.Narrow, []string{"/app"}, []string{"/app/link=/out"}, "", "ceiling"},
		{"a link within the ceiling", roots.Narrow, []string{"/app"}, []string{"/app/link=/app/sub"}, "/app/link rw", ""},
		{"the ceiling is a link", roots.Narrow, []string{"/link=/app"}, []string{"/app"}, "/app rw", ""},
		{"a link to above the ceiling", roots.Narrow, []string{"/app/sub"}, []string{"/up=/app"}, "/app/sub rw", "ceiling"},
		{"a link to something sensitive", roots.Replace, nil, []string{"/app/link=/etc", "/app"}, "/app rw", "sensitive"},
		{"a link to everything", roots.Add, []string{"/app"}, []string{"/top=/"}, "/app rw", "sensitive"},
		{"a link into a given read-only root", roots.Add, []string{"/app ro"}, []string{"/link=/app/sub"}, "/link ro, /app ro", "read-only"},
		{"a given read-only root that is a link", roots.Add, []string{"/link=/app ro"}, []string{"/app/sub"}, "/app/sub ro, /link ro", "read-only"},
		{"replaced, but given read-only", roots.Replace, []string{"/app", "/ref ro"}, []string{"/ref", "/ref/sub"}, "/ref ro, /ref/sub ro", "read-only read-only"},
		{"replaced by what holds a read-only root", roots.Replace, []string{"/w/ref ro"}, []string{"/w"}, "/w ro", "read-only"},
		{"added around a read-only root", roots.Add, []string{"/w/ref ro"}, []string{"/w"}, "/w ro, /w/ref ro", "read-only"},
		{"two names of one place, the stricter counts", roots.Narrow, []string{"/a=/app", "/b=/app ro"}, []string{"/app/sub"}, "/app/sub ro", "read-only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			guard := func(r roots.Root) string { return roots.Sensitive(r.Path(), "") }
			answer := roots.ClientList{State: roots.Answered, Roots: at(t, c.list...)}
			e := roots.Combine(roots.Given{Stated: c.given != nil, Roots: at(t, c.given...)}, answer, c.policy, guard)
			var classes []string
			for _, r := range e.Rejected {
				classes = append(classes, r.Class)
			}
			if show(e.Roots) != c.want || strings.Join(classes, " ") != c.classes {
				t.Errorf("got [%s], rejected %v; want [%s], %s", show(e.Roots), classes, c.want, c.classes)
			}
		})
	}
}

func TestGivenNeedsNoFlag(t *testing.T) {
	e := roots.Combine(roots.Given{Roots: list(t, "/a")}, roots.ClientList{}, roots.Ignore, nil)
	if show(e.Roots) != "/a rw" {
		t.Errorf("roots that were given without Stated: %s", show(e.Roots))
	}
}
