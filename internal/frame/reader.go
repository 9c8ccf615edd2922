package frame

import (
	"bytes"
	"io"
	"strconv"
)

// DefaultMax is the longest line, in bytes without its line end, that a
// [Reader] returns by default: 64 MiB.
const DefaultMax = 64 << 20

const (
	// firstBuffer is as much as a pipe holds, so that one read empties it.
	firstBuffer = 64 << 10
	// head is how much of a line that is too long is kept, to look for its id.
	head = 4 << 10
	// keptBuffer is the largest buffer that is kept for ordinary lines, and
	// quietLines the number of those after which a larger one is given up.
	keptBuffer = 1 << 20
	quietLines = 64
)

// Reader splits a stream into lines. It needs no more memory than the longest
// line it returns; what is longer is dropped as it arrives. A Reader is for
// one goroutine.
type Reader struct {
	r          io.Reader
	max        int
	buf        []byte
	start, end int // buf[start:end] is read and not returned
	err        error
	quiet      int // short lines since the last long one
}

// mostMax is the largest bound of a Reader, in bytes.
const mostMax = 1 << 30

// NewReader returns a Reader of lines of at most max bytes, 1 GiB at most; 0 means
// [DefaultMax].
func NewReader(r io.Reader, max int) *Reader {
	switch {
	case max <= 0:
		max = DefaultMax
	case max > mostMax:
		max = mostMax
	}
	return &Reader{r: r, max: max}
}

// Next returns the next line with its line end, skipping blank ones. The last
// line needs no line end. The line is valid until the next call.
//
// The error is an [*Error] if the line was too long: it has been dropped, and
// the next call returns the line after it. Any other error is the stream's
// own, [io.EOF] at its end, and comes again from every later call.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.next()
		if err != nil || skipSpace(line, 0) != len(line) {
			return line, err
		}
	}
}

func (r *Reader) next() ([]byte, error) {
	r.shrink()
	searched := r.start
	for {
		if i := bytes.IndexByte(r.buf[searched:r.end], '\n'); i >= 0 {
			line := r.buf[r.start : searched+i+1]
			if len(line)-1 > r.max && len(bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))) > r.max {
				r.start += len(line)
				return nil, tooLong(line[:min(head, len(line))], r.max)
			}
			r.start += len(line)
			r.count(len(line))
			return line, nil
		}
		if r.err != nil {
			line := r.buf[r.start:r.end]
			r.start = r.end
			if len(line) > r.max {
				return nil, tooLong(line[:min(head, len(line))], r.max)
			}
			if len(line) > 0 {
				return line, nil
			}
			return nil, r.err
		}
		// One more byte than max may be a carriage return before the line feed.
		if r.end-r.start > r.max+1 {
			return nil, r.discard()
		}
		searched = r.end - r.start
		r.grow()
		searched += r.start
		r.fill()
	}
}

// grow makes room for reading behind what is there.
func (r *Reader) grow() {
	n := r.end - r.start
	switch {
	case n == 0:
		r.start, r.end = 0, 0
		if r.buf == nil {
			r.buf = make([]byte, min(firstBuffer, r.max+2))
		}
	case r.end < len(r.buf):
	case r.start > 0 && n <= len(r.buf)/2:
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, n
	default:
		larger := make([]byte, min(2*len(r.buf), r.max+2))
		if len(larger) <= n {
			larger = make([]byte, n+2)
		}
		copy(larger, r.buf[r.start:r.end])
		r.buf, r.start, r.end = larger, 0, n
	}
}

// fill reads once.
func (r *Reader) fill() {
	// io.Reader allows a read of nothing; give up on a reader that only does
	// that, as bufio does.
	for range 100 {
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// discard drops the rest of a line that is too long.
func (r *Reader) discard() error {
	var kept [head]byte
	front := kept[:copy(kept[:], r.buf[r.start:r.end])]
	for {
		r.start, r.end = 0, 0
		r.fill()
		if i := bytes.IndexByte(r.buf[:r.end], '\n'); i >= 0 {
			r.start = i + 1
			break
		}
		if r.err != nil {
			r.end = 0
			break
		}
	}
	r.quiet = quietLines // such a client may never send another long line
	return tooLong(front, r.max)
}

func tooLong(front []byte, limit int) *Error {
	bad := refuse(bytes.Clone(front), invalid("the line is longer than "+strconv.Itoa(limit)+" bytes"))
	return bad
}

// count notes the length of a line, for shrink.
func (r *Reader) count(n int) {
	if n > keptBuffer {
		r.quiet = 0
	} else {
		r.quiet++
	}
}

// shrink gives a large buffer up when it has not been needed for a while.
func (r *Reader) shrink() {
	if len(r.buf) <= keptBuffer || r.quiet < quietLines || r.end-r.start > firstBuffer/2 {
		return
	}
	smaller := make([]byte, firstBuffer)
	n := copy(smaller, r.buf[r.start:r.end])
	r.buf, r.start, r.end = smaller, 0, n
}
