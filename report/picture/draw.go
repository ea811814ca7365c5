package picture

import (
	_ "embed"
	"fmt"
	"html"
	"math"

	"github.com/podorder/podorder/reference/trace"
)

// CSS is the style of all pictures. A page that holds several needs it once.
//
//go:embed style.css
var CSS string

// The measures of a picture, in pixels.
const (
	names   = 172.0 // width of the column of names
	margin  = 12.0
	after   = 46.0 // room for a word after the last mark
	lineH   = 17.0 // of a line of text
	flagH   = 17.0 // of a row of flags
	mainH   = 22.0
	hookH   = 18.0
	probeH  = 16.0
	eventH  = 14.0
	stripH  = 21.0
	laneGap = 6.0
	onLeft  = names + margin
)

// SVG draws the picture on an axis, complete with its style and its legend.
func (p *Picture) SVG(a Axis) string {
	d := drawing{p: p, a: a}
	return d.svg(true)
}

// Part draws the picture for a page that has the [CSS] and the [Legend] by itself, and the titles of
// the entries from [Picture.Lines].
func (p *Picture) Part(a Axis) string {
	d := drawing{p: p, a: a}
	d.bare = true
	return d.svg(false)
}

// drawing is one picture on one axis.
type drawing struct {
	paper
	p *Picture
	a Axis
	y float64 // how far down it is drawn
	// held are names of rows, for the ground of a lane that is drawn after its rows.
	held paper
}

// x is the place of a time on paper.
func (d *drawing) x(at float64) float64 { return onLeft + d.a.X(at) }

// right is where the axis ends.
func (d *drawing) right() float64 { return onLeft + d.a.Width() }

func (d *drawing) svg(whole bool) string {
	wide := d.right() + after
	d.head(wide)
	d.flags()
	axis := d.y
	top := axis + lineH + 6
	// In this order, each on top of those before it: the ground, the grid, the marks, the breaks,
	// the names.
	ground, grid, marks, cuts, labels := d.layer(), d.layer(), d.layer(), d.layer(), d.layer()
	marks.y = top
	marks.body(ground, labels)
	bottom := marks.y
	grid.axis(axis, bottom)
	grid.poles(axis, bottom)
	cuts.cuts(axis, bottom)
	foot := d.layer()
	foot.y = bottom + 4
	foot.foot(whole)

	var out paper
	out.f(`<svg xmlns="http://www.w3.org/2000/svg" class="timeline" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img">`+"\n", num(wide), num(foot.y+8))
	out.f("<title>%s</title>\n", html.EscapeString(d.p.Title))
	if whole {
		out.f("<style>%s</style>\n", CSS)
		out.rect("", "paper", 0, 0, wide, foot.y+8, 0, "")
	}
	for _, l := range []*drawing{d, ground, grid, marks, cuts} {
		out.WriteString(l.String())
	}
	out.f("<g class=\"names\">\n<rect class=\"paper\" x=\"0\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n%s</g>\n%s</svg>\n", num(top), num(names+6), num(bottom-top), labels.String(), foot.String())
	return out.String()
}

// layer is a sheet that is laid on the others.
func (d *drawing) layer() *drawing {
	l := &drawing{p: d.p, a: d.a}
	l.bare = d.bare
	return l
}

// head writes what the picture is of, and what the verdict says.
func (d *drawing) head(wide float64) {
	d.y = 22
	d.text("h", margin, d.y, d.p.Title, "")
	for i, says := range d.p.says {
		class := "s v"
		if i == 0 && len(d.p.says) > 1 {
			class = "v"
		}
		for _, line := range wrap(says, (wide-2*margin)*0.95) {
			d.y += lineH + 1
			d.text(class, margin, d.y, line, "")
		}
	}
	d.y += 10
}

// body draws the lanes and the strip; what lies beneath the marks goes to under, the names to labels.
func (d *drawing) body(under, labels *drawing) {
	if len(d.p.events)+len(d.p.unread) > 0 {
		d.lane(under, labels, 0, "Pod", "Events of the Pod", func() {
			d.marks(d.p.events, eventH)
			d.marks(d.p.unread, eventH)
			d.y += eventH
		})
	}
	for i, l := range d.p.lanes {
		d.lane(under, labels, i+1, l.name, l.role, func() { d.container(l, labels) })
	}
	if len(d.p.strip.updates) == 0 {
		return
	}
	d.y += 4
	labels.text("s", margin, d.y+12, "as the updates showed it", "")
	d.marks(d.p.strip.updates, 16)
	d.y += 18
	d.stages("Pod", d.p.strip.phase, labels)
	for _, r := range d.p.strip.rows {
		d.stages(r.name, r.stages, labels)
	}
}

