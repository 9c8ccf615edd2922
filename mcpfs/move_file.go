package mcpfs

import (
	"context"
	"errors"
	"io/fs"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/rootedfs"
)

var moveFile = tool{
	name:  "move_file",
	title: "Move File",
	description: "Move or rename a file or directory. Nothing is overwritten: if the destination exists, the call fails. A link " +
		"is moved itself, not what it leads to. Between file systems the content is copied, then the source removed.",
	input:       `"properties":{"source":{"type":"string"},"destination":{"type":"string"}},"required":["source","destination"]`,
	annotations: mcp.ToolAnnotations{DestructiveHint: new(true)},
	call: func(ctx context.Context, _ *server, c *call) *mcp.CallToolResult {
		var args struct {
			Source      *string `json:"source"`
			Destination *string `json:"destination"`
		}
		if bad := c.decode(&args); bad != nil {
			return bad
		}
		from, bad := c.required("source", args.Source)
		if bad != nil {
			return bad
		}
		to, bad := c.required("destination", args.Destination)
		if bad != nil {
			return bad
		}
		c.subject = from + " -> " + to
		source, err := c.path(from)
		if err != nil {
			return c.fail("/source", from, err)
		}
		destination, err := c.path(to)
		if err != nil {
			return c.fail("/destination", to, err)
		}
		err = c.fs.Rename(ctx, source, destination, &rootedfs.RenameOptions{Copy: true, Commit: c.commit})
		if err != nil {
			// The error names the path at fault as it was handed down.
			if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == destination {
				return c.fail("/destination", to, err)
			}
			return c.fail("/source", from, err)
		}
		return text("Successfully moved " + show(from) + " to " + show(to))
	},
}
