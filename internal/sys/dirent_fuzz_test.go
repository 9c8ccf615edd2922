//go:build linux || darwin

package sys

import "testing"

// FuzzParseDirent: whatever is in a buffer, parsing stays inside and goes on.
func FuzzParseDirent(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 4, 'a', 0, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			e, size := parseDirent(b)
			if size == 0 {
				return
			}
			if size < 0 || size > len(b) || len(e.Name) > size {
				t.Fatalf("%+v of size %d in %d bytes", e, size, len(b))
			}
			b = b[size:]
		}
	})
}
