package stdio

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Recover returns middleware that makes a panic in a handler the failure of
// that one call, code -32603. In the SDK alone it ends the process. Add it
// last, so that it is outermost:
//
//	server.AddReceivingMiddleware(stdio.Recover(logger))
//
// The log gets the method, the stack, and, if the runtime itself has
// panicked, the reason; other panic values may hold what a tool was working on
// and are named by type only. A panic in a goroutine that a handler has started
// cannot be caught here.
func Recover(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
			defer func() {
				v := recover()
				if v == nil {
					return
				}
				reason := fmt.Sprintf("%T", v)
				if e, ok := v.(runtime.Error); ok {
					reason = e.Error()
				}
				log.Error("a handler panicked", "method", cut(method, 256), "panic", cut(reason, 256), "stack", cut(string(debug.Stack()), 8<<10))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}()
			return next(ctx, method, req)
		}
	}
}
