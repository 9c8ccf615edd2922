package mcpfs

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/roots"
)

var listDirectory = tool{
	name:  "list_directory",
	title: "List Directory",
	description: "List the entries of a directory, one a line in the order of their bytes: [DIR] before directories, [FILE] " +
		"before everything else, links included. A name that holds a line break or is not UTF-8 is shown as its file:// URI, " +
		"which every tool accepts. A long listing ends with a [MORE] line that says how to go on.",
	input: `"properties":{"path":{"type":"string"},` +
		`"after":{"type":"string","description":"If provided, lists only the entries that come after this name"}},"required":["path"]`,
	annotations: mcp.ToolAnnotations{ReadOnlyHint: true},
	call: func(ctx context.Context, s *server, c *call) *mcp.CallToolResult {
		var args struct {
			Path  *string `json:"path"`
			After string  `json:"after"`
		}
		if bad := c.decode(&args); bad != nil {
			return bad
		}
		arg, bad := c.required("path", args.Path)
		if bad != nil {
			return bad
		}
		c.subject = arg
		dir, err := c.path(arg)
		if err != nil {
			return c.fail("/path", arg, err)
		}
		after, err := afterName(args.After)
		if err != nil {
			return c.fail("/after", args.After, err)
		}
		page := page{size: s.opts.MaxEntries, after: after}
		for entry, err := range c.fs.ReadDir(dir) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return c.fail("/path", arg, err)
			}
			page.add(listed{entry.Name, entry.IsDir()})
		}
		return text(page.text(dir))
	},
}

type listed struct {
	name string
	dir  bool
}

// A page collects the first size entries that come after a name, in constant
// memory: it holds at most twice the size.
type page struct {
	size    int
	after   string
	entries []listed
	more    int // entries that come later
}

func (p *page) add(e listed) {
	if p.after != "" && e.name <= p.after {
		return
	}
	p.entries = append(p.entries, e)
	if len(p.entries) == 2*p.size {
		p.trim()
	}
}

func (p *page) trim() {
	slices.SortFunc(p.entries, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	if n := len(p.entries) - p.size; n > 0 {
		p.more += n
		p.entries = p.entries[:p.size]
	}
}

// maxListing bounds the text of one listing, in bytes: names that are shown as URIs
// can be long.
const maxListing = 8 << 20

// text shows the page. No name can pass for a line of its own.
func (p *page) text(dir string) string {
	p.trim()
	var b strings.Builder
	last := ""
	for i, e := range p.entries {
		name := showName(dir, e.name)
		if b.Len()+len(name) > maxListing {
			p.more += len(p.entries) - i
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		if e.dir {
			b.WriteString("[DIR] ")
		} else {
			b.WriteString("[FILE] ")
		}
		b.WriteString(name)
		last = name
	}
	if p.more > 0 {
		fmt.Fprintf(&b, "\n[MORE] %d entries more; call again with after=%q", p.more, last)
	}
	return b.String()
}

// afterName returns the name that the argument after means: a name as a listing
// shows it, which for some is a URI.
func afterName(after string) (string, error) {
	if !strings.HasPrefix(after, "file://") {
		return after, nil
	}
	u, err := roots.ParseURI(after)
	if err != nil {
		return "", &refusalError{codeInvalidPath, "the file URI is not usable: " + err.Error(), "give the name as the listing shows it"}
	}
	return path.Base(u.Path()), nil
}

func showName(dir, name string) string {
	if plain(name) {
		return name
	}
	u, err := roots.FileURI(path.Join(dir, name))
	if err != nil {
		return quote(name)
	}
	return u.String()
}
