//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this is about them.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound/internal/probe"
	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/roots"
)

func demoCommand() *cobra.Command {
	attack := 3 * time.Second
	var noOpenat2 bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "the whole story in under a minute, on a scratch workspace",
		Long: `demo makes a scratch workspace of two projects, starts this program as a server
(rootbound serve), and drives it with a real client in both eras of the protocol:
reads and writes inside the roots, refusals outside of them, a process that swaps a
directory for a link all the while, roots that change, a list that becomes empty.

Exit status 0 says that every step came out as it should.`,
		Example: "  rootbound demo",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			d := &demo{exe: exe, out: c.OutOrStdout(), attack: attack}
			if noOpenat2 {
				d.flags = append(d.flags, "--no-openat2")
			}
			return d.run(c.Context())
		},
	}
	c.Flags().DurationVar(&attack, "attack", attack, "how long the swap attack runs in each era")
	c.Flags().BoolVar(&noOpenat2, "no-openat2", false, "let the server resolve paths without openat2")
	return c
}

// A demo is one run: the workspace, the client, and how its steps came out.
type demo struct {
	exe    string
	flags  []string // further flags of serve
	out    io.Writer
	attack time.Duration

	dir      string // the workspace
	client   *mcp.Client
	session  *mcp.ClientSession
	ok, bad  int
	problems []string
}

const secret = "the secret outside"

var workspace = map[string]string{
	"app/README.md":      "the app\n",
	"app/data/report":    "a report of the app\n",
	"lib/api.go":         "package lib\n",
	"outside/report":     secret + "\n",
	"outside/secret.txt": secret + "\n",
}

func (d *demo) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+2*d.attack)
	defer cancel()
	d.dir, err = os.MkdirTemp("", "rootbound-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	// The temporary directory may be spelt through a link; the roots need not be.
	if d.dir, err = filepath.EvalSymlinks(d.dir); err != nil {
		return err
	}
	start := time.Now()
	fmt.Fprintf(d.out, "a workspace of two projects, app and lib, and a directory outside of them, in %s\n", d.dir)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		if err := d.era(ctx, version); err != nil {
			return fmt.Errorf("protocol %s: %w", version, err)
		}
	}
	fmt.Fprintf(d.out, "\n%d steps came out as they should, %d did not, in %.1f s\n", d.ok, d.bad, time.Since(start).Seconds())
	if d.bad > 0 {
		return fmt.Errorf("%d steps went wrong: %s", d.bad, strings.Join(d.problems, "; "))
	}
	return nil
}

