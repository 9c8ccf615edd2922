//go:build !race

package frame_test

import (
	"testing"

	"github.com/rootbound/rootbound/internal/frame"
)

// With the race detector a pool forgets some of what it is given, on purpose.

func TestParseAllocatesNothing(t *testing.T) {
	for _, line := range []string{
		tools(`{"path":"/home/ann/app/main.go","edits":[{"a":1},{"b":"x"}]}`),
		`{"jsonrpc":"2.0","id":"abc","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"}]}}`,
	} {
		in := []byte(line)
		if n := testing.AllocsPerRun(200, func() {
			if _, bad := frame.Parse(in, frame.Limits{}); bad != nil {
				t.Fatal(bad)
			}
		}); n >= 1 {
			t.Errorf("%v allocations for %s", n, line)
		}
	}
}
