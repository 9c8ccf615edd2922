package frame_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/frame"
)

// tools returns a tools/call with these arguments.
func tools(arguments string) string {
	return `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","arguments":` + arguments + `}}`
}

// inputs returns a tools/call with these answers to the server's questions.
func inputs(responses string) string {
	return `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","inputResponses":` + responses + `}}`
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestRefused has a line for each way in which two parsers have been seen to
// read different messages, and for what is no message at all. The numbers are
// those of the matrix in the design notes; S9, S21 and S24–S26 are accepted,
// see TestAccepted, and S19 is the transport's.
func TestRefused(t *testing.T) {
	const (
		twice    = "-32600 an object has the same name twice"
		letters  = "-32600 two names differ only in letter case"
		utf8     = "-32700 not valid JSON: bytes that are not UTF-8"
		half     = "-32700 not valid JSON: half a surrogate pair"
		odd      = "-32700 not valid JSON: an unexpected character"
		early    = "-32700 not valid JSON: it ends too early"
		more     = "-32700 not valid JSON: more than one value on the line"
		cr       = "-32700 not valid JSON: a carriage return inside the line"
		object   = "-32600 a message must be one JSON object"
		jsonrpc  = `-32600 jsonrpc must be "2.0"`
		ids      = "-32600 id must be a string or an integer"
		params   = "-32600 params must be an object"
		both     = "-32600 a response must not have both a result and an error"
		confused = "-32600 a request must not have a result or an error"
		deep     = "-32600 nested too deeply"
		era      = "-32600 the protocol version in _meta must be a string"
	)
	known := func(name string) string { return "-32600 a known name in another letter case: " + name }
	for _, tt := range []struct {
		name, line string
		want       string // code and message
		kind       frame.Kind
		id         string
	}{
		{"S1 path twice", tools(`{"path":"/ok","path":"/etc"}`), twice, frame.Call, "5"},
		{"S1 arguments twice", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{},"arguments":{}}}`, twice, frame.Call, "5"},
		{"S1 params twice", `{"jsonrpc":"2.0","id":5,"method":"m","params":{},"params":{}}`, twice, frame.Call, "5"},
		{"S1 method twice", `{"jsonrpc":"2.0","id":5,"method":"m","method":"n"}`, twice, frame.Call, "5"},
		{"S1 name twice", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","name":"b"}}`, twice, frame.Call, "5"},
		{"S1 id twice", `{"jsonrpc":"2.0","id":5,"id":6,"method":"m"}`, twice, frame.Call, ""},
		{"S1 far below", tools(`{"a":[{"b":{"c":1,"c":2}}]}`), twice, frame.Call, "5"},
		{"S1 in a result", `{"jsonrpc":"2.0","id":5,"result":{"a":1,"a":2}}`, twice, frame.Response, "5"},
		{"S2 path, escaped", tools(`{"path":"/ok","p\u0061th":"/etc"}`), twice, frame.Call, "5"},
		{"S2 method, escaped", `{"jsonrpc":"2.0","id":5,"method":"m","m\u0065thod":"n"}`, twice, frame.Call, "5"},
		{"S2 id, escaped", `{"jsonrpc":"2.0","id":5,"\u0069d":6,"method":"m"}`, twice, frame.Call, ""},
		{"S3 arguments merged", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{"path":"/etc"},"arguments":{}}}`, twice, frame.Call, "5"},
		{"S5 METHOD alone", `{"jsonrpc":"2.0","id":5,"METHOD":"m"}`, known("method"), frame.Call, "5"},
		{"S5 PARAMS alone", `{"jsonrpc":"2.0","id":5,"method":"m","PARAMS":{}}`, known("params"), frame.Call, "5"},
		{"S5 ID alone", `{"jsonrpc":"2.0","ID":5,"method":"m"}`, known("id"), frame.Call, "5"},
		{"S5 ID beside id", `{"jsonrpc":"2.0","id":5,"Id":6,"method":"m"}`, letters, frame.Call, ""},
		{"S5 Result alone", `{"jsonrpc":"2.0","id":5,"Result":{}}`, known("result"), frame.Response, "5"},
		{"S5 long s", `{"jsonrpc":"2.0","id":5,"method":"m","param` + "\u017f" + `":{}}`, known("params"), frame.Call, "5"},
		{"S5 long s, escaped", `{"jsonrpc":"2.0","id":5,"method":"m","param\u017f":{}}`, known("params"), frame.Call, "5"},
		{"S5 Path beside path", tools(`{"path":"/ok","Path":"/etc"}`), letters, frame.Call, "5"},
		{"S5 Kelvin sign", tools(`{"key":1,"\u212aey":2}`), letters, frame.Call, "5"},
		{"S5 Greek final sigma", tools(`{"ας":1,"ΑΣ":2}`), letters, frame.Call, "5"},
		{"S5 in params", `{"jsonrpc":"2.0","id":5,"method":"m","params":{"name":"a","Name":"b"}}`, letters, frame.Call, "5"},
		{"S5 in the envelope", `{"jsonrpc":"2.0","id":5,"method":"m","x":1,"X":2}`, letters, frame.Call, "5"},
		{"S5 in _meta", `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"a":1,"A":2}}}`, letters, frame.Call, "5"},
		{"S5 among many", tools(`{` + many(500) + `"N3":1}`), letters, frame.Call, "5"},
		{"S5 among many, both late", tools(`{` + many(500) + `"zz":1,"zZ":1}`), letters, frame.Call, "5"},
		{"S6 ROOTS alone", inputs(`{"r":{"ROOTS":[]}}`), known("roots"), frame.Call, "5"},
		{"S6 ROOTS beside roots", inputs(`{"r":{"roots":[],"ROOTS":[]}}`), letters, frame.Call, "5"},
		{"S6 URI alone", inputs(`{"r":{"roots":[{"URI":"file:///etc"}]}}`), known("uri"), frame.Call, "5"},
		{"S6 URI beside uri", inputs(`{"r":{"roots":[{"uri":"file:///a","URI":"file:///etc"}]}}`), letters, frame.Call, "5"},
		{"S6 two keys", inputs(`{"r":{},"R":{}}`), letters, frame.Call, "5"},
		{"S7 a byte FF", tools("{\"path\":\"/ok\xff\"}"), utf8, frame.Call, "5"},
		{"S7 overlong", tools("{\"path\":\"/ok\xc0\xaf\"}"), utf8, frame.Call, "5"},
		{"S7 a surrogate in UTF-8", tools("{\"path\":\"\xed\xa0\x80\"}"), utf8, frame.Call, "5"},
		{"S7 in a name", tools("{\"\xff\":1}"), utf8, frame.Call, "5"},
		{"S7 in the id", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"m\"}", utf8, frame.Call, ""},
		{"S8 high surrogate", tools(`{"path":"\ud800x"}`), half, frame.Call, "5"},
		{"S8 low surrogate", tools(`{"path":"\udc00"}`), half, frame.Call, "5"},
		{"S8 swapped", tools(`{"path":"\ude00\ud83d"}`), half, frame.Call, "5"},
		{"S8 in a name", tools(`{"\ud800":1}`), half, frame.Call, "5"},
		{"S10 tab in a string", tools("{\"path\":\"a\tb\"}"), odd, frame.Call, "5"},
		{"S10 NUL in a string", tools("{\"path\":\"a\x00b\"}"), odd, frame.Call, "5"},
		{"S10 NUL between tokens", "{\"jsonrpc\":\"2.0\",\x00\"id\":5,\"method\":\"m\"}", odd, frame.Call, "5"},
		{"S10 form feed between tokens", "{\"jsonrpc\":\"2.0\",\f\"id\":5,\"method\":\"m\"}", odd, frame.Call, "5"},
		{"S11 byte order mark", "\xef\xbb\xbf" + tools("{}"), odd, 0, ""},
		{"S11 no-break space", "\u00a0" + tools("{}"), odd, 0, ""},
		{"S12 trailing bytes", tools("{}") + "x", odd, 0, ""},
		{"S12 two values", tools("{}") + tools("{}"), more, 0, ""},
		{"S12 a comment", tools("{}") + "//", odd, 0, ""},
		{"S12 NUL at the end", tools("{}") + "\x00", odd, 0, ""},
		{"S13 first line of several", `{"jsonrpc":"2.0",`, early, 0, ""},
		{"S13 with the id", `{"jsonrpc":"2.0","id":5,"method":"m","params":{`, early, frame.Call, "5"},
		{"S13 middle", `"id":5,`, object, 0, ""},
		{"S13 last", `"arguments":{}}}`, object, 0, ""},
		{"S13 joined", "{\"jsonrpc\":\"2.0\",\n\"id\":5,\"method\":\"m\"}", "-32700 not valid JSON: a line feed inside the line", frame.Call, "5"},
		{"S14 carriage return between tokens", "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[\r" + tools("{}") + "\r]}", cr, frame.Call, ""},
		{"S14 before the line's end", tools("{}") + "\r", cr, frame.Call, "5"},
		{"S14 two of them", tools("{}") + "\r\r\n", cr, frame.Call, "5"},
		{"S16 nesting of 1200", tools(`{"a":` + nested(1200) + `}`), deep, frame.Call, "5"},
		{"S16 nesting of 20000", tools(`{"a":` + nested(20000) + `}`), deep, frame.Call, "5"},
		{"S16 nesting of 513", tools(`{"a":` + nested(510) + `}`), deep, frame.Call, "5"},
		{"S16 nesting in a result", `{"jsonrpc":"2.0","id":5,"result":` + nested(512) + `}`, deep, frame.Response, "5"},
		{"S16 nesting in unknown members", `{"jsonrpc":"2.0","id":5,"method":"m","x":` + nested(512) + `}`, deep, frame.Call, "5"},
		{"S17 leading zero", tools(`{"n":01}`), odd, frame.Call, "5"},
		{"S17 NaN", tools(`{"n":NaN}`), odd, frame.Call, "5"},
		{"S17 Infinity", tools(`{"n":-Infinity}`), odd, frame.Call, "5"},
		{"S17 plus", tools(`{"n":+1}`), odd, frame.Call, "5"},
		{"S17 hexadecimal", tools(`{"n":0x1}`), odd, frame.Call, "5"},
		{"S17 no digits", tools(`{"n":1.}`), odd, frame.Call, "5"},
		{"S18 id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, ids, frame.Call, "1.5"},
		{"S18 id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, ids, frame.Call, "1.0"},
		{"S18 id 1e2", `{"jsonrpc":"2.0","id":1e2,"method":"m"}`, ids, frame.Call, "1e2"},
		{"S18 id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, ids, frame.Call, ""},
		{"S18 id true", `{"jsonrpc":"2.0","id":true,"method":"m"}`, ids, frame.Call, ""},
		{"S18 id object", `{"jsonrpc":"2.0","id":{"a":5},"method":"m"}`, ids, frame.Call, ""},
		{"S18 id array", `{"jsonrpc":"2.0","id":[5],"method":"m"}`, ids, frame.Call, ""},
		{"S18 id of a response", `{"jsonrpc":"2.0","id":1.0,"result":{}}`, ids, frame.Response, "1.0"},
		{"S18 id null with a result", `{"jsonrpc":"2.0","id":null,"result":{}}`, ids, frame.Response, ""},
		{"S18 no id with a result", `{"jsonrpc":"2.0","result":{}}`, ids, frame.Response, ""},
		{"S18 id true with an error", `{"jsonrpc":"2.0","id":true,"error":{}}`, ids, frame.Response, ""},
		{"S20 method and result", `{"jsonrpc":"2.0","id":5,"method":"m","result":{}}`, confused, 0, ""},
		{"S20 method and error", `{"jsonrpc":"2.0","id":5,"method":"m","error":{}}`, confused, 0, ""},
		{"S20 method and result null", `{"jsonrpc":"2.0","id":5,"method":"m","result":null}`, confused, 0, ""},
		{"S20 response with params", `{"jsonrpc":"2.0","id":5,"result":{},"params":{}}`, "-32600 a response must not have params", 0, ""},
		{"S20 result and error", `{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":""}}`, both, frame.Response, "5"},
		{"S23 version of the wrong type", `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}}`, era, frame.Call, "5"},
		{"S23 version null", `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}}`, era, frame.Call, "5"},
		{"S23 version twice", `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`, twice, frame.Call, "5"},
		{"S23 version in another case", `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"io.modelcontextprotocol/ProtocolVersion":"2026-07-28"}}}`, known("io.modelcontextprotocol/protocolVersion"), frame.Call, "5"},
		{"S23 _meta twice", `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{},"_meta":{}}}`, twice, frame.Call, "5"},
		{"S26 a line of a log", "Server listening on stdio", odd, 0, ""},

		{"no jsonrpc", `{"id":5,"method":"m"}`, jsonrpc, frame.Call, "5"},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":5,"method":"m"}`, jsonrpc, frame.Call, "5"},
		{"jsonrpc a number", `{"jsonrpc":2.0,"id":5,"method":"m"}`, jsonrpc, frame.Call, "5"},
		{"method a number", `{"jsonrpc":"2.0","id":5,"method":7}`, "-32600 method must be a string", frame.Call, "5"},
		{"method null", `{"jsonrpc":"2.0","id":5,"method":null}`, "-32600 method must be a string", frame.Call, "5"},
		{"params an array", `{"jsonrpc":"2.0","id":5,"method":"m","params":[1]}`, params, frame.Call, "5"},
		{"params null", `{"jsonrpc":"2.0","id":5,"method":"m","params":null}`, params, frame.Call, "5"},
		{"params a string", `{"jsonrpc":"2.0","method":"m","params":"x"}`, params, frame.Call, ""},
		{"no method, no result", `{"jsonrpc":"2.0","id":5}`, "-32600 neither a method nor a result nor an error", 0, ""},
		{"error null alone", `{"jsonrpc":"2.0","id":5,"error":null}`, "-32600 error must be an object", frame.Response, "5"},
		{"error a string", `{"jsonrpc":"2.0","id":5,"error":"boom"}`, "-32600 error must be an object", frame.Response, "5"},
		{"a scalar", "42", object, 0, ""},
		{"a string", `"x"`, object, 0, ""},
		{"null", "null", object, 0, ""},
		{"broken", "{bad", odd, 0, ""},
		{"nothing", "", early, 0, ""},
		{"white space", " \t \n", early, 0, ""},
		{"an open string", `{"jsonrpc":"2.0","id":5,"method":"m`, early, frame.Call, "5"},
		{"an open id", `{"jsonrpc":"2.0","method":"m","id":"5`, early, frame.Call, ""},
		{"an id at the end", `{"jsonrpc":"2.0","method":"m","id":5`, early, frame.Call, ""},
		{"a trailing comma", `{"jsonrpc":"2.0","id":5,"method":"m",}`, odd, frame.Call, "5"},
		{"a missing comma", `{"jsonrpc":"2.0" "id":5,"method":"m"}`, odd, frame.Call, "5"},
		{"single quotes", `{'jsonrpc':'2.0','id':5,'method':'m'}`, odd, 0, ""},
		{"too many ends", `{"jsonrpc":"2.0","id":5,"method":"m"}}`, odd, 0, ""},
		{"an id below is not the id", `{"jsonrpc":"2.0","method":"m","params":{"id":5},}`, odd, frame.Call, ""},
		{"an id in a string is not the id", `{"jsonrpc":"2.0","method":"m","x":"\"id\":5",}`, odd, frame.Call, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ends := []string{"", "\n", "\r\n"}
			if strings.HasSuffix(tt.line, "\r") || strings.HasSuffix(tt.line, "\n") {
				ends = ends[:1]
			}
			for _, end := range ends {
				line := tt.line + end
				in := []byte(line)
				f, bad := frame.Parse(in, frame.Limits{})
				if bad == nil {
					t.Fatalf("accepted as %+v", f)
				}
				got := fmt.Sprintf("%d %s", bad.Code, bad.Message)
				if at := strings.LastIndex(got, " at byte "); at >= 0 {
					got = got[:at]
				}
				if got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if bad.Kind != tt.kind || string(bad.ID) != tt.id {
					t.Errorf("sniffed %v %q, want %v %q", bad.Kind, bad.ID, tt.kind, tt.id)
				}
				if bad.Batch {
					t.Error("is no batch")
				}
				if string(in) != line {
					t.Error("the line was changed")
				}
			}
		})
	}
}

