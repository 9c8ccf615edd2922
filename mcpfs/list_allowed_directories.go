package mcpfs

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound/clientroots"
	"github.com/rootbound/rootbound/rootedfs"
	"github.com/rootbound/rootbound/roots"
)

// RootsKey is the key of a [RootsReport] in the _meta of the result of
// list_allowed_directories.
const RootsKey = "rootbound/roots"

// A RootsReport says which roots are in force, and what became of the client's list.
type RootsReport struct {
	Generation uint64         `json:"generation"`
	Roots      []ReportedRoot `json:"roots"`
	Nothing    string         `json:"nothing,omitempty"` // why there are no roots
	Client     string         `json:"client"`            // what is known of the client's list
	ClientWhy  string         `json:"clientWhy,omitempty"`
	// NotUsed are the roots that the client named and the operator's word overrules.
	NotUsed  []string        `json:"notUsed,omitempty"`
	Rejected []RejectedEntry `json:"rejected,omitempty"`
}

// A ReportedRoot is one root in force.
type ReportedRoot struct {
	URI    string `json:"uri"`
	Name   string `json:"name,omitempty"`
	Mode   string `json:"mode"`
	Source string `json:"source"`
	State  string `json:"state"` // "ok" or "unavailable"
	Why    string `json:"why,omitempty"`
}

// A RejectedEntry is an entry of the client's list that does not count as stated.
type RejectedEntry struct {
	URI   string `json:"uri"` // quoted
	Class string `json:"class"`
	Why   string `json:"why"`
}

// maxReported bounds what of a client's list is repeated to it.
const maxReported = 50

var listAllowedDirectories = tool{
	name:  "list_allowed_directories",
	title: "List Allowed Directories",
	description: "Show the roots of this session: the directories, and single files, under which the other tools work. Below " +
		"the list it says what is read-only or unavailable, and which of the client's roots do not count and why.",
	input:       `"properties":{}`,
	annotations: mcp.ToolAnnotations{ReadOnlyHint: true},
	call: func(_ context.Context, s *server, c *call) *mcp.CallToolResult {
		report := c.report(s.known(c))
		var b strings.Builder
		b.WriteString("Allowed directories:")
		for _, r := range c.fs.Roots() {
			b.WriteString("\n" + showPath(r.URI))
		}
		if notes := report.notes(c.effective); len(notes) > 0 {
			b.WriteString("\n\n" + strings.Join(notes, "\n"))
		}
		res := text(b.String())
		res.Meta = mcp.Meta{RootsKey: report}
		return res
	},
}

// report says what is in force, and what became of the client's list.
func (v *snapshot) report(list clientroots.List) *RootsReport {
	r := &RootsReport{
		Generation: v.fs.Set().Generation(),
		Roots:      []ReportedRoot{},
		Nothing:    string(v.effective.Nothing),
		Client:     list.State.String(),
		ClientWhy:  list.Why,
	}
	infos := v.fs.Roots()
	for _, i := range infos {
		r.Roots = append(r.Roots, ReportedRoot{
			URI: i.URI.String(), Name: show(i.Name), Mode: i.Enforced.String(),
			Source: string(i.Source), State: string(i.State), Why: i.Reason,
		})
	}
	rejected := v.effective.Rejected
	if list.Generation != v.list.Generation {
		rejected = list.Rejected // of a list that is shown only
	}
	for _, e := range rejected[:min(maxReported, len(rejected))] {
		r.Rejected = append(r.Rejected, RejectedEntry{URI: quote(e.Entry.URI), Class: e.Class, Why: e.Why})
	}
	set := v.fs.Set()
	for _, root := range list.Roots[:min(maxReported, len(list.Roots))] {
		if v.fixed && !set.Contains(root.Path()) {
			r.NotUsed = append(r.NotUsed, root.URI.String())
		}
	}
	return r
}

// notes says in lines for people what is out of the ordinary.
func (r *RootsReport) notes(e roots.Effective) []string {
	var notes []string
	if e.Nothing != "" {
		notes = append(notes, "There are none: "+e.Why+". Next: "+e.Fix+".")
	}
	for _, x := range r.Roots {
		if x.State != string(rootedfs.StateOK) {
			notes = append(notes, fmt.Sprintf("%s is unavailable: %s", x.URI, x.Why))
		} else if x.Why != "" {
			notes = append(notes, fmt.Sprintf("%s is %s", x.URI, x.Why)) // says why it is read-only
		} else if x.Mode == roots.ReadOnly.String() {
			notes = append(notes, x.URI+" is read-only")
		}
	}
	for _, x := range r.Rejected {
		notes = append(notes, fmt.Sprintf("The client's root %s is not used as stated: %s", x.URI, x.Why))
	}
	if len(r.NotUsed) > 0 {
		notes = append(notes, "The client named "+strings.Join(r.NotUsed, ", ")+"; the operator's roots count instead.")
	}
	return notes
}
