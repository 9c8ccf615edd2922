package stdio_test

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/stdio"
)

const ping99 = `{"jsonrpc":"2.0","id":99,"method":"ping"}`

func refused(id, reason string) string {
	return `< {"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"` + reason + `"}}`
}

func notJSON(id string) string {
	return `< {"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32700,"message":"not valid JSON: *"}}`
}

func text(id, s string) string {
	return `< {"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + s + `"}]}}`
}

func modernText(id, s string) string {
	return `< {"jsonrpc":"2.0","id":` + id + `,"result":{"_meta":{*},"content":[{"type":"text","text":"` + s + `"}],"resultType":"complete"}}`
}

// TestProbes sends what clients get wrong, and what attackers try, to a server
// that has the SDK's usual handlers. A script's "> " lines are sent as they
// are, "< " lines must come back next. After each script the next good request
// must be answered, and nothing else may have been.
//
// The names are those of the catalogue of raw probes. Where the outcome is
// stricter than the catalogue's it says why:
//
//   - I1, I3, I8: ids are bytes, so integers of any size are served and
//     answered exactly; an id in exponent form is refused like any other
//     number that is not written as an integer.
//   - I4, I5, F11: nothing is ever sent with an id that is null or true, which
//     ends the session of some clients.
//   - I7: -0 is an integer to JSON, and answered as it was written.
//   - I9: the second call of an id is refused, not dropped.
//   - D1–D6, U1, U2, U4, U5, F10, F14: the id can be told, so the caller is.
//   - C1, C6, M5: refused by letter case rather than read as something else.
//   - B1–B3: batches of version 2025-03-26 are served; elsewhere (B4, B5, B7)
//     the one caller is told.
//   - E1–E5: each era has its own session.
//   - M2, M3, M9, M11, X1: a panic is one failed call.
//
// F14 is in TestLongLine and TestLongestLineIsServed, X3 in
// TestSlowNotificationHandlerDelaysNoAnswer, X4 in TestSlowCallEndsWithTheInput.
// E6, E9 and E10 are about what a handler asks of which client, and how long it
// waits; E8 is a part of E1.
func TestProbes(t *testing.T) {
	const (
		current = "2025-11-25"
		batches = "2025-03-26"
	)
	noSecond := refused("5", "an object has the same name twice")
	deep := strings.Repeat("[", 1200) + strings.Repeat("]", 1200)
	answered := func(roots string) string { return `,"inputResponses":{"roots":` + roots + `}` }
	inputRequired := `,"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list","params":{}}}}}`
	changed := `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`

	for _, p := range []struct {
		name    string
		version string // of the handshake before the script, or ""
		script  []string
	}{
		{"F1 malformed line", current, []string{"> {bad"}},
		{"F2 trailing space", current, []string{"> " + ping99 + " ", `< {"jsonrpc":"2.0","id":99,"result":{}}`}},
		{"F3 byte order mark", current, []string{"> \xef\xbb\xbf" + ping99}},
		{"F4 blank lines and CR LF", current, []string{"> \n\r\n" + ping99 + "\r\n", `< {"jsonrpc":"2.0","id":99,"result":{}}`}},
		{"F5 two objects on one line", current, []string{"> " + ping99 + `{"jsonrpc":"2.0","id":100,"method":"ping"}`}},
		{"F6 one message over several lines", current, []string{"> {\"jsonrpc\":\"2.0\",\n\"id\":5,\n\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\n\"arguments\":{\"path\":\"/etc/passwd\"}}}"}},
		{"F6b one message over several lines, the id with the method", current, []string{"> {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\n\"arguments\":{\"path\":\"/etc/passwd\"}}}", notJSON("5")}},
		{"F7 no jsonrpc", current, []string{`> {"id":5,"method":"ping"}`, refused("5", `jsonrpc must be \"2.0\"`)}},
		{"F8 jsonrpc 1.0", current, []string{`> {"jsonrpc":"1.0","id":5,"method":"ping"}`, refused("5", `jsonrpc must be \"2.0\"`)}},
		{"F9 scalar", current, []string{"> 42"}},
		{"F10 nesting of 1200", current, []string{"> " + call("5", "raw", `{"a":`+deep+`}`), refused("5", "nested too deeply")}},
		{"F11 error response with id null", current, []string{`> {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`}},
		{"F12 unexpected response", current, []string{`> {"jsonrpc":"2.0","id":777,"result":{}}`}},
		{"F13 unknown method and notification", current, []string{
			`> {"jsonrpc":"2.0","id":5,"method":"x/y"}`, `< {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"method not found: \"x/y\""}}`,
			`> {"jsonrpc":"2.0","method":"notifications/x"}`,
		}},
		{"I1 id beyond float64", current, []string{`> {"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `< {"jsonrpc":"2.0","id":9007199254740993,"result":{}}`}},
		{"I2 id 1.5", current, []string{`> {"jsonrpc":"2.0","id":1.5,"method":"ping"}`, refused("1.5", "id must be a string or an integer")}},
		{"I3 id 1e2", current, []string{`> {"jsonrpc":"2.0","id":1e2,"method":"ping"}`, refused("1e2", "id must be a string or an integer")}},
		{"I4 id true", current, []string{`> {"jsonrpc":"2.0","id":true,"method":"ping"}`}},
		{"I5 id null", current, []string{`> {"jsonrpc":"2.0","id":null,"method":"ping"}`}},
		{"I6 id 1e400", current, []string{`> {"jsonrpc":"2.0","id":1e400,"method":"ping"}`, refused("1e400", "id must be a string or an integer")}},
		{"I7 id -0", current, []string{`> {"jsonrpc":"2.0","id":-0,"method":"ping"}`, `< {"jsonrpc":"2.0","id":-0,"result":{}}`}},
		{"I8 id 2^64", current, []string{`> {"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}`, `< {"jsonrpc":"2.0","id":18446744073709551616,"result":{}}`}},
		{"I8b id of 40 digits, id with escapes", current, []string{
			`> {"jsonrpc":"2.0","id":1234567890123456789012345678901234567890,"method":"ping"}`, `< {"jsonrpc":"2.0","id":1234567890123456789012345678901234567890,"result":{}}`,
			`> {"jsonrpc":"2.0","id":"abc\u0031\/é","method":"ping"}`, `< {"jsonrpc":"2.0","id":"abc\u0031\/é","result":{}}`,
			`> {"jsonrpc":"2.0","id":"","method":"ping"}`, `< {"jsonrpc":"2.0","id":"","result":{}}`,
		}},
		{"I9 same id twice in flight", current, []string{
			"> " + call("7", "slow", "{}"), "> " + call("7", "echo", `{"path":"x"}`), refused("7", "the id belongs to a call that is not answered yet"),
			`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		}},
		{"I9b same id again after the answer", current, []string{
			"> " + call("7", "echo", `{"path":"x"}`), text("7", `\"x\"`), "> " + call("7", "echo", `{"path":"y"}`), text("7", `\"y\"`),
		}},
		{"D1 duplicate method", current, []string{`> {"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/call","params":{"name":"echo","arguments":{"path":"/etc/passwd"}}}`, noSecond}},
		{"D2 duplicate params", current, []string{`> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"path":"/ok"}},"params":{"name":"echo","arguments":{"path":"/etc/passwd"}}}`, noSecond}},
		{"D3 duplicate arguments", current, []string{`> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"path":"/ok"},"arguments":{"path":"/etc/passwd"}}}`, noSecond}},
		{"D4 duplicate path", current, []string{"> " + call("5", "echo", `{"path":"/ok","path":"/etc/passwd"}`), noSecond}},
		{"D5 duplicate name", current, []string{`> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"raw","name":"echo","arguments":{"path":"/etc/passwd"}}}`, noSecond}},
		{"D6 duplicate in another spelling", current, []string{"> " + call("5", "echo", `{"path":"/ok","p\u0061th":"/etc/passwd"}`), noSecond}},
		{"D7 duplicate id", current, []string{`> {"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}`}},
		{"C1 Method and PARAMS", current, []string{`> {"jsonrpc":"2.0","id":5,"Method":"tools/call","PARAMS":{"name":"echo","arguments":{"path":"/etc/passwd"}}}`, refused("5", "a known name in another letter case: method")}},
		{"C2 Name and Arguments", current, []string{`> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"Name":"echo","Arguments":{"path":"/etc/passwd"}}}`, `< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"unknown tool \"\""}}`}},
		{"C3 Path beside path", current, []string{"> " + call("5", "echo", `{"path":"/ok","Path":"/etc/passwd"}`), refused("5", "two names differ only in letter case")}},
		{"C4 escaped member name", current, []string{`> {"jsonrpc":"2.0","id":5,"\u006dethod":"tools/call","params":{"name":"echo","arguments":{"path":"/etc/passwd"}}}`, text("5", `\"/etc/passwd\"`)}},
		{"C5 escaped slash", current, []string{`> {"jsonrpc":"2.0","id":5,"method":"tools\/call","params":{"name":"echo","arguments":{"path":"\/etc\/passwd"}}}`, text("5", `\"/etc/passwd\"`)}},
		{"C6 a letter that folds to s", current, []string{`> {"jsonrpc":"2.0","id":5,"method":"tools/call","param\u017f":{"name":"echo","arguments":{"path":"/etc/passwd"}}}`, refused("5", "a known name in another letter case: params")}},
		{"U1 invalid UTF-8", current, []string{"> " + call("5", "echo", "{\"path\":\"/ok\xff/../etc\"}"), notJSON("5")}},
		{"U2 lone surrogate", current, []string{"> " + call("5", "echo", `{"path":"/ok\ud800x"}`), notJSON("5")}},
		{"U3 NUL escape", current, []string{"> " + call("5", "echo", `{"path":"/ok\u0000x"}`), text("5", `\"/ok\\x00x\"`)}},
		{"U4 overlong slash", current, []string{"> " + call("5", "echo", "{\"path\":\"/ok\xc0\xaf\"}"), notJSON("5")}},
		{"U5 raw control character", current, []string{"> " + call("5", "echo", "{\"path\":\"/ok\tx\"}"), notJSON("5")}},
		{"U6 carriage return between tokens", current, []string{"> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":[\r" + call("5", "echo", `{"path":"/etc/passwd"}`) + "\r]}"}},

		{"B1 batch of two calls", batches, []string{
			"> [" + call("5", "nap", `{}`) + "," + call("6", "caps", `{}`) + "]",
			`< [{"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"ver=2025-03-26 roots=true"}]}},{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"napped"}]}}]`,
		}},
		{"B2 batch of call and notification", batches, []string{
			"> [" + call("5", "echo", `{"path":"a"}`) + "," + changed + "]",
			`< [{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"\"a\""}]}}]`,
		}},
		{"B3 batch of notifications", batches, []string{"> [" + changed + "," + changed + "]"}},
		{"B3b batch with bad elements", batches, []string{
			"> [" + call("5", "nap", `{}`) + "," + call("6", "echo", `{"path":"b","Path":"c"}`) + `,7,[],{"jsonrpc":"2.0","id":null,"method":"ping"},` + initialize(batches, "") + "," + modern("8", "caps", "{}", "", "") + "," + call("5", "echo", `{"path":"a"}`) + "]",
			`< [{"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"two names differ only in letter case"}},` +
				`{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"initialize must not be in a batch"}},` +
				`{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"version 2026-07-28 has no batches"}},` +
				`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"the id belongs to a call that is not answered yet"}},` +
				`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"napped"}]}}]`,
		}},
		{"B3c batch with a cancelled call", batches, []string{
			"> [" + call("5", "slow", `{}`) + "," + call("6", "nap", `{}`) + "]",
			`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`,
			`< [{"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"napped"}]}}]`,
		}},
		{"B3d batch of broken JSON", batches, []string{"> [" + call("5", "echo", `{"path":"a"}`) + ",", "> [" + call("5", "echo", `{"path":"a"}`) + "] []"}},
		{"B4 batch in 2025-11-25", current, []string{"> [" + call("5", "echo", `{"path":"a"}`) + "]", refused("5", "batches are not accepted here")}},
		{"B4b batch of two in 2025-11-25", current, []string{"> [" + call("5", "echo", `{"path":"a"}`) + "," + ping99 + "]"}},
		{"B5 batch in 2026-07-28", "", []string{
			"> " + modern("4", "caps", "{}", rootsCap, ""), modernText("4", "ver=2026-07-28 roots=true"),
			"> [" + modern("5", "echo", `{"path":"a"}`, rootsCap, "") + "]", refused("5", "batches are not accepted here"),
			"> " + modern("6", "caps", "{}", rootsCap, ""), modernText("6", "ver=2026-07-28 roots=true"),
		}},
		{"B6 empty batch", batches, []string{"> []"}},
		{"B7 batch as the first line", "", []string{`> [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, refused("1", "batches are not accepted here")}},

		{"E1 initialize asks for 2026-07-28", "2026-07-28", []string{
			"> " + call("5", "mrtr", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"}]}}`, text("5", `[\"file:///a\"]`),
			"> " + call("6", "listroots", "{}"), `< {"jsonrpc":"2.0","id":2,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":2,"result":{"roots":[{"uri":"file:///b"}]}}`, text("6", `[\"file:///b\"]`),
			"> " + call("7", "caps", "{}"), text("7", "ver=2025-11-25 roots=true"),
		}},
		{"E2 initialize asks for 2099-01-01", "2099-01-01", []string{
			"> " + call("6", "listroots", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, text("6", `[]`),
		}},
		{"E3 server/discover, then initialize", "", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta(rootsCap) + `}}`, `< {"jsonrpc":"2.0","id":1,"result":{*"supportedVersions":["2026-07-28",*`,
			"> " + initialize("2025-11-25", rootsCap), `< {"jsonrpc":"2.0","id":0,"result":{*"protocolVersion":"2025-11-25",*`,
			"> " + initialized,
			"> " + call("6", "listroots", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, text("6", `[]`),
		}},
		{"E4 modern call in a session with a handshake", current, []string{
			"> " + modern("5", "mrtr", "{}", rootsCap, ""), `< {"jsonrpc":"2.0","id":5,"result":{*` + inputRequired,
			"> " + call("6", "mrtr", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`, text("6", `[]`),
		}},
		{"E5 modern call, then initialize", "", []string{
			"> " + modern("5", "caps", "{}", rootsCap, ""), modernText("5", "ver=2026-07-28 roots=true"),
			"> " + initialize("2025-06-18", rootsCap), `< {"jsonrpc":"2.0","id":0,"result":{*"protocolVersion":"2025-06-18",*`,
			"> " + modern("6", "caps", "{}", "", ""), modernText("6", "ver=2026-07-28 roots=false"),
			"> " + call("7", "caps", "{}"), text("7", "ver=2025-06-18 roots=true"),
		}},
		{"E5b initialize twice", current, []string{"> " + initialize(current, rootsCap), `< {"jsonrpc":"2.0","id":0,"error":{"code":0,"message":"duplicate \"initialize\" received"}}`}},
		{"E7 no roots capability", "", []string{
			"> " + initialize(current, ""), `< {"jsonrpc":"2.0","id":0,"result":*`, "> " + initialized,
			"> " + call("6", "listroots", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`,
			`< {"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"calling \"roots/list\": Method not found"}],"isError":true}}`,
		}},
		{"E11 modern list_changed", "", []string{"> " + modern("5", "caps", "{}", rootsCap, ""), modernText("5", "ver=2026-07-28 roots=true"), "> " + changed}},
		{"E12 modern ping and roots/list", "", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"ping","params":{` + meta(rootsCap) + `}}`, `< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,*`,
			"> " + modern("6", "listroots", "{}", rootsCap, ""), `< {"jsonrpc":"2.0","id":6,"result":{*"text":"\"roots/list\" cannot be sent *"isError":true,*`,
		}},
		{"E13 capabilities of each request", "", []string{
			"> " + modern("5", "caps", "{}", rootsCap, ""), modernText("5", "ver=2026-07-28 roots=true"),
			"> " + modern("6", "caps", "{}", "", ""), modernText("6", "ver=2026-07-28 roots=false"),
		}},
		{"E14 version of the wrong type, twice, unknown", "", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}}`, refused("1", "the protocol version in _meta must be a string"),
			`> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`, refused("2", "an object has the same name twice"),
			`> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + strings.Replace(meta(""), "2026-07-28", "2031-01-01", 1) + `}}`, `< {"jsonrpc":"2.0","id":3,"error":{"code":-32022,"message":"unsupported protocol version","data":{*`,
		}},
		{"M1 roots in the retry", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"roots":[{"uri":"file:///a"}]}`)), modernText("5", `[\"file:///a\"]`)}},
		{"M2 wrong kind of answer", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"action":"accept"}`)), `< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}`}},
		{"M3 null root", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"roots":[null]}`)), `< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}`}},
		{"M5 ROOTS and URI", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"ROOTS":[{"URI":"file:///etc"}]}`)), refused("5", "a known name in another letter case: roots")}},
		{"M5b URI", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"roots":[{"URI":"file:///etc"}]}`)), refused("5", "a known name in another letter case: uri")}},
		{"M6 duplicate roots", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"roots":[{"uri":"file:///a"}],"roots":[{"uri":"file:///etc"}]}`)), noSecond}},
		{"M7 duplicate inputResponses", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"roots":[]}`)+answered(`{"roots":[]}`)), noSecond}},
		{"M8 roots and action", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"action":"decline","roots":[{"uri":"file:///a"}]}`)), modernText("5", `[\"file:///a\"]`)}},
		{"M9 key missing", "", []string{"> " + modern("5", "mrtr", "{}", rootsCap, `,"inputResponses":{"other":{"roots":[]}}`), `< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}`}},
		{"M4 M10 answers the SDK refuses", "", []string{
			"> " + modern("4", "mrtr", "{}", rootsCap, `,"inputResponses":{"roots":{"roots":[]},"junk":{"zzz":1}}`), `< {"jsonrpc":"2.0","id":4,"error":{"code":-32602,*`,
			"> " + modern("5", "mrtr", "{}", rootsCap, answered(`{"roots":null}`)), modernText("5", `[]`),
			"> " + modern("6", "mrtr", "{}", rootsCap, answered(`{"roots":{}}`)), `< {"jsonrpc":"2.0","id":6,"error":{"code":-32602,*`,
		}},
		{"M11 legacy null root", current, []string{
			"> " + call("5", "mrtr", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"roots":[null]}}`, `< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}`,
		}},
		{"M12 legacy result null, wrong type", current, []string{
			"> " + call("5", "mrtr", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`,
			`> {"jsonrpc":"2.0","id":1,"result":null}`, text("5", "[]"),
			"> " + call("6", "mrtr", "{}"), `< {"jsonrpc":"2.0","id":2,"method":"roots/list","params":{}}`,
			`> {"jsonrpc":"2.0","id":2,"result":{"roots":"x"}}`, `< {"jsonrpc":"2.0","id":6,"error":{*`,
		}},
		{"M13 answers that are no responses end the wait", current, []string{
			"> " + call("5", "listroots", "{}"), `< {"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":1,"error":"boom"}`, `< {"jsonrpc":"2.0","id":5,"result":{*the client's answer was refused: error must be an object*"isError":true}}`,
			"> " + call("6", "listroots", "{}"), `< {"jsonrpc":"2.0","id":2,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":2,"error":{"code":-32000.0,"data":{"x":1}}}`, `< {"jsonrpc":"2.0","id":6,"result":{*the client gives no reason*"isError":true}}`,
			"> " + call("7", "listroots", "{}"), `< {"jsonrpc":"2.0","id":3,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":3,"result":{"roots":[]},"error":null}`, text("7", "[]"),
			"> " + call("8", "listroots", "{}"), `< {"jsonrpc":"2.0","id":4,"method":"roots/list"}`,
			`> {"jsonrpc":"2.0","id":4,"result":{"roots":[{"uri":"file:///` + "\xff" + `"}]}}`, `< {"jsonrpc":"2.0","id":8,"result":{*the client's answer was refused: not valid JSON: *"isError":true}}`,
		}},
		{"X1 panic", current, []string{"> " + call("5", "panic", "{}"), `< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}`}},
		{"X2 cancelled call", current, []string{"> " + call(`"a"`, "slow", "{}"), `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"x"}}`}},
		{"X2b cancellation of nothing, of initialize, without an id", "", []string{
			`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`,
			`> {"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			"> " + initialize(current, "") + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`,
			`< {"jsonrpc":"2.0","id":0,"result":*`,
		}},
		{"X2c modern cancelled call", "", []string{"> " + modern("5", "slow", "{}", "", ""), `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`}},
		{"X5 request before initialize", "", []string{`> {"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `< {"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"method \"tools/list\" is invalid during session initialization"}}`}},
		{"X6 arguments null, array, missing, unknown, wrong type", current, []string{
			"> " + call("5", "echo", "null"), `< {"jsonrpc":"2.0","id":5,"result":{*"isError":true}}`,
			"> " + call("6", "echo", "[1]"), `< {"jsonrpc":"2.0","id":6,"result":{*"isError":true}}`,
			`> {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`, `< {"jsonrpc":"2.0","id":7,"result":{*"isError":true}}`,
			"> " + call("8", "echo", `{"path":"a","zzz":1}`), `< {"jsonrpc":"2.0","id":8,"result":{*"isError":true}}`,
			"> " + call("9", "echo", `{"path":5}`), `< {"jsonrpc":"2.0","id":9,"result":{*"isError":true}}`,
		}},
		{"X7 unknown tool", current, []string{"> " + call("5", "nope", "{}"), `< {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"unknown tool \"nope\""}}`}},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, nil, stdio.Transport{})
			if p.version != "" {
				c.handshake(p.version)
			}
			for _, step := range p.script {
				switch step[:2] {
				case "> ":
					c.send(step[2:])
				case "< ":
					c.want(step[2:])
				default:
					t.Fatalf("bad step %q", step)
				}
			}
			c.ping()
			c.end()
		})
	}
}
