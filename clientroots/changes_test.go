package clientroots_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
)

func TestALateStaleAnswerNeverWins(t *testing.T) {
	for _, order := range []string{"stale first", "stale last"} {
		t.Run(order, func(t *testing.T) {
			p := newRig(t, clientroots.Options{}).connect(t)
			p.handshake(declared)
			p.send(call(1, "roots"))
			q1 := p.question(1)
			p.send(listChanged, call(2, "roots"))
			q2 := p.question(2)
			answers := []string{resultOf(q1, one("/old")), resultOf(q2, one("/new"))}
			if order == "stale last" {
				answers[0], answers[1] = answers[1], answers[0]
			}
			p.send(answers...)
			want(t, "the call behind the change", p.answer(2).report(t), "answered /new rw")
			// The first call was still waiting, so it gets what is true now.
			want(t, "the call before the change", p.answer(1).report(t), "answered /new rw")
			want(t, "a later call", p.roots(3), "answered /new rw")
			if n := p.questions(); n != 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestAStaleAnswerWithNobodyWaitingIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRig(t, clientroots.Options{}).connect(t)
		p.handshake(declared)
		want(t, "a call", p.roots(1), "failed")
		p.send(listChanged)
		time.Sleep(time.Hour)
		want(t, "what is known", p.known(2), "unasked")
		if n := p.questions(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestAnUndeclaredNotificationIsObeyed(t *testing.T) {
	p := newRig(t, clientroots.Options{}).connect(t)
	p.respondWith(func(n int) string { return one(fmt.Sprintf("/%d", n)) })
	p.handshake(`{"roots":{}}`)
	want(t, "the first call", p.roots(1), "answered /1 rw")
	want(t, "the second call", p.roots(2), "answered /1 rw")
	p.send(listChanged)
	want(t, "a call after a change", p.roots(3), "answered /2 rw")
}

func TestTheMisspeltNotificationIsObeyedWithOneWarning(t *testing.T) {
	r := newRig(t, clientroots.Options{})
	p := r.connect(t)
	p.respondWith(func(n int) string { return one(fmt.Sprintf("/%d", n)) })
	p.handshake(declared)
	for i := 1; i <= 3; i++ {
		want(t, "a call", p.roots(i), fmt.Sprintf("answered /%d rw", i))
		p.send(`{"jsonrpc":"2.0","method":"notifications/roots/listChanged"}`)
	}
	if n := r.log.lines("misspells"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	// With an id it is a request, and there is none of that name.
	p.send(`{"jsonrpc":"2.0","id":9,"method":"notifications/roots/listChanged"}`)
	if f := p.answer(9); f.Error == nil || f.Error.Code != -32601 {
		t.Errorf("a request of that name: %s", f.raw)
	}
}

// The fence: a call right behind a change never sees what was before it.
func TestACallBehindAChangeSeesTheNewList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the pause after each change to cost nothing
		p := newRig(t, clientroots.Options{}).connect(t)
		var version atomic.Int64
		p.respondWith(func(int) string { return one(fmt.Sprintf("/v%d", version.Load())) })
		p.handshake(declared)
		generation := uint64(0)
		for i := 1; i <= 1000; i++ {
			version.Store(int64(i))
			p.send(listChanged, call(i, "roots"))
			got := p.answer(i).report(t)
			if got.String() != fmt.Sprintf("answered /v%d rw", i) || got.Generation <= generation || !got.Current {
				t.Fatalf("change %d, then a call: %v of generation %d, current %v", i, got, got.Generation, got.Current)
			}
			generation = got.Generation
		}
		if n := p.questions(); n != 1000 {
			t.Errorf("asked %d times for 1000 changes with a call each", n)
		}
	})
}

func TestAStormLeadsToAtMostTwoQuestions(t *testing.T) {
	for _, test := range []struct {
		name    string
		refresh bool // on each change
		calls   bool // one in the middle
	}{
		{"nobody asks", false, false},
		{"a refresh for each", true, false},
		{"a call in the middle", false, true},
		{"both", true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var changes atomic.Int64
			o := clientroots.Options{Timeout: 10 * time.Second}
			var r *rig
			o.Changed = func(ss *mcp.ServerSession) {
				changes.Add(1)
				if test.refresh {
					r.tracker.Refresh(ss)
				}
			}
			r = newRig(t, o)
			p := r.connect(t)
			var version atomic.Int64
			p.respondWith(func(int) string { return one(fmt.Sprintf("/v%d", version.Load())) })
			p.handshake(declared)
			for i := range 2000 {
				version.Store(int64(i))
				p.send(listChanged)
				if test.calls && i == 1000 {
					p.send(call(1, "roots"))
				}
			}
			if test.calls {
				want(t, "the call in the middle", p.answer(1).report(t), "answered /v1999 rw")
			}
			want(t, "the call behind the storm", p.roots(2), "answered /v1999 rw")
			if n := p.questions(); n > 2 {
				t.Errorf("asked %d times", n)
			}
			if changes.Load() != 2000 {
				t.Errorf("told of %d changes", changes.Load())
			}
		})
	}
}

// Changes that never stop are asked about now and then.
func TestASteadyDripOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r = newRig(t, clientroots.Options{Changed: func(ss *mcp.ServerSession) { r.tracker.Refresh(ss) }})
		p := r.connect(t)
		p.handshake(declared)
		for range 600 {
			p.send(listChanged)
			time.Sleep(100 * time.Millisecond)
		}
		// A minute of it: one question each half of the deadline, and the first few.
		if n := p.questions(); n < 30 || n > 45 {
			t.Errorf("asked %d times", n)
		}
		want(t, "a call", p.roots(1), "failed")
	})
}

