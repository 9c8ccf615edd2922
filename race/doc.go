// Package race attacks the running server: while its tools are called, another
// process swaps what their paths lead to, and nothing outside of the root may be
// shown, created, changed or carried in.
//
//	go test -v ./race                               a few seconds for each operation
//	ROOTBOUND_RACE_SECONDS=60 go test -v -timeout 1h ./race
//	ROOTBOUND_RACE_DIR=/var/tmp go test -v ./race    on that file system, not in memory
//
// Each operation meets each attack of package probe that applies to it, once with
// openat2(2), and once without, in a process that the kernel kills if it uses that
// call all the same. A run with under 10,000 completed calls, or with under 5 % of
// them answered from inside, or refused, in any of its attacks, fails as proving
// nothing. A server that checks path strings is attacked in the same way and has to
// lose in every operation, or the attacks prove nothing either. (It survives relink
// and dotdot: those aim at a server that follows links by itself.)
//
// The tests are all there is. With -race the harness is checked for data races; the
// server it starts is built without.
//
// # Limits
//
// The attack needs Linux. The shares, and how often the server that checks strings
// loses, depend on what else the machine does.
package race
