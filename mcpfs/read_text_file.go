package mcpfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/rootedfs"
)

var readTextFile = tool{
	name:  "read_text_file",
	title: "Read Text File",
	description: "Read a text file. Without head or tail the whole file is returned; with one of them, that many lines " +
		"from its beginning or its end. The file must be UTF-8. Only paths under the roots are readable.",
	input: `"properties":{"path":{"type":"string","description":"absolute path, file:// URI, or path relative to the only root"},` +
		`"tail":{"type":"number","description":"If provided, returns only the last N lines of the file"},` +
		`"head":{"type":"number","description":"If provided, returns only the first N lines of the file"}},"required":["path"]`,
	annotations: mcp.ToolAnnotations{ReadOnlyHint: true},
	call: func(_ context.Context, s *server, c *call) *mcp.CallToolResult {
		var args struct {
			Path *string  `json:"path"`
			Head *float64 `json:"head"`
			Tail *float64 `json:"tail"`
		}
		if bad := c.decode(&args); bad != nil {
			return bad
		}
		arg, bad := c.required("path", args.Path)
		if bad != nil {
			return bad
		}
		c.subject = arg
		head, ok1 := lines(args.Head)
		tail, ok2 := lines(args.Tail)
		switch {
		case !ok1 || !ok2:
			return invalidArguments(c.tool, "head and tail are whole numbers of lines, 1 or more")
		case head > 0 && tail > 0:
			return invalidArguments(c.tool, "give head or tail, not both")
		}
		path, err := c.path(arg)
		if err != nil {
			return c.fail("/path", arg, err)
		}
		f, err := c.fs.OpenRead(path)
		if err != nil {
			return c.fail("/path", arg, err)
		}
		defer f.Close()
		var data []byte
		switch {
		case head > 0:
			data, err = readHead(f, head, s.opts.MaxRead)
		case tail > 0:
			data, err = readTail(f, tail, s.opts.MaxRead)
		default:
			data, err = readWhole(f, s.opts.MaxRead)
		}
		if err != nil {
			return c.fail("/path", arg, err)
		}
		switch {
		case !utf8.Valid(data):
			return c.fail("/path", arg, errNotText)
		case tooLong(data):
			return c.fail("/path", arg, rootedfs.ErrTooLarge)
		}
		return text(string(data))
	},
}

// maxResult bounds a result as it is sent, in bytes. The text is in it twice.
const maxResult = 40 << 20

// tooLong reports whether a text would make a result longer than maxResult. As
// JSON, a control character takes six bytes.
func tooLong(text []byte) bool {
	const most = maxResult / 2
	if len(text) <= most/6 {
		return false
	}
	n := len(text)
	for _, c := range text {
		switch {
		case c == '\n', c == '\r', c == '\t', c == '"', c == '\\':
			n++
		case c < ' ':
			n += 5
		}
	}
	return n > most
}

var errNotText = &refusalError{
	codeNotText, "it is not UTF-8 text",
	"read it with a tool for its format; its bytes would be lost as text",
}

// lines reads a number of lines. As with the reference server, 0 is the same as
// not given. A number beyond any file is as good as the largest.
func lines(n *float64) (int64, bool) {
	switch {
	case n == nil:
		return 0, true
	case *n < 0 || *n != math.Trunc(*n):
		return 0, false
	case *n > math.MaxInt32:
		return math.MaxInt32, true
	}
	return int64(*n), true
}

// readWhole reads a file of at most limit bytes. A file that grows meanwhile is
// read to where its end is found, within the limit.
func readWhole(f rootedfs.File, limit int64) ([]byte, error) {
	size := f.Size()
	if size > limit {
		return nil, rootedfs.ErrTooLarge
	}
	// One byte more than the size shows the end of the file without another round.
	buf := make([]byte, 0, size+1)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, rootedfs.ErrTooLarge
		case errors.Is(err, io.EOF), err == nil && int64(len(buf)) == size:
			// A read that stops short of the byte more has met the end, too.
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// chunk is how much of a file is looked at in one read when looking for lines.
const chunk = 64 << 10

// readHead returns the first n lines, without the last one's line ending.
func readHead(f rootedfs.File, n, limit int64) ([]byte, error) {
	var out []byte
	buf := make([]byte, chunk)
	for {
		m, err := f.Read(buf)
		for part := buf[:m]; len(part) > 0; {
			i := bytes.IndexByte(part, '\n')
			if i < 0 {
				out = append(out, part...)
				break
			}
			out = append(out, part[:i+1]...)
			part = part[i+1:]
			if n--; n == 0 {
				part, err = nil, io.EOF
			}
		}
		switch {
		case int64(len(out)) > limit+1:
			return nil, rootedfs.ErrTooLarge
		case errors.Is(err, io.EOF):
			out = bytes.TrimSuffix(out, []byte("\n"))
			if int64(len(out)) > limit {
				return nil, rootedfs.ErrTooLarge
			}
			return out, nil
		case err != nil:
			return nil, err
		}
	}
}

// readTail returns the last n lines, without the last one's line ending. It reads
// from the end, so that the time depends on the lines and not on the file.
func readTail(f rootedfs.File, n, limit int64) ([]byte, error) {
	// blocks holds the tail of the file, the last block first.
	var blocks [][]byte
	end, total := f.Size(), int64(0)
	for first := true; end > 0; first = false {
		if total > limit {
			return nil, rootedfs.ErrTooLarge
		}
		block := make([]byte, min(chunk, end))
		m, err := f.ReadAt(block, end-int64(len(block)))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if m < len(block) {
			// The file was cut short meanwhile; what is there now is its end.
			block = block[:m]
		}
		end -= int64(max(len(block), 1))
		scan := block
		if first {
			scan = bytes.TrimSuffix(block, []byte("\n")) // it ends the last line and begins none
			block = scan
		}
		for len(scan) > 0 {
			i := bytes.LastIndexByte(scan, '\n')
			if i < 0 {
				break
			}
			if n--; n == 0 {
				block = block[i+1:]
				end = 0
				break
			}
			scan = scan[:i]
		}
		blocks = append(blocks, block)
		total += int64(len(block))
	}
	if total > limit {
		return nil, rootedfs.ErrTooLarge
	}
	out := make([]byte, 0, total)
	for i := len(blocks) - 1; i >= 0; i-- {
		out = append(out, blocks[i]...)
	}
	return out, nil
}
