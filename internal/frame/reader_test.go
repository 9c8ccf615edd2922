package frame_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rootbound/rootbound/internal/frame"
)

// lines reads everything; a line that is too long is given as its error.
func lines(r *frame.Reader) ([]string, error) {
	var out []string
	for {
		line, err := r.Next()
		var bad *frame.Error
		switch {
		case errors.As(err, &bad):
			out = append(out, "!"+string(bad.ID))
		case err != nil:
			return out, err
		default:
			out = append(out, string(line))
		}
	}
}

func TestReader(t *testing.T) {
	long := `{"id":7,"method":"` + strings.Repeat("x", 100) + `"}`
	for _, tt := range []struct {
		name, in string
		max      int
		want     []string
	}{
		{"lines", "a\nbb\nccc\n", 0, []string{"a\n", "bb\n", "ccc\n"}},
		{"blank lines", "\n\r\n a\n \t\r\n\n", 0, []string{" a\n"}},
		{"CR LF", "a\r\nb\r\n", 0, []string{"a\r\n", "b\r\n"}},
		{"no line feed at the end", "a\nb", 0, []string{"a\n", "b"}},
		{"as long as allowed", strings.Repeat("x", 20) + "\n" + strings.Repeat("y", 20) + "\r\n" + strings.Repeat("z", 20), 20, []string{strings.Repeat("x", 20) + "\n", strings.Repeat("y", 20) + "\r\n", strings.Repeat("z", 20)}},
		{"one too long", strings.Repeat("x", 21) + "\nb\n", 20, []string{"!", "b\n"}},
		{"one too long at the end", "b\n" + strings.Repeat("x", 21), 20, []string{"b\n", "!"}},
		{"much too long", "a\n" + long + "\n" + long + "\nb\n", 20, []string{"a\n", "!7", "!7", "b\n"}},
		{"with its id", long + "\nb\n", 100, []string{"!7", "b\n"}},
		{"much too long at the end", strings.Repeat("x", 1000), 20, []string{"!"}},
		{"nothing", "", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, wrap := range map[string]func(io.Reader) io.Reader{
				"at once":  func(r io.Reader) io.Reader { return r },
				"bytewise": iotest.OneByteReader,
				"with EOF": iotest.DataErrReader,
			} {
				got, err := lines(frame.NewReader(wrap(strings.NewReader(tt.in)), tt.max))
				if err != io.EOF {
					t.Errorf("%s: %v", name, err)
				}
				if strings.Join(got, "|") != strings.Join(tt.want, "|") {
					t.Errorf("%s: got %q", name, got)
				}
			}
		})
	}
}

func TestReaderKeepsItsError(t *testing.T) {
	r := frame.NewReader(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab\n"))), 0)
	line, err := r.Next()
	if string(line) != "a" || err != nil {
		t.Errorf("%q %v", line, err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, iotest.ErrTimeout) {
			t.Error(err)
		}
	}
	if _, err := frame.NewReader(nothing{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

// TestReaderOfAllSizes compares with splitting the whole, for lines around the
// sizes at which the buffer grows and shrinks, read in pieces of any size.
func TestReaderOfAllSizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		var in bytes.Buffer
		for in.Len() < 6<<20 {
			n := rnd.IntN(300)
			switch rnd.IntN(200) {
			case 0:
				n = 64<<10 - 2 + rnd.IntN(5)
			case 1:
				n = rnd.IntN(3 << 20)
			}
			in.WriteString("x" + strings.Repeat("y", n) + "\n")
		}
		all := in.Bytes()
		r := frame.NewReader(&pieces{all, rnd}, 2<<20)
		for rest := all; len(rest) > 0; {
			i := bytes.IndexByte(rest, '\n') + 1
			got, err := r.Next()
			var bad *frame.Error
			switch {
			case errors.As(err, &bad):
				if i-1 <= 2<<20 {
					t.Fatalf("%d bytes are too long", i-1)
				}
			case err != nil:
				t.Fatal(err)
			case !bytes.Equal(got, rest[:i]):
				t.Fatalf("got %d bytes, want %d", len(got), i)
			}
			rest = rest[i:]
		}
	}
}

type pieces struct {
	rest []byte
	rnd  *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := min(len(b), len(p.rest), 1+p.rnd.IntN(100<<10))
	copy(b, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}
