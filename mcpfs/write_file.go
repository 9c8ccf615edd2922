package mcpfs

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/rootedfs"
)

var writeFile = tool{
	name:  "write_file",
	title: "Write File",
	description: "Create a file, or replace the content of an existing one as a whole. The directory must exist. Readers see " +
		"the old content or the new, never a part; permissions and extended attributes of an existing file are kept. " +
		"Only a root that is itself a single file is written in place.",
	input:       `"properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]`,
	annotations: mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(true)},
	call: func(_ context.Context, _ *server, c *call) *mcp.CallToolResult {
		var args struct {
			Path    *string `json:"path"`
			Content *string `json:"content"`
		}
		if bad := c.decode(&args); bad != nil {
			return bad
		}
		arg, bad := c.required("path", args.Path)
		if bad != nil {
			return bad
		}
		content, bad := c.required("content", args.Content)
		if bad != nil {
			return bad
		}
		c.subject = arg
		path, err := c.path(arg)
		if err != nil {
			return c.fail("/path", arg, err)
		}
		err = c.fs.Replace(path, strings.NewReader(content), &rootedfs.WriteOptions{Commit: c.commit})
		if rootedfs.KindOf(err) == rootedfs.NotFound {
			// What is missing is the directory, or what a link leads to in one.
			err = &refusalError{codeNotFound, "its directory does not exist", "write into a directory that exists; list_directory shows them"}
		}
		if err != nil {
			return c.fail("/path", arg, err)
		}
		return text("Successfully wrote to " + show(arg))
	},
}
