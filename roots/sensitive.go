package roots

import (
	"path/filepath"
	"strings"
)

// credentials are directories and files below a home directory that hold keys.
var credentials = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".password-store",
	".config/gcloud", ".config/gh", ".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium",
	"Library/Keychains", "AppData/Roaming/Microsoft/Credentials", "AppData/Roaming/Microsoft/Protect",
}

// system are directories that no session needs as a root of its own.
var system = []string{
	"/etc", "/root", "/boot", "/dev", "/proc", "/sys", "/run/secrets", "/var/run/secrets", "/private/etc",
}

// Sensitive says in words why a root at path should be granted only if the
// operator typed it, or "" if nothing speaks against it. home is the user's home
// directory, "" if unknown; own are the directories that hold rootbound's own
// state. It is a warning about spellings, not a boundary: a link to a credential
// directory is not seen here.
func Sensitive(path, home string, own ...string) string {
	r := Root{URI: URI{filepath.Clean(path)}}
	if filepath.Dir(r.Path()) == r.Path() {
		return "it is the whole file system"
	}
	if home != "" && filepath.IsAbs(home) {
		if r.Contains(home) {
			return "it holds the home directory"
		}
		for _, c := range credentials {
			dir := filepath.Join(home, filepath.FromSlash(c))
			if overlap(r, dir) {
				return "it holds credentials"
			}
		}
	}
	if !windows {
		for _, dir := range system {
			// Someone whose home is /root works below it.
			if dir == home || home != "" && strings.HasPrefix(home, dir+"/") {
				continue
			}
			if overlap(r, dir) {
				return "it is a system directory"
			}
		}
	}
	for _, dir := range own {
		if filepath.IsAbs(dir) && overlap(r, dir) {
			return "it holds rootbound's own state"
		}
	}
	return ""
}

// overlap reports whether one of the two contains the other.
func overlap(r Root, dir string) bool {
	return r.Contains(dir) || Root{URI: URI{filepath.Clean(dir)}}.Contains(r.Path())
}
