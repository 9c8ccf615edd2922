package clientroots

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// misspeltMethod is what a number of clients send for list_changed.
const misspeltMethod = "notifications/roots/listChanged"

// Transport returns a transport that takes notifications/roots/listChanged, a
// common misspelling, for notifications/roots/list_changed, with one warning per
// session; a nil logger means slog.Default(). Without it the SDK drops the
// misspelt notification unseen: it has custom methods, but no custom
// notifications.
//
// Around the SDK's own stdio transport it has a side effect: that transport no
// longer hears which version was agreed on, and takes batches in any.
func Transport(inner mcp.Transport, logger *slog.Logger) mcp.Transport {
	if logger == nil {
		logger = slog.Default()
	}
	return &transport{Transport: inner, logger: logger}
}

type transport struct {
	mcp.Transport
	logger *slog.Logger
}

func (tr *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := tr.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, logger: tr.logger}, nil
}

// SupportsProtocolVersion implements [mcp.ProtocolVersionSupporter] for the
// transport inside, which the SDK no longer sees.
func (tr *transport) SupportsProtocolVersion(version string) bool {
	p, ok := tr.Transport.(mcp.ProtocolVersionSupporter)
	return !ok || p.SupportsProtocolVersion(version)
}

type connection struct {
	mcp.Connection
	logger *slog.Logger
	warned bool // touched only by Read, which one goroutine calls
}

func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if req, ok := m.(*jsonrpc.Request); ok && req.Method == misspeltMethod && !req.IsCall() {
		if !c.warned {
			c.warned = true
			c.logger.Warn("the client misspells a notification; it is taken for what it means",
				"session", c.SessionID(), "sent", misspeltMethod, "meant", changedMethod)
		}
		meant := *req
		meant.Method = changedMethod
		return &meant, err
	}
	return m, err
}
