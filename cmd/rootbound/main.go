// Command rootbound turns MCP roots into filesystem boundaries.
//
//	rootbound serve ~/app --ro ~/lib    a filesystem MCP server that stays in its roots
//	rootbound demo                      the whole story in under a minute, on a scratch workspace
//
// Run "rootbound help" for the commands and "rootbound help serve" for one of them.
//
// # Limits
//
// The boundary is for file names. What a program does that runs as the same user
// is not this command's business; see SECURITY.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/internal/probe"
)

// Version is set by packagers; otherwise the module's version is reported.
var Version = ""

// A usageError is a mistake in the command line. Exit status 2.
type usageError string

func (e usageError) Error() string { return string(e) }

// ExitCode is the exit status of a usage error.
func (usageError) ExitCode() int { return 2 }

// A hintError adds advice to an error. The advice is printed on its own line.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

func main() {
	if ran, err := probe.AttackMain(os.Args[1:], os.Stdin, os.Stdout); ran { // started by demo
		os.Exit(report(os.Stderr, err))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	// A client that is gone is seen where its answer is written, not by a signal
	// that would end the process in the middle of another call.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(report(os.Stderr, run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

func run(ctx context.Context, args []string, stdin io.ReadCloser, stdout, stderr io.Writer) error {
	cmd := rootCommand(stdin)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	return cmd.ExecuteContext(ctx)
}

func rootCommand(stdin io.ReadCloser) *cobra.Command {
	root := &cobra.Command{
		Use:   "rootbound",
		Short: "MCP roots are advice; rootbound makes them a boundary",
		Long: "MCP roots are advice; rootbound makes them a boundary.\n\n" +
			"Exit status: 0 ok, 1 problem, 2 usage.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE: func(*cobra.Command, []string) error {
			return &hintError{usageError("no command"), "try rootbound help"}
		},
	}
	root.SetVersionTemplate("rootbound {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &hintError{usageError(err.Error()), "try rootbound help " + c.Name()}
	})
	root.AddCommand(serveCommand(stdin), demoCommand())
	return root
}

// noArguments refuses what is left of a command line.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasParent() {
		return usageError(fmt.Sprintf("%s takes no argument: %q", c.Name(), args[0]))
	}
	return &hintError{usageError(fmt.Sprintf("unknown command %q", args[0])), "try rootbound help"}
}

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// report prints err, and its hint if it has one, and returns the exit status.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(w, "rootbound: error: %v\n", err)
	if h, ok := errors.AsType[*hintError](err); ok {
		fmt.Fprintf(w, "rootbound: hint: %s\n", h.hint)
	}
	if c, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		return c.ExitCode()
	}
	return 1
}
