package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// finish closes what lasts to the end of the recording, and has the statuses say how the instances
// ended whose lines do not.
func (b *builder) finish() {
	end := 0.0
	for _, at := range b.clock.at {
		b.first, end = min(b.first, at), max(end, at)
	}
	if n := len(b.strip.phase); n > 0 {
		b.strip.phase[n-1].to = end
	}
	for _, r := range b.strip.rows {
		if n := len(r.stages); n > 0 {
			r.stages[n-1].to = end
		}
	}
	order := map[string]int{}
	for i, l := range b.lanes {
		order[l.name] = i
	}
	slices.SortStableFunc(b.strip.rows, func(x, y *statusRow) int { return cmp.Compare(order[x.name], order[y.name]) })
	for _, l := range b.lanes {
		b.instances(l, end)
	}
}

// instances matches the instances that the statuses showed with those that wrote lines, and adds
// those that did not write.
func (b *builder) instances(l *lane, end float64) {
	var shown []*ending
	for _, e := range b.ends[l.name] {
		shown = append(shown, e)
	}
	slices.SortFunc(shown, func(x, y *ending) int {
		return cmp.Or(x.started.Compare(y.started), cmp.Compare(b.last(x), b.last(y)), cmp.Compare(x.shown, y.shown))
	})
	if l.rows[0] == nil && len(shown) > 0 {
		l.rows[0] = &row{}
	}
	r := l.rows[0]
	if r == nil {
		return
	}
	wrote := slices.Clone(r.bars)
	for _, e := range shown {
		if len(wrote) > 0 && b.fits(e, wrote[0]) {
			b.close(wrote[0], e)
			wrote = wrote[1:]
			continue
		}
		if len(wrote) > 0 && b.clock.node(e.started) > wrote[0].from { // its status was never shown
			wrote = wrote[1:]
			if len(wrote) > 0 && b.fits(e, wrote[0]) {
				b.close(wrote[0], e)
				wrote = wrote[1:]
				continue
			}
		}
		from := b.clock.node(e.started)
		if from < b.first || from > e.shown { // some statuses have no stamp, or that of 1970
			from = e.shown
		}
		silent := &bar{run: -1, from: from, to: from, silent: true}
		b.close(silent, e)
		r.bars = append(r.bars, silent)
	}
	slices.SortStableFunc(r.bars, func(x, y *bar) int { return cmp.Compare(x.from, y.from) })
	for i, x := range r.bars {
		if x.ended {
			x.shown = max(x.shown, x.to)
			continue
		}
		x.shown = end
		if i+1 < len(r.bars) {
			x.shown = max(x.to, r.bars[i+1].from)
		}
	}
}

// last is until when an instance ran that a status shows, in seconds: stamps are cut to whole seconds.
func (b *builder) last(e *ending) float64 {
	if !e.over {
		return math.Inf(1)
	}
	return b.clock.node(e.finished) + 1
}

// fits reports whether the lines of an instance lie within the time that a status gives to one.
func (b *builder) fits(e *ending, x *bar) bool {
	return x.from >= b.clock.node(e.started)-0.01 && x.from <= b.last(e)
}

// close takes the end of an instance from a status.
func (b *builder) close(x *bar, e *ending) {
	if !e.over {
		return
	}
	code := fmt.Sprint(e.code)
	switch {
	case !x.ended:
		x.shown = max(x.to, min(b.last(e), e.shown))
		x.code = code
	case x.code != code && x.code != "":
		x.code += ", status " + code
	case x.code == "":
		x.code = code
	}
	x.ended = true
}
