package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/internal/stdio"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

type serveFlags struct {
	readOnly    []string
	clientRoots string
	timeout     time.Duration
	reask       time.Duration
	ttl         time.Duration
	maxRead     int64
	maxEntries  int
	maxFrame    int
	maxDepth    int
	maxCalls    int
	noOpenat2   bool
	log         string
	json        bool
	verbose     bool
}

func serveCommand(stdin io.ReadCloser) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve [DIR…]",
		Short: "a filesystem MCP server on stdin and stdout, scoped to roots",
		Long: `serve is a filesystem MCP server on stdin and stdout. Its tools reach the roots of
the session and nothing else.

The roots are the DIRs given, each a directory or a single file, as a path or a
file:// URI. Without any, they are what the client names (roots/list). If neither
names any, there are none: nothing given never means the current directory, the
home directory or everything.`,
		Example: `  rootbound serve ~/app --ro ~/reference      these two, whatever the client says
  rootbound serve                             what the client names, followed as it changes
  rootbound serve ~/work --client-roots narrow  what the client names, inside of ~/work`,
		RunE: func(c *cobra.Command, args []string) error {
			return serve(c.Context(), f, args, stdin, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.readOnly, "ro", nil, "one `DIR` to serve read-only; repeat it for more, what follows without it is writable")
	fs.StringVar(&f.clientRoots, "client-roots", "ignore", "what the client's roots mean beside the DIRs: ignore, narrow, add or replace")
	fs.DurationVar(&f.timeout, "roots-timeout", 3*time.Second, "how long a call waits for the client to name its roots")
	fs.DurationVar(&f.reask, "roots-reask", 30*time.Second, "how long the list of a client counts that does not announce changes")
	fs.DurationVar(&f.ttl, "roots-ttl", 0, "how long a list that came with one request counts for later ones (protocol 2026-07-28)")
	fs.Int64Var(&f.maxRead, "max-read", 16<<20, "the most text one call returns, in `bytes`")
	fs.IntVar(&f.maxEntries, "max-entries", 10_000, "the most entries one listing returns")
	fs.IntVar(&f.maxFrame, "max-frame", 64<<20, "the longest message accepted, in `bytes`")
	fs.IntVar(&f.maxDepth, "max-depth", 512, "how deep a message may nest")
	fs.IntVar(&f.maxCalls, "max-calls", stdio.DefaultMaxCalls, "how many calls may be in flight; more are refused")
	fs.BoolVar(&f.noOpenat2, "no-openat2", false, "resolve paths step by step, without the system call openat2")
	fs.StringVar(&f.log, "log", "text", "log to stderr as text or json")
	fs.BoolVar(&f.json, "json", false, "the same as --log=json")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "log every call, not only refusals and changes")
	return c
}

func serve(ctx context.Context, f serveFlags, dirs []string, stdin io.ReadCloser, stdout, stderr io.Writer) error {
	lines := newLogPipe(stderr, f.json || f.log == "json")
	defer lines.Close()
	log, err := logger(f, lines)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	policy, err := roots.ParsePolicy(f.clientRoots)
	if err != nil {
		return usageError("--client-roots: " + err.Error())
	}
	given, err := given(dirs, f.readOnly)
	if err != nil {
		return err
	}
	for _, r := range given.Roots {
		if why := sensitive(r); why != "" {
			log.Warn("sensitive root", "path", r.Path(), "why", why)
		}
	}
	server, err := mcpfs.New(&mcpfs.Options{
		Given: given, Policy: policy, Guard: sensitive,
		RootsTimeout: f.timeout, RootsReask: f.reask, RootsTTL: f.ttl,
		MaxRead: f.maxRead, MaxEntries: f.maxEntries,
		Files:   rootedfs.Options{NoOpenat2: f.noOpenat2},
		Version: version(),
		Logger:  log,
	})
	if conflict, ok := errors.AsType[*mcpfs.ConflictError](err); ok {
		return &hintError{
			usageError(conflict.Error()),
			"a rename or a link in the outer root would reach the inner one; give them side by side, or both with --ro",
		}
	}
	if err != nil {
		return err
	}
	server.AddReceivingMiddleware(stdio.Recover(log), stdio.Results())
	spareCollections()
	err = stdio.Serve(ctx, server, &stdio.Transport{In: stdin, Out: stdout, MaxFrame: f.maxFrame, MaxDepth: f.maxDepth, MaxCalls: f.maxCalls, Logger: log})
	if errors.Is(err, context.Canceled) {
		return nil // told to end, it ended
	}
	return err
}

// spareCollections lets garbage grow to some 30 MiB before it is collected: a call
// leaves more of it than the server keeps data. The limit keeps the factor from
// counting when large files are read. See docs/rationale.md.
func spareCollections() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(1 << 30)
	}
}

// check refuses numbers that make no sense.
func (f *serveFlags) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int64
	}{
		{"roots-timeout", int64(f.timeout), 1, int64(time.Hour)},
		{"roots-reask", int64(f.reask), 1, math.MaxInt64},
		{"roots-ttl", int64(f.ttl), 0, math.MaxInt64},
		{"max-read", f.maxRead, 1, 1 << 30},
		{"max-entries", int64(f.maxEntries), 1, 1 << 20},
		{"max-frame", int64(f.maxFrame), 1 << 10, 1 << 30},
		{"max-depth", int64(f.maxDepth), 16, 10_000},
		{"max-calls", int64(f.maxCalls), 1, 1 << 16},
	} {
		switch {
		case n.value < n.min:
			return usageError(fmt.Sprintf("--%s is too small: at least %d", n.flag, n.min))
		case n.value > n.max:
			return usageError(fmt.Sprintf("--%s is too large: at most %d", n.flag, n.max))
		}
	}
	return nil
}

func given(dirs, readOnly []string) (roots.Given, error) {
	g := roots.Given{Stated: len(dirs)+len(readOnly) > 0}
	for _, d := range dirs {
		r, err := givenRoot(d, roots.ReadWrite)
		if err != nil {
			return g, err
		}
		g.Roots = append(g.Roots, r)
	}
	for _, d := range readOnly {
		r, err := givenRoot(d, roots.ReadOnly)
		if err != nil {
			return g, err
		}
		g.Roots = append(g.Roots, r)
	}
	if len(g.Roots) > roots.MaxRoots {
		return g, usageError(fmt.Sprintf("%d roots given; at most %d", len(g.Roots), roots.MaxRoots))
	}
	return g, nil
}

func logger(f serveFlags, w io.Writer) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if f.verbose {
		o.Level = slog.LevelDebug
	}
	switch {
	case f.json || f.log == "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	case f.log == "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	}
	return nil, &hintError{usageError(fmt.Sprintf("--log: no such form: %q", f.log)), "text or json"}
}
