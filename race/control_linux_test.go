//go:build amd64 || arm64

package race

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A control is a server that does what most do: it resolves a path, checks that the
// resulting string is below the root, and then uses the string. Between the two the
// tree may change.
type control struct{ root string }

// serveControl answers the calls on in, all at once, until it ends.
func serveControl(root string, in io.Reader, out io.Writer) error {
	c := control{root}
	var write sync.Mutex
	var calls sync.WaitGroup
	defer calls.Wait()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct {
			ID     *int
			Method string
			Params struct {
				Name      string
				Arguments struct{ Path, Content, Source, Destination string }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		if m.ID == nil {
			continue
		}
		calls.Go(func() {
			var result any = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "serverInfo": map[string]any{"name": "control", "version": "1"}}
			if m.Method == "tools/call" {
				a := m.Params.Arguments
				text, err := "", errors.New("no such tool")
				switch m.Params.Name {
				case "read_text_file":
					text, err = c.read(a.Path)
				case "list_directory":
					text, err = c.list(a.Path)
				case "write_file":
					text, err = "done", c.writeFile(a.Path, a.Content)
				case "move_file":
					text, err = "done", c.move(a.Source, a.Destination)
				}
				if err != nil {
					text = err.Error()
				}
				result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil}
			}
			answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
			if err != nil {
				panic(err) // strings and numbers can always be marshalled
			}
			write.Lock()
			defer write.Unlock()
			_, _ = out.Write(append(answer, '\n')) // a client that has gone ends the input too
		})
	}
	return lines.Err()
}

// check returns what path leads to, if that is in the root.
func (c control) check(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		// What does not exist is going to be made: then its directory counts.
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			real = filepath.Join(real, filepath.Base(path))
		}
	}
	if err != nil {
		return "", errors.New("no such path")
	}
	if !strings.HasPrefix(real, c.root+"/") {
		return "", errors.New("outside")
	}
	return real, nil
}

func (c control) read(path string) (string, error) {
	real, err := c.check(path)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(real)
	return string(data), err
}

func (c control) list(path string) (string, error) {
	real, err := c.check(path)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return "", err
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		kind := "[FILE] "
		if e.IsDir() {
			kind = "[DIR] "
		}
		lines[i] = kind + e.Name()
	}
	return strings.Join(lines, "\n"), nil
}

func (c control) writeFile(path, content string) error {
	real, err := c.check(path)
	if err != nil {
		return err
	}
	return os.WriteFile(real, []byte(content), 0o644)
}

func (c control) move(source, destination string) error {
	from, err := c.check(source)
	if err != nil {
		return err
	}
	to, err := c.check(destination)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s exists", destination)
	}
	return os.Rename(from, to)
}
