package picture

import (
	"fmt"
	"strings"
)

// foot writes below the lanes what the reader has to know about the times and, in a picture that
// stands alone, what its marks mean.
func (d *drawing) foot(whole bool) {
	for _, note := range d.p.notes {
		d.y += lineH
		d.text("s", margin, d.y, note, "")
	}
	if whole {
		d.y += lineH
		d.legend(margin, d.right())
	}
}

// sample is a mark and what it means.
type sample struct {
	kind, says string
}

// samples are in the legend. Those of a process are drawn on a piece of its bar.
var samples = []sample{
	{"bar", "instance, with its ticks"},
	{"hook", "hook"},
	{"open", "no line of it, shown by a status"},
	{"signal", "signal"},
	{"ok", "probe succeeded"},
	{"fail", "probe failed"},
	{"event", "Event"},
	{"warning", "warning"},
	{"modified", "update"},
	{"break", "seconds left out"},
}

// legend writes what the marks mean, in as many lines as it takes.
func (d *drawing) legend(left, right float64) {
	x := left
	for _, s := range samples {
		need := 34 + width(s.says)
		if x > left && x+need > right {
			x = left
			d.y += lineH
		}
		d.sample(s.kind, x, d.y-4)
		d.text("s", x+24, d.y, s.says, "")
		x += need + 8
	}
}

// sample draws a mark without an entry, with its middle at x+10, y.
func (d *drawing) sample(kind string, x, y float64) {
	at := func(format string, x, y float64) string { return fmt.Sprintf(format, num(x), num(y)) }
	switch kind {
	case "bar":
		d.rect("", "b", x, y-6, 20, 12, 2, "")
		d.path("", "t", at("M%s %sv6m5 -6v6m5 -6v6", x+5, y-3), "")
	case "hook":
		d.rect("", "b hook", x, y-5, 20, 10, 2, "")
	case "open":
		d.rect("", "o", x, y-5, 20, 10, 0, "")
	case "signal":
		d.path("", "sig", at("M%s %sl-5 -8h10z", x+10, y+4), "")
	case "break":
		d.path("", "z", at("M%s %sl6 4l-6 4l6 4", x+7, y-6), "")
	default:
		var one drawing
		one.a = Axis{scale: 1}
		one.mark(mark{kind: kind, at: x + 10 - onLeft}, y)
		d.WriteString(anonymous(one.String()))
	}
}

// anonymous is a mark without its id and title.
func anonymous(svg string) string {
	svg = strings.Replace(svg, ` id="line-0"`, "", 1)
	before, _, _ := strings.Cut(svg, "><title>")
	return before + "/>\n"
}

// Legend draws what the marks mean, for a page that shows several pictures.
func Legend() string {
	d := drawing{}
	d.y = lineH
	const wide = 760
	d.legend(2, wide)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="timeline legend" width="%d" height="%s" viewBox="0 0 %[1]d %[2]s" role="img"><title>What the marks mean</title>`+"\n%s</svg>\n", wide, num(d.y+8), d.String())
}
