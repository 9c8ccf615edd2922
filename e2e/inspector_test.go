package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/testenv"
)

const inspector = "clients/node_modules/@modelcontextprotocol/inspector/clients"

// An inspection is the MCP Inspector with a configuration of its own, in which
// the server fs is rootbound serve, and the client's roots are $DIR/a.
type inspection struct {
	t      *testing.T
	tree   string
	config string
	env    []string
}

func inspect(t *testing.T) inspection {
	testenv.Require(t, "node", haveNode(), "needs node and what clients/install installs")
	tree := newTree(t)
	config := filepath.Join(t.TempDir(), "mcp.json")
	text := encode(map[string]any{"mcpServers": map[string]any{"fs": map[string]any{
		"type": "stdio", "command": rootbound, "args": []string{"serve"}, "roots": listing("a").Roots,
	}}})
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(text, "$DIR", tree)), 0o666); err != nil {
		t.Fatal(err)
	}
	// It keeps files at home, and would use the keychain of whoever runs the test.
	env := append(os.Environ(), "HOME="+t.TempDir(), "MCP_INSPECTOR_SECRET_STORE=memory", "NO_COLOR=1")
	return inspection{t, tree, config, env}
}

// run runs a program of the inspector and returns its output and exit status.
func (in inspection) run(program string, args ...string) (out string, status int) {
	in.t.Helper()
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "$DIR", in.tree)
	}
	cmd := exec.CommandContext(in.t.Context(), "node", append([]string{filepath.Join(inspector, program)}, args...)...)
	cmd.Env = in.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() {
		if in.t.Failed() {
			in.t.Logf("%s %q: %v\n%s%s", program, args, err, raw, &stderr)
		}
	})
	return strings.ReplaceAll(string(raw), in.tree, "$DIR"), cmd.ProcessState.ExitCode()
}

// These are the exit statuses of the inspector.
const (
	exitOK        = 0
	exitToolError = 5 // the result has isError
)

// toolResult returns the outcome in the JSON of a tool's result.
func (in inspection) toolResult(text string) (got outcome) {
	in.t.Helper()
	var result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal([]byte(text), &result); err != nil || len(result.Content) == 0 {
		in.t.Fatalf("no result (%v): %s", err, text)
	}
	return outcome{Text: result.Content[0].Text, Structured: result.StructuredContent, IsError: result.IsError, Meta: result.Meta}
}

// The inspector's command line lists and calls tools, in both eras.
func TestInspectorCLI(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			in := inspect(t)
			cli := func(args ...string) (result string, status int) {
				t.Helper()
				out, status := in.run("launcher/build/index.js", append([]string{
					"--cli", "--config", in.config, "--server", "fs", "--protocol-era", era, "--format", "json", "-q",
				}, args...)...)
				var envelope struct{ Result json.RawMessage }
				if err := json.Unmarshal([]byte(out), &envelope); err != nil {
					t.Errorf("output %q: %v", out, err)
				}
				return string(envelope.Result), status
			}

			// Strict: exit 6 for a schema that some model provider would not take.
			out, status := cli("--method", "tools/list", "--strict")
			var list struct{ Tools []struct{ Name string } }
			if err := json.Unmarshal([]byte(out), &list); err != nil || status != exitOK {
				t.Errorf("tools/list: exit status %d, %v", status, err)
			}
			var got outcome
			for _, tool := range list.Tools {
				got.Tools = append(got.Tools, tool.Name)
			}
			lists("read_text_file", "list_directory", "write_file", "move_file", "list_allowed_directories").check(t, got)

			for _, tt := range []struct {
				step
				status int
			}{
				{reads("a/f"), exitOK},
				{refuses("b/f", "outside_roots"), exitToolError},
				{call("write_file", map[string]string{"path": "$DIR/a/new", "content": "x"}, "Successfully wrote to $DIR/a/new"), exitOK},
				{refused("write_file", map[string]string{"path": "$DIR/b/new", "content": "x"}, "outside_roots"), exitToolError},
			} {
				out, status := cli("--method", "tools/call", "--tool-name", tt.Tool, "--tool-args-json", encode(tt.Args))
				if status != tt.status {
					t.Errorf("exit status %d, want %d", status, tt.status)
				}
				tt.check(t, in.toolResult(out))
			}
		})
	}
}

// The inspector keeps a connection open, and its roots change meanwhile.
func TestInspectorConnection(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			in := inspect(t)
			// The daemon listens on a socket there, whose path must be short. See unix(7).
			dir, err := os.MkdirTemp("", "mcpdo")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			in.env = append(in.env, "MCP_INSPECTOR_DAEMON_DIR="+dir, "MCP_INSPECTOR_DAEMON_TOKEN=of-this-test")
			mcpdo := func(args ...string) (string, int) {
				t.Helper()
				return in.run("mcpdo/build/mcp-bin.js", append([]string{"--config", in.config, "--format", "json"}, args...)...)
			}
			run := func(args ...string) {
				t.Helper()
				if out, status := mcpdo(args...); status != exitOK {
					t.Errorf("%q: exit status %d: %s", args, status, out)
				}
			}
			play := func(steps ...step) {
				t.Helper()
				for _, s := range steps {
					out, status := mcpdo("--connection", "fs", "tools/call", s.Tool, encode(s.Args))
					got := in.toolResult(out)
					if want := map[bool]int{false: exitOK, true: exitToolError}[got.IsError]; status != want {
						t.Errorf("exit status %d, want %d", status, want)
					}
					s.check(t, got)
				}
			}
			run("connect", "fs", "--era", era)
			defer run("daemon", "stop")
			play(reads("a/f"), refuses("b/f", "outside_roots"))
			run("--connection", "fs", "roots/set", "--roots-json", encode(listing("b").Roots))
			play(refuses("a/f", "outside_roots"), reads("b/f"))
			run("--connection", "fs", "roots/set", "--roots-json", "[]")
			play(refuses("b/f", "no_roots"))
			run("disconnect", "fs")
		})
	}
}
