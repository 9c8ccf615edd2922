// Package e2e holds only tests. They build rootbound, run its server as MCP
// clients run it, and look at nothing but what a client sees: lines on standard
// output, the exit status, standard error.
//
//	e2e/clients/install   # once: the SDK clients, for node and python
//	go test ./e2e
//
// One small language of scenarios (scenario_test.go) is played by six clients: a
// client of lines, written here, that can also misbehave; the TypeScript and the
// Python SDK, each in both protocol eras; and, in its own words, the MCP
// Inspector. The environment variable ROOTBOUND_E2E_BINARY is the absolute path
// of a binary to test in place of the one that the tests build.
//
// # Limits
//
// The package tests what one client sees of one process. That the boundary
// holds against an attacker in the file system is shown elsewhere.
package e2e