// era runs all steps with one version of the protocol.
func (d *demo) era(ctx context.Context, version string) error {
	for name, content := range workspace {
		name = filepath.Join(d.dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(content), 0o666)); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{
		"app/notes": "../outside/secret.txt",
		"app/lib":   d.path("lib"),
		"app/.data": d.path("outside"),
	} {
		if err := os.Symlink(target, d.path(name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := d.connect(ctx, version); err != nil {
		return err
	}
	defer d.session.Close()

	d.step("read app/README.md", d.call(ctx, "read_text_file", "path", "app/README.md"), "the app")
	d.step("write app/new.txt", d.call(ctx, "write_file", "path", "app/new.txt", "content", "written\n"), "Successfully wrote")
	d.step("read it back", d.call(ctx, "read_text_file", "path", "app/new.txt"), "written")
	d.step("list app", d.call(ctx, "list_directory", "path", "app"), "[FILE] new.txt")
	d.step("follow a link from app into lib", d.call(ctx, "read_text_file", "path", "app/lib/api.go"), "package lib")
	d.step("read outside", d.call(ctx, "read_text_file", "path", "outside/secret.txt"), "outside_roots")
	d.step("read outside by ..", d.call(ctx, "read_text_file", "path", "app/../outside/secret.txt"), "outside_roots")
	d.step("follow a link that leaves", d.call(ctx, "read_text_file", "path", "app/notes"), "outside_roots")
	d.step("write through the link", d.call(ctx, "write_file", "path", "app/notes", "content", "overwritten"), "outside_roots")
	if err := d.underAttack(ctx); err != nil {
		return err
	}

	fmt.Fprintln(d.out, "  the client removes lib from its roots")
	d.client.RemoveRoots(d.uri("lib"))
	d.step("read lib/api.go", d.call(ctx, "read_text_file", "path", "lib/api.go"), "outside_roots")
	d.step("the same by the link", d.call(ctx, "read_text_file", "path", "app/lib/api.go"), "outside_roots")
	fmt.Fprintln(d.out, "  the client adds lib again")
	d.client.AddRoots(&mcp.Root{URI: d.uri("lib"), Name: "lib"})
	d.step("read lib/api.go", d.call(ctx, "read_text_file", "path", "lib/api.go"), "package lib")
	fmt.Fprintln(d.out, "  the client's list becomes empty")
	d.client.RemoveRoots(d.uri("lib"), d.uri("app"))
	d.step("read app/README.md", d.call(ctx, "read_text_file", "path", "app/README.md"), "no_roots")

	b, err := os.ReadFile(d.path("outside/secret.txt"))
	d.check("the file outside is as it was", err == nil && string(b) == secret+"\n", "")
	return nil
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *demo) uri(name string) string {
	u, err := roots.FileURI(d.path(name))
	if err != nil {
		panic(err) // the path is absolute
	}
	return u.String()
}

func (d *demo) connect(ctx context.Context, version string) error {
	d.client = mcp.NewClient(&mcp.Implementation{Name: "rootbound-demo", Version: "1"}, nil)
	d.client.AddRoots(&mcp.Root{URI: d.uri("app"), Name: "app"}, &mcp.Root{URI: d.uri("lib"), Name: "lib"})
	cmd := exec.CommandContext(ctx, d.exe, append([]string{"serve"}, d.flags...)...)
	session, err := d.client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return err
	}
	d.session = session
	fmt.Fprintf(d.out, "\nprotocol %s: rootbound serve, and a client whose roots are app and lib\n", version)
	return nil
}

// An answer is what came of a call: the text, and the refusal's code if it is one.
type answer struct {
	text, code string
	err        error
}

func (d *demo) call(ctx context.Context, tool string, arguments ...string) answer {
	args := map[string]any{}
	for i := 0; i < len(arguments); i += 2 {
		args[arguments[i]] = arguments[i+1]
		if arguments[i] == "path" {
			args["path"] = d.dir + "/" + arguments[i+1]
		}
	}
	res, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return answer{err: err}
	}
	var a answer
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			a.text += t.Text
		}
	}
	if res.IsError {
		a.code = "error"
		if r, ok := res.Meta[mcpfs.RefusalKey].(map[string]any); ok {
			a.code, _ = r["code"].(string)
		}
	}
	return a
}

// step shows a call and its answer. want is a refusal's code, or a part of the text.
func (d *demo) step(what string, a answer, want string) {
	text := strings.ReplaceAll(strings.TrimSpace(a.text), "\n", " ⏎ ")
	switch {
	case a.err != nil:
		d.check(what, false, a.err.Error())
	case a.code != "":
		d.check(what, a.code == want, text)
	default:
		d.check(what, strings.Contains(a.text, want) && !strings.Contains(a.text, secret), text)
	}
}

func (d *demo) check(what string, ok bool, detail string) {
	mark := "ok    "
	if ok {
		d.ok++
	} else {
		d.bad++
		mark = "WRONG "
		d.problems = append(d.problems, what)
	}
	fmt.Fprintf(d.out, "  %s %s\n", mark, what)
	if detail != "" {
		fmt.Fprintf(d.out, "           %s\n", strings.ReplaceAll(detail, d.dir, "…"))
	}
}

// underAttack reads a file again and again while another process swaps its
// directory for a link to the directory outside. Either answer is right, the
// file's own content or a refusal, and only if both came was anything proved.
func (d *demo) underAttack(ctx context.Context) error {
	swapper, err := probe.StartSwapper(ctx, d.exe, probe.Swap{Dir: d.path("app"), Name: "data", Spare: ".data"})
	if err != nil {
		return err
	}
	var inside, refused, escaped, other int
	for end := time.Now().Add(d.attack); time.Now().Before(end) && ctx.Err() == nil; {
		switch a := d.call(ctx, "read_text_file", "path", "app/data/report"); {
		case strings.Contains(a.text, secret):
			escaped++
		case a.code == "outside_roots":
			refused++
		case a.code == "" && a.err == nil && strings.Contains(a.text, "a report of the app"):
			inside++
		default:
			other++
		}
	}
	report, err := swapper.Stop()
	if err != nil {
		return err
	}
	d.check(
		fmt.Sprintf("%d reads while another process swapped their directory for a link to the outside %d times", inside+refused+escaped+other, report.Swaps),
		escaped == 0 && other == 0 && inside > 0 && refused > 0 && report.Swaps > 0,
		fmt.Sprintf("%d read the file inside, %d were refused, %d read the file outside", inside, refused, escaped),
	)
	return nil
}
