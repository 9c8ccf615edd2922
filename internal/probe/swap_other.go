//go:build !linux

package probe

import (
	"context"
	"errors"
)

const canSwap = false

func (s *Swap) run(context.Context, func() error) (Report, error) {
	return Report{}, errors.ErrUnsupported
}
