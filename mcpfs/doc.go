// Package mcpfs is a filesystem MCP server whose scope is a session's roots. Its
// tools have the names, parameters and text forms of the reference filesystem
// server, so that a client configured for that one works unchanged.
//
//	srv, err := mcpfs.New(&mcpfs.Options{Given: roots.Given{Stated: true, Roots: dirs}})
//	err = srv.Run(ctx, transport)
//
// One call goes one way: decode the arguments, take a snapshot of the session's
// file system, let rootedfs open the path beneath a root and look at what it
// opened, reply. The package imports neither os nor syscall: it cannot open a
// path, it can only ask rootedfs.
//
// A call that may not go on is answered with a refusal: a tool result for the
// model to read, and for programs the same facts in _meta["rootbound/refusal"],
// a [Refusal].
//
// # Limits
//
// A hard link inside a root to a file that also has a name outside of it cannot
// be told from any other file; reading it reads that file, writing replaces the
// name inside. Text is UTF-8: other files are refused as not_text.
package mcpfs
