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

// A stamp that is read apart is the one that time.Parse reads.
func TestParseUTC(t *testing.T) {
	for _, stamp := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.020Z", "2024-02-29T23:59:59.999999999Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.5Z",
	} {
		got, ok := parseUTC(stamp)
		want, err := time.Parse(time.RFC3339Nano, stamp)
		assert.NilError(t, err)
		assert.Assert(t, ok && got == want, "%s: %s", stamp, got)
	}
	for _, stamp := range []string{
		"", "Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05+01:00", "2025-02-29T03:04:05Z", "2026-13-02T03:04:05Z", "2026-00-02T03:04:05Z", "2026-01-00T03:04:05Z",
		"2026-01-02T24:04:05Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05,5Z",
		"2026-01-02T03:04:05.1234567890Z", "2026-01-02T03:04:05.12a4Z", "2026-01-02 03:04:05Z", "2026-01-02T 3:04:05Z", "2026-01-02T03:04:05ZZ",
	} {
		_, ok := parseUTC(stamp)
		assert.Assert(t, !ok, stamp)
	}
}
