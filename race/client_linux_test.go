//go:build amd64 || arm64

package race

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// patience is how long a call may take. It is far more than any call needs, so that
// a call which takes longer has been lost.
const patience = 20 * time.Second

// A server is an MCP server in a process of its own, and the client's side of the
// connection to it: raw JSON-RPC, so that every byte of an answer can be judged. It
// is safe for concurrent use.
type server struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr tail
	ended  chan struct{} // closed when stdout is at its end

	write sync.Mutex // held while a line is written

	mu      sync.Mutex
	next    int
	waiting map[int]chan []byte
	broken  error // why no more answers come
}

// An answer is what a tool call came to.
type answer struct {
	line    []byte // as it came over the wire
	text    string
	refused bool
	code    string // of a refusal, if the server gives one
}

// startServer starts a server and shakes hands with it.
func startServer(name string, args ...string) (*server, error) {
	s := &server{cmd: exec.Command(name, args...), ended: make(chan struct{}), waiting: make(map[int]chan []byte)}
	s.cmd.Stderr = &s.stderr
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read(stdout)

	_, err = s.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "race", "version": "1"},
	})
	if err == nil {
		err = s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// stop ends the server in the way a client does, by closing its input. Any other
// end than an orderly one is an error, and being killed for a system call another.
func (s *server) stop() error {
	_ = s.stdin.Close()
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	<-s.ended // Wait closes the pipe and so comes after the last byte
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("server ended with %w: %s", err, s.stderr.String())
	}
	return nil
}

// read hands the answers to those who wait for them.
func (s *server) read(stdout io.Reader) {
	defer close(s.ended)
	err := func() error {
		r := bufio.NewReaderSize(stdout, 1<<16)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("no more answers: %w", err)
			}
			var head struct {
				ID     *int   `json:"id"`
				Method string `json:"method"`
			}
			if err := json.Unmarshal(line, &head); err != nil {
				return fmt.Errorf("answer %q: %w", line, err)
			}
			if head.ID == nil && head.Method != "" {
				continue // a notification
			}
			if head.ID == nil {
				return fmt.Errorf("answer %q has no id", line)
			}
			s.mu.Lock()
			ch, ok := s.waiting[*head.ID]
			delete(s.waiting, *head.ID)
			s.mu.Unlock()
			if !ok {
				return fmt.Errorf("answer %q to no call", line)
			}
			ch <- line
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
	for _, ch := range s.waiting {
		close(ch)
	}
	clear(s.waiting)
}

func (s *server) send(message map[string]any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	_, err = s.stdin.Write(append(line, '\n'))
	return err
}

// request returns the line that answers a request.
func (s *server) request(method string, params any) ([]byte, error) {
	ch := make(chan []byte, 1)
	s.mu.Lock()
	if s.broken != nil {
		s.mu.Unlock()
		return nil, s.broken
	}
	s.next++
	id := s.next
	s.waiting[id] = ch
	s.mu.Unlock()

	if err := s.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, ok := <-ch:
		if !ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			return nil, s.broken
		}
		return line, nil
	case <-timer.C:
		return nil, fmt.Errorf("%s was not answered in %v", method, patience)
	}
}

// call calls a tool. An answer that is no tool result is an error.
func (s *server) call(tool string, args map[string]string) (answer, error) {
	line, err := s.request("tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return answer{}, err
	}
	var m struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
			Meta    struct {
				Refusal struct{ Code string } `json:"rootbound/refusal"`
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return answer{}, fmt.Errorf("answer %q: %w", line, err)
	}
	if m.Result == nil || len(m.Result.Content) != 1 {
		return answer{}, fmt.Errorf("answer %q is no result with one text", line)
	}
	return answer{line, m.Result.Content[0].Text, m.Result.IsError, m.Result.Meta.Refusal.Code}, nil
}

// A tail keeps the last few kilobytes written to it: a server may log every refusal,
// and only what it said before it ended badly is of interest.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if n := len(t.kept) - most; n > 0 {
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}

// failed returns why the server answers no more, or nil.
func (s *server) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}
