//lint:file-ignore SA1019 the SDK marks all of roots as deprecated, and these tests are about roots

package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/frame"
	"github.com/rootbound/rootbound/internal/stdio"
)

func TestLongLine(t *testing.T) {
	const limit = 1 << 20
	pad := strings.Repeat("a", limit)
	tooLong := "the line is longer than 1048576 bytes"
	for _, tt := range []struct{ name, line, want string }{
		{"the id first", call("5", "raw", `{"a":"`+pad+`"}`), refused("5", tooLong)[2:]},
		{"the id as a string", call(`"x\ny"`, "raw", `{"a":"`+pad+`"}`), refused(`"x\ny"`, tooLong)[2:]},
		{"the id after the params", `{"jsonrpc":"2.0","method":"tools/call","params":{"a":"` + pad + `"},"id":5}`, ""},
		{"a notification", `{"jsonrpc":"2.0","method":"x","params":{"id":5,"a":"` + pad + `"}}`, ""},
		{"a response", `{"jsonrpc":"2.0","id":5,"result":{"method":"x","params":"` + pad + `"}}`, ""},
		{"two ids", `{"jsonrpc":"2.0","id":5,"ID":6,"method":"x","params":{"a":"` + pad + `"}}`, ""},
		{"a number that never ends", `{"jsonrpc":"2.0","method":"x","id":` + strings.Repeat("1", limit+1) + `}`, ""},
		{"no JSON", pad + pad, ""},
		{"many times the limit", call("5", "raw", `{"a":"`+strings.Repeat(pad, 40)+`"}`), refused("5", tooLong)[2:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, nil, stdio.Transport{MaxFrame: limit})
			c.handshake("2025-11-25")
			c.send(tt.line)
			if tt.want != "" {
				c.want(tt.want)
			}
			c.ping()
			c.end()
		})
	}
}

func TestLongestLineIsServed(t *testing.T) {
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	c.send(call("5", "raw", `{"a":"`+strings.Repeat("a", 17<<20)+`"}`))
	c.want(fmt.Sprintf(text("5", "%d")[2:], 17<<20+len(`{"a":""}`)))
	c.ping()
	c.end()
}

