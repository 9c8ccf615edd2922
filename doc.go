// Package rootbound holds the module's own tests: the import graph and the
// promises of its documents. The libraries are in roots, rootedfs, clientroots
// and mcpfs, the program in cmd/rootbound.
package rootbound
