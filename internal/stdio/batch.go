package stdio

import (
	"bytes"

	"github.com/rootbound/rootbound/internal/frame"
)

// batch collects the answers to the calls of one batch, which go back in one
// array when all are there. link.mu guards it.
type batch struct {
	open    int    // calls without an answer, and one while the batch is read
	answers []byte // each with a comma before it
}

// receiveBatch handles a line that is an array. Only in a session of version
// 2025-03-26 is that a batch; elsewhere it is refused with the error that the
// parser gave.
func (l *link) receiveBatch(line []byte, refusal *frame.Error) {
	l.mu.Lock()
	version := l.version
	l.mu.Unlock()
	if version != versionBatches {
		l.refuse(refusal, "", len(line), nil)
		return
	}
	elements, bad := frame.Elements(line, l.limits)
	if bad != nil {
		l.refuse(bad, "", len(line), nil)
		return
	}
	b := &batch{open: 1}
	for _, e := range elements {
		f, bad := frame.Parse(e, l.limits)
		switch {
		case bad != nil:
		case f.Kind == frame.Call && f.Method == methodInitialize:
			bad = &frame.Error{Message: "initialize must not be in a batch"}
		case f.Version >= versionModern:
			bad = &frame.Error{Message: "version " + versionModern + " has no batches"}
		}
		if bad == nil {
			l.deliver(&f, b)
			continue
		}
		if bad.Code == 0 {
			bad.Code, bad.Kind, bad.ID = frame.CodeInvalid, f.Kind, f.ID
		}
		l.refuse(bad, f.Method, len(e), b)
	}
	l.release(b, nil)
}

// release counts one call of a batch as done, with its answer, if any, and
// writes the batch's answer if it was the last.
func (l *link) release(b *batch, answer []byte) error {
	l.mu.Lock()
	if len(answer) > 0 {
		b.answers = append(append(b.answers, ','), answer...)
	}
	b.open--
	if b.open > 0 || len(b.answers) == 0 {
		l.mu.Unlock()
		return nil
	}
	line := bytes.Join([][]byte{[]byte("["), b.answers[1:], []byte("]\n")}, nil)
	l.mu.Unlock()
	return l.write(line)
}