// A client that floods with changes and reads nothing must not make questions
// pile up behind the pipe.
func TestAStormFromOneThatDoesNotRead(t *testing.T) {
	var r *rig
	r = newRig(t, clientroots.Options{
		Timeout: 20 * time.Millisecond,
		Changed: func(ss *mcp.ServerSession) { r.tracker.Refresh(ss) },
	})
	p := r.connect(t)
	p.respondWith(func(int) string { return one("/w") })
	p.handshake(declared)
	resume := p.deaf()
	before := runtime.NumGoroutine()
	for range 300 {
		p.send(listChanged)
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine() - before; n > 10 {
		t.Errorf("%d more goroutines", n)
	}
	resume()
	for id := 1; ; id++ {
		if p.roots(id).String() == "answered /w rw" {
			break
		}
	}
	if n := p.questions(); n > 10 {
		t.Errorf("asked %d times", n)
	}
}

func TestRefreshAsksInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRig(t, clientroots.Options{}).connect(t)
		p.respondWith(func(n int) string { return one(fmt.Sprintf("/%d", n)) })
		p.handshake(declared)
		p.send(call(1, "refresh"), call(2, "refresh"))
		p.answer(1)
		p.answer(2)
		synctest.Wait()
		want(t, "what is known", p.known(3), "answered /1 rw")
		p.send(call(4, "refresh"))
		p.answer(4)
		want(t, "a call", p.roots(5), "answered /1 rw")
		if n := p.questions(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestRefreshUnansweredIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, clientroots.Options{})
		p := r.connect(t)
		p.handshake(declared)
		p.send(call(1, "refresh"))
		p.answer(1)
		time.Sleep(2 * time.Second)
		want(t, "after 2 s", p.known(2), "unasked")
		time.Sleep(2 * time.Second)
		want(t, "after 4 s", p.known(3), "failed")
		if n := r.log.lines("not known"); n != 1 {
			t.Errorf("%d warnings", n)
		}
	})
}

func TestRefreshWaitsForTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, clientroots.Options{})
		p := r.connect(t)
		p.respondWith(func(int) string { return one("/w") })
		r.tracker.Refresh(p.session) // before anything is known of the client
		p.initialize("2025-06-18", declared)
		r.tracker.Refresh(p.session)
		synctest.Wait()
		if n := p.questions(); n != 0 {
			t.Errorf("asked %d times before the client was initialized", n)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
		want(t, "what is known", r.knownNow(p), "answered /w rw")
	})
}

func TestAChangeBeforeTheHandshakeIsOver(t *testing.T) {
	var r *rig
	r = newRig(t, clientroots.Options{Changed: func(ss *mcp.ServerSession) { r.tracker.Refresh(ss) }})
	p := r.connect(t)
	p.respondWith(func(n int) string { return one(fmt.Sprintf("/%d", n)) })
	p.send(listChanged)
	p.initialize("2025-11-25", declared)
	p.send(listChanged, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, call(1, "roots"))
	want(t, "a call", p.answer(1).report(t), "answered /1 rw")
}

func TestCurrentTellsBeforeAWrite(t *testing.T) {
	r := newRig(t, clientroots.Options{})
	p := r.connect(t)
	p.respondWith(func(int) string { return one("/w") })
	p.handshake(declared)
	first := p.roots(1)
	if !r.tracker.Current(p.session, first.Generation) {
		t.Error("the list just had is not current")
	}
	p.send(listChanged)
	p.known(2) // handled after the change
	if r.tracker.Current(p.session, first.Generation) {
		t.Error("a list is current after a change was announced")
	}
	second := p.roots(3)
	if second.Generation <= first.Generation || r.tracker.Current(p.session, first.Generation) || !r.tracker.Current(p.session, second.Generation) {
		t.Errorf("generations %d, %d", first.Generation, second.Generation)
	}

	undeclared := newRig(t, clientroots.Options{}).connect(t)
	undeclared.handshake(`{}`)
	undeclared.send(listChanged)
	if got := undeclared.roots(1); got.String() != "undeclared" || !got.Current {
		t.Errorf("a client without roots: %v, current %v", got, got.Current)
	}
}