// TestFrames sends the frames whose way through the SDK's own connection was
// studied: many were altered, and some ended it.
func TestFrames(t *testing.T) {
	none := ""
	notFound := `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found: *"}}`
	refusal := `{"jsonrpc":"2.0","id":%s,"error":{"code":-32*00,"message":"*"}}`
	for _, f := range []struct{ name, in, id, want string }{
		{"plain", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"path":"1"}}}`, "1", text("%s", `\"1\"`)[2:]},
		{"key order", `{"id":1,"params":{"b":1,"a":2},"method":"m","jsonrpc":"2.0"}`, "1", notFound},
		{"unknown top-level field", `{"jsonrpc":"2.0","id":1,"method":"m","params":{},"trace":"abc","_x":{"y":1}}`, "1", notFound},
		{"whitespace in params", `{"jsonrpc":"2.0", "id":1, "method":"m", "params":{ "a" : 1 }}`, "1", notFound},
		{"number formats in params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1.0,"b":1e3,"c":123456789012345678901234567890,"d":-0,"e":0.1e-7}}`, "1", notFound},
		{"dup keys in params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"a":2}}`, "1", refusal},
		{"escapes in params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\u003c\/\u2028 \ud83d\ude00 <&>"}}`, "1", notFound},
		{"raw U+2028 and <&> in params", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\u2028<&>\"}}", "1", notFound},
		{"invalid UTF-8 in params", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\xff\xfe\"}}", "1", refusal},
		{"lone surrogate in params", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud800"}}`, "1", refusal},
		{"method escapes", `{"jsonrpc":"2.0","id":1,"method":"tools\/c\u0061ll","params":{"name":"echo","arguments":{"path":"1"}}}`, "1", text("%s", `\"1\"`)[2:]},
		{"params null", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, "1", refusal},
		{"params array", `{"jsonrpc":"2.0","id":1,"method":"m","params":[1,2]}`, "1", refusal},
		{"params missing", `{"jsonrpc":"2.0","id":1,"method":"m"}`, "1", notFound},
		{"empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, "1", notFound},
		{"id string", `{"jsonrpc":"2.0","id":"abc\u0031","method":"m"}`, `"abc\u0031"`, notFound},
		{"id 2^53+1", `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, "9007199254740993", notFound},
		{"id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, "1.5", refusal},
		{"id 1e3", `{"jsonrpc":"2.0","id":1e3,"method":"m"}`, "1e3", refusal},
		{"id null request", `{"jsonrpc":"2.0","id":null,"method":"m"}`, "", none},
		{"id empty string", `{"jsonrpc":"2.0","id":"","method":"m"}`, `""`, notFound},
		{"result", `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"k":1},"zzz":2}}`, "", none},
		{"result null", `{"jsonrpc":"2.0","id":1,"result":null}`, "", none},
		{"result scalar", `{"jsonrpc":"2.0","id":1,"result":"ok"}`, "", none},
		{"no result, no error", `{"jsonrpc":"2.0","id":1}`, "", none},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, "", none},
		{"error with extra member", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":{"a":1.0},"hint":"x"}}`, "", none},
		{"error code float", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000.0,"message":"m"}}`, "", none},
		{"error without message", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000}}`, "", none},
		{"error null", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, "", none},
		{"error is string", `{"jsonrpc":"2.0","id":1,"error":"boom"}`, "", none},
		{"error null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, "", none},
		{"extra on response", `{"jsonrpc":"2.0","id":1,"result":{},"meta":1}`, "", none},
		{"no jsonrpc tag", `{"id":1,"result":{}}`, "", none},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]`, "", none},
		{"server log line", `Server listening on stdio`, "", none},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := start(t, nil, stdio.Transport{})
			c.handshake("2025-11-25")
			c.send(f.in)
			if f.want != "" {
				c.want(fmt.Sprintf(f.want, f.id))
			}
			c.ping()
			c.end()
		})
	}
}

func TestGarbage(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	good := []string{call("1", "echo", `{"path":"é\u0061"}`), modern("2", "caps", "{}", rootsCap, ""), `{"jsonrpc":"2.0","id":3,"result":{"roots":[]}}`, "[" + ping99 + "]", initialized}
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	for range 200 {
		var line []byte
		if r.IntN(2) == 0 {
			line = make([]byte, r.IntN(300))
			for i := range line {
				line[i] = byte(r.Uint32())
			}
		} else {
			// Broken by a few bytes, this comes closer to being a message.
			line = []byte(good[r.IntN(len(good))])
			for range 1 + r.IntN(3) {
				line[r.IntN(len(line))] = "{}[]\",:\\\x00\xff1e\r"[r.IntN(13)]
			}
		}
		c.send(string(line) + "\n")
	}
	c.send(`{"jsonrpc":"2.0","id":"alive?","method":"ping"}`)
	for {
		line := c.line()
		if line == `{"jsonrpc":"2.0","id":"alive?","result":{}}` {
			return
		}
		if line == "" {
			t.Fatal("the session has ended")
		}
		if _, bad := frame.Parse([]byte(line), frame.Limits{}); bad != nil || strings.Contains(line, `"id":null`) {
			t.Errorf("sent %s: %v", line, bad)
		}
	}
}

func TestTooManyCalls(t *testing.T) {
	c := start(t, nil, stdio.Transport{MaxCalls: 3})
	c.handshake("2025-11-25")
	for i := range 5 {
		c.send(call(fmt.Sprint(i+1), "slow", "{}"))
	}
	c.want(refused("4", "too many calls in flight, at most 3")[2:])
	c.want(refused("5", "too many calls in flight, at most 3")[2:])
	// Room is made only when the handler has ended, shortly after.
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	for i := 10; ; i++ {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
		if got := c.line(); matches(`*"result":{}}`, got) {
			break
		} else if !matches(`*too many calls*`, got) {
			t.Fatal(got)
		}
	}
}

func TestPanicIsLoggedWithoutItsValue(t *testing.T) {
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	c.send(call("5", "panic", "{}"))
	c.want(`{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"internal error"}}`)
	c.end()
	if log := c.log.String(); !strings.Contains(log, "a handler panicked") || strings.Contains(log, "a secret") {
		t.Errorf("log: %s", log)
	}
}

func TestLogIsBoundedAndWithoutContent(t *testing.T) {
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	before := len(c.log.String())
	for range 5000 {
		c.send(`{"jsonrpc":"2.0","method":5,"params":{"token":"sesame"}}`)
	}
	c.send(`{"id":"` + strings.Repeat("x", 3000) + `","method":"ping"}`)
	c.want(`{"jsonrpc":"2.0","id":"x*","error":*`)
	c.ping()
	log := c.log.String()[before:]
	if len(log) > 16<<10 {
		t.Errorf("%d bytes of log", len(log))
	}
	if strings.Contains(log, "sesame") {
		t.Error("the log has content")
	}
}

func TestLastAnswersAreNotLost(t *testing.T) {
	// As in: printf … | server
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	c.send(call("5", "nap", "{}"), call("6", "nap", "{}"))
	c.in.Close()
	c.want(text("*", "napped")[2:])
	c.want(text("*", "napped")[2:])
	c.end()
}

func TestLastLineNeedsNoLineFeed(t *testing.T) {
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	if _, err := io.WriteString(c.in, ping99); err != nil {
		t.Fatal(err)
	}
	c.in.Close()
	c.want(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	c.end()
}

func TestSlowCallEndsWithTheInput(t *testing.T) {
	c := start(t, nil, stdio.Transport{Drain: 50 * time.Millisecond})
	c.handshake("2025-11-25")
	c.send(call("5", "slow", "{}"))
	c.send(call("6", "listroots", "{}"))
	c.want(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	begin := time.Now()
	c.in.Close()
	// Nobody can answer roots/list any more, so that call fails at once.
	c.want(`{"jsonrpc":"2.0","id":6,"result":{*the client has closed its side*"isError":true}}`)
	c.end()
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestContextEndsTheSession(t *testing.T) {
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	c.send(call("5", "slow", "{}"))
	c.ping()
	c.stop()
	select {
	case err := <-c.done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
}

// TestClientThatStopsReading has answers that fill the pipe. The server must
// end all the same, when told to and when the client closes its side.
func TestClientThatStopsReading(t *testing.T) {
	for name, end := range map[string]func(*client){
		"context": func(c *client) { c.stop() },
		"input":   func(c *client) { c.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, nil, stdio.Transport{Drain: 100 * time.Millisecond})
			c.handshake("2025-11-25")
			for i := range 20 {
				c.send(call(fmt.Sprint(i), "echo", `{"path":"`+strings.Repeat("a", 30<<10)+`"}`))
			}
			end(c)
			select {
			case <-c.done:
			case <-time.After(15 * time.Second):
				t.Fatal("still running")
			}
		})
	}
}

// stuck is an output that can be neither written nor interrupted, such as a
// blocking pipe that is inherited.
type stuck struct{}

func (stuck) Write([]byte) (int, error) { select {} }

func TestOutputThatCannotBeInterrupted(t *testing.T) {
	in, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- stdio.Serve(ctx, testServer(slog.New(slog.DiscardHandler)), &stdio.Transport{In: in, Out: stuck{}})
	}()
	fmt.Fprintln(w, initialize("2025-11-25", ""))
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, stdio.ErrStuck) && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("still running")
	}
}

func TestClientThatIsGone(t *testing.T) {
	c := start(t, nil, stdio.Transport{})
	c.handshake("2025-11-25")
	c.outf.Close()
	c.send(ping99)
	select {
	case err := <-c.done:
		if err != nil {
			t.Errorf("got %v, want a clean end", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still running")
	}
}

// TestSDKClient has the SDK's own client in both eras, on [stdio.Serve] and on
// the transport used as any other of the SDK.
func TestSDKClient(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for name, serve := range map[string]func(context.Context, *mcp.Server, *stdio.Transport) error{
			"serve":   stdio.Serve,
			"connect": func(ctx context.Context, s *mcp.Server, t *stdio.Transport) error { return s.Run(ctx, t) },
		} {
			t.Run(name+" "+version, func(t *testing.T) {
				inR, inW := io.Pipe()
				outR, outW := io.Pipe()
				ended := make(chan error, 1)
				go func() {
					ended <- serve(t.Context(), testServer(slog.New(slog.DiscardHandler)), &stdio.Transport{In: inR, Out: outW})
				}()
				client := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil)
				client.AddRoots(&mcp.Root{URI: "file:///a"})
				session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "mrtr", Arguments: map[string]any{}})
					if err != nil {
						t.Fatal(err)
					}
					if got := res.Content[0].(*mcp.TextContent).Text; got != `["file:///a"]` {
						t.Errorf("got %s", got)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{}}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("cancelled call: %v", err)
				}
				// The client sends the cancellation some time later, and not at
				// all once it is closing.
				if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nap", Arguments: map[string]any{}}); err != nil {
					t.Error(err)
				}
				if err := session.Close(); err != nil {
					t.Error(err)
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestRootsChangeReachesBothEras(t *testing.T) {
	var handshakes, moderns atomic.Int32
	count := func(s *mcp.ServerSession) {
		if p := s.InitializeParams(); p != nil && p.ProtocolVersion >= "2026-07-28" {
			moderns.Add(1)
		} else {
			handshakes.Add(1)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "p"}, &mcp.ServerOptions{
		RootsListChangedHandler: func(_ context.Context, r *mcp.RootsListChangedRequest) { count(r.Session) },
	})
	c := start(t, s, stdio.Transport{})
	c.handshake("2025-11-25")
	c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	c.ping()
	if h, m := handshakes.Load(), moderns.Load(); h != 1 || m != 0 {
		t.Errorf("before a modern request: %d and %d", h, m)
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta("") + `}}`
	c.send(list)
	c.want(`{"jsonrpc":"2.0","id":1,"result":*`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/roots/listChanged"}`, `{"jsonrpc":"2.0","method":"notifications/roots/listChanged","params":{}}`)
	c.ping()
	c.send(list)
	c.want(`{"jsonrpc":"2.0","id":1,"result":*`)
	if h, m := handshakes.Load(), moderns.Load(); h != 4 || m != 3 {
		t.Errorf("after it, spelled right once and wrong twice: %d and %d", h, m)
	}
	if n := strings.Count(c.log.String(), "misspells"); n != 1 {
		t.Errorf("%d warnings of the spelling", n)
	}
}

