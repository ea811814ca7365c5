//go:build !unix

package suites

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// TestMain says where the suite runs. What it is made of is not built here.
func TestMain(*testing.M) {
	fmt.Fprintf(os.Stderr, "podorder: the suite does not run on %s: run it on Linux (WSL 2, a VM), or on macOS against a cluster that exists. scripts/judge and scripts/explain work here\n", runtime.GOOS)
	os.Exit(2)
}
