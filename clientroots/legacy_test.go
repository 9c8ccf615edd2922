package clientroots_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
	"github.com/rootbound/rootbound/roots"
)

func TestOnlyAClientThatDeclaredRootsIsAsked(t *testing.T) {
	for _, test := range []struct {
		capabilities string
		asked        int
		want         string
	}{
		{`{}`, 0, "undeclared"},
		{`{"sampling":{}}`, 0, "undeclared"},
		{`{"roots":null}`, 0, "undeclared"},
		{`{"roots":{}}`, 1, "answered /w rw"},
		{`{"roots":{"listChanged":false}}`, 1, "answered /w rw"},
		{`{"roots":{"listChanged":true}}`, 1, "answered /w rw"},
	} {
		t.Run(test.capabilities, func(t *testing.T) {
			p := newRig(t, clientroots.Options{}).connect(t)
			p.respondWith(func(int) string { return one("/w") })
			p.handshake(test.capabilities)
			p.send(call(1, "refresh"))
			p.answer(1)
			want(t, "the first call", p.roots(2), test.want)
			want(t, "the second call", p.roots(3), test.want)
			p.send(listChanged)
			want(t, "a call after a change", p.roots(4), test.want)
			if n := p.questions(); n != 2*test.asked {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestAnswersOfEveryShape(t *testing.T) {
	many := func(n int) string {
		return `{"roots":[` + strings.TrimSuffix(strings.Repeat(`{"uri":"file:///r"},`, n), ",") + `]}`
	}
	for _, test := range []struct{ name, result, want string }{
		{"none", `{"roots":[]}`, "answered"},
		{"one", `{"roots":[{"uri":"file:///a","name":"A"}]}`, "answered /a rw A"},
		{"read-only", `{"roots":[{"uri":"file:///a","_meta":{"rootbound/mode":"ro"}}]}`, "answered /a ro"},
		{"writable", `{"roots":[{"uri":"file:///a","_meta":{"rootbound/mode":"rw","x":1}}]}`, "answered /a rw"},
		{"no known mode", `{"roots":[{"uri":"file:///a","_meta":{"rootbound/mode":"RW"}}]}`, "answered /a ro"},
		{"mode of another type", `{"roots":[{"uri":"file:///a","_meta":{"rootbound/mode":["rw"]}}]}`, "answered /a ro"},
		{"mode null", `{"roots":[{"uri":"file:///a","_meta":{"rootbound/mode":null}}]}`, "answered /a ro"},
		{"good and bad", `{"roots":[{"uri":"vscode-remote://wsl%2Bu/x"},{"uri":"file:///a"},{},{"uri":"file:///a/../b"}]}`, "answered /a rw !scheme !empty !traversal"},
		{"a null root", `{"roots":[null,{"uri":"file:///a"}]}`, "answered /a rw !empty"},
		{"only a null root", `{"roots":[null]}`, "answered !empty"},
		{"more than fit", many(1002), "answered" + strings.Repeat(" /r rw", 1000) + " !limit"},
		{"null", `null`, "failed"},
		{"nothing in it", `{}`, "failed"},
		{"roots null", `{"roots":null}`, "failed"},
		{"roots an object", `{"roots":{}}`, "failed"},
		{"roots a text", `{"roots":"x"}`, "failed"},
		{"a number for a root", `{"roots":[{"uri":"file:///a"},5]}`, "failed"},
		{"an array", `[]`, "failed"},
		{"a text", `"x"`, "failed"},
		{"another kind", `{"action":"accept"}`, "failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newRig(t, clientroots.Options{}).connect(t)
			p.respondWith(func(n int) string {
				if n == 1 {
					return test.result
				}
				return one("/good")
			})
			p.handshake(declared)
			got := p.roots(1)
			want(t, "the call", got, test.want)
			if failed := got.State == "failed"; failed != (got.Why != "") {
				t.Errorf("state %s, why %q", got.State, got.Why)
			} else if failed {
				want(t, "the next call", p.roots(2), "answered /good rw")
			}
			p.send(listChanged)
			want(t, "a call after a change", p.roots(3), "answered /good rw")
		})
	}
}

func TestErrorsAreAlike(t *testing.T) {
	for _, test := range []struct {
		code    int
		message string
	}{
		{-32601, "Method not found"},
		{-32600, "List roots not supported"},
		{-32603, "Internal error"},
		{-32602, "not associated with a request"},
		{0, ""},
		{1, "\x1b[2J\u202egnp\u0000" + strings.Repeat("x", 100_000)},
	} {
		r := newRig(t, clientroots.Options{})
		p := r.connect(t)
		p.mu.Lock()
		p.respond = func(_ int, f frame) { p.send(errorOf(f, test.code, test.message)) }
		p.mu.Unlock()
		p.handshake(declared)
		for id := 1; id <= 3; id++ {
			got := p.roots(id)
			want(t, test.message[:min(10, len(test.message))], got, "failed")
			if !strings.Contains(got.Why, fmt.Sprint(test.code)) || len(got.Why) > 512 || strings.ContainsAny(got.Why, "\x1b\x00\u202e") {
				t.Errorf("error %d: why %q", test.code, got.Why)
			}
		}
		want(t, "what is known", p.known(4), "failed")
		if n := p.questions(); n != 3 {
			t.Errorf("error %d: asked %d times by 3 calls", test.code, n)
		}
		if n := r.log.lines("not known"); n != 1 {
			t.Errorf("error %d: %d warnings", test.code, n)
		}
		p.respondWith(func(int) string { return one("/w") })
		want(t, "after the client came to itself", p.roots(5), "answered /w rw")
	}
}

func TestSilenceCountsAfterTheDeadlineAndALateAnswerStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, clientroots.Options{})
		p := r.connect(t)
		p.handshake(declared)
		for id := 1; id <= 2; id++ {
			start := time.Now()
			want(t, "a call", p.roots(id), "failed")
			if d := time.Since(start); d != 3*time.Second {
				t.Errorf("call %d waited %v", id, d)
			}
		}
		want(t, "what is known", p.known(3), "failed")
		if n := p.questions(); n != 1 {
			t.Errorf("%d questions are open", n)
		}
		time.Sleep(20 * time.Second)
		p.send(resultOf(p.question(1), one("/late")))
		synctest.Wait()
		want(t, "what is known", p.known(4), "answered /late rw")
		start := time.Now()
		if got := p.roots(5); got.String() != "answered /late rw" || !got.Current || time.Since(start) != 0 {
			t.Errorf("after a late answer: %v, current %v, after %v", got, got.Current, time.Since(start))
		}
		if n := p.questions(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		if n := r.log.lines("not known"); n != 1 {
			t.Errorf("%d warnings", n)
		}
	})
}

func TestTheDeadlineIsAnOption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRig(t, clientroots.Options{Timeout: 250 * time.Millisecond}).connect(t)
		p.handshake(declared)
		start := time.Now()
		got := p.roots(1)
		want(t, "a call", got, "failed")
		if d := time.Since(start); d != 250*time.Millisecond || !strings.Contains(got.Why, "250ms") {
			t.Errorf("waited %v: %s", d, got.Why)
		}
	})
}

