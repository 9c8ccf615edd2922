package e2e_test

import (
	"testing"
	"time"
)

// A persona is a way in which MCP clients in use treat roots. The number tells
// personas apart; several rows may share one.
type persona struct {
	name string
	scenario
	capabilities string // JSON
	modern       bool   // speaks the stateless protocol only
	discovers    bool   // sends server/discover before initialize
	neverAsked   bool
}

const (
	undeclared = `{}`
	declared   = `{"roots":{}}`
	announcing = `{"roots":{"listChanged":true}}`
)

// short is a deadline for roots/list that a test can wait for. Only a client
// that is silent on purpose gets it: another may be slow in a busy machine.
var short = []string{"--roots-timeout", "600ms"}

var personas = []persona{
	{
		name: "P1_good", capabilities: announcing,
		scenario: scenario{roots: listing("a"), steps: []step{
			reads("a/f"), refuses("b/f", "outside_roots"),
			asking(1, allowed([]string{"a"})),
			change(listing("b", "c")),
			refuses("a/f", "outside_roots"), reads("b/f"), reads("c/f"),
			asking(2, allowed([]string{"b", "c"})),
		}},
	},
	{
		name: "P2_no_listChanged", capabilities: declared,
		scenario: scenario{roots: listing("a"), steps: []step{
			reads("a/f"), refuses("b/f", "outside_roots"), asking(1, reads("a/f")),
		}},
	},
	{
		// Such a client does not say when its list changes, so it is asked again.
		name: "P2_asked_again", capabilities: declared,
		scenario: scenario{args: []string{"--roots-reask", "300ms"}, roots: listing("a"), steps: []step{
			reads("a/f"), slip(listing("b")), pause(400 * time.Millisecond),
			refuses("a/f", "outside_roots"), reads("b/f"),
			slip(failing(-32603)), pause(400 * time.Millisecond), refuses("b/f", "roots_unavailable"),
		}},
	},
	{
		// A client that does say so is not.
		name: "P1_not_asked_again", capabilities: announcing,
		scenario: scenario{args: []string{"--roots-reask", "100ms"}, roots: listing("a"), steps: []step{
			reads("a/f"), pause(300 * time.Millisecond), asking(1, reads("a/f")),
		}},
	},
	{
		name: "P3_undeclared_change_is_obeyed", capabilities: declared,
		scenario: scenario{roots: listing("a"), steps: []step{
			reads("a/f"), change(listing("b")), refuses("a/f", "outside_roots"), reads("b/f"),
		}},
	},
	{
		name: "P4_empty_list", capabilities: announcing,
		scenario: scenario{roots: listing(), steps: []step{
			refuses("a/f", "no_roots"), asking(1, allowed(nil)),
		}},
	},
	{
		name: "P4_emptied", capabilities: announcing,
		scenario: scenario{roots: listing("a"), steps: []step{
			reads("a/f"), change(listing()), refuses("a/f", "no_roots"), change(listing("b")), reads("b/f"),
		}},
	},
	{
		name: "P5_error_method_not_found", capabilities: declared,
		scenario: scenario{roots: failing(-32601), steps: []step{
			soon(2*time.Second, refuses("a/f", "roots_unavailable")),
			change(listing("a")), reads("a/f"),
		}},
	},
	{
		name: "P5_error_internal", capabilities: announcing,
		scenario: scenario{roots: failing(-32603), steps: []step{
			soon(2*time.Second, refuses("a/f", "roots_unavailable")),
			change(listing("a")), reads("a/f"),
		}},
	},
	{
		name: "P5_error_after_a_list", capabilities: announcing,
		scenario: scenario{roots: listing("a"), steps: []step{
			reads("a/f"), change(failing(-32603)), refuses("a/f", "roots_unavailable"),
			change(listing("a")), reads("a/f"),
		}},
	},
	{
		name: "P6_silence", capabilities: declared, // the only case that waits for the default deadline
		scenario: scenario{roots: silent(), steps: []step{
			took(refuses("a/f", "roots_unavailable"), 2*time.Second, 5*time.Second),
		}},
	},
	{
		name: "P7_undeclared_would_answer_empty", capabilities: undeclared, neverAsked: true,
		scenario: scenario{roots: listing(), steps: []step{
			soon(2*time.Second, refuses("a/f", "no_roots")), allowed(nil),
		}},
	},
	{
		name: "P8_undeclared_silent", capabilities: undeclared, neverAsked: true,
		scenario: scenario{roots: silent(), steps: []step{
			soon(2*time.Second, refuses("a/f", "no_roots")), allowed(nil),
		}},
	},
	{
		name: "P9_undeclared_would_fail", capabilities: undeclared, neverAsked: true,
		scenario: scenario{roots: failing(-32600), steps: []step{
			soon(2*time.Second, refuses("a/f", "no_roots")), allowed(nil),
		}},
	},
	{
		name: "P9_undeclared_given", capabilities: undeclared, neverAsked: true,
		scenario: scenario{args: []string{"$DIR/a"}, roots: failing(-32603), steps: []step{
			reads("a/f"), refuses("b/f", "outside_roots"), allowed([]string{"a"}),
		}},
	},
	{
		name: "P10_other_schemes_mixed_in", capabilities: announcing,
		scenario: scenario{
			roots: entries(
				"vscode-remote://wsl%2Bubuntu-22.04$DIR/b", "https://example.com$DIR/b", "untitled:one", "$DIR/b", "",
				"file://$DIR/a",
				"file://otherhost$DIR/b", "file://$DIR/a/../b", "file://$DIR/b%00", "file://$DIR/b?c#d",
			),
			steps: []step{
				reads("a/f"), refuses("b/f", "outside_roots"),
				allowed([]string{"a"}, "vscode-remote://wsl%2Bubuntu-22.04", "https://example.com", "untitled:one", "otherhost", "/../b", "b%00", "?c#d"),
			},
		},
	},
	{
		name: "P10_only_other_schemes", capabilities: announcing,
		scenario: scenario{roots: entries("vscode-remote://wsl%2Bubuntu-22.04$DIR/b"), steps: []step{
			refuses("b/f", "no_roots"), allowed(nil, "vscode-remote://wsl%2Bubuntu-22.04"),
		}},
	},
	{
		name: "P11_empty_then_real", capabilities: announcing,
		scenario: scenario{roots: listing(), steps: []step{
			refuses("a/f", "no_roots"), change(listing("a")), reads("a/f"),
		}},
	},
	{
		// Each change that comes before the server asked again is not announced.
		name: "P12_one_notice_until_asked", capabilities: announcing,
		scenario: scenario{roots: listing("a"), steps: []step{
			reads("a/f"),
			change(listing("b")), slip(listing("c")), reads("c/f"), refuses("b/f", "outside_roots"),
			change(listing("a")), reads("a/f"), refuses("c/f", "outside_roots"),
		}},
	},
	{
		name: "P13_late_answer_counts", capabilities: announcing,
		scenario: scenario{args: short, roots: silent(), steps: []step{
			took(refuses("a/f", "roots_unavailable"), 500*time.Millisecond, 3*time.Second),
			release(listing("a")), asking(1, reads("a/f")), asking(1, refuses("b/f", "outside_roots")),
		}},
	},
	{
		name: "P13_late_stale_answer_is_dropped", capabilities: announcing,
		scenario: scenario{args: short, roots: silent(), steps: []step{
			refuses("a/f", "roots_unavailable"),
			change(listing("b")), reads("b/f"),
			release(listing("a")), refuses("a/f", "outside_roots"), reads("b/f"),
		}},
	},
	{
		name: "P14_modern_undeclared", capabilities: undeclared, modern: true, neverAsked: true,
		scenario: scenario{roots: listing("a"), steps: []step{
			refuses("a/f", "no_roots"), allowed(nil),
		}},
	},
	{
		name: "P14_modern_undeclared_given", capabilities: undeclared, modern: true, neverAsked: true,
		scenario: scenario{args: []string{"$DIR/a"}, roots: listing("b"), steps: []step{
			reads("a/f"), refuses("b/f", "outside_roots"),
		}},
	},
	{
		// Nothing outlives a request here, so each call asks, and no notice is needed.
		name: "P15_modern", capabilities: declared, modern: true,
		scenario: scenario{roots: listing("a"), steps: []step{
			asking(1, reads("a/f")), asking(2, refuses("b/f", "outside_roots")),
			slip(listing("b")), refuses("a/f", "outside_roots"), reads("b/f"),
			slip(listing()), refuses("b/f", "no_roots"),
			slip(entries("https://example.com/", "file://$DIR/c")), reads("c/f"), allowed([]string{"c"}, "https://example.com/"),
		}},
	},
	{
		name: "P15_modern_list_is_kept", capabilities: declared, modern: true,
		scenario: scenario{args: []string{"--roots-ttl", "1h"}, roots: listing("a"), steps: []step{
			asking(1, reads("a/f")), slip(listing("b")), asking(1, reads("a/f")), asking(1, refuses("b/f", "outside_roots")),
		}},
	},
	{
		name: "P16_discovers_then_initializes", capabilities: announcing, discovers: true,
		scenario: scenario{roots: listing("a"), steps: []step{
			reads("a/f"), refuses("b/f", "outside_roots"), change(listing("b")), reads("b/f"),
		}},
	},
	{
		name: "P17_root_of_another_machine", capabilities: announcing,
		scenario: scenario{roots: listing("elsewhere", "a"), steps: []step{
			refuses("elsewhere/f", "root_unavailable"), refuses("elsewhere", "root_unavailable"),
			reads("a/f"), refuses("b/f", "outside_roots"), allowed(nil, "elsewhere", "unavailable"),
		}},
	},
	{
		name: "P17_only_roots_of_another_machine", capabilities: announcing,
		scenario: scenario{roots: listing("elsewhere"), steps: []step{
			refuses("elsewhere/f", "root_unavailable"), refuses("a/f", "outside_roots"),
		}},
	},
}

func TestPersona(t *testing.T) {
	for _, p := range personas {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, newTree(t), p.args...)
			s.setAnswer(p.roots)
			switch {
			case p.modern:
				s.modern(p.capabilities)
			case p.discovers:
				s.modern(p.capabilities)
				if m := s.request("server/discover", `{}`); m.Error != nil {
					t.Errorf("server/discover: %+v", *m.Error)
				}
				s.meta = ""
				fallthrough
			default:
				s.initialize("2025-11-25", p.capabilities)
			}
			s.play(t, p.steps)
			if n := s.timesAsked(); p.neverAsked && n > 0 {
				t.Errorf("asked %d times for roots that were not declared", n)
			}
		})
	}
}