// lane draws the ground of a lane, after its rows said how high it is.
func (d *drawing) lane(under, labels *drawing, n int, name, role string, rows func()) {
	top := d.y
	d.y += 4
	rows()
	d.y = max(d.y, top+34) + 2
	class := "la"
	if n%2 == 1 {
		class = "lb"
	}
	under.rect("", class, 4, top, d.right()+after-8, d.y-top, 5, "")
	labels.rect("", class, 4, top, names, d.y-top, 5, "")
	labels.text("n", margin, top+17, clip(name, 15), name)
	labels.text("s", margin, top+31, role, "")
	labels.WriteString(labels.held.String())
	labels.held.Reset()
	d.y += laneGap
}

// container draws the rows of a container.
func (d *drawing) container(l *lane, labels *drawing) {
	for i, r := range l.rows {
		if r == nil {
			continue
		}
		actor := trace.Actors()[i]
		switch {
		case actor == trace.Main:
			d.process(r, "", mainH, 14)
			d.y += mainH
		case actor.IsHook():
			labels.held.text("s e", names-2, d.y+12, short[actor], "")
			d.process(r, " hook", hookH, 11)
			d.y += hookH
		default:
			labels.held.text("s e", names-2, d.y+12, short[actor], "")
			d.marks(r.marks, probeH)
			d.y += probeH
		}
	}
	if len(l.events) > 0 {
		labels.held.text("s e", names-2, d.y+11, "Events", "")
		d.marks(l.events, eventH)
		d.y += eventH
	}
}

// short are the names of the rows.
var short = map[trace.Actor]string{
	trace.PostStart: "postStart", trace.PreStop: "preStop",
	trace.StartupProbe: "startup", trace.ReadinessProbe: "readiness", trace.LivenessProbe: "liveness",
}

// process draws the runs of a process as bars, with their lines on them.
func (d *drawing) process(r *row, class string, height, thick float64) {
	top := d.y + (height-thick)/2
	for i, b := range r.bars {
		title := fmt.Sprintf("instance %d", b.run)
		if b.silent {
			title = "an instance that wrote no line, as the status shows it"
		}
		if b.code != "" {
			title += ", exit code " + b.code
		}
		if !b.silent {
			d.rect("", "b"+class, d.x(b.from)-1, top, d.x(b.to)-d.x(b.from)+2, thick, 2, title)
		}
		if b.shown > b.to {
			if !b.silent {
				title += "; no line of it"
			}
			d.rect("", "o"+class, d.x(b.to), top+1, d.x(b.shown)-d.x(b.to), thick-2, 0, title)
		}
		end := max(b.to, b.shown)
		if b.ended {
			d.path("", "k", fmt.Sprintf("M%s %sv%s", num(d.x(end)), num(top-2), num(thick+4)), "")
		}
		if b.code == "" {
			continue
		}
		room := math.Inf(1)
		if i+1 < len(r.bars) {
			room = d.x(r.bars[i+1].from) - d.x(end)
		}
		label := "exit " + b.code
		if width(label)+8 > room {
			label = b.code
		}
		if width(label)+4 > room {
			continue // its title says it
		}
		if x := d.x(end) + 4; x+width(label) < d.right()+after {
			d.text("s", x, top+thick/2+4, label, "")
		} else {
			d.text("s e", x-8, top-3, label, "")
		}
	}
	d.on(r.marks, top, thick)
}

// on draws the lines of a process on its bars.
func (d *drawing) on(marks []mark, top, thick float64) {
	for _, m := range marks {
		x, title := d.x(m.at), m.title()
		id := lineID(m.line)
		d.ring(m.line, x, top+thick/2)
		switch m.kind {
		case "tick":
			d.path(id, "t", fmt.Sprintf("M%s %sv%s", num(x), num(top+3), num(thick-6)), title)
		case "signal":
			d.path(id, "sig", fmt.Sprintf("M%s %sl-5 -8h10z", num(x), num(top+thick/2+3)), title)
			d.text("m", x, top-1, m.label, "")
		default:
			d.path(id, "k", fmt.Sprintf("M%s %sv%s", num(x), num(top-1), num(thick+2)), title)
		}
	}
}

