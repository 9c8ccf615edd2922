package frame_test

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound/internal/frame"
)

// BenchmarkParse has a small call, and larger ones of plain text, of source
// code, whose quotes are escaped, and of many small objects.
func BenchmarkParse(b *testing.B) {
	write := func(content string) string {
		return tools(`{"path":"/home/ann/app/main.go","content":` + content + `}`)
	}
	const (
		prose  = `some text without an escape `
		source = `if (x[1] == \"a\") { return }\n`
		object = `{"name":"x","value":12345,"ok":true},`
	)
	for _, c := range []struct{ name, line string }{
		{"small", tools(`{"path":"/home/ann/app/main.go"}`)},
		{"1KiB", write(`"` + strings.Repeat(prose, 900/len(prose)) + `"`)},
		{"10MiB-string", write(`"` + strings.Repeat(prose, 10<<20/len(prose)) + `"`)},
		{"10MiB-source", write(`"` + strings.Repeat(source, 10<<20/len(source)) + `"`)},
		{"10MiB-objects", write(`[` + strings.Repeat(object, 10<<20/len(object)) + `{}]`)},
	} {
		b.Run(c.name, func(b *testing.B) {
			line := []byte(c.line + "\n")
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, bad := frame.Parse(line, frame.Limits{}); bad != nil {
					b.Fatal(bad)
				}
			}
		})
	}
}
