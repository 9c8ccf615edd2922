package mcpfs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool is one tool of the server: what clients are told of it, and what it does
// with the arguments under a snapshot.
type tool struct {
	name, title, description string
	input                    string // properties of the input schema, and what is required
	annotations              mcp.ToolAnnotations
	call                     func(ctx context.Context, s *server, c *call) *mcp.CallToolResult
}

// A call is one tools/call under way.
type call struct {
	*snapshot
	session   *mcp.ServerSession
	tool      string
	arguments []byte
	commit    func() error // see server.commit
	subject   string       // the path argument, for the log
}

// outputSchema is that of all tools: the text once more, for programs.
const outputSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",` +
	`"properties":{"content":{"type":"string"}},"required":["content"],"additionalProperties":false}`

func (t tool) describe() *mcp.Tool {
	annotations := t.annotations
	closed := false
	annotations.OpenWorldHint = &closed
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, Annotations: &annotations,
		InputSchema:  json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",` + t.input + `}`),
		OutputSchema: json.RawMessage(outputSchema),
	}
}

// maxStale bounds how often a change starts over because the roots changed.
const maxStale = 4

// handler runs a tool: it takes the snapshot, and starts over with a new one if
// the roots changed before a change was committed.
func (s *server) handler(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		start := time.Now()
		for try := 1; ; try++ {
			v, ask, err := s.snapshot(ctx, req)
			if ask != nil {
				return ask, nil
			}
			if err != nil {
				s.opts.Logger.Error("roots cannot be opened", "err", err)
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the roots cannot be opened"}
			}
			if ctx.Err() != nil {
				// It was cancelled while it waited, and nobody wants it done any more.
				return v.result(&Refusal{Code: codeCancelled, Reason: "the call was cancelled", Next: "call again if it is still wanted"}), nil
			}
			c := &call{snapshot: v, session: req.Session, tool: t.name, arguments: req.Params.Arguments, commit: s.commit(ctx, req, v)}
			res := t.call(ctx, s, c)
			if res == stale {
				if try < maxStale {
					continue
				}
				res = v.result(&Refusal{
					Code: codeChanged, Reason: "the roots kept changing", Requested: quote(c.subject),
					Next: "call list_allowed_directories, then try again; nothing was changed",
				})
			}
			s.log(ctx, c, res, start)
			return res, nil
		}
	}
}

// stale is what a tool returns if its commit failed with errStale.
var stale = new(mcp.CallToolResult)

// fail makes the answer to an error for a path argument.
func (c *call) fail(argument, requested string, err error) *mcp.CallToolResult {
	if errors.Is(err, errStale) {
		return stale
	}
	return c.refuse(argument, requested, err)
}

// text makes a successful answer: the text for the model, and the same as
// structured content for programs, as the output schema declares.
func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: s}},
		StructuredContent: structured{s},
	}
}

type structured struct {
	Content string `json:"content"`
}

// TextMember lets a transport that asks encode the text once for both.
func (s structured) TextMember() (name, text string) { return "content", s.Content }
