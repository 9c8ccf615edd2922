package mcpfs

import (
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// log writes the one line of a call. Content never gets into it.
func (s *server) log(ctx context.Context, c *call, res *mcp.CallToolResult, start time.Time) {
	level, code := slog.LevelDebug, "ok"
	if res.IsError {
		level, code = slog.LevelWarn, "invalid_arguments"
		if r, ok := res.Meta[RefusalKey].(*Refusal); ok {
			code = r.Code
		}
	}
	if !s.opts.Logger.Enabled(ctx, level) {
		return
	}
	s.opts.Logger.Log(ctx, level, "call", "tool", c.tool, "path", show(c.subject), "decision", code,
		"generation", c.fs.Set().Generation(), "us", time.Since(start).Microseconds())
}

// warnings passes on what is a warning or worse: the SDK tells of every session
// at the level at which we tell of changes.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
func (w warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{w.Handler.WithAttrs(a)} }
func (w warnings) WithGroup(name string) slog.Handler   { return warnings{w.Handler.WithGroup(name)} }
