// Package clientroots keeps the roots of each session of an MCP server: it knows
// when a client may be asked for them, asks once for any number of callers, and
// never lets a list count that has been called back since.
//
//	tracker := clientroots.New(nil)
//	tracker.Install(server)
//
// and inside a handler of tools/call, prompts/get or resources/read:
//
//	list := tracker.Roots(ctx, req)
//	if list.Ask != nil { // a client of 2026-07-28, to be asked in the result
//		return &mcp.CallToolResult{InputRequests: list.Ask}, nil, nil
//	}
//	effective := roots.Combine(given, list.ClientList, policy, nil)
//
// What an answer means is decided by [roots.Combine]. This package keeps apart
// the ways of having none: the client offers no roots, gave an empty list, failed
// to answer, or was not asked.
//
// # Two eras
//
// Up to revision 2025-11-25 the server asks with a roots/list request of its own
// and hears of changes by notifications/roots/list_changed. From 2026-07-28 on it
// may not: the question travels in the result of a call, the answer in a second
// call, and there is no notice of changes. The era belongs to the request, by the
// protocol version in its _meta, so one session may serve both; their lists are
// kept apart.
//
// # What holds
//
// A client that declared no roots is not asked. A list_changed notification takes
// effect before the next message is handled: a call behind it waits for the new
// list and never gets the old one. An answer counts only if no notification came
// since the question, however late it is; the caller stops waiting after
// [Options.Timeout], the package goes on listening for a minute. At most one
// question is open per session. No lock is held while the client is asked, and
// the goroutine on which the SDK reads messages never waits.
//
// # Limits
//
// A call that was being handled when the list changed keeps the list it has; use
// [Tracker.Current] before making its effects visible. Answers are decoded by the
// SDK, whose decoder takes names of any case and the last of duplicates, and
// refuses the whole list for one entry of the wrong JSON type; a transport that
// refuses ambiguous messages belongs in front of it. Over HTTP a question travels
// on the stream of the call that asks it: if the client drops that call before it
// has read the question, the calls of the next minute wait for nothing.
package clientroots
