package mcpfs

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

// Options configures [New]. Nil is the zero Options: a server with no roots of its
// own, that asks clients which declare roots, and grants nothing else.
type Options struct {
	// Given is what the operator stated. See [roots.Combine].
	Given roots.Given
	// Policy says what the client's list means beside Given. If nothing is given,
	// the client's list counts whatever the policy.
	Policy roots.Policy
	// Guard says why a root must not be granted on a client's word alone, or "".
	// Nil lets every root pass; [roots.Sensitive] is made for this.
	Guard func(roots.Root) string

	// RootsTimeout bounds how long a call waits for the client to name its roots.
	// 0 means 3 s.
	RootsTimeout time.Duration
	// RootsReask is how long the list of a client counts that does not announce
	// changes. 0 means 30 s.
	RootsReask time.Duration
	// RootsTTL is how long a list that came with one request (protocol 2026-07-28)
	// counts for later ones of the same session. 0 means for that request only.
	// Leave it 0 where requests of several principals arrive as one session.
	RootsTTL time.Duration

	// MaxRead is the most text, in bytes, that one call returns. 0 means 16 MiB.
	MaxRead int64
	// MaxEntries is the most entries that one listing returns. 0 means 10,000.
	MaxEntries int

	// Files configures how paths are resolved.
	Files rootedfs.Options
	// Version is reported to clients.
	Version string
	// Logger gets one line a call: refusals as warnings, answers at debug level,
	// changes of roots as information. Content is never logged. Nil discards.
	Logger *slog.Logger
}

// check completes the options, and says what in them makes no sense.
func (o *Options) check() (Options, error) {
	var d Options
	if o != nil {
		d = *o
	}
	d.Given.Stated = d.Given.Stated || len(d.Given.Roots) > 0
	switch {
	case d.Policy > roots.Replace:
		return d, fmt.Errorf("no such policy: %v", d.Policy)
	case d.MaxRead < 0, d.MaxEntries < 0, d.RootsTimeout < 0, d.RootsReask < 0, d.RootsTTL < 0:
		return d, errors.New("a bound is negative")
	case len(d.Given.Roots) > roots.MaxRoots:
		return d, fmt.Errorf("%d roots given, at most %d", len(d.Given.Roots), roots.MaxRoots)
	}
	if d.MaxRead == 0 {
		d.MaxRead = 16 << 20
	}
	if d.MaxEntries == 0 {
		d.MaxEntries = 10_000
	}
	if d.RootsTimeout == 0 {
		d.RootsTimeout = 3 * time.Second
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d, nil
}
