package roots

import (
	"path"
	"runtime"
	"strings"
)

// A URI is a valid local file URI, held as the path it names: absolute,
// lexically clean, in the form of this system. Two URIs are == exactly if they
// name the same path, however they were spelt. The zero URI names nothing.
type URI struct{ path string }

// A URIClass says why a text is not a usable file URI.
type URIClass string

// The classes of [URIError]. The vectors of this project use the same words.
const (
	ClassScheme        URIClass = "scheme"            // not a file URI
	ClassNoPath        URIClass = "no-path"           // no absolute path
	ClassHost          URIClass = "host"              // names another host
	ClassAuthority     URIClass = "authority"         // a user, a port, or a malformed host
	ClassQuery         URIClass = "query"             // an unescaped ? or #
	ClassPercent       URIClass = "percent"           // a malformed percent escape
	ClassNUL           URIClass = "nul"               // %00
	ClassSeparator     URIClass = "encoded-separator" // %2F, on Windows also %5C
	ClassControl       URIClass = "control"           // a raw control character, or white space around the text
	ClassBackslash     URIClass = "backslash"         // a raw backslash
	ClassPipeDrive     URIClass = "pipe-drive"        // C| for C:
	ClassNotUTF8       URIClass = "not-utf8"          // Windows: the path is not UTF-8
	ClassDriveRelative URIClass = "drive-relative"    // Windows: neither a drive nor a share
	ClassWindowsName   URIClass = "windows-name"      // Windows: a device, stream, or name that Windows alters
)

var uriReasons = map[URIClass]string{
	ClassScheme:        "not a file URI",
	ClassNoPath:        "has no absolute path",
	ClassHost:          "names another host",
	ClassAuthority:     "has a user, a port or a malformed host",
	ClassQuery:         "has an unescaped ? or #; write %3F or %23 if it belongs to the name",
	ClassPercent:       "has a % that is not followed by two hex digits; write %25 for a percent sign",
	ClassNUL:           "has a NUL byte",
	ClassSeparator:     "has an encoded path separator",
	ClassControl:       "has a control character in it or white space around it",
	ClassBackslash:     "has a backslash; write / between names, %5C within one",
	ClassPipeDrive:     "has | for the colon of a drive",
	ClassNotUTF8:       "is not UTF-8",
	ClassDriveRelative: "has neither a drive nor a share",
	ClassWindowsName:   "has a name that Windows reserves or alters",
}

// A URIError says that a text is not a usable file URI, and why.
type URIError struct {
	URI   string // the text as given
	Class URIClass
}

func (e *URIError) Error() string { return e.Class.Reason() }

// Reason says in words, for a person, what the class means.
func (c URIClass) Reason() string { return uriReasons[c] }

const windows = runtime.GOOS == "windows"

// ParseURI parses a file URI by RFC 8089, appendices E.1 to E.3 included where
// they mean something on this system. It is strict: wherever RFC 3986 and the
// WHATWG URL standard read one text as two paths, it refuses the text rather
// than choose. Percent escapes are decoded exactly once, an encoded separator
// never becomes a separator, and no host, query or fragment is dropped to make a
// text fit. Dot segments are resolved, as every URI parser does. On systems
// other than Windows a path is a string of bytes, so %FF is fine.
//
// The error is a [*URIError].
func ParseURI(text string) (URI, error) {
	p, class := parseURI(text, windows)
	if class != "" {
		return URI{}, &URIError{URI: text, Class: class}
	}
	return URI{p}, nil
}

// FileURI returns the URI of a path of this system. The path must be absolute;
// it is made lexically clean. The error is a [*URIError] with the path as URI.
func FileURI(name string) (URI, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return URI{}, &URIError{URI: name, Class: ClassNUL}
	}
	if windows {
		// The rules of Windows names live in one place, the URI parser.
		return ParseURI(formatURI(name, true))
	}
	if !strings.HasPrefix(name, "/") {
		return URI{}, &URIError{URI: name, Class: ClassNoPath}
	}
	return URI{path.Clean(name)}, nil
}

// Path returns the path that the URI names, in the form of this system:
// absolute and lexically clean. It is "" for the zero URI.
func (u URI) Path() string { return u.path }

// String returns the canonical spelling, "file:///…": letters, digits and the
// characters that every parser leaves alone stay as they are, every other byte
// is escaped. ParseURI(u.String()) == u for every URI but the zero one, whose
// spelling is "".
func (u URI) String() string {
	if u.path == "" {
		return ""
	}
	return formatURI(u.path, windows)
}

