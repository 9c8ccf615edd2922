package roots_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rootbound/rootbound/roots"
)

func TestParseListKeepsTheGood(t *testing.T) {
	good, bad := roots.ParseList([]roots.Entry{
		{URI: "file:///a", Name: "A", Mode: roots.ReadWrite, Source: roots.FromClient},
		{URI: ""},
		{URI: "https://example.com/a"},
		{URI: "vscode-remote://wsl%2Bubuntu/home/u"},
		{URI: "file:///a/../etc"},
		{URI: "file:///a/%2e%2e/etc"},
		{URI: "file:///a#b"},
		{URI: "file:///" + strings.Repeat("x", roots.MaxURI)},
		{URI: "${workspaceFolder}"},
		{URI: "file:///${workspaceFolder}/x#"},
		{URI: "/plain/path"},
		{URI: "file:///b", Name: strings.Repeat("é", 200)},
	})
	if got := show(good); got != "/a rw, /b ro" {
		t.Errorf("the good entries are %s", got)
	}
	if good[0].Name != "A" || good[0].Source != roots.FromClient {
		t.Errorf("an entry lost something: %+v", good[0])
	}
	if n := len(good[1].Name); n > roots.MaxName || !strings.HasSuffix(good[1].Name, "é") {
		t.Errorf("a name of 400 bytes was cut to %d: …%q", n, good[1].Name[n-4:])
	}
	want := []string{"empty", "scheme", "scheme", "traversal", "traversal", "query", "too-long", "scheme", "query", "scheme"}
	var got []string
	for _, b := range bad {
		got = append(got, b.Class)
		if b.Why == "" || len(b.Entry.URI) > roots.MaxURI {
			t.Errorf("%q is rejected because %q", b.Entry.URI, b.Why)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("rejected as %v, want %v", got, want)
	}
	for _, i := range []int{7, 8} {
		if !strings.Contains(bad[i].Why, "not expanded") {
			t.Errorf("%q: no hint at the variable: %s", bad[i].Entry.URI, bad[i].Why)
		}
	}
}

func TestParseListIsBounded(t *testing.T) {
	var entries []roots.Entry
	for i := range 3 * roots.MaxRoots {
		entries = append(entries, roots.Entry{URI: fmt.Sprintf("file:///r%d", i)})
	}
	good, bad := roots.ParseList(entries)
	if len(good) != roots.MaxRoots || len(bad) != 1 || bad[0].Class != roots.RejectedCount {
		t.Errorf("%d good, %d bad", len(good), len(bad))
	}
}

func TestSensitive(t *testing.T) {
	const home = "/home/ann"
	for path, want := range map[string]string{
		"/":                            "file system",
		"/home":                        "home directory",
		"/home/ann":                    "home directory",
		"/home/ann/app":                "",
		"/home/annabel":                "",
		"/home/ann/.ssh":               "credentials",
		"/home/ann/.ssh/keys":          "credentials",
		"/home/ann/.config":            "credentials",
		"/home/ann/.config/app":        "",
		"/etc":                         "system directory",
		"/etc/nginx":                   "system directory",
		"/etcetera":                    "",
		"/root/app":                    "system directory",
		"/srv/app":                     "",
		"/home/ann/state/rootbound":    "own state",
		"/home/ann/state":              "own state",
		"/home/ann/state/rootbound/db": "own state",
	} {
		got := roots.Sensitive(path, home, "/home/ann/state/rootbound")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("Sensitive(%q) = %q, want %q", path, got, want)
		}
	}
	if got := roots.Sensitive("/root/app", "/root"); got != "" {
		t.Errorf("work below the home of root: %s", got)
	}
	if got := roots.Sensitive("/home/ann", ""); got != "" {
		t.Errorf("with no home known: %s", got)
	}
}