// many returns n members and a comma.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"n%d":1,`, i)
	}
	return b.String()
}

func TestAccepted(t *testing.T) {
	for _, tt := range []struct {
		name, line                            string
		kind                                  frame.Kind
		id, method, params, result, errorText string
		version                               string
	}{
		{name: "call", line: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, kind: frame.Call, id: "1", method: "ping"},
		{name: "notification", line: `{"jsonrpc":"2.0","method":"x/y","params":{}}`, kind: frame.Notification, method: "x/y", params: "{}"},
		{name: "response", line: `{"jsonrpc":"2.0","id":"a","result":{"roots":[]}}`, kind: frame.Response, id: `"a"`, result: `{"roots":[]}`},
		{name: "error", line: `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, kind: frame.Response, id: "1", errorText: `{"code":1,"message":"m"}`},
		{name: "result null", line: `{"jsonrpc":"2.0","id":1,"result":null}`, kind: frame.Response, id: "1", result: "null"},
		{name: "result scalar", line: `{"jsonrpc":"2.0","id":1,"result":"ok"}`, kind: frame.Response, id: "1", result: `"ok"`},
		{name: "result, error null", line: `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, kind: frame.Response, id: "1", result: "{}"},
		{name: "error, result null", line: `{"jsonrpc":"2.0","id":1,"result":null,"error":{}}`, kind: frame.Response, id: "1", errorText: "{}"},
		{name: "error of no request", line: `{"jsonrpc":"2.0","id":null,"error":{}}`, kind: frame.Response, errorText: "{}"},
		{name: "error without an id", line: `{"jsonrpc":"2.0","error":{}}`, kind: frame.Response, errorText: "{}"},
		{name: "S4 escaped member and value", line: `{"jsonrpc":"2\u002e0","id":5,"m\u0065thod":"tools\/call","p\u0061rams":{"\u006eame":"x"}}`, kind: frame.Call, id: "5", method: "tools/call", params: `{"\u006eame":"x"}`},
		{name: "S9 NUL escape", line: `{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":"\u0000"}}`, kind: frame.Call, id: "5", method: "m", params: `{"a":"\u0000"}`},
		{name: "S16 nesting of 512", line: tools(`{"a":` + nested(509) + `}`), kind: frame.Call, id: "5", method: "tools/call", params: `{"name":"x","arguments":{"a":` + nested(509) + `}}`},
		{name: "S16 brackets in strings", line: `{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":"` + strings.Repeat("[{", 2000) + `"}}`, kind: frame.Call, id: "5", method: "m", params: `{"a":"` + strings.Repeat("[{", 2000) + `"}`},
		{name: "S16 wide, not deep", line: `{"jsonrpc":"2.0","id":5,"method":"m","x":[` + strings.Repeat("[],", 2000) + `[]],"params":{"a":[` + strings.Repeat("{},", 2000) + `{}]}}`, kind: frame.Call, id: "5", method: "m", params: `{"a":[` + strings.Repeat("{},", 2000) + `{}]}`},
		{name: "S17 numbers", line: `{"jsonrpc":"2.0","id":5,"method":"m","params":{"a":1e999,"b":-0.0,"c":` + strings.Repeat("9", 5000) + `}}`, kind: frame.Call, id: "5", method: "m", params: `{"a":1e999,"b":-0.0,"c":` + strings.Repeat("9", 5000) + `}`},
		{name: "S18 2^53+1", line: `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, kind: frame.Call, id: "9007199254740993", method: "m"},
		{name: "S18 2^64", line: `{"jsonrpc":"2.0","id":-18446744073709551616,"method":"m"}`, kind: frame.Call, id: "-18446744073709551616", method: "m"},
		{name: "S18 -0", line: `{"jsonrpc":"2.0","id":-0,"method":"m"}`, kind: frame.Call, id: "-0", method: "m"},
		{name: "S18 escapes", line: `{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`, kind: frame.Call, id: `"\u0061\/"`, method: "m"},
		{name: "S18 empty", line: `{"jsonrpc":"2.0","id":"","method":"m"}`, kind: frame.Call, id: `""`, method: "m"},
		{name: "S21 dotted name", line: `{"jsonrpc":"2.0","id":5,"method":"m","params.arguments.path":"/etc"}`, kind: frame.Call, id: "5", method: "m"},
		{name: "S23 version", line: `{"jsonrpc":"2.0","id":5,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026\u002d07-28"}}}`, kind: frame.Call, id: "5", method: "m", params: `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026\u002d07-28"}}`, version: "2026-07-28"},
		{name: "S23 version elsewhere", line: tools(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), kind: frame.Call, id: "5", method: "tools/call", params: `{"name":"x","arguments":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`},
		{name: "S24 order, space, unknown members", line: "\t {\"x\" : [1 , 2], \"params\":{ \"a\" : 1 } ,\"method\": \"m\",\"$schema\":null, \"id\" :5 , \"jsonrpc\":\"2.0\"}  ", kind: frame.Call, id: "5", method: "m", params: `{ "a" : 1 }`},
		{name: "S25 roots/list with params", line: `{"jsonrpc":"2.0","id":"r-1","method":"roots/list","params":{"x":1},"y":2}`, kind: frame.Call, id: `"r-1"`, method: "roots/list", params: `{"x":1}`},
		{name: "empty method", line: `{"jsonrpc":"2.0","id":1,"method":""}`, kind: frame.Call, id: "1"},
		{name: "names in a lone other case", line: tools(`{"Path":"/etc"}`), kind: frame.Call, id: "5", method: "tools/call", params: `{"name":"x","arguments":{"Path":"/etc"}}`},
		{name: "names equal by case below arguments", line: tools(`{"headers":{"a":1,"A":2}}`), kind: frame.Call, id: "5", method: "tools/call", params: `{"name":"x","arguments":{"headers":{"a":1,"A":2}}}`},
		{name: "many names", line: tools(`{` + many(1000) + `"z":1}`), kind: frame.Call, id: "5", method: "tools/call", params: `{"name":"x","arguments":{` + many(1000) + `"z":1}}`},
		{name: "parts of another type", line: `{"jsonrpc":"2.0","id":5,"method":"m","params":{"arguments":[1],"_meta":5,"inputResponses":{"a":1,"b":{"roots":{}},"c":{"roots":[null,7]}}}}`, kind: frame.Call, id: "5", method: "m", params: `{"arguments":[1],"_meta":5,"inputResponses":{"a":1,"b":{"roots":{}},"c":{"roots":[null,7]}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, end := range []string{"", "\n", "\r\n"} {
				line := []byte(tt.line + end)
				f, bad := frame.Parse(line, frame.Limits{})
				if bad != nil {
					t.Fatal(bad)
				}
				if f.Kind != tt.kind || string(f.ID) != tt.id || f.Method != tt.method || string(f.Params) != tt.params ||
					string(f.Result) != tt.result || string(f.Error) != tt.errorText || f.Version != tt.version {
					t.Errorf("got %v id %s method %q params %.100s result %s error %s version %q",
						f.Kind, f.ID, f.Method, f.Params, f.Result, f.Error, f.Version)
				}
				if string(line) != tt.line+end {
					t.Error("the line was changed")
				}
			}
		})
	}
}

func TestBatch(t *testing.T) {
	one := `{"jsonrpc":"2.0","id":1,"method":"a"}`
	two := `{"jsonrpc":"2.0","id":2,"method":"b"}`
	for _, tt := range []struct{ name, line, id, bad, elements string }{
		{"two", "[" + one + ", " + two + "]\n", "", "", one + "|" + two},
		{"one", " [" + one + "] ", "1", "", one},
		{"a call and a notification", "[" + one + `,{"jsonrpc":"2.0","method":"b"}]`, "1", "", one + `|{"jsonrpc":"2.0","method":"b"}`},
		{"a call and a response", `[{"jsonrpc":"2.0","id":7,"result":{}},` + one + "]", "1", "", `{"jsonrpc":"2.0","id":7,"result":{}}|` + one},
		{"scalars", `[1,"x",[2]]`, "", "", `1|"x"|[2]`},
		{"empty", "[]", "", "an empty batch", ""},
		{"open", "[" + one, "", "not valid JSON: it ends too early", ""},
		{"with a tail", "[" + one + "] x", "", "not valid JSON: more than one value on the line", ""},
		{"with a carriage return", "[" + one + ",\r" + two + "]", "", "not valid JSON: a carriage return inside the line", ""},
		{"deep", nested(600), "", "nested too deeply", ""},
		{"a name twice", `[{"a":1,"a":2}]`, "", "an object has the same name twice", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, bad := frame.Parse([]byte(tt.line), frame.Limits{})
			if bad == nil {
				t.Fatal("accepted")
			}
			if cr := strings.Contains(tt.line, "\r"); bad.Batch == cr || string(bad.ID) != tt.id {
				t.Errorf("%v, batch %v, id %s", bad, bad.Batch, bad.ID)
			}
			elements, bad := frame.Elements([]byte(tt.line), frame.Limits{})
			if tt.bad != "" {
				if bad == nil || !strings.HasPrefix(bad.Message, tt.bad) {
					t.Fatalf("got %v, want %s", bad, tt.bad)
				}
				return
			}
			if bad != nil {
				t.Fatal(bad)
			}
			if got := string(bytes.Join(elements, []byte("|"))); got != tt.elements {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestDepthCanBeSet(t *testing.T) {
	line := []byte(tools(`{"a":` + nested(3) + `}`)) // 6 levels
	if _, bad := frame.Parse(line, frame.Limits{Depth: 6}); bad != nil {
		t.Error(bad)
	}
	if _, bad := frame.Parse(line, frame.Limits{Depth: 5}); bad == nil {
		t.Error("accepted with a limit of 5")
	}
}

func TestLookup(t *testing.T) {
	object := []byte(`{"a":{"b":[1, 2],"\u0063":"x\u0020y"},"d":null}`)
	for _, tt := range []struct {
		path, want, replaced string
	}{
		{"a", `{"b":[1, 2],"\u0063":"x\u0020y"}`, `{"a":NEW,"d":null}`},
		{"a b", `[1, 2]`, `{"a":{"b":NEW,"\u0063":"x\u0020y"},"d":null}`},
		{"a c", `"x\u0020y"`, `{"a":{"b":[1, 2],"\u0063":NEW},"d":null}`},
		{"d", "null", `{"a":{"b":[1, 2],"\u0063":"x\u0020y"},"d":NEW}`},
		{"a x", "", string(object)},
		{"a b c", "", string(object)},
	} {
		path := strings.Fields(tt.path)
		if got := frame.Lookup(object, path...); string(got) != tt.want {
			t.Errorf("%s: got %s", tt.path, got)
		}
		if got := frame.Replace(object, "NEW", path...); string(got) != tt.replaced {
			t.Errorf("%s: replaced %s", tt.path, got)
		}
	}
	if got := frame.Lookup(nil, "a"); got != nil {
		t.Errorf("in nothing: %s", got)
	}
	if s, ok := frame.Text(frame.Lookup(object, "a", "c")); s != "x y" || !ok {
		t.Errorf("text %q %v", s, ok)
	}
	if _, ok := frame.Text([]byte("5")); ok {
		t.Error("a number is no text")
	}
	if got := string(frame.AppendString([]byte("="), "a\"\n\xff\u2028")); got != `="a\"\n`+"\ufffd\u2028"+`"` {
		t.Errorf("string %s", got)
	}
}

// FuzzParse checks what others rely on: nothing panics, the line stays as it
// is, all parts are parts of it, and what is accepted means the same to
// encoding/json, which stands for the lenient parsers.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		tools(`{"path":"\/etc\u0061"}`), inputs(`{"r":{"roots":[{"uri":"file:///a"}]}}`), `[` + tools("{}") + `]`,
		`{"jsonrpc":"2.0","id":"\u0061","result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{}}`, "{\"jsonrpc\":\"2.0\",\r\n",
		`{"jsonrpc":"2.0","method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}}`, tools(nested(600)),
		tools(`{"ſ":1,"S":2,"K":3}`), tools("{" + many(80) + `"N1":2}`),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		in := bytes.Clone(line)
		m, bad := frame.Parse(in, frame.Limits{})
		if !bytes.Equal(in, line) {
			t.Fatal("the line was changed")
		}
		if bad != nil {
			if bad.Code != frame.CodeParse && bad.Code != frame.CodeInvalid || bad.Message == "" {
				t.Errorf("%+v", bad)
			}
			if bad.ID != nil && (!part(in, bad.ID) || !json.Valid(bad.ID) || bytes.IndexByte([]byte(`"-0123456789`), bad.ID[0]) < 0) {
				t.Errorf("id %q", bad.ID)
			}
			return
		}
		for _, p := range [][]byte{m.ID, m.Params, m.Result, m.Error} {
			if !part(in, p) {
				t.Errorf("%q is no part of the line", p)
			}
		}
		var std struct {
			JSONRPC    string
			ID, Result json.RawMessage
			Method     *string
			Params     json.RawMessage
			Error      json.RawMessage
		}
		if err := json.Unmarshal(in, &std); err != nil {
			t.Fatalf("encoding/json refuses it: %v", err)
		}
		if std.JSONRPC != "2.0" {
			t.Errorf("jsonrpc %q", std.JSONRPC)
		}
		if (std.Method != nil) != (m.Kind != frame.Response) || std.Method != nil && *std.Method != m.Method {
			t.Errorf("method %v, not %q", std.Method, m.Method)
		}
		if m.ID != nil && !bytes.Equal(std.ID, m.ID) || m.ID == nil && std.ID != nil && string(std.ID) != "null" {
			t.Errorf("id %s, not %s", std.ID, m.ID)
		}
		if !bytes.Equal(std.Params, m.Params) || m.Result != nil && !bytes.Equal(std.Result, m.Result) || m.Error != nil && !bytes.Equal(std.Error, m.Error) {
			t.Errorf("parts differ: %+v", std)
		}
		kind, id := frame.TestOnlySniff(bytes.TrimRight(in, "\r\n"))
		if m.Kind == frame.Notification {
			m.Kind = frame.Call
		}
		if kind != m.Kind && kind != 0 || kind == frame.Call && !bytes.Equal(id, m.ID) && len(m.ID) <= 4<<10 {
			t.Errorf("sniffed %v %s, parsed %v %s", kind, id, m.Kind, m.ID)
		}
	})
}

// part reports whether p is a part of line, not a copy.
func part(line, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	for i := range line {
		if &line[i] == &p[0] {
			return len(p) <= len(line)-i
		}
	}
	return false
}
