package mcpfs

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// decode reads the arguments. Members that the tool does not know are ignored, as
// the reference server does; a wrong type or a name stated twice is refused, in
// words that repeat nothing of the arguments.
func (c *call) decode(args any) *mcp.CallToolResult {
	if len(bytes.TrimSpace(c.arguments)) == 0 {
		return nil // none at all; required tells which are missing
	}
	err := json.Unmarshal(c.arguments, args)
	if err == nil {
		return nil
	}
	why := "they must be one JSON object that fits the tool's input schema"
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONPointer != "" && e.GoType != nil {
		why = fmt.Sprintf("%s must be a %s", quote(string(e.JSONPointer)), jsonType(e.GoType))
	}
	return invalidArguments(c.tool, why)
}

func jsonType(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	}
	return "value of the type that the schema says"
}

// required returns the value of an argument that a tool cannot do without.
func (c *call) required(name string, value *string) (string, *mcp.CallToolResult) {
	if value == nil {
		return "", invalidArguments(c.tool, fmt.Sprintf("%q is required and must be a string", name))
	}
	return *value, nil
}

// invalidArguments answers arguments that do not fit a tool's schema. As the
// specification asks, it is a result, for the model to read and do better.
func invalidArguments(tool, why string) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: "invalid arguments for " + tool + ": " + why}},
	}
}
