package mcpfs

import (
	"strconv"
	"unicode/utf8"
)

// maxShown bounds what is repeated of a peer's own words, in bytes.
const maxShown = 256

// quote shows a text that somebody else chose: in quotation marks, with control,
// format and bidirectional characters and bytes that are not UTF-8 escaped, and
// cut to maxShown bytes. Nothing in it can pass for words of ours.
func quote(s string) string {
	if len(s) <= maxShown {
		return strconv.Quote(s)
	}
	n := maxShown
	for n > maxShown-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return strconv.Quote(s[:n]) + "…"
}

// plain reports whether s can be shown as it is: quote would only add the marks.
func plain(s string) bool {
	if len(s) > maxShown*16 {
		return false
	}
	for _, r := range s {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}

// show is quote for texts that are mostly harmless, such as paths in a success
// message: as it is if that is safe.
func show(s string) string {
	if plain(s) {
		return s
	}
	return quote(s)
}
