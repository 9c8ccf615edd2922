package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestLogPipeKeepsOrder(t *testing.T) {
	var b bytes.Buffer
	p := newLogPipe(&b, false)
	for range 100 {
		io.WriteString(p, "a line\n")
	}
	p.Close()
	if got := b.String(); got != strings.Repeat("a line\n", 100) {
		t.Errorf("%d bytes came out: %.60q", len(got), got)
	}
}

// Nobody reads the other end until the very last.
func TestLogPipeNeverWaits(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := newLogPipe(w, true)
	line := strings.Repeat("x", 999) + "\n"
	start := time.Now()
	for range 10_000 {
		io.WriteString(p, line)
	}
	p.Close()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("writing 10 MB that nobody reads took %v", took)
	}
	go func() {
		<-p.done
		w.Close()
	}()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 2*logQueue || !bytes.Contains(b, []byte("log lines were dropped")) {
		t.Errorf("%d bytes came out, of what must be bounded", len(b))
	}
}
