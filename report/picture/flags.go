package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// notice is a flag on its pole: an act, a gap, or a line that the verdict names.
type notice struct {
	line               int
	at                 float64
	kind, label, title string
	// row counts from the lowest one.
	row   int
	left  bool // its text stands left of the pole
	named bool // the entry itself is elsewhere in the picture
}

// notices are all flags, in the order of time.
func (p *Picture) notices() (out []notice) {
	for _, m := range append(slices.Clone(p.acts), p.gaps...) {
		out = append(out, notice{line: m.line, at: m.at, kind: m.kind, label: m.label, title: m.title()})
	}
	for _, f := range p.flags {
		if i := slices.IndexFunc(out, func(n notice) bool { return n.line == f.line }); i >= 0 {
			out[i].kind, out[i].label = f.kind, out[i].label+", "+f.label
			continue
		}
		out = append(out, notice{line: f.line, at: f.at, kind: f.kind, label: f.label, title: fmt.Sprintf("%s, %s: %s", f.label, clockText(f.at), f.text), named: true})
	}
	slices.SortStableFunc(out, func(a, b notice) int { return cmp.Compare(a.at, b.at) })
	return out
}

// place gives each flag a row in which its text covers no other.
func (d *drawing) place(all []notice) (rows int) {
	type span struct{ from, to float64 }
	taken := [][]span{}
	for i := range all {
		n := &all[i]
		n.label = clip(n.label, 60)
		x, w := d.x(n.at), width(n.label)+12
		s := span{x, x + w}
		if s.to > d.right()+after {
			n.left, s = true, span{x - w, x}
		}
		for n.row = 0; ; n.row++ {
			if n.row == len(taken) {
				taken = append(taken, nil)
			}
			if !slices.ContainsFunc(taken[n.row], func(t span) bool { return s.from < t.to && t.from < s.to }) {
				break
			}
		}
		taken[n.row] = append(taken[n.row], s)
	}
	return len(taken)
}

// flags leaves room for the flags.
func (d *drawing) flags() {
	d.y += flagH*float64(d.place(d.p.notices())) + 4
}

// poles draws the flags, the lowest just above the axis, each with its pole to the bottom.
func (d *drawing) poles(axis, bottom float64) {
	all := d.p.notices()
	d.place(all)
	height := func(n notice) float64 { return axis - flagH*float64(n.row) - 4 }
	for _, n := range all {
		id := ""
		if !n.named {
			id = lineID(n.line)
		}
		d.path(id, n.kind, fmt.Sprintf("M%s %sV%s", num(d.x(n.at)), num(height(n)-12), num(bottom)), n.title)
	}
	// The texts come after all poles, on a ground or with an edge of their own, so that no pole goes through one.
	for _, n := range all {
		x, y := d.x(n.at), height(n)
		class, tx, ground := n.kind, x+5, x+1
		w := width(n.label) + 8
		if n.left {
			class, tx, ground = n.kind+" e", x-5, x-1-w
		}
		if n.kind == "no" || n.kind == "why" {
			d.rect("", n.kind+"bg", ground, y-12, w, flagH-2, 0, "")
		} else {
			class += " halo"
		}
		d.text(class, tx, y, n.label, n.title)
	}
}

// axis draws the axis and its grid.
func (d *drawing) axis(y, bottom float64) {
	d.path("", "ax", fmt.Sprintf("M%s %sH%s", num(onLeft), num(y+lineH+2), num(d.right())), "")
	at, step := d.a.Ticks()
	digits := 0
	if step < 1 {
		digits = 1
	}
	for _, t := range at {
		x := d.x(t)
		if x > d.right()-6 {
			break
		}
		d.path("", "g", fmt.Sprintf("M%s %sV%s", num(x), num(y+lineH-2), num(bottom)), "")
		d.text("s m halo", x, y+lineH-6, fmt.Sprintf("%.*f s", digits, t+0), "")
	}
}

// cuts draws the breaks of the axis: a zigzag through the whole height, and the seconds.
func (d *drawing) cuts(axis, bottom float64) {
	for _, b := range d.a.breaks {
		from, to := d.x(b.From), d.x(b.To)
		x := (from + to) / 2
		title := fmt.Sprintf("The axis is broken here: %.1f seconds, from %s to %s, are squeezed into this piece. Nothing new shows in them.", b.Seconds(), clockText(b.From), clockText(b.To))
		var path strings.Builder
		fmt.Fprintf(&path, "M%s %s", num(x-3), num(axis+lineH))
		for y, n := axis+lineH, 0; y < bottom; y, n = y+6, n+1 {
			path.WriteString([]string{"l6 6", "l-6 6"}[n%2])
		}
		d.path("", "zb", path.String(), "")
		d.path("", "z", path.String(), title)
		d.text("zl m", x, axis+lineH-6, seconds(b.Seconds()), title)
	}
}

// seconds is a length of time at a break.
func seconds(s float64) string {
	if s >= 100 {
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}
