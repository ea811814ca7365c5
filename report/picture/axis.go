package picture

import (
	"cmp"
	"math"
	"slices"
)

// The measures of an axis, in pixels, seconds, or pixels a second.
const (
	wide     = 1040.0 // how long an axis may get before it is broken
	least    = 560.0  // how long it is at least
	breakLen = 58.0   // length of a break: it has room for "166.8 s"
	comfort  = 64.0   // scale at which no more breaks are made
	finest   = 150.0  // largest scale
	coarsest = 34.0   // smallest scale: a longer axis gets wider
	longest  = 2600.0 // and at this length coarser after all
	shortest = 1.5    // shortest time that is broken out
	edge     = 0.25   // of it, what stays unbroken at each end
)

// Axis maps seconds after zero to pixels. It may be broken.
type Axis struct {
	from, to float64
	scale    float64
	breaks   []Break
}

// Break is a time that is squeezed into a short piece of the axis, in seconds.
type Break struct{ From, To float64 }

// Seconds are how many are squeezed.
func (b Break) Seconds() float64 { return b.To - b.From }

// Axis is the axis of this picture alone.
func (p *Picture) Axis() Axis { return Common(p) }

// Common is the one axis of several pictures: it is broken only where none of them shows
// anything new.
func Common(ps ...*Picture) Axis {
	var times []float64
	a := Axis{from: math.Inf(1), to: math.Inf(-1)}
	for _, p := range ps {
		if len(p.all) == 0 {
			continue
		}
		a.from, a.to = min(a.from, p.begin()), max(a.to, p.end())
		for _, m := range p.all {
			if !m.quiet {
				times = append(times, m.at)
			}
		}
		for _, l := range p.lanes {
			times = append(times, l.ends()...)
		}
	}
	if math.IsInf(a.from, 1) {
		a.from, a.to = 0, 0
	}
	for _, t := range times { // what the node stamped may lie outside of what the recorder did
		a.from, a.to = min(a.from, t), max(a.to, t)
	}
	a.from, a.to = a.from-0.15, a.to+0.35 // room for a mark at the end
	a.fit(gaps(append(times, a.from, a.to)))
	return a
}

// ends are when the instances and hooks of a container ended, which no line may say.
func (l *lane) ends() (at []float64) {
	for _, r := range l.rows {
		if r == nil {
			continue
		}
		for _, b := range r.bars {
			at = append(at, b.from, b.to)
			if b.ended && b.shown > b.to {
				at = append(at, b.shown)
			}
		}
	}
	return at
}

// gaps are what can be broken out, the longest first.
func gaps(times []float64) (out []Break) {
	slices.Sort(times)
	for i := 1; i < len(times); i++ {
		if times[i]-times[i-1] >= shortest {
			out = append(out, Break{times[i-1] + edge, times[i] - edge})
		}
	}
	slices.SortStableFunc(out, func(a, b Break) int { return cmp.Compare(b.Seconds(), a.Seconds()) })
	return out
}

// fit breaks the axis, at the longest gaps first, until what is left has room.
func (a *Axis) fit(gaps []Break) {
	length := a.to - a.from
	n := 0
	for ; ; n++ {
		a.scale = min(finest, (wide-float64(n)*breakLen)/length)
		if a.scale >= comfort || n == len(gaps) {
			break
		}
		if gaps[n].Seconds()*max(a.scale, coarsest) < 1.3*breakLen { // it would save nothing
			break
		}
		length -= gaps[n].Seconds()
	}
	a.scale = max(a.scale, min(coarsest, longest/length))
	if a.scale*length < least {
		a.scale = min(2*finest, least/length)
	}
	a.breaks = slices.Clone(gaps[:n])
	slices.SortFunc(a.breaks, func(x, y Break) int { return cmp.Compare(x.From, y.From) })
}

// X is the place of a time on the axis.
func (a Axis) X(at float64) float64 {
	x := (at - a.from) * a.scale
	for _, b := range a.breaks {
		switch {
		case at >= b.To:
			x += breakLen - b.Seconds()*a.scale
		case at > b.From:
			return x - (at-b.From)*a.scale + (at-b.From)/b.Seconds()*breakLen
		}
	}
	return x
}

// Width is the length of the axis in pixels.
func (a Axis) Width() float64 { return a.X(a.to) }

// Breaks are where the axis is broken.
func (a Axis) Breaks() []Break { return slices.Clone(a.breaks) }

// Ticks are the times that are written at the axis: none in a break.
func (a Axis) Ticks() (at []float64, step float64) {
	for _, step = range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50} {
		if step*a.scale >= 56 {
			break
		}
	}
	last := math.Inf(-1)
	for n := math.Ceil(a.from / step); n*step <= a.to; n++ {
		t := n * step
		if slices.ContainsFunc(a.breaks, func(b Break) bool {
			x := a.X(t)
			return x > a.X(b.From)-20 && x < a.X(b.To)+20
		}) {
			continue
		}
		if x := a.X(t); x-last >= 44 {
			at, last = append(at, t), x
		}
	}
	return at, step
}
