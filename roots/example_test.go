package roots_test

import (
	"errors"
	"fmt"

	"github.com/rootbound/rootbound/roots"
)

func ExampleSet_Locate() {
	app, err := roots.ParseURI("file:///home/ann/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	set := roots.NewSet(1, roots.Root{URI: app, Mode: roots.ReadWrite})

	root, name, err := set.Locate("/home/ann/app/src/../main.go")
	fmt.Println(root.Path(), name, err)
	_, _, err = set.Locate("/home/ann/application/main.go")
	fmt.Println(errors.Is(err, roots.ErrOutside))
	// Output:
	// /home/ann/app main.go <nil>
	// true
}

func ExampleCombine() {
	list, bad := roots.ParseList([]roots.Entry{
		{URI: "file:///home/ann/app/web", Mode: roots.ReadWrite},
		{URI: "file:///srv", Mode: roots.ReadWrite},
		{URI: "https://example.com/app"},
	})
	work, _ := roots.FileURI("/home/ann/app")
	e := roots.Combine(
		roots.Given{Stated: true, Roots: []roots.Root{{URI: work, Mode: roots.ReadOnly}}},
		roots.ClientList{State: roots.Answered, Roots: list, Rejected: bad},
		roots.Narrow, nil)
	for _, r := range e.Roots {
		fmt.Println(r.Path(), r.Mode)
	}
	for _, r := range e.Rejected {
		fmt.Println(r.Entry.URI, "-", r.Why)
	}
	// Output:
	// /home/ann/app/web ro
	// https://example.com/app - not a file URI
	// file:///home/ann/app/web - read-only: the operator gave /home/ann/app read-only
	// file:///srv - outside of what the operator gave
}
