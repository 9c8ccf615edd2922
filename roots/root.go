package roots

// A Mode says what a root grants.
type Mode uint8

// The zero Mode is the strict one.
const (
	ReadOnly Mode = iota
	ReadWrite
)

func (m Mode) String() string {
	if m == ReadWrite {
		return "rw"
	}
	return "ro"
}

// MarshalText implements [encoding.TextMarshaler].
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// A Source says who named a root. It is for people: what a root grants does not
// depend on it, but for the rules of [Combine].
type Source string

// Where roots come from.
const (
	FromFlag   Source = "flag"
	FromFile   Source = "file"
	FromStore  Source = "store"
	FromClient Source = "client"
	FromEnv    Source = "env"
)

// A Root is a directory tree, or a single file, that a session may use. Which of
// the two it is, is a fact of the disk and not recorded here.
type Root struct {
	URI    URI
	Name   string // for people; need not be unique
	Mode   Mode
	Source Source
	// Real is the path without links, if somebody has looked (rootedfs does), else
	// "". [Combine] compares by it: a root spelt through a link is where the link
	// leads, whatever its name says.
	Real string
}

// real returns where the root is, as far as is known.
func (r Root) real() string {
	if r.Real != "" {
		return r.Real
	}
	return r.Path()
}

// Path returns the root's path: absolute, lexically clean, in the form of this system.
func (r Root) Path() string { return r.URI.Path() }

// Contains reports whether path is the root or lies under it, comparing whole
// path elements: /home/ann does not contain /home/anna. It is lexical: it reads
// no file system and follows no link. A path that is not absolute is not contained.
func (r Root) Contains(path string) bool { return NewSet(0, r).Contains(path) }
