package mcpfs

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

// RefusalKey is the key of a [Refusal] in the _meta of a tool result.
const RefusalKey = "rootbound/refusal"

// A Refusal says to a program what the text of the result says to a model: what
// was refused, which roots exist, and what to do next.
type Refusal struct {
	Code string `json:"code"`
	// Reason is one short phrase. It never tells what is outside of the roots.
	Reason string `json:"reason"`
	// Argument is a JSON pointer to the argument at fault, "" if none is.
	Argument string `json:"argument,omitempty"`
	// Requested is that argument: quoted, escaped, at most 256 bytes of it.
	Requested string `json:"requested,omitempty"`
	// Generation is that of the roots the call ran under.
	Generation uint64 `json:"generation"`
	// Roots are the roots in force, at most 20.
	Roots []RefusalRoot `json:"roots"`
	// MoreRoots counts those that are not listed.
	MoreRoots int    `json:"moreRoots,omitempty"`
	Next      string `json:"next"`
}

// A RefusalRoot is one root in force.
type RefusalRoot struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
	Mode string `json:"mode"`
}

// maxRefusalRoots bounds the roots in a refusal: a model reads them each time.
const maxRefusalRoots = 20

// Codes of refusals. They are part of the interface: programs branch on them.
const (
	codeOutside     = "outside_roots"
	codeNotFound    = "not_found"
	codeNoRoots     = "no_roots"
	codeUnavailable = "roots_unavailable"
	codeRootGone    = "root_unavailable"
	codeReadOnly    = "read_only"
	codeInvalidPath = "invalid_path"
	codeTooLarge    = "too_large"
	codeNotText     = "not_text"
	codeChanged     = "changed_meanwhile"
	codeCancelled   = "cancelled"
	codeIO          = "io"
)

// advice is what a refusal says of each kind of error: its code, its reason, and
// what to do next.
var advice = map[rootedfs.Kind]struct{ code, reason, next string }{
	rootedfs.Outside:     {codeOutside, "not under any root", "use a path under one of the roots, or call list_allowed_directories"},
	rootedfs.Unavailable: {codeRootGone, "the root cannot be reached now", "call list_allowed_directories to see its state; it is tried again at every call"},
	rootedfs.ReadOnly:    {codeReadOnly, "the root is read-only", "write under a root whose mode is rw, or ask for this one to be granted for writing"},
	rootedfs.NotFound:    {codeNotFound, "nothing of that name there", "list its directory to see what there is"},
	rootedfs.Exists:      {"exists", "something of that name is there already", "choose another name, or remove what is there first"},
	rootedfs.Denied:      {"permission_denied", "the system refuses it to the user that the server runs as", "use another path, or ask for the file's permissions to be changed"},
	rootedfs.IsDir:       {"is_a_directory", "it is a directory", "name a file in it; list_directory shows them"},
	rootedfs.NotDir:      {"not_a_directory", "it, or a part of its path, is not a directory", "call list_directory on a directory; read_text_file reads a file"},
	rootedfs.NotRegular:  {"not_a_regular_file", "it is a device, a socket or a pipe", "use a regular file"},
	rootedfs.TooLarge:    {codeTooLarge, "it is more than one call returns", "read fewer lines at a time with head or tail"},
	rootedfs.Invalid:     {codeInvalidPath, "not a path", "use an absolute path or a file:// URI"},
	rootedfs.TooLong:     {"name_too_long", "a name in it, or the whole, is longer than the system takes", "use a shorter name"},
	rootedfs.Loop:        {"loop", "links in it lead round in a circle, or through a link that only the system may follow", "use a path without those links"},
	rootedfs.NotEmpty:    {"not_empty", "the directory is not empty", "empty it first"},
	rootedfs.CrossDevice: {codeIO, "it is on another file system", "copy it instead"},
	rootedfs.Busy:        {"busy", "it is in use, changing too fast, or the server has too much open", "try again"},
	rootedfs.NoSpace:     {"no_space", "no space or quota is left", "free some space, then try again"},
	rootedfs.Limit:       {"limit", "it is more than one call does", "ask for less at a time"},
	rootedfs.Canceled:    {codeCancelled, "the call was cancelled", "call again if it is still wanted"},
	rootedfs.IO:          {codeIO, "the system reports an error", "try again; if it stays, the disk or the mount needs a look"},
}

