package rootedfs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/rootbound/rootbound/roots"
)

// A refusal is a decision of this package rather than of the system. Being
// constants, refusals cannot be reassigned.
type refusal string

func (e refusal) Error() string { return string(e) }

// Is lets code that knows only package io/fs classify a refusal.
func (e refusal) Is(target error) bool {
	switch e {
	case ErrUnavailable:
		return target == fs.ErrNotExist
	case ErrIsRoot, ErrHoldsRoot:
		return target == fs.ErrPermission
	}
	return false
}

const (
	// ErrUnavailable means that the root holding a path is not there at the moment,
	// or that something else is in its place. It is an [fs.ErrNotExist].
	ErrUnavailable = refusal("root is unavailable")
	// ErrNotRegular means that a path leads to a device, FIFO or socket, whose
	// content is not read or written.
	ErrNotRegular = refusal("not a regular file")
	// ErrTooLarge means that a file has more bytes than the caller would take.
	ErrTooLarge = refusal("file is too large")
	// ErrLimit means that an operation on a tree met its bound of depth or number.
	// What was done up to there is documented with the operation.
	ErrLimit = refusal("limit reached")

	// ErrIsRoot means that a root itself would be removed, renamed or replaced. It
	// is an [fs.ErrPermission].
	ErrIsRoot = refusal("a root itself is not removed, renamed or replaced")
	// ErrHoldsRoot means the same of a directory that has a root in it.
	ErrHoldsRoot = refusal("another root lies inside")
)

// Errors of the roots, under the names by which users of this package meet them.
const (
	ErrOutside  = roots.ErrOutside
	ErrReadOnly = roots.ErrReadOnly
	ErrInvalid  = roots.ErrInvalid
)

// A Kind is a class of errors, for programs. The zero Kind is "ok".
type Kind uint8

// The kinds, see [KindOf].
const (
	OK          Kind = iota
	Outside          // out of every root
	NotFound         // no such file or directory
	Denied           // the system, or a rule about roots, forbids it
	NotDir           // a directory is needed
	IsDir            // a directory is in the way
	Loop             // too many links, or a magic link
	TooLong          // a name or path is too long
	Invalid          // not a path, or not for this file
	NotRegular       // a device, FIFO or socket
	Exists           // the name is taken
	NotEmpty         // the directory is not empty
	ReadOnly         // the root or the file system grants no writing
	CrossDevice      // another file system: copy instead
	Busy             // in use, or out of descriptors; try again
	NoSpace          // disk or quota is full
	IO               // any other failure
	Unavailable      // the root is not there
	TooLarge         // more bytes than the caller takes
	Limit            // a bound of depth or number
	Canceled         // the context was
)

var kindNames = [...]string{
	OK: "ok", Outside: "outside", NotFound: "notfound", Denied: "denied", NotDir: "notdir",
	IsDir: "isdir", Loop: "loop", TooLong: "toolong", Invalid: "invalid", NotRegular: "notregular",
	Exists: "exists", NotEmpty: "notempty", ReadOnly: "readonly", CrossDevice: "crossdevice",
	Busy: "busy", NoSpace: "nospace", IO: "io", Unavailable: "unavailable", TooLarge: "toolarge",
	Limit: "limit", Canceled: "canceled",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "io"
}

// KindOf returns the kind of an error of this package, or of another one that
// wraps the same values. It is OK for nil and IO for what it does not know.
func KindOf(err error) Kind {
	if err == nil {
		return OK
	}
	for _, k := range refusalKinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return kindOfErrno(errno)
	}
	return IO
}

var refusalKinds = [...]struct {
	err  error
	kind Kind
}{
	{ErrOutside, Outside},
	{ErrReadOnly, ReadOnly},
	{ErrInvalid, Invalid},
	{ErrUnavailable, Unavailable},
	{ErrNotRegular, NotRegular},
	{ErrTooLarge, TooLarge},
	{ErrLimit, Limit},
	{ErrIsRoot, Denied},
	{ErrHoldsRoot, Denied},
	{fs.ErrClosed, Invalid},
	{context.Canceled, Canceled},
	{context.DeadlineExceeded, Canceled},
}

func kindOfErrno(errno syscall.Errno) Kind {
	switch errno {
	case syscall.ENOENT:
		return NotFound
	case syscall.EACCES, syscall.EPERM:
		return Denied
	case syscall.ENOTDIR:
		return NotDir
	case syscall.EISDIR:
		return IsDir
	case syscall.ELOOP:
		return Loop
	case syscall.ENAMETOOLONG:
		return TooLong
	case syscall.EINVAL:
		return Invalid
	case syscall.ENXIO, syscall.ENODEV:
		return NotRegular
	case syscall.EEXIST:
		return Exists
	case syscall.ENOTEMPTY:
		return NotEmpty
	case syscall.EROFS:
		return ReadOnly
	case syscall.EXDEV:
		return CrossDevice
	case syscall.EAGAIN, syscall.EBUSY, syscall.ETXTBSY, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
		return Busy
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		return NoSpace
	}
	return IO
}

// pathError gives err, unless it is nil, the operation and the path as it was
// requested. It is the only place where errors get a path, so an error says
// nothing that the caller did not say first.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// errOf turns 0 into nil.
func errOf(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
