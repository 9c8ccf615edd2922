package mcpfs_test

import (
	"context"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/mcpfs"
	"github.com/rootbound/rootbound/roots"
)

// A server of one's own, on the SDK's transport. The command rootbound serve uses
// a stricter one.
func ExampleNew() {
	app, err := roots.FileURI("/home/ann/app")
	if err != nil {
		log.Fatal(err)
	}
	srv, err := mcpfs.New(&mcpfs.Options{
		Given:  roots.Given{Stated: true, Roots: []roots.Root{{URI: app, Mode: roots.ReadWrite, Source: roots.FromFlag}}},
		Policy: roots.Narrow, // the client may choose inside of it
		Guard:  func(r roots.Root) string { return roots.Sensitive(r.Path(), os.Getenv("HOME")) },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
