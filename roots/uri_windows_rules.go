package roots

import (
	"path"
	"strings"
	"unicode/utf8"
)

// parseWindows turns host and path of a file URI into a Windows path: a drive
// (with the letter in upper case) or a share. It runs, and is tested, everywhere.
func parseWindows(host, text string) (string, URIClass) {
	p, class := decode(text, true)
	if class != "" {
		return "", class
	}
	if !utf8.ValidString(p) {
		return "", ClassNotUTF8
	}
	if isDrive(host) { // file://C:/x, a common mistake with one meaning
		p, host = "/"+host+p, ""
	} else if host, class = parseHost(host); class != "" {
		return "", class
	}
	if host == "" {
		if unc := strings.TrimLeft(p, "/"); strings.HasPrefix(p, "//") {
			// file:////server/share, RFC 8089 appendix E.3.2
			var ok bool
			host, p, ok = strings.Cut(unc, "/")
			if !ok || host == "" || isDrive(host) || strings.Trim(host, ".?:|") == "" {
				return "", ClassDriveRelative
			}
			p = "/" + p
		}
	}
	volume := ""
	if host != "" {
		volume, p, class = parseShare(host, p)
	} else {
		volume, p, class = parseDrive(p)
	}
	if class != "" {
		return "", class
	}
	p = path.Clean(p)
	for name := range strings.SplitSeq(p[1:], "/") {
		if !windowsName(name) {
			return "", ClassWindowsName
		}
	}
	return volume + strings.ReplaceAll(p, "/", `\`), ""
}

func parseDrive(p string) (volume, rest string, class URIClass) {
	p = p[1:]
	if len(p) >= 2 && isPipeDrive(p[:2]) && (len(p) == 2 || p[2] == '/') {
		return "", "", ClassPipeDrive
	}
	if len(p) < 2 || !isDrive(p[:2]) || len(p) > 2 && p[2] != '/' {
		return "", "", ClassDriveRelative
	}
	return upperDrive(p), "/" + strings.TrimPrefix(p[2:], "/"), ""
}

// parseShare splits \\host\share off. Windows stops ".." at the share, the
// WHATWG URL standard at the host: a path that climbs so far is refused.
func parseShare(host, p string) (volume, rest string, class URIClass) {
	share, rest, _ := strings.Cut(strings.TrimLeft(p, "/"), "/")
	if share == "" || share == "." || share == ".." {
		return "", "", ClassDriveRelative
	}
	depth := 0
	for name := range strings.SplitSeq(rest, "/") {
		switch name {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return "", "", ClassDriveRelative
		}
	}
	return `\\` + host + `\` + share, "/" + rest, ""
}

// windowsName reports whether Windows takes a name as it is spelt.
// See "Naming Files, Paths, and Namespaces" in the Windows documentation.
func windowsName(name string) bool {
	if strings.ContainsAny(name, `<>:"|?*`) || strings.HasSuffix(name, " ") || strings.HasSuffix(name, ".") {
		return false
	}
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return false
	}
	if rest, ok := strings.CutPrefix(stem, "COM"); ok && isPort(rest) {
		return false
	}
	if rest, ok := strings.CutPrefix(stem, "LPT"); ok && isPort(rest) {
		return false
	}
	return true
}

// isPort: Windows takes the superscript digits of Latin-1 for digits here.
func isPort(s string) bool {
	return len(s) == 1 && '1' <= s[0] && s[0] <= '9' || s == "¹" || s == "²" || s == "³"
}
