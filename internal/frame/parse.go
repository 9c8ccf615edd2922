package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// parser walks one line. It is pooled, because a decoder's bookkeeping is the
// only thing a good message would otherwise allocate.
type parser struct {
	line  []byte
	buf   bytes.Buffer
	dec   jsontext.Decoder
	names []name // of the objects that are open and whose names are compared
	depth int    // how deep a value may nest
	// deep is set if the line has more brackets than depth allows levels, so
	// that values must be walked token by token to count their nesting.
	deep bool
	// folded holds the folded names of open objects with many, by where their
	// names begin.
	folded map[int]map[string]struct{}
	// version is what _meta said.
	version string
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// pooled is the largest line, in bytes, whose parser keeps its reference to it
// until the next use: an idle pool must not hold on to megabytes.
const pooled = 64 << 10

func newParser(line []byte, lim Limits) *parser {
	p := parsers.Get().(*parser)
	p.line = line
	// A decoder that reads from a bytes.Buffer works in place: the values it
	// returns are parts of line.
	p.buf = *bytes.NewBuffer(line)
	p.dec.Reset(&p.buf)
	p.names = p.names[:0]
	p.version = ""
	p.depth = lim.depth()
	// Nesting cannot be deeper than there are opening brackets, and counting
	// those is far cheaper than following them.
	p.deep = bytes.Count(line, openObject)+bytes.Count(line, openArray) > p.depth
	return p
}

var openObject, openArray = []byte("{"), []byte("[")

func (p *parser) free() {
	if len(p.line) > pooled {
		p.buf = bytes.Buffer{}
		p.dec.Reset(&p.buf)
		clear(p.names[:cap(p.names)])
	}
	p.line = nil
	clear(p.folded)
	parsers.Put(p)
}

// Parse reads one line, with or without its line feed or CR LF. On success the
// error is nil. Parse keeps no reference to line and never changes it, and may
// be called from many goroutines.
func Parse(line []byte, lim Limits) (Frame, *Error) {
	body, bad := trim(line)
	if bad != nil {
		return Frame{}, refuse(body, bad)
	}
	if i := skipSpace(body, 0); i < len(body) && body[i] == '[' {
		bad := invalid("batches are not accepted here")
		bad.Batch = true
		return Frame{}, refuse(body, bad)
	}
	p := newParser(body, lim)
	f, bad := p.envelope()
	p.free()
	if bad != nil {
		return Frame{}, refuse(body, bad)
	}
	return f, nil
}

// trim takes the line's end off and refuses line breaks within it. A reader
// with universal newlines, such as Python's text mode, ends a line at any
// carriage return: what is one harmless message here would be several there.
func trim(line []byte) ([]byte, *Error) {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
	}
	if i := bytes.IndexByte(line, '\r'); i >= 0 {
		return line, parseError("a carriage return inside the line", int64(i))
	}
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		return line, parseError("a line feed inside the line", int64(i))
	}
	return line, nil
}

// The names of a message's members.
var envelopeNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}

func (p *parser) envelope() (Frame, *Error) {
	var (
		f                          Frame
		version, id, method        []byte
		params, result, errorValue []byte
		bad                        *Error // the first fault of the shape; faults of the JSON come first
	)
	note := func(e *Error) {
		if bad == nil {
			bad = e
		}
	}
	if err := p.open('{', "a message must be one JSON object"); err != nil {
		return f, err
	}
	base := len(p.names)
	for p.dec.PeekKind() != '}' {
		member, err := p.name(base, envelopeNames)
		if err != nil {
			return f, err
		}
		var v []byte
		if string(member) == "params" && p.dec.PeekKind() == '{' {
			v, err = p.object(nil, readParam)
		} else {
			v, err = p.value()
		}
		if err != nil {
			return f, err
		}
		switch string(member) {
		case "jsonrpc":
			version = v
		case "id":
			id = v
		case "method":
			method = v
		case "params":
			params = v
		case "result":
			result = v
		case "error":
			errorValue = v
		}
	}
	if err := p.close(base); err != nil {
		return f, err
	}
	if _, err := p.dec.ReadToken(); err == nil {
		return f, parseError("more than one value on the line", p.dec.InputOffset())
	} else if !errors.Is(err, io.EOF) {
		return f, p.syntax(err)
	}

	if !text(version, "2.0") {
		note(invalid(`jsonrpc must be "2.0"`))
	}
	if method != nil {
		f.Params, f.Version = params, p.version
		switch {
		case method[0] != '"':
			note(invalid("method must be a string"))
		case result != nil || errorValue != nil:
			note(invalid("a request must not have a result or an error"))
		case params != nil && params[0] != '{':
			note(invalid("params must be an object"))
		case id != nil && !integerOrString(id):
			note(invalid("id must be a string or an integer"))
		default:
			f.Method = intern(method)
		}
		f.Kind, f.ID = Call, id
		if id == nil {
			f.Kind = Notification
		}
		return f, bad
	}

	f.Kind = Response
	if null(result) && errorValue != nil && !null(errorValue) {
		result = nil
	}
	if null(errorValue) && result != nil {
		errorValue = nil
	}
	f.ID, f.Result, f.Error = id, result, errorValue
	switch {
	case result == nil && errorValue == nil:
		note(invalid("neither a method nor a result nor an error"))
	case result != nil && errorValue != nil:
		note(invalid("a response must not have both a result and an error"))
	case params != nil:
		note(invalid("a response must not have params"))
	case errorValue != nil && errorValue[0] != '{':
		note(invalid("error must be an object"))
	case null(id) && errorValue != nil:
		f.ID = nil
	case id == nil && errorValue != nil:
	case id == nil || !integerOrString(id):
		note(invalid("id must be a string or an integer"))
	}
	return f, bad
}