// IsZero reports whether u is the zero URI.
func (u URI) IsZero() bool { return u.path == "" }

// MarshalText implements [encoding.TextMarshaler].
func (u URI) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] by [ParseURI].
func (u *URI) UnmarshalText(text []byte) (err error) {
	*u, err = ParseURI(string(text))
	return err
}

// HasDotSegments reports whether the path of a URI, as it is spelt, has a "." or
// ".." segment, escaped or not. ParseURI resolves them; a list of roots that
// needs resolving is one that its reader and its writer may see differently, so
// [ParseList] refuses them.
func HasDotSegments(text string) bool {
	if _, rest, ok := strings.Cut(text, ":"); ok {
		text = rest
	}
	for seg := range strings.SplitSeq(text, "/") {
		switch strings.ReplaceAll(strings.ReplaceAll(seg, "%2e", "."), "%2E", ".") {
		case ".", "..":
			return true
		}
	}
	return false
}

// parseURI is ParseURI for either kind of system, so that the tests run the
// cases of Windows anywhere.
func parseURI(text string, windows bool) (string, URIClass) {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return "", ClassControl
		}
	}
	if strings.TrimSpace(text) != text {
		return "", ClassControl
	}
	const scheme = "file:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return "", ClassScheme
	}
	rest := text[len(scheme):]
	switch {
	case strings.ContainsAny(rest, "?#"):
		return "", ClassQuery
	case strings.Contains(rest, `\`):
		// WHATWG reads it as a slash, RFC 3986 does not allow it.
		return "", ClassBackslash
	}
	host := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		slash := strings.IndexByte(after, '/')
		if slash < 0 {
			return "", ClassNoPath
		}
		host, rest = after[:slash], after[slash:]
	}
	if !strings.HasPrefix(rest, "/") {
		return "", ClassNoPath
	}
	if windows {
		return parseWindows(host, rest)
	}
	host, class := parseHost(host)
	if class != "" {
		return "", class
	}
	if host != "" {
		return "", ClassHost
	}
	if len(rest) >= 3 && isPipeDrive(rest[1:3]) && (len(rest) == 3 || rest[3] == '/') {
		// WHATWG turns it into a drive letter, RFC 3986 does not allow it.
		return "", ClassPipeDrive
	}
	p, class := decode(rest, false)
	if class != "" {
		return "", class
	}
	return path.Clean(p), ""
}

// parseHost decodes and checks a host. The local one is returned as "".
func parseHost(text string) (string, URIClass) {
	if text == "" {
		return "", ""
	}
	host, class := decode(text, true)
	if class != "" {
		return "", class
	}
	if strings.ContainsAny(host, "@:/\\[] %<>|\"^`") || strings.Trim(host, ".") == "" {
		return "", ClassAuthority
	}
	if strings.EqualFold(host, "localhost") {
		return "", ""
	}
	return host, ""
}

// decode resolves percent escapes, once.
func decode(s string, windows bool) (string, URIClass) {
	if strings.IndexByte(s, '%') < 0 {
		return s, ""
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return "", ClassPercent
			}
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if !ok1 || !ok2 {
				return "", ClassPercent
			}
			c = hi<<4 | lo
			if c == 0 {
				return "", ClassNUL
			}
			if c == '/' || windows && c == '\\' {
				return "", ClassSeparator
			}
			i += 2
		}
		out = append(out, c)
	}
	return string(out), ""
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func isLetter(c byte) bool       { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDrive(s string) bool      { return len(s) == 2 && isLetter(s[0]) && s[1] == ':' }
func isPipeDrive(s string) bool  { return len(s) == 2 && isLetter(s[0]) && s[1] == '|' }
func upperDrive(s string) string { return string(s[0]&^0x20) + ":" }

// formatURI is the inverse of parseURI for a clean absolute path.
func formatURI(p string, windows bool) string {
	host := ""
	if windows {
		p = strings.ReplaceAll(p, `\`, "/")
		if unc, ok := strings.CutPrefix(p, "//"); ok {
			host, p, _ = strings.Cut(unc, "/")
		}
		p = "/" + p
	}
	b := append(make([]byte, 0, len("file://")+len(host)+len(p)+16), "file://"...)
	b = appendEscaped(b, host)
	return string(appendEscaped(b, p))
}

func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if isLetter(c) || '0' <= c && c <= '9' || strings.IndexByte("/-._~!$&'()*+,;=:@", c) >= 0 {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}
