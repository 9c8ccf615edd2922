package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/internal/testenv"
)

// An sdk is a client in another language that plays scenarios. See
// clients/README.md for what it reads and prints.
type sdk struct {
	name    string
	era     string // legacy or modern
	feature string // as ROOTBOUND_TEST_REQUIRE names it
	command []string
	have    func() bool
}

var sdks = []sdk{
	{"typescript_legacy", "legacy", "node", []string{"node", "clients/typescript.mjs"}, haveNode},
	{"typescript_modern", "modern", "node", []string{"node", "clients/typescript.mjs"}, haveNode},
	{"python_legacy", "legacy", "python", []string{python(), "clients/python.py"}, havePython},
	{"python_modern", "modern", "python", []string{python(), "clients/python.py"}, havePython},
}

func haveNode() bool {
	if _, err := exec.LookPath("node"); err != nil {
		return false
	}
	return isFile("clients/node_modules/.installed")
}

func havePython() bool { return isFile("clients/venv/.installed") && isFile(python()) }

func python() string {
	if runtime.GOOS == "windows" {
		return `clients\venv\Scripts\python.exe`
	}
	return "clients/venv/bin/python"
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// play runs the client and returns what it saw.
func (c sdk) play(t *testing.T, tree string, sc scenario) []outcome {
	t.Helper()
	input, err := json.Marshal(struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Era     string   `json:"era"`
		Roots   *answer  `json:"roots"`
		Steps   []step   `json:"steps"`
	}{rootbound, append([]string{"serve"}, sc.args...), c.era, sc.roots, sc.steps})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), c.command[0], c.command[1:]...)
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(string(input), "$DIR", tree))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr of client and server:\n%s", &stderr)
		}
	})
	if err != nil {
		t.Errorf("%v: %v", c.command, err)
	}
	if strings.Contains(stderr.String(), "DATA RACE") { // The client does not tell how the server ended.
		t.Error("a data race in the server")
	}
	var outcomes []outcome
	dec := json.NewDecoder(strings.NewReader(strings.ReplaceAll(string(out), tree, "$DIR")))
	for {
		var got outcome
		if err := dec.Decode(&got); errors.Is(err, io.EOF) {
			return outcomes
		} else if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		outcomes = append(outcomes, got)
	}
}

// lists lists the tools, and wants these among them. An SDK client checks
// structured content only for tools that it has listed.
func lists(tools ...string) step {
	return step{Do: "tools", check: func(t *testing.T, got outcome) {
		for _, tool := range tools {
			if !slices.Contains(got.Tools, tool) {
				t.Errorf("no %s in %v", tool, got)
			}
		}
	}}
}

func TestSDK(t *testing.T) {
	tools := lists("read_text_file", "list_directory", "write_file", "move_file", "list_allowed_directories")
	for _, c := range sdks {
		noRoots := func(file string, code int) step {
			if c.era == "modern" {
				return givesUp(file, code)
			}
			return refuses(file, "roots_unavailable")
		}
		scenarios := map[string]scenario{
			"works": {roots: listing("a"), steps: []step{
				tools,
				allowed([]string{"a"}),
				call("list_directory", map[string]string{"path": "$DIR/a"}, "[FILE] f\n[DIR] sub"),
				call("write_file", map[string]string{"path": "$DIR/a/new", "content": "héllo\n"}, "Successfully wrote to $DIR/a/new"),
				call("read_text_file", map[string]string{"path": "$DIR/a/new"}, "héllo\n"),
				call("write_file", map[string]string{"path": "$DIR/a/new", "content": ""}, "Successfully wrote to $DIR/a/new"),
				call("read_text_file", map[string]string{"path": "$DIR/a/new"}, ""),
				call("move_file", map[string]string{"source": "$DIR/a/new", "destination": "$DIR/a/sub/moved"}, "Successfully moved $DIR/a/new to $DIR/a/sub/moved"),
				call("list_directory", map[string]string{"path": "$DIR/a/sub"}, "[FILE] f\n[FILE] moved"),
				call("read_text_file", map[string]string{"path": "file://$DIR/a/f"}, "a/f"),
				call("read_text_file", map[string]string{"path": "sub/f"}, "a/sub/f"),
				refuses("b/f", "outside_roots"),
				refuses("b/missing", "outside_roots"),
				refuses("a/missing", "not_found"),
				refuses("a/sub", "is_a_directory"),
				refused("write_file", map[string]string{"path": "$DIR/b/f", "content": "x"}, "outside_roots"),
				refused("move_file", map[string]string{"source": "$DIR/a/f", "destination": "$DIR/b/g"}, "outside_roots"),
				refused("move_file", map[string]string{"source": "$DIR/b/f", "destination": "$DIR/a/g"}, "outside_roots"),
				refused("list_directory", map[string]string{"path": "$DIR"}, "outside_roots"),
			}},
			"roots": {roots: listing("a"), steps: []step{
				tools,
				reads("a/f"), refuses("b/f", "outside_roots"),
				change(listing("b", "c")), refuses("a/f", "outside_roots"), reads("b/f"), reads("c/f"),
				change(listing()), refuses("b/f", "no_roots"),
				change(failing(-32601)), noRoots("b/f", -32601),
				change(listing("a")), reads("a/f"),
				change(failing(-32603)), noRoots("a/f", -32603),
				change(entries("vscode-remote://wsl%2Bubuntu$DIR/b", "file://$DIR/a", "https://example.com/")),
				reads("a/f"), refuses("b/f", "outside_roots"), allowed([]string{"a"}, "vscode-remote://", "https://example.com/"),
			}},
			"undeclared": {steps: []step{
				tools, asking(0, refuses("a/f", "no_roots")), allowed(nil),
			}},
			"given": {args: []string{"$DIR/a"}, roots: listing("b"), steps: []step{
				tools, reads("a/f"), refuses("b/f", "outside_roots"), change(listing("c")), reads("a/f"), refuses("c/f", "outside_roots"),
			}},
		}
		if c.era == "legacy" { // In the stateless protocol nobody waits: a silent client just does not come back.
			silence := scenario{args: short, roots: silent(), steps: []step{
				tools,
				took(refuses("a/f", "roots_unavailable"), 500*time.Millisecond, 3*time.Second),
				release(listing("a")), asking(1, reads("a/f")), refuses("b/f", "outside_roots"),
				change(silent()), refuses("a/f", "roots_unavailable"),
				change(listing("b")), reads("b/f"),
				release(listing("b")), reads("b/f"), refuses("a/f", "outside_roots"),
			}}
			if c.feature == "node" { // One SDK waits for the deadline that people meet.
				silence.args = nil
				silence.steps[1] = took(refuses("a/f", "roots_unavailable"), 2*time.Second, 5*time.Second)
			}
			scenarios["silence"] = silence
		}
		for name, sc := range scenarios {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				testenv.Require(t, c.feature, c.have(), "needs "+c.feature+" and what clients/install installs")
				t.Parallel()
				sc.check(t, c.play(t, newTree(t), sc))
			})
		}
	}
}
