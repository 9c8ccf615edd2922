package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rootbound/rootbound/roots"
)

// variable finds what a shell or a client should have expanded.
var variable = regexp.MustCompile(`\$[A-Za-z_]|%[A-Za-z_]+%`)

// givenRoot turns a root that the operator typed into a [roots.Root]. Programs
// that start servers pass arguments without a shell, so a leading ~ is expanded
// here; nothing else is.
func givenRoot(arg string, mode roots.Mode) (roots.Root, error) {
	switch {
	case arg == "":
		return roots.Root{}, &hintError{
			usageError("a root is empty"),
			"was a variable not set? an empty root would be the current directory",
		}
	case strings.Contains(arg, "${"):
		return roots.Root{}, &hintError{
			usageError(fmt.Sprintf("a variable was not expanded in the root %q", arg)),
			"the client that starts this server does not know it; write the directory out",
		}
	}
	if len(arg) > len("file:") && strings.EqualFold(arg[:len("file:")], "file:") {
		u, err := roots.ParseURI(arg)
		if err != nil {
			return roots.Root{}, usageError(fmt.Sprintf("root %q: %v", arg, err))
		}
		return roots.Root{URI: u, Mode: mode, Source: roots.FromFlag}, nil
	}
	if strings.Contains(arg, "://") {
		return roots.Root{}, usageError(fmt.Sprintf("root %q: of URIs only file:// names a root", arg))
	}
	path := arg
	if rest, ok := strings.CutPrefix(arg, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home := homeDir()
		if home == "" {
			return roots.Root{}, fmt.Errorf("root %q: the home directory is not known", arg)
		}
		path = home + rest
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return roots.Root{}, fmt.Errorf("root %q: %w", arg, err)
	}
	if variable.MatchString(arg) {
		if _, err := os.Lstat(path); err != nil {
			return roots.Root{}, &hintError{
				usageError(fmt.Sprintf("a variable was not expanded in the root %q", arg)),
				"there is nothing of that name; write the directory out",
			}
		}
	}
	u, err := roots.FileURI(path)
	if err != nil {
		return roots.Root{}, usageError(fmt.Sprintf("root %q: %v", arg, err))
	}
	return roots.Root{URI: u, Mode: mode, Source: roots.FromFlag}, nil
}

// ownState lists the directories that hold what rootbound itself relies on. A
// session that could write there could grant itself anything.
func ownState() []string {
	var dirs []string
	for _, d := range []struct{ env, home string }{
		{"XDG_CONFIG_HOME", ".config"},
		{"XDG_STATE_HOME", ".local/state"},
	} {
		base := os.Getenv(d.env)
		if base == "" {
			base = filepath.Join(homeDir(), filepath.FromSlash(d.home))
		}
		dirs = append(dirs, filepath.Join(base, "rootbound"))
	}
	return dirs
}

// sensitive says why a root should be typed by the operator, or "".
func sensitive(r roots.Root) string {
	return roots.Sensitive(r.Path(), homeDir(), ownState()...)
}

// homeDir returns the user's home directory, also where $HOME is not set, as in
// some programs that start servers. It is "" if it cannot be told.
func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}
