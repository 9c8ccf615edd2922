// Package roots describes a boundary: which directories and files a session may
// use. It holds values and pure functions only. It reads no file system, follows
// no link and knows no protocol, so its answers depend on its arguments alone.
//
//	uri, err := roots.ParseURI("file:///home/ann/app")
//	set := roots.NewSet(1, roots.Root{URI: uri, Mode: roots.ReadWrite})
//	root, name, err := set.Locate("/home/ann/app/main.go") // root, "main.go"
//
// A [Set] is immutable: a change of roots is another Set with another
// generation. Whether a root is a directory or a single file, whether it exists,
// and where links below it lead are facts of the disk; package rootedfs finds
// them out and keeps operations inside. [Combine] decides whose roots count.
//
// # Limits
//
// Everything here is lexical. [Set.Contains] says that a path is spelt below a
// root, not that opening it stays there: a link may lead away. Checking a path
// here and opening it with package os is the race this project exists to remove;
// open beneath a handle with rootedfs instead. Paths are compared byte for byte:
// on a file system that ignores case, another spelling is another path, and it
// is outside.
package roots
