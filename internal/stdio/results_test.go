//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this is about them.

package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type textual struct {
	Own string `json:"own"`
}

func (t textual) TextMember() (name, text string) { return "own", t.Own }

// The encoding must mean what the SDK's means.
func TestResultIsEncodedAsTheSDKDoes(t *testing.T) {
	text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
	for name, r := range map[string]*mcp.CallToolResult{
		"empty":       {Content: []mcp.Content{}},
		"text":        {Content: text("a")},
		"odd text":    {Content: text("<&> \u2028 \x00 \x1b \"\\ é 😀 \ufeff")},
		"not UTF-8":   {Content: text("a\xffb")},
		"two texts":   {Content: append(text("a"), text("b")...)},
		"annotated":   {Content: []mcp.Content{&mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Priority: 1}}}},
		"text meta":   {Content: []mcp.Content{&mcp.TextContent{Text: "a", Meta: mcp.Meta{"k": 1}}}},
		"image":       {Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}},
		"structured":  {Content: text("a"), StructuredContent: map[string]any{"a": "<b>", "n": 1.5}},
		"same text":   {Content: text("a\n\"é"), StructuredContent: textual{"a\n\"é"}},
		"other text":  {Content: text("a"), StructuredContent: textual{"b"}},
		"no text":     {Content: []mcp.Content{}, StructuredContent: textual{""}},
		"second text": {Content: append(text("a"), text("b")...), StructuredContent: textual{"b"}},
		"error":       {Content: text("a"), IsError: true, Meta: mcp.Meta{"k": map[string]any{"code": "x"}}},
		"state":       {Content: text("a"), RequestState: "s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := appendResult(nil, r, false)
			if err != nil {
				t.Fatal(err)
			}
			var g, w any
			if err := json.Unmarshal(got, &g); err != nil {
				t.Fatalf("%s: %v", got, err)
			}
			if err := json.Unmarshal(want, &w); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(g, w) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// A field that a later SDK adds must be encoded here too.
func TestResultHasNoUnknownFields(t *testing.T) {
	var got []string
	for f := range reflect.TypeFor[mcp.CallToolResult]().Fields() {
		if f.IsExported() {
			got = append(got, f.Name)
		}
	}
	want := []string{"Meta", "Content", "StructuredContent", "IsError", "InputRequests", "RequestState"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the fields of a result are %v; appendResult knows %v", got, want)
	}
}

func TestQuestionHasNoContent(t *testing.T) {
	r := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}, RequestState: "s"}
	got, err := appendResult(nil, r, true)
	const want = `{"resultType":"input_required","inputRequests":{"roots":{"method":"roots/list","params":{}}},"requestState":"s"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

// Large results are encoded when they are written, in the same form.
func TestLargeResult(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	large := strings.Repeat("a line\n", 1<<20/4)
	server.AddTool(&mcp.Tool{Name: "large", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: large}}, StructuredContent: textual{large}}, nil
		})
	server.AddTool(&mcp.Tool{Name: "broken", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: large}}, StructuredContent: func() {}}, nil
		})
	server.AddReceivingMiddleware(Results())
	in := strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"name":"large"}}
{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"broken"}}
`)
	var out bytes.Buffer
	if err := Serve(t.Context(), server, &Transport{In: io.NopCloser(in), Out: &out}); err != nil {
		t.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID     any
			Result json.RawMessage
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%.200s: %v", line, err)
		}
		if m.ID == "two" && (m.Error == nil || m.Error.Code != -32603) {
			t.Errorf("a result that cannot be encoded: %.200s", line)
		}
		answers[fmt.Sprint(m.ID)] = m.Result
	}
	var r struct {
		Content           []struct{ Type, Text string }
		StructuredContent textual
	}
	if err := json.Unmarshal(answers["one"], &r); err != nil || r.Content[0].Text != large || r.StructuredContent.Own != large {
		t.Errorf("a large result came as %.100s, %v", answers["one"], err)
	}
}
