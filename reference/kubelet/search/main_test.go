package search_test

import (
	"flag"
	"os"
	"testing"
)

// The property tests go through the same runs every time, so that a failure says
// that something has changed. A search for new ones is `make search`, or any
// -rapid.seed of one's own.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.seed" })
	if !given {
		if err := flag.Set("rapid.seed", "20231221"); err != nil {
			panic(err) // rapid has that flag
		}
	}
	os.Exit(m.Run())
}
