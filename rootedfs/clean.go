package rootedfs

import (
	"path"
	"strings"
)

// cleanPath returns the lexically clean form of an absolute path. The path must
// lead to a directory if its spelling ends in "/", "/." or "/..", which cleaning
// loses and dir tells. A string that is no absolute path, or holds a NUL byte, is
// not ok. A path that is clean already is scanned once and not copied.
func cleanPath(p string) (clean string, dir, ok bool) {
	if p == "" || p[0] != '/' || strings.IndexByte(p, 0) >= 0 {
		return "", false, false
	}
	if !hasDots(p[1:]) {
		return p, false, true
	}
	switch p[strings.LastIndexByte(p, '/')+1:] {
	case "", ".", "..":
		dir = true
	}
	return path.Clean(p), dir, true
}

// hasDots reports whether a slash-separated name has an element "", "." or "..",
// so that it is not clean. The empty name has none. It is on every path of every
// request, so it looks for what is rare by the searches that are fast.
func hasDots(name string) bool {
	if strings.HasSuffix(name, "/") || strings.HasPrefix(name, "/") || strings.Contains(name, "//") {
		return true
	}
	for i := 0; ; i++ {
		dot := strings.IndexByte(name[i:], '.')
		if dot < 0 {
			return false
		}
		if i += dot; i > 0 && name[i-1] != '/' {
			continue
		}
		rest := strings.TrimPrefix(name[i+1:], ".")
		if rest == "" || rest[0] == '/' {
			return true
		}
	}
}

// nextElem splits off the first element of a slash-separated name that need not be
// clean. slash reports that a slash followed the element.
func nextElem(name string) (elem, rest string, slash bool) {
	name = strings.TrimLeft(name, "/")
	i := strings.IndexByte(name, '/')
	if i < 0 {
		return name, "", false
	}
	return name[:i], strings.TrimLeft(name[i:], "/"), true
}

// splitLast splits a name into the directory part, "" if there is none, and the
// last element.
func splitLast(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// joinName joins two parts of a name, of which the second may be empty.
func joinName(a, b string) string {
	if b == "" {
		return a
	}
	if a == "" {
		return b
	}
	return a + "/" + b
}
