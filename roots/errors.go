package roots

import "io/fs"

// A boundaryError is a refusal by the boundary rather than by the system. Being
// a constant it cannot be reassigned, and errors.Is finds the error of package
// io/fs that code unaware of roots asks for.
type boundaryError string

func (e boundaryError) Error() string { return string(e) }

// Is makes a refusal an [fs.ErrPermission], and a malformed path an [fs.ErrInvalid].
func (e boundaryError) Is(target error) bool {
	if e == ErrInvalid {
		return target == fs.ErrInvalid
	}
	return target == fs.ErrPermission
}

const (
	// ErrOutside means that a path is in no root, or leads out of every root. It
	// is the same whether or not anything exists there.
	ErrOutside = boundaryError("outside the roots")
	// ErrReadOnly means that the root holding a path grants no writing.
	ErrReadOnly = boundaryError("root is read-only")
	// ErrInvalid means that a path is empty, not absolute, or holds a NUL byte.
	ErrInvalid = boundaryError("invalid path")
)
