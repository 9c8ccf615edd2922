package mcpfs

import (
	"strings"

	"github.com/rootbound/rootbound/roots"
)

// path turns a path argument into an absolute path. It takes an absolute path,
// a file URI, or a path relative to the one directory root there is. Nothing is
// trimmed, expanded or folded, and only a URI is decoded, once.
func (v *snapshot) path(arg string) (string, error) {
	if len(arg) >= len("file:") && strings.EqualFold(arg[:len("file:")], "file:") {
		u, err := roots.ParseURI(arg)
		if err != nil {
			return "", &refusalError{codeInvalidPath, "the file URI is not usable: " + err.Error(), "correct the URI, or use an absolute path"}
		}
		return u.Path(), nil
	}
	return v.fs.Abs(arg)
}
