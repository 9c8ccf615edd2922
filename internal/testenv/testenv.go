// Package testenv lets a test say what it needs of the machine.
//
//	testenv.Require(t, "node", haveNode, "needs node 20 or later")
//
// Where the need is not met the test is skipped, with the reason. Where the
// environment variable ROOTBOUND_TEST_REQUIRE lists the feature, as it does in
// CI, the test fails instead: a skip there would hide that nothing was tested.
//
// # Limits
//
// The package knows no features: a test finds out itself what the machine has.
package testenv

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Require skips the test unless have is true, giving why as the reason. It fails
// the test instead if ROOTBOUND_TEST_REQUIRE, a comma-separated list, names
// feature.
func Require(t testing.TB, feature string, have bool, why string) {
	t.Helper()
	if have {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("ROOTBOUND_TEST_REQUIRE"), ","), feature) {
		t.Fatalf("%s, and ROOTBOUND_TEST_REQUIRE lists %s", why, feature)
	}
	t.Skip(why)
}
