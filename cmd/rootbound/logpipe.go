package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A logPipe is a writer that never waits. What starts a server often does not read
// its stderr; when that pipe is full, a server that waits for it answers no more
// calls and does not even end. So lines are queued, up to a bound, and written by
// a goroutine; what does not fit is dropped, and counted in a line of its own.
type logPipe struct {
	w    io.Writer
	json bool          // the form of the lines, and so of the one that counts the dropped
	wake chan struct{} // there is something to write, or the end has come
	done chan struct{}

	mu      sync.Mutex
	queued  []byte
	dropped int
	closed  bool
}

// logQueue bounds what is queued, in bytes.
const logQueue = 256 << 10

func newLogPipe(w io.Writer, json bool) *logPipe {
	p := &logPipe{w: w, json: json, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go p.run()
	return p
}

// Write queues one line, as loggers of package slog write them.
func (p *logPipe) Write(line []byte) (int, error) {
	p.mu.Lock()
	switch {
	case p.closed: // the program is ending
	case len(p.queued)+len(line) > logQueue:
		p.dropped++
	default:
		p.queued = append(p.queued, line...)
	}
	p.mu.Unlock()
	p.signal()
	return len(line), nil
}

func (p *logPipe) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *logPipe) run() {
	defer close(p.done)
	var lines []byte
	for range p.wake {
		p.mu.Lock()
		lines, p.queued = p.queued, lines[:0]
		dropped, closed := p.dropped, p.closed
		p.dropped = 0
		p.mu.Unlock()
		if dropped > 0 {
			lines = fmt.Appendf(lines, p.form(), dropped)
		}
		if len(lines) > 0 {
			_, _ = p.w.Write(lines) // nobody is left to tell
		}
		if closed {
			return
		}
	}
}

// form returns the line that counts what was dropped.
func (p *logPipe) form() string {
	if p.json {
		return `{"level":"WARN","msg":"log lines were dropped, because nobody reads them","count":%d}` + "\n"
	}
	return "level=WARN msg=\"log lines were dropped, because nobody reads them\" count=%d\n"
}

// Close writes what is queued, but waits only a moment for a reader.
func (p *logPipe) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.signal()
	select {
	case <-p.done:
	case <-time.After(200 * time.Millisecond):
	}
	return nil
}
