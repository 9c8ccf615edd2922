package stdio

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/frame"
)

// Results returns middleware by which the results of tools/call go to the pipe
// without passing through the SDK's encoder. That one encodes a text, checks and
// copies the encoding in the result around it, and again in the response around
// that: for a file of 4 KiB, more than half of what the whole call costs. Add it
// last but for [Recover]:
//
//	server.AddReceivingMiddleware(stdio.Results())
//
// Calls that came by another transport are left to the SDK.
func Results() mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err != nil {
				return res, err
			}
			tool, ok := res.(*mcp.CallToolResult)
			if !ok || tool == nil {
				return res, nil
			}
			c, ok := inFlight.Load(req.GetExtra())
			if !ok {
				return res, nil
			}
			call := c.(*call)
			if tool.InputRequests != nil && !call.modern {
				return res, nil // the SDK asks an older client itself
			}
			return &result{CallToolResult: tool, call: call}, nil
		}
	}
}

// inFlight finds the call that a request is, by the one thing that the SDK hands
// from the transport to a handler untouched: *mcp.RequestExtra → *call.
var inFlight sync.Map

// A result is a tool's result that is encoded for the pipe when the SDK encodes
// it, which it does after it has completed it. The SDK's own encoding is a stub.
type result struct {
	*mcp.CallToolResult
	call *call
}

// atOnce is the size, in bytes, from which results are encoded one at a time, when
// it is their turn to be written. A client that asks for many large files and does
// not read would else have all of their encodings kept at once.
const atOnce = 1 << 20

// MarshalJSON puts the encoding aside for conn.answer, or the result itself.
func (r *result) MarshalJSON() ([]byte, error) {
	if size(r.CallToolResult) > atOnce && r.call.batch == nil {
		r.call.large = r.CallToolResult
		return []byte("{}"), nil
	}
	b, err := appendResult(nil, r.CallToolResult, r.call.modern)
	if err != nil {
		return nil, err
	}
	r.call.result = b
	return []byte("{}"), nil
}

// appendResult appends the encoding of a result. The tests compare it with the
// SDK's.
func appendResult(dst []byte, r *mcp.CallToolResult, modern bool) (_ []byte, err error) {
	if r.InputRequests != nil {
		return appendQuestion(dst, r)
	}
	if dst == nil {
		dst = make([]byte, 0, size(r))
	}
	dst = append(dst, `{"content":[`...)
	var text string // of the first block, and where its encoding is
	var from, to int
	for i, c := range r.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		if block, ok := c.(*mcp.TextContent); ok && block != nil && block.Meta == nil && block.Annotations == nil {
			dst = append(dst, `{"type":"text","text":`...)
			start := len(dst)
			dst = frame.AppendString(dst, block.Text)
			if i == 0 {
				text, from, to = block.Text, start, len(dst)
			}
			dst = append(dst, '}')
			continue
		}
		if dst, err = appendJSON(dst, c); err != nil {
			return nil, err
		}
	}
	dst = append(dst, ']')
	if len(r.Meta) > 0 {
		if dst, err = appendJSON(append(dst, `,"_meta":`...), r.Meta); err != nil {
			return nil, err
		}
	}
	switch structured := r.StructuredContent.(type) {
	case nil:
	case Textual:
		dst = appendTextual(append(dst, `,"structuredContent":`...), structured, text, dst[from:to])
	default:
		if dst, err = appendJSON(append(dst, `,"structuredContent":`...), structured); err != nil {
			return nil, err
		}
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	if r.RequestState != "" {
		dst = frame.AppendString(append(dst, `,"requestState":`...), r.RequestState)
	}
	if modern {
		dst = append(dst, `,"resultType":"complete"`...)
	}
	return append(dst, '}'), nil
}

// appendQuestion appends the encoding of a result that asks the client for input.
// The SDK's has "content":null besides, which is no content at all.
func appendQuestion(dst []byte, r *mcp.CallToolResult) (_ []byte, err error) {
	dst = append(dst, `{"resultType":"input_required","inputRequests":`...)
	if dst, err = appendJSON(dst, r.InputRequests); err != nil {
		return nil, err
	}
	if r.RequestState != "" {
		dst = frame.AppendString(append(dst, `,"requestState":`...), r.RequestState)
	}
	if len(r.Meta) > 0 {
		if dst, err = appendJSON(append(dst, `,"_meta":`...), r.Meta); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// size guesses the length of an encoding, to spare growing through it.
func size(r *mcp.CallToolResult) int {
	n := 256
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok && text != nil {
			n += len(text.Text) + len(text.Text)/8
		}
	}
	if r.StructuredContent != nil {
		n += n
	}
	return n
}

// Textual is structured content that is one text, most often the text of the
// result once more. It is an object with one member. Its text is then encoded once.
type Textual interface {
	TextMember() (name, text string)
}

// appendTextual appends a Textual. encoded is the encoding of text, if known.
func appendTextual(dst []byte, t Textual, text string, encoded []byte) []byte {
	name, own := t.TextMember()
	dst = append(frame.AppendString(append(dst, '{'), name), ':')
	if len(encoded) > 0 && own == text {
		dst = append(dst, encoded...)
	} else {
		dst = frame.AppendString(dst, own)
	}
	return append(dst, '}')
}

func appendJSON(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}
