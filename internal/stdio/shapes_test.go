//lint:file-ignore SA1019 the SDK marks all of roots as deprecated, and these tests are about roots

package stdio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/internal/stdio"
)

// TestParamsOfAnyShape puts a value of every type into every place of the
// parameters of every method. What the SDK decodes it decodes before any
// middleware could catch a panic, so this looks for one.
func TestParamsOfAnyShape(t *testing.T) {
	templates := map[string]string{
		"initialize":                       `{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"experimental":{"x":{}}},"clientInfo":{"name":"p","version":"0","title":"t"}}`,
		"ping":                             `{"_meta":{"progressToken":1}}`,
		"tools/call":                       `{"name":"mrtr","arguments":{"path":"x"},"_meta":{"progressToken":1},"inputResponses":{"roots":{"roots":[{"uri":"file:///a","name":"a","_meta":{}}]},"e":{"action":"accept","content":{"a":1}},"s":{"role":"user","content":{"type":"text","text":"x"},"model":"m"}},"requestState":"s"}`,
		"tools/list":                       `{"cursor":"x"}`,
		"prompts/get":                      `{"name":"x","arguments":{"a":"b"}}`,
		"prompts/list":                     `{"cursor":"x"}`,
		"resources/read":                   `{"uri":"file:///x"}`,
		"resources/list":                   `{"cursor":"x"}`,
		"resources/templates/list":         `{"cursor":"x"}`,
		"resources/subscribe":              `{"uri":"x"}`,
		"resources/unsubscribe":            `{"uri":"x"}`,
		"completion/complete":              `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"},"context":{"arguments":{"a":"b"}}}`,
		"logging/setLevel":                 `{"level":"info"}`,
		"server/discover":                  `{"_meta":{}}`,
		"subscriptions/listen":             `{"notifications":{"toolsListChanged":false,"resourceSubscriptions":["x"]}}`,
		"notifications/initialized":        `{"_meta":{}}`,
		"notifications/progress":           `{"progressToken":1,"progress":0.5,"total":1,"message":"m"}`,
		"notifications/cancelled":          `{"requestId":1,"reason":"x"}`,
		"notifications/roots/list_changed": `{"_meta":{}}`,
	}
	newEra := `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"0"},"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true},"sampling":{}},"io.modelcontextprotocol/logLevel":"info"}`
	server := func() *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "p"}, &mcp.ServerOptions{
			CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return &mcp.CompleteResult{}, nil
			},
			SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error { return nil }, UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationServerRequest) {},
		})
		mcp.AddTool(s, &mcp.Tool{Name: "mrtr"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{ Path string }) (*mcp.CallToolResult, any, error) {
			return said(uris(r.Params.InputResponses["roots"].(*mcp.ListRootsResult).Roots)), nil, nil
		})
		s.AddReceivingMiddleware(stdio.Recover(slog.New(slog.DiscardHandler)))
		return s
	}
	for _, method := range slices.Sorted(maps.Keys(templates)) {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			for _, modern := range []bool{false, true} {
				var params map[string]any
				if err := json.Unmarshal([]byte(templates[method]), &params); err != nil {
					t.Fatal(err)
				}
				if modern {
					var m any
					if err := json.Unmarshal([]byte(newEra), &m); err != nil {
						t.Fatal(err)
					}
					params["_meta"] = m
				}
				c := start(t, server(), stdio.Transport{Drain: -1})
				if !modern && method != "initialize" {
					c.handshake("2025-11-25")
				}
				n := 0
				for variant := range variants(params) {
					text, err := json.Marshal(variant)
					if err != nil {
						t.Fatal(err)
					}
					line := fmt.Sprintf(`"method":%q,"params":%s}`, method, text)
					if strings.HasPrefix(method, "notifications/") {
						c.send(`{"jsonrpc":"2.0",` + line)
						c.ping()
						continue
					}
					if method == "initialize" {
						c = start(t, server(), stdio.Transport{Drain: -1})
					}
					n++
					answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, n)
					c.send(answer + line)
					if method == "subscriptions/listen" {
						// It has no answer unless it is refused.
						c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n), ping99)
						answer = `{"jsonrpc":"2.0","id":99,`
					}
					for {
						got := c.line()
						if got == "" {
							t.Fatalf("the session has ended after %s", line)
						}
						if strings.HasPrefix(got, answer) {
							break
						}
					}
				}
			}
		})
	}
}

// variants yields v with each of its parts, and itself, replaced by values of
// other types.
func variants(v any) func(yield func(any) bool) {
	others := []any{nil, true, 0, -1.5, 1e300, "", "x", []any{}, []any{nil}, []any{map[string]any{}}, map[string]any{}, map[string]any{"x": nil}}
	return func(yield func(any) bool) {
		if !yield(v) {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for k, part := range v {
				for _, o := range others {
					c := maps.Clone(v)
					c[k] = o
					if !yield(c) {
						return
					}
				}
				for w := range variants(part) {
					c := maps.Clone(v)
					c[k] = w
					if !yield(c) {
						return
					}
				}
				c := maps.Clone(v)
				delete(c, k)
				if !yield(c) {
					return
				}
			}
		case []any:
			for i, part := range v {
				for _, o := range others {
					c := slices.Clone(v)
					c[i] = o
					if !yield(c) {
						return
					}
				}
				for w := range variants(part) {
					c := slices.Clone(v)
					c[i] = w
					if !yield(c) {
						return
					}
				}
			}
		}
	}
}
