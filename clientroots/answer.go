//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this package is about them.

package clientroots

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/roots"
)

// modeKey is the name, in the _meta of a root, of what the root grants.
const modeKey = "rootbound/mode"

// maxWhy bounds what is kept of a client's error, in bytes.
const maxWhy = 256

// read makes a list of an answer. Nothing of it is trusted to be there: the SDK
// decodes null, and a null among the roots, as nil pointers.
func read(res *mcp.ListRootsResult) roots.ClientList {
	if res == nil || res.Roots == nil {
		// {} and {"roots":null} are not "none": that is spelt [].
		return roots.ClientList{State: roots.Failed, Why: "the client's answer has no list of roots in it"}
	}
	stated := res.Roots
	if len(stated) > roots.MaxRoots {
		// A message holds millions of roots. One more than counts is enough to have
		// the rest reported.
		stated = stated[:roots.MaxRoots+1]
	}
	entries := make([]roots.Entry, len(stated))
	for i, r := range stated {
		entries[i] = entry(r)
	}
	l := roots.ClientList{State: roots.Answered}
	l.Roots, l.Rejected = roots.ParseList(entries)
	if n := len(res.Roots); n > roots.MaxRoots {
		last := &l.Rejected[len(l.Rejected)-1]
		last.Why = fmt.Sprintf("the list has %d entries; only the first %d count", n, roots.MaxRoots)
	}
	return l
}

// entry makes an entry of a root, which may be nil. A root grants writing unless
// it says anything else: no client but ours knows the key, and one that uses it
// means to restrict.
func entry(r *mcp.Root) roots.Entry {
	e := roots.Entry{Source: roots.FromClient}
	if r == nil {
		return e
	}
	// Entries that are refused are kept for showing, so they are cut here. A URI
	// must stay over its bound, to the byte: within it, the part would be another
	// root.
	e.URI = r.URI
	if len(e.URI) > roots.MaxURI {
		e.URI = strings.Clone(e.URI[:roots.MaxURI+1])
	}
	e.Name = cut(r.Name, roots.MaxName)
	if mode, stated := r.Meta[modeKey]; !stated || mode == roots.ReadWrite.String() {
		e.Mode = roots.ReadWrite
	}
	return e
}

// reason says for a person why the client could not be asked. The text may come
// from the client: it is bounded, and what could act on a terminal is escaped.
func reason(err error) string {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) {
		return fmt.Sprintf("the client answered with error %d: %s", answer.Code, printable(answer.Message))
	}
	return printable(err.Error())
}

// printable escapes what is not printable in s, and cuts it.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		part := s[:n]
		switch {
		case r == utf8.RuneError && n == 1:
			part = fmt.Sprintf(`\x%02x`, s[0])
		case !strconv.IsPrint(r):
			part = strings.Trim(strconv.QuoteRune(r), "'")
		}
		if b.Len()+len(part) > maxWhy-len("…") {
			b.WriteString("…")
			break
		}
		b.WriteString(part)
		s = s[n:]
	}
	return b.String()
}

// cut shortens s to at most n bytes without splitting a character, keeping
// nothing of the rest.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}
