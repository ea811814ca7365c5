package run

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
)

// TestTooShort: a time-out that is too short is refused, one that may not is said,
// and both say which one to give.
func TestTooShort(t *testing.T) {
	image := stage{"building the node image of v1.37.2", 2 * time.Minute, 16 * time.Minute}
	cases := stage{"132 runs of cases", 2 * time.Second, 4 * time.Minute}
	tests := []struct {
		timeout time.Duration
		stages  []stage
		surely  bool
		want    []string // nil where it suffices
	}{
		{10 * time.Minute, []stage{cases}, false, nil},
		{10 * time.Minute, []stage{image, cases}, false, []string{"may be too short", "16 min", "-timeout=50m"}},
		{50 * time.Minute, []stage{image, cases}, false, nil},
		{2 * time.Minute, []stage{image, cases}, true, []string{"is too short", image.what, "-timeout=50m"}},
		{6 * time.Second, []stage{cases}, true, []string{"is too short", "-timeout=50m"}},
		{time.Hour, []stage{{"a lot", 0, 2 * time.Hour}}, false, []string{"-timeout=240m"}},
	}
	for _, tt := range tests {
		text, surely := tooShort(tt.timeout, tt.stages)
		assert.Equal(t, surely, tt.surely, text)
		assert.Equal(t, text != "", tt.want != nil, text)
		for _, want := range tt.want {
			assert.Check(t, is.Contains(text, want))
		}
	}
}

// TestForCases: what is not meant for a kubelet takes no time, and a long case takes
// as long as it does.
func TestForCases(t *testing.T) {
	later, err := fixtures.ParseRange(">=1.38")
	assert.NilError(t, err)
	short := fixtures.Case{ID: "g/a"}
	long := fixtures.Case{ID: "g/b", Steps: []fixtures.Step{{Await: &fixtures.Await{Within: 180e9}}}}
	none := fixtures.Case{ID: "g/c", Versions: later}
	one := []column{{kubelet: "v1.37.2"}}
	got := forCases(jobsOf(one, short, none), 1)
	assert.Equal(t, len(got), 1)
	assert.Equal(t, got[0].what, "1 run of cases")
	assert.Equal(t, got[0].usual, usualCase)
	got = forCases(jobsOf(one, short, long), 20)
	assert.Assert(t, strings.HasPrefix(got[0].what, "40 runs"))
	assert.Equal(t, got[0].usual, usualLong)
	assert.Assert(t, forCases(jobsOf(one, none), 1) == nil)
}