func TestAClientThatNeverAnswersIsAskedAgainAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRig(t, clientroots.Options{}).connect(t)
		p.handshake(declared)
		want(t, "a call", p.roots(1), "failed")
		first := p.known(2)
		time.Sleep(2 * time.Minute)
		if got := p.known(3); got.String() != "failed" || got.Generation != first.Generation {
			t.Errorf("after the question was given up: %v, generation %d → %d", got, first.Generation, got.Generation)
		}
		want(t, "a later call", p.roots(4), "failed")
		if n := p.questions(); n != 2 {
			t.Errorf("asked %d times", n)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.cancelled != 1 {
			t.Errorf("%d questions were taken back", p.cancelled)
		}
	})
}

func TestACallersEndIsNotTheSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRig(t, clientroots.Options{}).connect(t)
		p.handshake(declared)
		p.send(call(1, "roots"), call(2, "roots"))
		p.question(1)
		time.Sleep(time.Second)
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		want(t, "the cancelled call", p.answer(1).report(t), "failed")
		want(t, "what is known", p.known(3), "unasked")
		p.send(resultOf(p.question(1), one("/w")))
		want(t, "the other call", p.answer(2).report(t), "answered /w rw")
	})
}

func TestAFailedRefreshKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRig(t, clientroots.Options{}).connect(t)
		p.respondWith(func(n int) string {
			if n == 2 {
				return `{}`
			}
			return one("/w")
		})
		p.handshake(`{"roots":{}}`)
		before := p.roots(1)
		want(t, "the first call", before, "answered /w rw")
		time.Sleep(31 * time.Second)
		want(t, "the refresh", p.roots(2), "failed")
		if got := p.known(3); got.String() != "failed" || got.Generation == before.Generation {
			t.Errorf("%v stays known, generation %d → %d", got, before.Generation, got.Generation)
		}
	})
}

