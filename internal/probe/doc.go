// Package probe attacks a server that promises to stay inside its roots, and
// judges whether it did.
//
// An [Arena] is a root, a directory outside of it that holds a canary, and a path
// in the root that an attack can make lead to the canary. A [Swapper] is that
// attack, running in a process of its own. The arena is also the judge: it knows
// the canary in an answer, a change outside, and outside content in the root.
//
//	a, err := probe.NewArena(dir, probe.Directory, "notes.txt")
//	…
//	s, err := probe.StartSwapper(ctx, exe, a.Swap)
//	…                           // use a.Victim through the server meanwhile
//	report, err := s.Stop()     // report.Swaps is 0 if nothing was attacked
//	changes, err := a.Changes() // anything in it is an escape
//
// The attacking process is the program itself: main, or TestMain, has to call
// [AttackMain] before anything else.
//
// # Limits
//
// The attack needs renameat2(2) and so Linux. It races with the server: a run
// without an escape proves something only if many calls fell on either side of
// the swap, which the caller has to count. What a server reads outside without
// showing it goes unseen here.
package probe
