package trace

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// The days are those of the time package, also of months that do not have them.
func TestUnixDay(t *testing.T) {
	for year := 0; year < 10_000; year++ {
		for month := 1; month <= 12; month++ {
			for _, day := range []int{0, 1, 28, 29, 30, 31, 32} {
				want := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
				got, ok := unixDay(year, month, day)
				if ok != (want.Day() == day) || ok && time.Unix(got*86400, 0).UTC() != want {
					assert.Assert(t, false, "%d-%d-%d: %d, %v", year, month, day, got, ok)
				}
			}
		}
	}
}
