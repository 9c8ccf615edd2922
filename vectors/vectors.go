// Package vectors holds this project's test cases as data: what a file URI means
// (uri-cases.json) and what an operation on a path below a set of roots may do
// (path-cases.json). The files explain their own fields and need no Go, so any
// implementation can run them.
//
//	data, err := vectors.FS.ReadFile("uri-cases.json")
//
// # Limits
//
// The "got" members of the URI cases are what other parsers were measured to
// answer; they are for reading, not for testing.
package vectors

import "embed"

// FS holds the case files.
//
//go:embed *.json
var FS embed.FS