// refuse makes the refusal of an error that rootedfs gave for an argument.
func (v *snapshot) refuse(argument, requested string, err error) *mcp.CallToolResult {
	a := advice[rootedfs.KindOf(err)]
	r := &Refusal{Code: a.code, Reason: a.reason, Next: a.next, Argument: argument, Requested: quote(requested)}
	var special *refusalError
	var ambiguous *rootedfs.AmbiguousError
	switch {
	case errors.As(err, &special):
		r.Code, r.Reason, r.Next = special.code, special.reason, special.next
	case errors.As(err, &ambiguous):
		r.Reason = "a relative path means something only below exactly one root directory"
		r.Next = "use an absolute path" + choices(ambiguous.Roots, requested)
	case errors.Is(err, rootedfs.ErrIsRoot), errors.Is(err, rootedfs.ErrHoldsRoot):
		r.Reason = "a root, and a directory that holds one, is not moved or replaced"
		r.Next = "move what is in it instead"
	}
	if v.fs.Set().Len() == 0 && (r.Code == codeOutside || r.Code == codeInvalidPath && requested != "") {
		r.Code, r.Reason, r.Next = codeNoRoots, v.effective.Why, v.effective.Fix
		if v.effective.Nothing == roots.Unavailable {
			r.Code = codeUnavailable
		}
	}
	if hint := pathHint(requested); hint != "" && (r.Code == codeNotFound || r.Code == codeInvalidPath && special == nil) {
		r.Next += "; " + hint
	}
	return v.result(r)
}

// choices lists absolute paths that a relative one may have meant.
func choices(dirs []string, relative string) string {
	const most = 5
	if len(dirs) == 0 || pathHint(relative) != "" {
		return ""
	}
	var shown []string
	for _, dir := range dirs[:min(len(dirs), most)] {
		shown = append(shown, quote(path.Join(dir, relative)))
	}
	if n := len(dirs) - most; n > 0 {
		shown = append(shown, fmt.Sprintf("or the same below one of %d more roots", n))
	}
	return ": " + strings.Join(shown, ", ")
}

// A refusalError is a refusal that no error of the file system stands for.
type refusalError struct{ code, reason, next string }

func (e *refusalError) Error() string { return e.reason }

// pathHint says what of a path may have been meant to be expanded and is not.
func pathHint(path string) string {
	switch {
	case strings.HasPrefix(path, "~"):
		return "~ is an ordinary character here: write the directory out"
	case len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/'):
		return "this server runs on a system without drive letters"
	case strings.Contains(path, "://"):
		return "of URIs only file:// is a path"
	case strings.Contains(path, "$"):
		return "variables are not expanded here: write the directory out"
	case escaped.MatchString(path):
		return "% is an ordinary character in a path: write the name as it is, or use a file:// URI"
	case strings.Count(path, "%") > 1:
		return "variables are not expanded here: write the directory out"
	case strings.TrimSpace(path) != path:
		return "white space is part of a path here, also at its ends"
	}
	return ""
}

// escaped finds a percent escape.
var escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// result completes a refusal with the roots and makes the tool result of it.
func (v *snapshot) result(r *Refusal) *mcp.CallToolResult {
	set := v.fs.Set()
	r.Generation = set.Generation()
	r.Roots = []RefusalRoot{}
	var shown []string
	for i, root := range set.All() {
		mode := v.fs.Enforced(i)
		if i == maxRefusalRoots {
			r.MoreRoots = set.Len() - i
			shown = append(shown, fmt.Sprintf("and %d more", r.MoreRoots))
			break
		}
		r.Roots = append(r.Roots, RefusalRoot{URI: root.URI.String(), Name: show(root.Name), Mode: mode.String()})
		shown = append(shown, fmt.Sprintf("%s (%s)", showPath(root.URI), mode))
	}
	var b strings.Builder
	b.WriteString("refused")
	if r.Requested != "" {
		b.WriteString(": " + r.Requested)
	}
	fmt.Fprintf(&b, ": %s [%s]. ", r.Reason, r.Code)
	if len(shown) > 0 {
		fmt.Fprintf(&b, "Roots: %s. ", strings.Join(shown, ", "))
	} else {
		b.WriteString("There are no roots now. ")
	}
	fmt.Fprintf(&b, "Next: %s.", r.Next)
	return &mcp.CallToolResult{
		Meta:    mcp.Meta{RefusalKey: r},
		IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: b.String()}},
	}
}

// showPath shows a root's path, or its URI where the path has characters that
// would need escaping: a URI can be given back to us as it is.
func showPath(u roots.URI) string {
	if plain(u.Path()) {
		return u.Path()
	}
	return u.String()
}
