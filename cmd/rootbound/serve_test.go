package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// What starts a server often does not read its stderr. Every refusal is a line
// there; the server must go on, and end with its input.
func TestServeWhereNobodyReadsTheLog(t *testing.T) {
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	inr, inw := pipe()
	outr, outw := pipe()
	_, errw := pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(t.Context(), []string{"serve", t.TempDir()}, inr, outw, errw)
		outw.Close()
	}()
	fail := time.AfterFunc(time.Minute, func() { outr.Close() })
	defer fail.Stop()
	lines := bufio.NewReader(outr)
	call := func(line string) []byte {
		if _, err := io.WriteString(inw, line+"\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		return answer
	}
	call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	for i := range 2000 {
		answer := call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"/outside/of/all/the/roots"}}}`, i+1))
		if !bytes.Contains(answer, []byte("outside_roots")) {
			t.Fatalf("call %d: %.300s", i, answer)
		}
	}
	inw.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not end with its input")
	}
}
