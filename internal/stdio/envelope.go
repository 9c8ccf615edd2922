package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/rootbound/rootbound/internal/frame"
)

// buffers holds the buffers in which messages are put together.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keptBuffer is the largest buffer that goes back into the pool.
const keptBuffer = 1 << 20

func getBuffer() *[]byte {
	b := buffers.Get().(*[]byte)
	*b = (*b)[:0]
	return b
}

func putBuffer(b *[]byte) {
	if cap(*b) <= keptBuffer {
		buffers.Put(b)
	}
}

// appendAnswer appends a response with the client's own id. The SDK's encoder
// has made the result one line of compact JSON, so it is taken as it is.
func appendAnswer(dst []byte, id string, result []byte, err error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	if err != nil {
		dst = append(dst, `,"error":`...)
		dst = appendError(dst, err)
	} else {
		if len(result) == 0 {
			result = []byte("{}")
		}
		dst = append(dst, `,"result":`...)
		dst = append(dst, result...)
	}
	return append(dst, '}')
}

// appendRequest appends a request, or a notification if id is "".
func appendRequest(dst []byte, id, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != "" {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"method":`...)
	dst = frame.AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// longestMessage bounds the text of an error, in bytes. The SDK repeats whole
// parameters in some.
const longestMessage = 512

func appendError(dst []byte, err error) []byte {
	var (
		code int64
		data []byte
		wire *jsonrpc.Error
	)
	message := err.Error()
	if errors.As(err, &wire) {
		code = wire.Code
		if direct, ok := err.(*jsonrpc.Error); ok {
			message, data = direct.Message, direct.Data
		}
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, code, 10)
	dst = append(dst, `,"message":`...)
	dst = frame.AppendString(dst, cut(message, longestMessage))
	if len(data) > 0 {
		// Handlers fill data, so it may be spread over lines, or be no JSON.
		var line bytes.Buffer
		if json.Compact(&line, data) == nil {
			dst = append(dst, `,"data":`...)
			dst = append(dst, line.Bytes()...)
		}
	}
	return append(dst, '}')
}

// cut shortens s to at most n bytes and an ellipsis.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// decodeError reads the error of a client's response, as far as it goes.
func decodeError(object []byte) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client gives no reason"}
	if code, err := strconv.ParseFloat(string(frame.Lookup(object, "code")), 64); err == nil {
		e.Code = int64(code)
	}
	if message, ok := frame.Text(frame.Lookup(object, "message")); ok {
		e.Message = cut(message, longestMessage)
	}
	e.Data = bytes.Clone(frame.Lookup(object, "data"))
	return e
}
