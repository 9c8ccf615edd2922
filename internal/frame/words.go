package frame

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

func null(v []byte) bool { return len(v) == 4 && v[0] == 'n' }

// text reports whether v is the JSON string s, however it is spelled.
func text(v []byte, s string) bool {
	if len(v) < 2 || v[0] != '"' {
		return false
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1:len(v)-1]) == s
	}
	u, err := jsontext.AppendUnquote(nil, v)
	return err == nil && string(u) == s
}

// integerOrString reports whether v may be an id: MCP allows nothing else. A
// number with a fraction or an exponent is refused even if its value is whole,
// because parsers that go through floating point write it back otherwise.
func integerOrString(v []byte) bool {
	switch v[0] {
	case '"':
		return true
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return !bytes.ContainsAny(v, ".eE")
	}
	return false
}

// intern returns the text of a JSON string, without an allocation if it is one
// of the words that nearly all messages consist of.
func intern(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		u, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil {
			return "" // cannot happen: the decoder has read it
		}
		inner = u
	}
	// The compiler compares without converting, so a known word costs nothing.
	switch string(inner) {
	case "tools/call":
		return "tools/call"
	case "tools/list":
		return "tools/list"
	case "ping":
		return "ping"
	case "initialize":
		return "initialize"
	case "server/discover":
		return "server/discover"
	case "resources/read":
		return "resources/read"
	case "resources/list":
		return "resources/list"
	case "prompts/get":
		return "prompts/get"
	case "prompts/list":
		return "prompts/list"
	case "completion/complete":
		return "completion/complete"
	case "roots/list":
		return "roots/list"
	case "notifications/initialized":
		return "notifications/initialized"
	case "notifications/cancelled":
		return "notifications/cancelled"
	case "notifications/progress":
		return "notifications/progress"
	case "notifications/message":
		return "notifications/message"
	case "notifications/roots/list_changed":
		return "notifications/roots/list_changed"
	case "2026-07-28":
		return "2026-07-28"
	}
	return string(inner)
}
