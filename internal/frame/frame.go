// Package frame reads one line of MCP's stdio transport strictly: one line in,
// one message's shape out. It is shared by the transport of our own server and
// by the proxy, so that both agree on what a message is.
//
//	f, bad := frame.Parse(line, frame.Limits{})
//	if bad != nil {
//		// never forward it; bad.ID is set when the sender can be told
//	}
//	forward(line) // f.Method, f.ID, f.Params … are views into line
//
// The rule is that every parser that may see the same bytes later must read
// the same message in them. So whatever any common parser reads differently is
// refused: duplicate names (also in another spelling, `p\u0061th`), names that
// differ only in letter case where a case-folding decoder would take one for
// the other, bytes that are not UTF-8, surrogates without their partner, raw
// control characters, a byte order mark, more than one value, a carriage
// return inside the line, and nesting that some parsers cannot follow.
// Whatever is unambiguous is accepted as it is: any key order, white space,
// unknown members, numbers of any size.
//
// # Limits
//
// A message is judged by its form. Whether its method exists, whether its
// parameters fit the method, and what a path in it means, is for others.
// Values below params, other than arguments, _meta and inputResponses, are
// checked as JSON only; two names there may differ only by case.
// The checks of letter case use simple Unicode folding, like
// [strings.EqualFold]; a decoder that compares after normalization or full
// folding would still differ.
package frame

import "strconv"

// Kind says what a message is.
type Kind uint8

const (
	// Call is a request that wants an answer: it has a method and an id.
	Call Kind = iota + 1
	// Notification is a request without an id.
	Notification
	// Response is an answer: a result or an error, and the id of the call.
	Response
)

// String returns the kind in lower case, for logs.
func (k Kind) String() string {
	switch k {
	case Call:
		return "call"
	case Notification:
		return "notification"
	case Response:
		return "response"
	}
	return "unknown"
}

// Frame is the shape of one message. The byte slices are parts of the line
// that was parsed: they are valid as long as it is, and must not be changed.
type Frame struct {
	Kind Kind

	// ID is the id as it was written, with the quotes of a string. Correlate
	// on these bytes and answer with them. It is nil for a notification, and
	// for an error response that belongs to no request (id null or missing).
	ID []byte

	// Method is the method's name, unescaped; "" for a response.
	Method string

	// Params is the params object as it was written, or nil.
	Params []byte

	// Result and Error are the members of a response. Exactly one is set; a
	// null beside the other one counts as absent, as JSON-RPC 1.0 wrote it.
	Result, Error []byte

	// Version is params._meta["io.modelcontextprotocol/protocolVersion"], by
	// which a request names its protocol version from 2026-07-28 on, or "".
	Version string
}

// The codes of an [Error], from the JSON-RPC 2.0 specification.
const (
	CodeParse   = -32700 // not JSON
	CodeInvalid = -32600 // JSON, but not a message we accept
)

// Error says why a line was refused.
type Error struct {
	// Code is CodeParse or CodeInvalid.
	Code int
	// Message is one line for people. It holds nothing of the input but
	// positions, so it can be logged and sent.
	Message string
	// Kind is what the line would have been, if that could be told: Call or
	// Response. Only a Call may be answered.
	Kind Kind
	// ID is the id as it was written, when exactly one could be found, else
	// nil. It is a view into the line. It may be a number that is not an
	// integer, so that whoever sent that can be told. It is never null.
	ID []byte
	// Batch tells that the line is an array. ID is then the one id of the
	// calls in it, or nil if there are more.
	Batch bool
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Limits bounds what [Parse] accepts. The zero Limits is the default.
type Limits struct {
	// Depth is how deep objects and arrays may nest, the message itself
	// included. 0 means 512. More than 10,000 is not possible.
	Depth int
}

// DefaultDepth is the nesting that a zero [Limits] allows. The Go SDK stops at
// 1,000 and Python at its recursion limit; real messages need a handful.
const DefaultDepth = 512

func (l Limits) depth() int {
	if l.Depth > 0 {
		return l.Depth
	}
	return DefaultDepth
}

func parseError(what string, at int64) *Error {
	return &Error{Code: CodeParse, Message: "not valid JSON: " + what + " at byte " + strconv.FormatInt(at, 10)}
}

func invalid(message string) *Error { return &Error{Code: CodeInvalid, Message: message} }