func TestSubscriptionNamesTheClientsID(t *testing.T) {
	s := testServer(slog.New(slog.DiscardHandler))
	c := start(t, s, stdio.Transport{})
	c.send(`{"jsonrpc":"2.0","id":"sub-1","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta("") + `}}`)
	c.want(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{*"io.modelcontextprotocol/subscriptionId":"sub-1"*`)
	s.RemoveTools("nap")
	// The other session has not been begun, so it must not announce it too.
	c.want(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{*"io.modelcontextprotocol/subscriptionId":"sub-1"*`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub-1"}}`)
	c.handshake("2025-11-25")
	c.ping()
	c.end()
}

func TestSlowNotificationHandlerDelaysNoAnswer(t *testing.T) {
	// A handler that asks the client from a notification, as it should not,
	// holds the SDK's dispatch until the client answers. The transport must go
	// on reading, or the answer would never be seen.
	s := mcp.NewServer(&mcp.Implementation{Name: "p"}, &mcp.ServerOptions{
		InitializedHandler: func(ctx context.Context, r *mcp.InitializedRequest) { _, _ = r.Session.ListRoots(ctx, nil) },
	})
	c := start(t, s, stdio.Transport{})
	c.send(initialize("2025-11-25", rootsCap))
	c.want(`{"jsonrpc":"2.0","id":0,*`)
	c.send(initialized)
	c.want(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	c.send(ping99, `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)
	c.want(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	c.end()
}

func TestStormOfNotifications(t *testing.T) {
	var seen atomic.Int32
	s := mcp.NewServer(&mcp.Implementation{Name: "p"}, &mcp.ServerOptions{
		RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { seen.Add(1) },
	})
	c := start(t, s, stdio.Transport{})
	c.handshake("2025-11-25")
	storm := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`+"\n", 2000)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	c.send(storm)
	c.ping()
	before := heap()
	for range 10 {
		c.send(storm)
		c.ping()
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := seen.Load(); n != 22000 {
		t.Errorf("%d of 22000 seen", n)
	}
}

// TestLongLineNeedsNoMemory sends 200 MiB in one line.
func TestLongLineNeedsNoMemory(t *testing.T) {
	c := start(t, nil, stdio.Transport{MaxFrame: 1 << 20})
	c.handshake("2025-11-25")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.in.WriteString(`{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":"`); err != nil {
		t.Fatal(err)
	}
	block := []byte(strings.Repeat("a", 1<<20))
	for range 200 {
		if _, err := c.in.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	c.send(`"}}`)
	c.want(refused("5", "the line is longer than 1048576 bytes")[2:])
	c.ping()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, bench := range []struct{ name, line string }{
		{"ping", `{"jsonrpc":"2.0","id":12,"method":"ping"}` + "\n"},
		{"raw", call("12", "raw", `{"path":"/home/ann/app/main.go"}`) + "\n"},
		{"typed", call("12", "echo", `{"path":"/home/ann/app/main.go"}`) + "\n"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := start(b, nil, stdio.Transport{})
			c.handshake("2025-11-25")
			_ = c.outf.SetReadDeadline(time.Time{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.in.WriteString(bench.line); err != nil {
					b.Fatal(err)
				}
				if _, err := c.out.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
