//go:build !linux || (!amd64 && !arm64)

package sys

import (
	"errors"
	"syscall"
)

// DenyOpenat2 returns an [errors.ErrUnsupported].
func DenyOpenat2(errno syscall.Errno) error { return errors.ErrUnsupported }

// KillOnOpenat2 returns an [errors.ErrUnsupported].
func KillOnOpenat2() error { return errors.ErrUnsupported }
