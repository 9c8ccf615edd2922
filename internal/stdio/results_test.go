//lint:file-ignore SA1019 roots are deprecated as of 2026-07-28 and in use; this is about them.

package stdio

import (
	"encoding/json"
	"reflect"
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
