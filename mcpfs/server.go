package mcpfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

const instructions = `Files are reachable under this session's roots only; list_allowed_directories shows them. ` +
	`Paths are absolute, file:// URIs, or relative if there is exactly one root directory. ` +
	`A refused call says why, which roots exist, and what to do next.`

type server struct {
	opts    Options
	tracker *clientroots.Tracker
	given   *rootedfs.FS // the operator's roots
	fixed   *snapshot    // if these alone count

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]*session
}

// New returns a filesystem server. It serves any number of sessions, each with
// its own roots. The error says which of the given roots cannot be kept as stated.
func New(o *Options) (*mcp.Server, error) {
	_, srv, err := newServer(o)
	return srv, err
}

func newServer(o *Options) (*server, *mcp.Server, error) {
	opts, err := o.check()
	if err != nil {
		return nil, nil, err
	}
	s := &server{opts: opts, sessions: map[*mcp.ServerSession]*session{}}
	if err := s.pinGiven(); err != nil {
		return nil, nil, err
	}
	s.tracker = clientroots.New(&clientroots.Options{
		Timeout: s.opts.RootsTimeout,
		Reask:   s.opts.RootsReask,
		TTL:     s.opts.RootsTTL,
		Logger:  s.opts.Logger,
		Changed: s.changed,
	})
	srv := mcp.NewServer(
		&mcp.Implementation{Name: "rootbound", Title: "rootbound filesystem", Version: s.opts.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Capabilities: &mcp.ServerCapabilities{}, // or logging would be advertised
			Logger:       slog.New(warnings{s.opts.Logger.Handler()}),
			InitializedHandler: func(_ context.Context, r *mcp.InitializedRequest) {
				s.changed(r.Session)
			},
		})
	if err := s.tracker.Install(srv); err != nil {
		return nil, nil, err
	}
	srv.AddReceivingMiddleware(onlyTools)
	for _, t := range []tool{readTextFile, listDirectory, writeFile, moveFile, listAllowedDirectories} {
		srv.AddTool(t.describe(), s.handler(t))
	}
	return s, srv, nil
}

// pinGiven opens the operator's roots, so that a root that cannot be kept as
// stated is known before a client is answered.
func (s *server) pinGiven() error {
	fs, err := rootedfs.Open(roots.NewSet(1, s.opts.Given.Roots...), &s.opts.Files)
	if err != nil {
		return err
	}
	s.given = fs
	for _, r := range fs.Roots() {
		switch {
		case r.Enforced != r.Mode:
			return &ConflictError{Root: r.Path(), Reason: r.Reason}
		case r.State != rootedfs.StateOK:
			s.opts.Logger.Warn("a root is unavailable and will be tried again", "root", show(r.Path()), "why", r.Reason)
		default:
			s.opts.Logger.Info("root", "path", show(r.Path()), "mode", r.Mode.String(), "kind", string(r.Kind))
		}
	}
	if s.opts.Given.Stated && s.opts.Policy == roots.Ignore {
		e := roots.Combine(s.opts.Given, roots.ClientList{State: roots.Unasked}, roots.Ignore, nil)
		s.fixed = &snapshot{fs: fs, effective: e, fixed: true}
	}
	return nil
}

// A ConflictError says that the operator's roots contradict each other: a
// read-only root lies inside a writable one. See [roots.Conflict].
type ConflictError struct{ Root, Reason string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("the root %s cannot be writable: %s", quote(e.Root), e.Reason)
}

// changed hears that a session's list is stale. Where the list does not count, it
// is fetched in the background, to be shown; elsewhere the next call asks.
func (s *server) changed(ss *mcp.ServerSession) {
	if s.fixed != nil {
		s.tracker.Refresh(ss)
	}
}

// onlyTools answers the families of methods that this server does not offer, which
// the SDK would answer with empty lists.
func onlyTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list",
			"resources/subscribe", "resources/unsubscribe", "completion/complete", "logging/setLevel":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server offers tools only; no " + method}
		}
		return next(ctx, method, req)
	}
}

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
	path1     string       // the path argument, for the log
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
					Code: codeChanged, Reason: "the roots kept changing", Requested: quote(c.path1),
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
