package frame

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// longestID is the longest id, in bytes, that the answer to a refused line
// repeats.
const longestID = 4 << 10

// refuse completes the error for a line that is not accepted with what can be
// said about its sender's id.
func refuse(line []byte, bad *Error) *Error {
	if bad.Batch {
		bad.ID = sniffBatch(line)
		if bad.ID != nil {
			bad.Kind = Call
		}
		return bad
	}
	bad.Kind, bad.ID = sniff(line)
	return bad
}

// sniff looks for the id of a message that is broken, or of which only the
// beginning is there. It returns the id only if exactly one can be found at
// the message's top level, and the kind only if the line has members of a call
// or of a response, but not both. An error sent for a response would be taken
// as the answer to another call of the same id, so the difference matters.
//
// It reads what a very lenient parser would, but never decides what is
// accepted.
func sniff(line []byte) (Kind, []byte) {
	i := skipSpace(line, 0)
	if i == len(line) || line[i] != '{' {
		return 0, nil
	}
	var (
		id                 []byte
		ids, call, respond int
		depth              = 0
	)
	for i < len(line) {
		switch line[i] {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
			if depth <= 0 {
				if skipSpace(line, i) != len(line) {
					return 0, nil // a second value may have a second id
				}
				i = len(line)
			}
		case '"':
			end := stringEnd(line, i)
			if end < 0 {
				i = len(line)
				continue
			}
			quoted := line[i:end]
			i = skipSpace(line, end)
			if depth != 1 || i == len(line) || line[i] != ':' {
				continue
			}
			i = skipSpace(line, i+1)
			member, err := jsontext.AppendUnquote(nil, quoted)
			if err != nil {
				return 0, nil // what this names depends on the parser
			}
			// Names are compared folded: if one parser could take it for the
			// id, it is one.
			switch {
			case bytes.EqualFold(member, []byte("id")):
				ids++
				id, i = scalar(line, i)
			case bytes.EqualFold(member, []byte("method")), bytes.EqualFold(member, []byte("params")):
				call++
			case bytes.EqualFold(member, []byte("result")), bytes.EqualFold(member, []byte("error")):
				respond++
			}
		default:
			i++
		}
	}
	var kind Kind
	switch {
	case call > 0 && respond == 0:
		kind = Call
	case respond > 0 && call == 0:
		kind = Response
	default:
		return 0, nil
	}
	if ids != 1 {
		id = nil
	}
	return kind, id
}

// scalar returns the string or number at i, or nil if there is none, and where
// to read on.
func scalar(line []byte, i int) ([]byte, int) {
	if i == len(line) {
		return nil, i
	}
	end := i
	if line[i] == '"' {
		if end = stringEnd(line, i); end < 0 {
			return nil, len(line)
		}
	} else {
		for end < len(line) && bytes.IndexByte([]byte("+-.0123456789Ee"), line[end]) >= 0 {
			end++
		}
		if end == i {
			return nil, i
		}
		if end == len(line) {
			return nil, end // more digits may have followed
		}
	}
	v := line[i:end:end]
	if len(v) > longestID || !jsontext.Value(v).IsValid() {
		return nil, end
	}
	return v, end
}

// sniffBatch returns the id if the array is well-formed and its calls have
// exactly one id between them.
func sniffBatch(line []byte) []byte {
	elements, bad := Elements(line, Limits{})
	if bad != nil {
		return nil
	}
	var id []byte
	for _, e := range elements {
		kind, one := sniff(e)
		if kind == Call && one != nil {
			if id != nil {
				return nil
			}
			id = one
		}
	}
	return id
}

// stringEnd returns the index after the string that begins at i, or -1.
func stringEnd(line []byte, i int) int {
	for i++; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipSpace returns the index of the first byte at or after i that is not
// white space in JSON.
func skipSpace(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '\n' || line[i] == '\r') {
		i++
	}
	return i
}