func TestWithoutListChangedTheListIsAskedForAgain(t *testing.T) {
	for _, test := range []struct {
		capabilities string
		reask        time.Duration
		asked        int
	}{
		{`{"roots":{}}`, 0, 2},
		{`{"roots":{"listChanged":false}}`, 0, 2},
		{`{"roots":{}}`, time.Minute, 1},
		{`{"roots":{"listChanged":true}}`, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newRig(t, clientroots.Options{Reask: test.reask}).connect(t)
			p.respondWith(func(n int) string { return one(fmt.Sprintf("/%d", (n+1)/2)) }) // /1 /1 /2 /2
			p.handshake(test.capabilities)
			first := p.roots(1)
			time.Sleep(29 * time.Second)
			p.roots(2)
			if n := p.questions(); n != 1 {
				t.Errorf("%s: asked %d times within 30 s", test.capabilities, n)
			}
			time.Sleep(2 * time.Second)
			again := p.roots(3)
			if n := p.questions(); n != test.asked {
				t.Errorf("%s: asked %d times after 31 s", test.capabilities, n)
			}
			if again.String() != "answered /1 rw" || again.Generation != first.Generation {
				t.Errorf("%s: the same list again is %v of generation %d → %d", test.capabilities, again, first.Generation, again.Generation)
			}
			if test.asked == 2 {
				time.Sleep(31 * time.Second)
				if third := p.roots(4); third.String() != "answered /2 rw" || third.Generation == first.Generation {
					t.Errorf("%s: another list is %v of generation %d → %d", test.capabilities, third, first.Generation, third.Generation)
				}
			}
		})
	}
}

func TestFiftyCallsShareOneQuestion(t *testing.T) {
	p := newRig(t, clientroots.Options{}).connect(t)
	p.handshake(declared)
	for id := 1; id <= 50; id++ {
		p.send(call(id, "roots"))
	}
	q := p.question(1)
	time.Sleep(20 * time.Millisecond) // for a second question to show itself
	p.send(resultOf(q, one("/w")))
	for id := 1; id <= 50; id++ {
		want(t, "a call", p.answer(id).report(t), "answered /w rw")
	}
	if n := p.questions(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// A session restored from storage has had its handshake elsewhere.
func TestARestoredSession(t *testing.T) {
	var state mcp.ServerSessionState
	err := json.Unmarshal([]byte(`{"initializeParams":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"p","version":"0"}},"initializedParams":{}}`), &state)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, clientroots.Options{})
	p := r.restore(t, &mcp.ServerSessionOptions{State: &state})
	p.respondWith(func(int) string { return one("/w") })
	r.tracker.Refresh(p.session)
	p.question(1)
	want(t, "a call", p.roots(1), "answered /w rw")
}

func TestWhatIsKeptOfALongListIsBounded(t *testing.T) {
	r := newRig(t, clientroots.Options{})
	p := r.connect(t)
	long := strings.Repeat("é", 50_000)
	p.respondWith(func(int) string {
		return fmt.Sprintf(`{"roots":[{"uri":"file:///a","name":%q},{"uri":"file:///%s"},{"uri":"x:%s","name":%q}]}`, long, long, long, long)
	})
	p.handshake(declared)
	want(t, "a call", p.roots(1), "answered /a rw "+strings.Repeat("é", roots.MaxName/2)+" !too-long !too-long")
	l := r.tracker.Known(p.session)
	for _, bad := range l.Rejected {
		if len(bad.Entry.URI) > roots.MaxURI || len(bad.Entry.Name) > roots.MaxName {
			t.Errorf("%d bytes of a URI and %d of a name are kept", len(bad.Entry.URI), len(bad.Entry.Name))
		}
	}
}

func TestAnInitializeThatAsksForTheNextEraFailsPolitely(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2099-01-01"} {
		p := newRig(t, clientroots.Options{}).connect(t)
		p.initialize(version, declared)
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		// The SDK refuses to ask in such a session. What matters is that the result
		// does not ask either: the request is one of the era before.
		p.send(call(1, "roots"))
		f := p.answer(1)
		if f.Result.InputRequests != nil || f.Result.ResultType == "input_required" {
			t.Errorf("%s: %s", version, f.raw)
		}
		want(t, version, f.report(t), "failed")
	}
}

func TestNothingIsKeptOfAnEndedSession(t *testing.T) {
	r := newRig(t, clientroots.Options{})
	for range 20 {
		p := r.connect(t)
		p.handshake(declared)
		p.send(call(1, "roots"), call(2, "refresh"))
		p.question(1)
		p.conn.Close()
		p.session.Wait() //nolint:errcheck // the pipe was closed under it
	}
	deadline := time.Now().Add(5 * time.Second)
	for r.tracker.TestOnlySessions() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions are kept", r.tracker.TestOnlySessions())
		}
		time.Sleep(time.Millisecond)
	}
	if n := r.log.lines("not known"); n != 0 {
		t.Errorf("%d warnings of sessions that just ended: %s", n, r.log.buf.String())
	}
}
