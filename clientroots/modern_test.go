//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use.

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

// modern is a call of 2026-07-28 of one of the three methods that may ask.
func modern(id int, method, capabilities, more string) string {
	params := map[string]string{
		"tools/call":     `"name":"roots","arguments":{}`,
		"prompts/get":    `"name":"roots"`,
		"resources/read": `"uri":"test:///roots"`,
	}[method]
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"0"},"io.modelcontextprotocol/clientCapabilities":%s}%s}}`,
		id, method, params, capabilities, more)
}

const declaredModern = `{"roots":{}}`

// with makes inputResponses with an answer under our key.
func with(answer string) string { return `,"inputResponses":{"roots":` + answer + `}` }

// asks checks that a result asks for roots, and for nothing else.
func asks(t testing.TB, what string, f frame) {
	t.Helper()
	if f.Result.ResultType != "input_required" || len(f.Result.InputRequests) != 1 || f.Result.InputRequests["roots"].Method != "roots/list" || strings.Contains(f.raw, "requestState") {
		t.Errorf("%s: %s", what, f.raw)
	}
}

func TestModernCallsAskInTheResult(t *testing.T) {
	for _, method := range []string{"tools/call", "prompts/get", "resources/read"} {
		for _, session := range []string{"modern", "legacy"} {
			t.Run(session+"/"+method, func(t *testing.T) {
				p := newRig(t, clientroots.Options{}).connect(t)
				if session == "legacy" {
					p.handshake(declared)
				}
				p.send(modern(1, method, declaredModern, ""))
				asks(t, "the first round", p.answer(1))
				p.send(modern(2, method, declaredModern, `,"inputResponses":{}`))
				asks(t, "no answer", p.answer(2))
				p.send(modern(3, method, declaredModern, `,"inputResponses":{"other":{"roots":[]}}`))
				asks(t, "another answer", p.answer(3))
				p.send(modern(4, method, declaredModern, with(one("/w"))))
				want(t, "the answer", p.answer(4).report(t), "answered /w rw")
				p.send(modern(5, method, declaredModern, ""))
				asks(t, "the next call", p.answer(5))
				p.send(modern(6, method, `{}`, ""))
				want(t, "a request that declares nothing", p.answer(6).report(t), "undeclared")
				p.send(modern(7, method, `{}`, with(one("/w"))))
				want(t, "an answer that nobody asked for", p.answer(7).report(t), "undeclared")
				if n := p.questions(); n != 0 {
					t.Errorf("the client was asked %d times by requests", n)
				}
			})
		}
	}
}

func TestModernCapabilityMatrix(t *testing.T) {
	p := newRig(t, clientroots.Options{}).connect(t)
	id := 0
	for capabilities, declares := range map[string]bool{
		`{}`:                               false,
		`{"roots":null}`:                   false,
		`{"sampling":{}}`:                  false,
		`{"roots":{}}`:                     true,
		`{"roots":{"listChanged":true}}`:   true,
		`{"roots":{"listChanged":false}}`:  true,
		`{"roots":{},"elicitation":{}}`:    true,
		`{"ROOTS":{}}`:                     false,
		`{"experimental":{"roots":{}}}`:    false,
		`{"extensions":{"x/y":{}},"a":[]}`: false,
	} {
		id++
		p.send(modern(id, "tools/call", capabilities, ""))
		if f := p.answer(id); declares {
			asks(t, capabilities, f)
		} else {
			want(t, capabilities, f.report(t), "undeclared")
		}
	}
}

// The probes of answers in calls, M1 to M10. The SDK decodes what it can and
// refuses the rest with -32602; nothing may end the session.
func TestModernAnswersOfEveryShape(t *testing.T) {
	for _, test := range []struct {
		name, more string
		want       string // or "" if the SDK refuses the call
	}{
		{"M1 good, and a state", with(one("/a")) + `,"requestState":"s1"`, "answered /a rw"},
		{"M2 another kind", with(`{"action":"accept"}`), "failed"},
		{"M2 a message", with(`{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`), "failed"},
		{"M3 a null root", with(`{"roots":[null]}`), "answered !empty"},
		{"M3 a null root and a good one", with(`{"roots":[null,{"uri":"file:///a"}]}`), "answered /a rw !empty"},
		{"M4 an extra answer of no kind", `,"inputResponses":{"roots":{"roots":[]},"junk":{"zzz":1}}`, ""},
		{"M5 names in other case", with(`{"ROOTS":[{"URI":"file:///etc"}]}`), "answered /etc rw"},
		{"M6 two lists", with(`{"roots":[{"uri":"file:///a"}],"roots":[{"uri":"file:///b"}]}`), "answered /b rw"},
		{"M7 two maps", with(one("/a")) + with(one("/b")), "answered /b rw"},
		{"M8 two kinds", with(`{"action":"decline","roots":[{"uri":"file:///a"}]}`), "answered /a rw"},
		{"M9 no such key", `,"inputResponses":{"other":{"roots":[]}}`, "asks"},
		{"M10 null", with(`{"roots":null}`), "failed"},
		{"M10 an object", with(`{"roots":{}}`), ""},
		{"a text", with(`{"roots":"x"}`), ""},
		{"nothing", with(`null`), ""},
		{"nothing in it", with(`{}`), ""},
		{"responses null", `,"inputResponses":null`, "asks"},
		{"read-only", with(`{"roots":[{"uri":"file:///a","_meta":{"rootbound/mode":"ro"}}]}`), "answered /a ro"},
		{"good and bad", with(`{"roots":[{"uri":"https://x"},{"uri":"file:///a"}]}`), "answered /a rw !scheme"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, clientroots.Options{})
			p := r.connect(t)
			p.send(modern(1, "tools/call", declaredModern, test.more))
			f := p.answer(1)
			switch {
			case test.want == "":
				if f.Error == nil || f.Error.Code != -32602 {
					t.Errorf("answered %s", f.raw)
				}
			case test.want == "asks":
				asks(t, "the call", f)
			default:
				got := f.report(t)
				want(t, "the call", got, test.want)
				if (got.State == "failed") != (got.Why != "") {
					t.Errorf("state %s, why %q", got.State, got.Why)
				}
			}
			p.send(modern(2, "tools/call", declaredModern, with(one("/next"))))
			want(t, "the next call", p.answer(2).report(t), "answered /next rw")
		})
	}
}

// The probes of answers to requests, M11 and M12.
func TestLegacyAnswersThatEndedServers(t *testing.T) {
	p := newRig(t, clientroots.Options{}).connect(t)
	p.handshake(declared)
	for i, test := range []struct{ result, want string }{
		{`{"roots":[null]}`, "answered !empty"},
		{`null`, "failed"},
		{`{"roots":"x"}`, "failed"},
	} {
		p.send(listChanged, call(2*i+1, "roots"))
		p.send(resultOf(p.question(i+1), test.result))
		want(t, test.result, p.answer(2*i+1).report(t), test.want)
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 2*i+2))
		if f := p.answer(2*i + 2); f.Error != nil {
			t.Errorf("a ping after %s: %s", test.result, f.raw)
		}
	}
}

func TestModernAnswersCountWithinTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRig(t, clientroots.Options{TTL: 10 * time.Second}).connect(t)
		p.send(modern(1, "tools/call", declaredModern, ""))
		asks(t, "the first call", p.answer(1))
		p.send(modern(2, "tools/call", declaredModern, with(one("/a"))))
		first := p.answer(2).report(t)
		want(t, "the answer", first, "answered /a rw")

		time.Sleep(9 * time.Second)
		p.send(modern(3, "prompts/get", declaredModern, ""))
		want(t, "within the TTL", p.answer(3).report(t), "answered /a rw")
		p.send(modern(4, "tools/call", `{}`, ""))
		want(t, "within the TTL, declaring nothing", p.answer(4).report(t), "undeclared")

		time.Sleep(2 * time.Second)
		p.send(modern(5, "tools/call", declaredModern, ""))
		asks(t, "after the TTL", p.answer(5))

		p.send(modern(6, "tools/call", declaredModern, with(one("/a"))))
		if again := p.answer(6).report(t); again.Generation != first.Generation || !again.Current {
			t.Errorf("the same list has generation %d → %d", first.Generation, again.Generation)
		}
		p.send(modern(7, "tools/call", declaredModern, with(one("/b"))))
		if other := p.answer(7).report(t); other.Generation <= first.Generation || !other.Current {
			t.Errorf("another list has generation %d → %d", first.Generation, other.Generation)
		}
		// This era knows no such notification. It can only mean that the list is old.
		p.send(listChanged)
		p.send(modern(8, "tools/call", declaredModern, ""))
		asks(t, "after a stray notification", p.answer(8))
		// A failed refresh keeps nothing.
		p.send(modern(9, "tools/call", declaredModern, with(one("/b"))))
		p.answer(9)
		p.send(modern(10, "tools/call", declaredModern, with(`{"action":"cancel"}`)))
		want(t, "an answer of another kind", p.answer(10).report(t), "failed")
		p.send(modern(11, "tools/call", declaredModern, ""))
		asks(t, "after a failure", p.answer(11))
		if n := p.questions(); n != 0 {
			t.Errorf("the client was asked %d times by requests", n)
		}
	})
}

func TestTheTTLIsOfOneSession(t *testing.T) {
	r := newRig(t, clientroots.Options{TTL: time.Hour})
	p, q := r.connect(t), r.connect(t)
	p.send(modern(1, "tools/call", declaredModern, with(one("/p"))))
	want(t, "the one", p.answer(1).report(t), "answered /p rw")
	q.send(modern(1, "tools/call", declaredModern, ""))
	asks(t, "the other", q.answer(1))
}

func TestTwoErasOfOneSessionAreApart(t *testing.T) {
	r := newRig(t, clientroots.Options{TTL: time.Hour})
	p := r.connect(t)
	p.respondWith(func(int) string { return one("/legacy") })
	p.handshake(declared)
	p.send(modern(1, "tools/call", declaredModern, with(one("/modern"))))
	m := p.answer(1).report(t)
	want(t, "the modern call", m, "answered /modern rw")
	l := p.roots(2)
	want(t, "the legacy call", l, "answered /legacy rw")
	p.send(modern(3, "tools/call", declaredModern, ""))
	want(t, "the next modern call", p.answer(3).report(t), "answered /modern rw")
	if m.Generation == l.Generation || !r.tracker.Current(p.session, m.Generation) || !r.tracker.Current(p.session, l.Generation) {
		t.Errorf("generations %d and %d", m.Generation, l.Generation)
	}

	// Legacy without roots, modern with: neither lends to the other.
	p = r.connect(t)
	p.handshake(`{}`)
	p.send(modern(1, "tools/call", declaredModern, with(one("/modern"))))
	want(t, "the modern call", p.answer(1).report(t), "answered /modern rw")
	want(t, "the legacy call", p.roots(2), "undeclared")

	// Modern first: what a modern request declares is said of that request alone.
	p = r.connect(t)
	p.send(modern(1, "tools/call", declaredModern, with(one("/modern"))))
	want(t, "the modern call", p.answer(1).report(t), "answered /modern rw")
	r.tracker.Refresh(p.session)
	want(t, "a call of no era", p.roots(2), "undeclared")
	if n := p.questions(); n != 0 {
		t.Errorf("the client was asked %d times by requests", n)
	}
	want(t, "what is known", r.knownNow(p), "answered /modern rw")
}

// Values that only code in this process can make.
func TestNothingGoesWithoutACheck(t *testing.T) {
	r := newRig(t, clientroots.Options{})
	p := r.connect(t)
	p.handshake(declared)
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{}},
	}
	for name, req := range map[string]mcp.Request{
		"nil":                  nil,
		"a nil pointer":        (*mcp.CallToolRequest)(nil),
		"a nil prompt":         (*mcp.GetPromptRequest)(nil),
		"a nil resource":       (*mcp.ReadResourceRequest)(nil),
		"no session":           &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta}},
		"a method of no input": &mcp.ListToolsRequest{Session: p.session},
		"a nil answer": &mcp.CallToolRequest{Session: p.session, Params: &mcp.CallToolParamsRaw{
			Meta: meta, InputResponses: mcp.InputResponseMap{clientroots.Key: nil},
		}},
		"a typed nil answer": &mcp.GetPromptRequest{Session: p.session, Params: &mcp.GetPromptParams{
			Meta: meta, InputResponses: mcp.InputResponseMap{clientroots.Key: (*mcp.ListRootsResult)(nil)},
		}},
	} {
		if asks := strings.Contains(name, "answer"); clientroots.Modern(req) != asks {
			t.Errorf("%s: modern is %v", name, !asks)
		}
		if l := r.tracker.Roots(t.Context(), req); l.State != roots.Failed || l.Why == "" || l.Ask != nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
	p.respondWith(func(int) string { return one("/w") })
	if l := r.tracker.Roots(t.Context(), &mcp.CallToolRequest{Session: p.session}); l.State != roots.Answered {
		t.Errorf("no params: %+v", l)
	}
	if err := clientroots.New(nil).Install(nil); err == nil {
		t.Error("installed on nothing")
	}
	r.tracker.Refresh(nil)
	if l := r.tracker.Known(nil); l.State != roots.Undeclared {
		t.Errorf("no session: %+v", l)
	}
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"roots":[]}`, `{"roots":[null]}`, `{"roots":null}`, `{}`, `null`, `{"ROOTS":[{"URI":"file:///a"}]}`,
		`{"roots":[{"uri":"file:///a","name":"\u202e","_meta":{"rootbound/mode":"ro"}},{"uri":"file:///a%00"}]}`,
		`{"roots":[{"uri":"file:///a","_meta":null},{"_meta":{"rootbound/mode":{}}}]}`, `{"action":"accept","roots":[{}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var res *mcp.ListRootsResult
		if json.Unmarshal([]byte(text), &res) == nil {
			l := clientroots.TestOnlyRead(res)
			if stated := res != nil && res.Roots != nil; stated != (l.State == roots.Answered) {
				t.Errorf("%q is %v", text, l.State)
			}
			if l.State == roots.Answered && len(l.Roots)+len(l.Rejected) != min(len(res.Roots), roots.MaxRoots+1) {
				t.Errorf("%q has %d roots, of which %d are good and %d bad", text, len(res.Roots), len(l.Roots), len(l.Rejected))
			}
			for _, r := range l.Roots {
				if r.URI.IsZero() || r.Source != roots.FromClient || len(r.Name) > roots.MaxName {
					t.Errorf("%q: %+v", text, r)
				}
			}
			for _, bad := range l.Rejected {
				if bad.Class == "" || bad.Why == "" || len(bad.Entry.URI) > roots.MaxURI+1 || len(bad.Entry.Name) > roots.MaxName {
					t.Errorf("%q: %+v", text, bad)
				}
			}
		}
		if p := clientroots.TestOnlyPrintable(text); len(p) > 256 || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == '\u202e' || r == 0x7f }) {
			t.Errorf("%q is shown as %q", text, p)
		}
	})
}
