package stdio

import (
	"encoding/json"

	"github.com/rootbound/rootbound/internal/frame"
)

// mendRoots makes the list of roots in an object, at the path of members given,
// one that the SDK can decode. The SDK refuses a whole list for one entry of the
// wrong type, and one bad entry must not void the good ones. An entry that is no
// root becomes one without a URI, which whoever reads the list rejects by itself;
// a name that is no text is left out.
func mendRoots(object []byte, members ...string) []byte {
	list := frame.Lookup(object, members...)
	if len(list) == 0 || list[0] != '[' {
		return object
	}
	var entries []json.RawMessage
	if json.Unmarshal(list, &entries) != nil {
		return object // cannot be: the frame was checked
	}
	mended := false
	for i, e := range entries {
		if whole := mendRoot(e); whole != nil {
			entries[i], mended = whole, true
		}
	}
	if !mended {
		return object
	}
	b, err := json.Marshal(entries)
	if err != nil {
		return object
	}
	return frame.Replace(object, string(b), members...)
}

// mendRoot returns what an entry becomes, or nil if it can stay as it is.
func mendRoot(e []byte) []byte {
	if string(e) == "null" {
		return nil // the SDK takes it for a root that is not there
	}
	if e[0] != '{' {
		return []byte(`{"uri":""}`)
	}
	uri, name, meta := frame.Lookup(e, "uri"), frame.Lookup(e, "name"), frame.Lookup(e, "_meta")
	switch {
	case uri != nil && uri[0] != '"', meta != nil && meta[0] != '{':
		return []byte(`{"uri":""}`)
	case name == nil || name[0] == '"':
		return nil
	case uri == nil:
		return []byte(`{"uri":""}`)
	}
	b := append([]byte(`{"uri":`), uri...)
	if meta != nil {
		// It may say that the root is read-only.
		b = append(append(b, `,"_meta":`...), meta...)
	}
	return append(b, '}')
}
