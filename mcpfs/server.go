package mcpfs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

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