// marks draws entries in a row of their own.
func (d *drawing) marks(marks []mark, height float64) {
	y := d.y + height/2
	for _, m := range marks {
		d.mark(m, y)
	}
}

// mark draws one entry with its middle at a height.
func (d *drawing) mark(m mark, y float64) {
	x, title := d.x(m.at), m.title()
	id := lineID(m.line)
	d.ring(m.line, x, y)
	switch m.kind {
	case "ok":
		d.path(id, "ok", fmt.Sprintf("M%s %sa4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z", num(x-4.5), num(y)), title)
	case "fail", "broken":
		class := map[string]string{"fail": "fail", "broken": "un"}[m.kind]
		d.path(id, class, fmt.Sprintf("M%s %sl8 8m0-8l-8 8", num(x-4), num(y-4)), title)
	case "event":
		d.path(id, "ev", fmt.Sprintf("M%s %sl4 4-4 4-4-4z", num(x), num(y-4)), title)
	case "warning":
		d.path(id, "warn", fmt.Sprintf("M%s %sl5 9h-10z", num(x), num(y-5)), title)
	case "added", "modified", "deleted":
		d.path(id, "up", fmt.Sprintf("M%s %sv9", num(x), num(y-4)), title)
		if m.label != "" {
			d.text("s", x+4, y+5, m.label, "")
		}
	default:
		d.path(id, "pt", fmt.Sprintf("M%s %sv6", num(x), num(y-3)), title)
	}
}

// stages draws what was shown of the Pod or a container.
func (d *drawing) stages(name string, s stages, labels *drawing) {
	labels.text("", margin, d.y+13, clip(name, 24), name)
	for _, st := range s {
		x, w := d.x(st.from), d.x(st.to)-d.x(st.from)
		d.rect("", "st "+st.kind, x, d.y, w, stripH-4, 0, fmt.Sprintf("from line %d, %s: %s", st.line, clockText(st.from), st.text))
		d.inside(st, x, x+w)
	}
	d.y += stripH
}

// inside writes what a segment says, or as much of it as there is room for. No zigzag goes through it.
func (d *drawing) inside(st stage, from, to float64) {
	class := map[string]string{"ready": "or", "waiting": ""}
	name, ok := class[st.kind]
	if !ok {
		name = "od"
	}
	// The pieces that the zigzags leave of the segment; the first that has room is taken, or else
	// the longest.
	var best, room float64
	for _, b := range append(d.a.Breaks(), Break{d.a.to + 1, d.a.to + 1}) {
		cut := (d.x(b.From) + d.x(b.To)) / 2
		if cut-7 <= from {
			from = max(from, min(to, cut+5))
			continue
		}
		if w := min(to, cut-7) - from - 6; w > room && room < width(st.label) {
			best, room = from+4, w
		}
		from = min(to, cut+5)
	}
	if most := int(room / em); width(st.label) <= room {
		d.text(name, best, d.y+13, st.label, "")
	} else if most >= 6 {
		d.text(name, best, d.y+13, clip(st.label, most), "")
	}
}

// ring draws a ring round an entry that the verdict names.
func (d *drawing) ring(line int, x, y float64) {
	for _, f := range d.flagged() {
		if f.line == line {
			circle := fmt.Sprintf("M%s %sa9 9 0 1 0 18 0a9 9 0 1 0-18 0z", num(x-9), num(y))
			d.path("", "edge", circle, "") // the ring stands out from any bar
			d.path("", "ring "+f.kind, circle, "")
		}
	}
}

// flagged are the lines that the verdict names; a sample of the legend has none.
func (d *drawing) flagged() []flag {
	if d.p == nil {
		return nil
	}
	return d.p.flags
}

// title is what the browser shows to who points at a mark.
func (m mark) title() string {
	return fmt.Sprintf("line %d, %s: %s", m.line, clockText(m.at), m.text)
}

// clockText is a time on the axis.
func clockText(at float64) string {
	return fmt.Sprintf("%+.3f s", at)
}
