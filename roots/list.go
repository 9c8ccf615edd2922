package roots

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a list of roots that comes from elsewhere.
const (
	MaxRoots = 1000     // roots in one list
	MaxURI   = 4 * 1024 // bytes of one URI
	MaxName  = 256      // bytes of a name; a longer one is cut
)

// An Entry is a root as somebody stated it: not yet checked.
type Entry struct {
	URI    string
	Name   string
	Mode   Mode
	Source Source
}

// A Rejected is an entry that does not count, or does not count whole, and why.
type Rejected struct {
	Entry Entry
	Class string // a [URIClass], or one of the Rejected… constants
	Why   string // for a person
}

// Classes of [Rejected] beside those of [URIError].
const (
	RejectedEmpty     = "empty"     // no URI at all
	RejectedLong      = "too-long"  // over MaxURI
	RejectedTraversal = "traversal" // a "." or ".." segment
	RejectedCount     = "limit"     // beyond MaxRoots
	RejectedSensitive = "sensitive" // must be typed by the operator
	RejectedCeiling   = "ceiling"   // outside of what the operator gave
	RejectedMode      = "read-only" // asked for writing where the operator gave reading
)

// ParseList checks a list of roots. The good entries count, in their order; each
// bad one is explained, and voids nothing but itself.
func ParseList(entries []Entry) (good []Root, bad []Rejected) {
	reject := func(e Entry, class, why string) {
		bad = append(bad, Rejected{Entry: e, Class: class, Why: why})
	}
	for i, e := range entries {
		switch {
		case i == MaxRoots:
			// One report for the whole rest: it may be as long as a message can be.
			reject(e, RejectedCount, fmt.Sprintf("the list has %d entries; only the first %d count", len(entries), MaxRoots))
			return good, bad
		case e.URI == "":
			reject(e, RejectedEmpty, "has no URI")
			continue
		case len(e.URI) > MaxURI:
			e.URI = cut(e.URI, MaxName)
			reject(e, RejectedLong, fmt.Sprintf("its URI is longer than %d bytes", MaxURI))
			continue
		}
		u, err := ParseURI(e.URI)
		if err != nil {
			class := err.(*URIError).Class
			why := class.Reason()
			if strings.HasPrefix(e.URI, "${") || strings.Contains(e.URI, "/${") || strings.Contains(e.URI, "%24%7B") {
				why += "; it holds a variable that was not expanded"
			}
			reject(e, string(class), why)
			continue
		}
		if HasDotSegments(e.URI) {
			reject(e, RejectedTraversal, `has a "." or ".." segment; state the path it leads to`)
			continue
		}
		good = append(good, Root{URI: u, Name: cut(e.Name, MaxName), Mode: e.Mode, Source: e.Source})
	}
	return good, bad
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
