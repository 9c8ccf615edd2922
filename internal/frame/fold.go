package frame

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// name is a member's name, with a hash that is equal for names that are equal
// under Unicode case folding.
type name struct {
	text []byte
	hash uint64
}

// manyNames is how many names of one object are compared one by one; beyond,
// a set is built, so that an object with a million names stays linear.
const manyNames = 64

// add records a name of the object whose names begin at base. It reports false
// if another name of that object is equal under case folding. Exact duplicates
// are the decoder's business.
func (p *parser) add(base int, text []byte) bool {
	hash := foldHash(text)
	open := p.names[base:]
	if len(open) < manyNames {
		for i := range open {
			if open[i].hash == hash && bytes.EqualFold(open[i].text, text) {
				return false
			}
		}
		p.names = append(p.names, name{text: text, hash: hash})
		return true
	}
	if p.folded == nil {
		p.folded = make(map[int]map[string]struct{})
	}
	set := p.folded[base]
	if set == nil {
		set = make(map[string]struct{}, 2*manyNames)
		for i := range open {
			set[string(appendFolded(nil, open[i].text))] = struct{}{}
		}
		p.folded[base] = set
	}
	folded := string(appendFolded(nil, text))
	if _, dup := set[folded]; dup {
		return false
	}
	set[folded] = struct{}{}
	return true
}

// foldsTo reports whether text is known in another letter case.
func foldsTo(text []byte, known string) bool {
	// Folding can change the number of bytes (U+017F is an s of two bytes, the
	// Kelvin sign a k of three), but never makes a text shorter than a third.
	return len(text) >= len(known) && len(text) <= 3*len(known) && bytes.EqualFold(text, []byte(known))
}

func foldHash(text []byte) uint64 {
	const prime = 1099511628211 // FNV-1a
	h := uint64(14695981039346656037)
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			h = (h ^ uint64(c)) * prime
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		h = (h ^ uint64(foldRune(r))) * prime
		i += n
	}
	return h
}

func appendFolded(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		dst = utf8.AppendRune(dst, foldRune(r))
		text = text[n:]
	}
	return dst
}

// foldRune returns one rune for all that are equal under simple case folding:
// the smallest of them, or the small letter if that is an ASCII letter.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
