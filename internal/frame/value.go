package frame

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Elements returns the elements of a batch: a line that is a JSON array. They
// are parts of line, and are to be given to [Parse] one by one: here they are
// checked as JSON only. An empty batch is refused, as JSON-RPC 2.0 asks.
//
// Of MCP's versions only 2025-03-26 has batches.
func Elements(line []byte, lim Limits) ([][]byte, *Error) {
	body, bad := trim(line)
	if bad != nil {
		return nil, bad
	}
	p := newParser(body, lim)
	defer p.free()
	if bad := p.open('[', "a batch must be an array"); bad != nil {
		return nil, bad
	}
	var elements [][]byte
	for p.dec.PeekKind() != ']' {
		v, bad := p.value()
		if bad != nil {
			return nil, bad
		}
		elements = append(elements, v)
	}
	if bad := p.close(0); bad != nil {
		return nil, bad
	}
	if skipSpace(body, int(p.dec.InputOffset())) != len(body) {
		return nil, parseError("more than one value on the line", p.dec.InputOffset())
	}
	if len(elements) == 0 {
		return nil, invalid("an empty batch")
	}
	return elements, nil
}

// Lookup follows names from member to member into a JSON object that [Parse]
// has accepted, and returns the bytes of the value there, a part of object, or
// nil if there is none.
func Lookup(object []byte, names ...string) []byte {
	start, end := locate(object, names)
	if end == 0 {
		return nil
	}
	return object[start:end:end]
}

// Replace returns a copy of a JSON object that [Parse] has accepted, with
// another value in the place that [Lookup] finds, or the object itself if
// there is none.
func Replace(object []byte, value string, names ...string) []byte {
	start, end := locate(object, names)
	if end == 0 {
		return object
	}
	out := make([]byte, 0, len(object)-(end-start)+len(value))
	out = append(out, object[:start]...)
	out = append(out, value...)
	return append(out, object[end:]...)
}

// locate returns where the value is; end is 0 if it is not there.
func locate(object []byte, names []string) (start, end int) {
	end = len(object)
	for _, want := range names {
		s, e := member(object[start:end], want)
		if e == 0 {
			return 0, 0
		}
		start, end = start+s, start+e
	}
	return start, end
}

func member(object []byte, want string) (start, end int) {
	if len(object) == 0 || object[0] != '{' {
		return 0, 0
	}
	p := newParser(object, Limits{})
	defer p.free()
	if _, err := p.dec.ReadToken(); err != nil {
		return 0, 0
	}
	for p.dec.PeekKind() == '"' {
		name, err := p.dec.ReadValue()
		if err != nil {
			return 0, 0
		}
		found := text(name, want)
		v, err := p.dec.ReadValue()
		if err != nil {
			return 0, 0
		}
		if found {
			end := int(p.dec.InputOffset())
			return end - len(v), end
		}
	}
	return 0, 0
}

// Text returns the text of a JSON string that [Parse] has accepted; ok is
// false if v is another value.
func Text(v []byte) (s string, ok bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	return intern(v), true
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become the
// replacement character.
func AppendString(dst []byte, s string) []byte {
	q, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		q, _ = jsontext.AppendQuote(dst, string(bytes.ToValidUTF8([]byte(s), []byte("\ufffd"))))
	}
	return q
}
