//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use.

package clientroots_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
	"github.com/rootbound/rootbound/roots"
)

// A server with a tool that says where it may work, and a client that says where.
// The same lines serve clients of both eras.
func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "where", Version: "1"}, nil)

	var tracker *clientroots.Tracker
	tracker = clientroots.New(&clientroots.Options{
		// Ask ahead, so that the next call need not wait.
		Changed: func(ss *mcp.ServerSession) { tracker.Refresh(ss) },
	})
	if err := tracker.Install(server); err != nil {
		log.Fatal(err)
	}

	mcp.AddTool(server, &mcp.Tool{Name: "where"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		list := tracker.Roots(ctx, req)
		if list.Ask != nil {
			return &mcp.CallToolResult{InputRequests: list.Ask}, nil, nil
		}
		effective := roots.Combine(roots.Given{}, list.ClientList, roots.Replace, nil)
		text := effective.Why
		for _, r := range effective.Roots {
			text += r.Path() + "\n"
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})

	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	client.AddRoots(&mcp.Root{URI: "file:///home/ann/app", Name: "App"})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		ours, theirs := mcp.NewInMemoryTransports()
		if _, err := server.Connect(context.Background(), theirs, nil); err != nil {
			log.Fatal(err)
		}
		session, err := client.Connect(context.Background(), ours, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			log.Fatal(err)
		}
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "where"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(version, ": ", res.Content[0].(*mcp.TextContent).Text)
		session.Close()
	}
	// Output:
	// 2025-11-25: /home/ann/app
	// 2026-07-28: /home/ann/app
}