// open reads the start of an object or array.
func (p *parser) open(kind jsontext.Kind, otherwise string) *Error {
	if k := p.dec.PeekKind(); k != kind && k != jsontext.KindInvalid {
		return invalid(otherwise)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	if p.dec.StackDepth() > p.depth {
		return p.tooDeep()
	}
	return nil
}

// close reads the end of an object or array whose names begin at base.
func (p *parser) close(base int) *Error {
	p.names = p.names[:base]
	if len(p.folded) > 0 {
		delete(p.folded, base)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	return nil
}

// name reads the next name of an object whose names begin at base, and
// compares it with the others and with the known ones.
func (p *parser) name(base int, known []string) ([]byte, *Error) {
	quoted, err := p.dec.ReadValue()
	if err != nil {
		return nil, p.syntax(err)
	}
	text := []byte(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(text, '\\') >= 0 {
		text, err = jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return nil, p.syntax(err)
		}
	}
	if !p.add(base, text) {
		return nil, invalid("two names differ only in letter case")
	}
	for _, k := range known {
		if string(text) == k {
			return text, nil
		}
	}
	for _, k := range known {
		if foldsTo(text, k) {
			return nil, invalid("a known name in another letter case: " + k)
		}
	}
	return text, nil
}

// value reads the next value and returns its bytes.
func (p *parser) value() ([]byte, *Error) {
	kind := p.dec.PeekKind()
	if p.deep && (kind == '{' || kind == '[') {
		start := 0
		for at := p.dec.StackDepth(); ; {
			if _, err := p.dec.ReadToken(); err != nil {
				return nil, p.syntax(err)
			}
			now := p.dec.StackDepth()
			if start == 0 {
				start = int(p.dec.InputOffset()) - 1
			}
			if now > p.depth {
				return nil, p.tooDeep()
			}
			if now == at {
				return p.line[start:p.dec.InputOffset()], nil
			}
		}
	}
	v, err := p.dec.ReadValue()
	if err != nil {
		return nil, p.syntax(err)
	}
	end := int(p.dec.InputOffset())
	return p.line[end-len(v) : end : end], nil
}

// object reads an object, giving each member to read, which must consume the
// value. Its names are compared with each other and with the known ones.
func (p *parser) object(known []string, read func(p *parser, name []byte) *Error) ([]byte, *Error) {
	if err := p.open('{', ""); err != nil {
		return nil, err
	}
	start := p.dec.InputOffset() - 1
	base := len(p.names)
	for p.dec.PeekKind() != '}' {
		n, err := p.name(base, known)
		if err != nil {
			return nil, err
		}
		if err := read(p, n); err != nil {
			return nil, err
		}
	}
	if err := p.close(base); err != nil {
		return nil, err
	}
	return p.line[start:p.dec.InputOffset()], nil
}

// objectOr reads the next value, as object does if it is one.
func (p *parser) objectOr(known []string, read func(*parser, []byte) *Error) *Error {
	var err *Error
	if p.dec.PeekKind() == '{' {
		_, err = p.object(known, read)
	} else {
		_, err = p.value()
	}
	return err
}

func readParam(p *parser, name []byte) *Error {
	switch string(name) {
	case "arguments":
		return p.objectOr(nil, readAny)
	case "_meta":
		return p.objectOr(metaNames, readMeta)
	case "inputResponses":
		return p.objectOr(nil, readInputResponse)
	}
	_, err := p.value()
	return err
}

func readAny(p *parser, _ []byte) *Error {
	_, err := p.value()
	return err
}

// versionName is where a request of 2026-07-28 or later names its version.
const versionName = "io.modelcontextprotocol/protocolVersion"

var metaNames = []string{versionName}

func readMeta(p *parser, name []byte) *Error {
	v, err := p.value()
	if err != nil || string(name) != versionName {
		return err
	}
	if v[0] != '"' {
		return invalid("the protocol version in _meta must be a string")
	}
	p.version = intern(v)
	return nil
}

// The Go SDK reads the answers to its questions with a decoder that folds
// case, so a lone ROOTS would be a list of roots to it and nothing to others.
var (
	answerNames = []string{"roots", "_meta"}
	rootNames   = []string{"uri", "name", "_meta"}
)

func readInputResponse(p *parser, _ []byte) *Error {
	return p.objectOr(answerNames, readAnswer)
}

func readAnswer(p *parser, name []byte) *Error {
	if string(name) != "roots" || p.dec.PeekKind() != '[' {
		return readAny(p, name)
	}
	if err := p.open('[', ""); err != nil {
		return err
	}
	base := len(p.names)
	for p.dec.PeekKind() != ']' {
		if err := p.objectOr(rootNames, readAny); err != nil {
			return err
		}
	}
	return p.close(base)
}

func (p *parser) tooDeep() *Error { return invalid("nested too deeply") }

// syntax turns a decoder's error into ours, which has no part of the input.
func (p *parser) syntax(err error) *Error {
	at := p.dec.InputOffset()
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		at = s.ByteOffset
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return invalid("an object has the same name twice")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return parseError("it ends too early", at)
	case s != nil && s.Err != nil && strings.Contains(s.Err.Error(), "UTF-8"):
		return parseError("bytes that are not UTF-8", at)
	case s != nil && s.Err != nil && strings.Contains(s.Err.Error(), "surrogate"):
		return parseError("half a surrogate pair", at)
	}
	return parseError("an unexpected character", at)
}
