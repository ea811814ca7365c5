package observed_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/podorder/podorder/report/observed"

	"gotest.tools/v3/assert"
)

var eleven = []string{"v1.28.5", "v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"}

// noise are runs of many cases on eleven kubelets that all do the same: forty events a second apart, each up to
// three seconds late, one of ten of them missing.
func noise(cases, repeat int) (runs []observed.Run) {
	r := rand.New(rand.NewPCG(1, 2))
	for c := range cases {
		for _, k := range eleven {
			for range repeat {
				b := observed.Behaviour{}
				for e := range 40 {
					if r.IntN(10) > 0 {
						b.Events = append(b.Events, observed.Event{Name: fmt.Sprintf("c%d#0 / main: begin", e), At: float64(e) + r.Float64()*3, Count: 1 + r.IntN(3)})
					}
				}
				slices.SortFunc(b.Events, func(x, y observed.Event) int { return cmp.Compare(x.At, y.At) })
				b.Figures = append(b.Figures, observed.Figure{Name: observed.HookToReady, Value: r.ExpFloat64()})
				runs = append(runs, run(fmt.Sprintf("x/%d", c), k, "pass", b))
			}
		}
	}
	return runs
}

// Noise is no difference, with few runs or with many.
func TestNoise(t *testing.T) {
	list := kubelets(t, eleven...)
	for _, repeat := range []int{1, 3, 20} {
		assert.DeepEqual(t, text(observed.Compare(list, noise(12, repeat))), []string(nil))
	}
}

// As many cases as there are, three runs of each.
func BenchmarkCompare(b *testing.B) {
	list, runs := kubelets(b, eleven...), noise(162, 3)
	for b.Loop() {
		observed.Compare(list, runs)
	}
}
