package picture

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"pgregory.net/rapid"

	"github.com/podorder/podorder/reference"
)

// made is a picture with entries at some times, the quiet ones among them.
func made(times, quiet []float64) *Picture {
	p := &Picture{}
	for _, t := range times {
		p.all = append(p.all, moment{at: t})
	}
	for _, t := range quiet {
		p.all = append(p.all, moment{at: t, quiet: true})
	}
	slices.SortFunc(p.all, func(a, b moment) int { return int(math.Copysign(1, a.at-b.at)) })
	return p
}

// A long hook does not squeeze what is short: what shows nothing new is broken out.
func TestLongHook(t *testing.T) {
	var quiet []float64
	for at := 1.0; at < 3600; at++ {
		quiet = append(quiet, at)
	}
	p := made([]float64{0, 0.1, 0.2, 3600, 3600.1, 3601}, quiet)
	a := p.Axis()
	assert.Assert(t, is.Len(a.Breaks(), 1))
	assert.Check(t, a.Breaks()[0].Seconds() > 3599)
	assert.Check(t, a.X(0.2)-a.X(0.1) > 8, "a tenth of a second is %v pixels", a.X(0.2)-a.X(0.1))
	assert.Check(t, a.Width() < 1100, "%v", a.Width())
	all := elements(t, p.Part(a))
	assert.Check(t, said(all, "3599 s"))
	assert.Assert(t, is.Len(classed(all, "z"), 1))
	assert.Check(t, is.Contains(classed(all, "z")[0].Title, "3599.3 seconds, from +0.450 s to +3599.750 s, are squeezed"))
}

// An axis that has room is not broken.
func TestShort(t *testing.T) {
	a := made([]float64{0, 4, 9}, nil).Axis()
	assert.Check(t, is.Len(a.Breaks(), 0))
	assert.Check(t, a.Width() > least && a.Width() < wide+1)
}

// Whatever the times: the axis goes forward, one unit is the same time outside of the breaks, and no break covers
// anything new of any picture.
func TestAxis(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// A recording has stamps of nanoseconds; what lies closer together is a matter of rounding.
		seconds := rapid.Map(rapid.Int64Range(-5e9, 400e9), func(ns int64) float64 { return float64(ns) / 1e9 })
		times := rapid.SliceOfN(seconds, 1, 30)
		var ps []*Picture
		for range rapid.IntRange(1, 4).Draw(rt, "pictures") {
			ps = append(ps, made(times.Draw(rt, "times"), times.Draw(rt, "quiet")))
		}
		a := Common(ps...)
		var all []float64
		for _, p := range ps {
			for _, m := range p.all {
				all = append(all, m.at)
				for _, b := range a.Breaks() {
					if !m.quiet && m.at > b.From && m.at < b.To {
						rt.Fatalf("%v lies in the break %v", m.at, b)
					}
				}
			}
		}
		slices.Sort(all)
		for i := 1; i < len(all); i++ {
			from, to := all[i-1], all[i]
			d := a.X(to) - a.X(from)
			if d < 0 || to > from+1e-6 && d == 0 {
				rt.Fatalf("%v lies at %v, %v at %v", from, a.X(from), to, a.X(to))
			}
			broken := slices.ContainsFunc(a.Breaks(), func(b Break) bool { return b.From < to && from < b.To })
			if !broken && math.Abs(d-(to-from)*a.scale) > 0.01 {
				rt.Fatalf("%v to %v takes %v pixels", from, to, d)
			}
		}
		if a.X(all[0]) < 0 || a.X(all[len(all)-1]) > a.Width() {
			rt.Fatal("an entry lies outside of the axis")
		}
	})
}

// The pictures of one case on eleven kubelets stand above each other on one axis.
func TestCommon(t *testing.T) {
	paths, err := filepath.Glob(testdata("article", "S1", "*.trace.jsonl"))
	assert.NilError(t, err)
	assert.Assert(t, is.Len(paths, 11))
	var ps []*Picture
	for _, path := range paths {
		tr := readTrace(t, path)
		ps = append(ps, Of(tr.Admitted(), tr, reference.Verdict{}))
	}
	a := Common(ps...)
	assert.Assert(t, len(a.Breaks()) > 0)
	// Everything of the axis is the same in each of them: its labels, its breaks, its width.
	axis := func(p *Picture) (out []element) {
		for _, e := range elements(t, p.Part(a)) {
			if e.Name == "text" && (strings.Contains(e.Class, "s m halo") || strings.Contains(e.Class, "zl")) || e.Name == "svg" {
				e.Y, e.Text = 0, strings.TrimSpace(e.Text)
				if e.Name == "svg" {
					e.Title = ""
				}
				out = append(out, e)
			}
		}
		return out
	}
	first := axis(ps[0])
	assert.Check(t, len(first) > 8)
	for i, p := range ps[1:] {
		assert.DeepEqual(t, axis(p), first)
		// The first line of the log is zero in each.
		assert.Check(t, is.Equal(a.X(0), onZero(p, a)), paths[i+1])
	}
}

// onZero is where the first line of the log stands.
func onZero(p *Picture, a Axis) float64 {
	x := math.Inf(1)
	for _, l := range p.lanes {
		for _, r := range l.rows {
			if r != nil && len(r.marks) > 0 {
				x = min(x, a.X(r.marks[0].at))
			}
		}
	}
	return x
}
