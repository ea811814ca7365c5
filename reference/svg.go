package reference

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// The measures of the picture, in pixels.
const (
	svgMargin = 16
	svgNames  = 150 // width of the column with the names of the processes
	svgStep   = 88  // distance of two levels
	svgRow    = 36  // height of the row of one process
	svgLine   = 17  // height of a line of text
	svgLetter = 6.7 // mean width of a letter
	svgLeast  = 860 // width at least, for the texts
)

// svgStyle has the colours for light and for dark pages. The strokes k0 to k7 are those of the rules; what comes
// after has the same again, in dashes.
const svgStyle = `<style>
.podorder text { font: 13px system-ui, sans-serif; fill: #1f2328; stroke: #ffffff; stroke-width: 3; stroke-linejoin: round; paint-order: stroke }
.podorder .in text { stroke: #f3f5f7 }
.podorder .title { font-size: 17px; font-weight: 600 }
.podorder .name { font-weight: 600 }
.podorder .small { font-size: 11px; fill: #59636e }
.podorder .dim { fill: #59636e }
.podorder .phase { font-size: 12px; font-weight: 600; letter-spacing: .08em; fill: #59636e }
.podorder .page { fill: #ffffff }
.podorder .lane { fill: #f3f5f7 }
.podorder .edge { fill: none; stroke-width: 1.7 }
.podorder .between { stroke: #b6bec7; stroke-dasharray: 3 4 }
.podorder .life { stroke: #c3cad2; stroke-width: 8; stroke-linecap: round }
.podorder .mark { fill: #3d4650; stroke: #f3f5f7; stroke-width: 1.5 }
.podorder .shown { fill: #ffffff; stroke: #3d4650; stroke-width: 1.5 }
.podorder .k0 { stroke: #0969da } .podorder .k1 { stroke: #c24e00 } .podorder .k2 { stroke: #1a7f37 } .podorder .k3 { stroke: #8250df }
.podorder .k4 { stroke: #c9237f } .podorder .k5 { stroke: #0b7f8f } .podorder .k6 { stroke: #8a6a00 } .podorder .k7 { stroke: #59636e }
@media (prefers-color-scheme: dark) {
.podorder text { fill: #e6edf3; stroke: #0d1117 }
.podorder .in text { stroke: #1b222b }
.podorder .small, .podorder .dim, .podorder .phase { fill: #9aa4af }
.podorder .page { fill: #0d1117 }
.podorder .lane { fill: #1b222b }
.podorder .between { stroke: #4a545f }
.podorder .life { stroke: #3d4650 }
.podorder .mark { fill: #c9d1d9; stroke: #1b222b }
.podorder .shown { fill: #0d1117; stroke: #c9d1d9 }
.podorder .k0 { stroke: #58a6ff } .podorder .k1 { stroke: #f0883e } .podorder .k2 { stroke: #3fb950 } .podorder .k3 { stroke: #bc8cff }
.podorder .k4 { stroke: #f778ba } .podorder .k5 { stroke: #39c5cf } .podorder .k6 { stroke: #d9b44a } .podorder .k7 { stroke: #9aa4af }
}
</style>
`

// svgColours is how many rules have a colour of their own.
const svgColours = 8

// drawing is the picture while it is made.
type drawing struct {
	o     Order
	back  strings.Builder // what everything else is drawn over
	b     strings.Builder
	texts strings.Builder // of the lanes: nothing is drawn over them
	width int
	y     int   // where the next thing goes
	level []int // of each node
	first [len(phaseNames) + 1]int
	rows  map[svgRowOf]int // the middle of each row
	pairs [][2]int         // the nodes of each arrow
	rules []rules.Rule     // in the order of the key
}

type svgRowOf struct {
	container int
	actor     trace.Actor
}

// SVG draws the order: one lane for each container with its main process,
// hooks and probes in rows of their own, and one for the status, in three columns for the phases.
// What stands further right waits, directly or not, for what an arrow comes from. The colour of an arrow is
// that of its rule in the key below. It shows on light and on dark pages.
func (o Order) SVG() string {
	d := &drawing{o: o, rows: map[svgRowOf]int{}, pairs: o.drawn()}
	d.rules = slices.DeleteFunc(o.rules(), func(r rules.Rule) bool {
		return !slices.ContainsFunc(d.pairs, func(e [2]int) bool { return o.ruleOf(e[0], e[1]) == r.Slug })
	})
	d.level, d.first = o.levels()
	d.width = max(svgLeast, d.x(d.first[len(phaseNames)])+svgMargin-svgStep/2)
	d.y = svgMargin + svgLine
	d.text(svgMargin, "title", "Pod "+o.name()+", kubelet "+o.Kubelet.String())
	d.y += 4
	says := "What an arrow points to comes after what it starts from, while no probe fails and the grace period lasts. What no arrows and bars connect, in their direction, may come in either order."
	if note := o.Kubelet.Uncovered(); note != "" {
		says += " Warning: " + note + "."
	}
	d.paragraph(&d.b, svgMargin, "dim", says)
	d.y += 2 * svgLine
	top := d.y
	d.y += 10
	d.lanes()
	d.phases(top)
	d.lives()
	d.arrows()
	d.marks()
	d.key()
	d.y += svgMargin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="podorder" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", d.width, d.y, d.width, d.y) +
		svgStyle + fmt.Sprintf(`<rect class="page" width="%d" height="%d"/>`+"\n", d.width, d.y) +
		d.back.String() + d.b.String() + `<g class="in">` + "\n" + d.texts.String() + "</g>\n</svg>\n"
}

// x is where a level stands.
func (d *drawing) x(level int) int { return svgMargin + svgNames + svgStep/2 + svgStep*level }

// at is where a node stands.
func (d *drawing) at(i int) (x, y int) {
	n := d.o.nodes[i]
	return d.x(d.level[i]), d.rows[svgRowOf{n.Container, n.Actor}]
}

// text writes a line that stands on y.
func (d *drawing) text(x int, class, text string) { write(&d.b, x, d.y, class, text) }

func write(b *strings.Builder, x, y int, class, text string) {
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(text))
}

// headed writes a line of a name and of what it is.
func (d *drawing) headed(b *strings.Builder, x int, name, is string) {
	fmt.Fprintf(b, `<text x="%d" y="%d"><tspan class="name">%s</tspan> <tspan class="dim">%s</tspan></text>`+"\n", x, d.y, html.EscapeString(name), html.EscapeString(is))
}

// paragraph writes lines as long as the picture is wide.
func (d *drawing) paragraph(b *strings.Builder, x int, class, text string) {
	for _, line := range wrap(text, int(float64(d.width-x-svgMargin)/svgLetter)) {
		d.y += svgLine
		write(b, x, d.y, class, line)
	}
}

// lanes draws what is behind the processes of each container, and their names.
func (d *drawing) lanes() {
	const left = svgMargin + 10
	nodes := d.o.nodes
	for i := 0; i < len(nodes); {
		c, top := nodes[i].Container, d.y
		d.y += 6
		if c >= 0 {
			of := d.o.Containers[c]
			d.y += svgLine - 2
			d.headed(&d.texts, left, of.Container, of.Role)
			d.paragraph(&d.texts, left, "dim", strings.TrimSuffix(of.Means+"; "+of.Sleeps, "; "))
			d.y += 6
		}
		for ; i < len(nodes) && nodes[i].Container == c; i++ {
			row := svgRowOf{c, nodes[i].Actor}
			if d.rows[row] > 0 {
				continue
			}
			name := string(row.actor)
			if c < 0 {
				name = nodes[i].Name
			}
			d.rows[row] = d.y + svgRow/2 - 4
			write(&d.texts, left, d.rows[row]+4, "row", name)
			d.y += svgRow
		}
		fmt.Fprintf(&d.back, `<rect class="lane" x="%d" y="%d" width="%d" height="%d" rx="8"/>`+"\n", svgMargin, top, d.width-2*svgMargin, d.y-top)
		d.y += 10
	}
}

// phases draws the bounds of the phases, and their names at top.
func (d *drawing) phases(top int) {
	bottom := d.y
	d.y = top
	for p, says := range d.o.Phases() {
		if d.first[p] == d.first[p+1] {
			continue
		}
		left := d.x(d.first[p]) - svgStep/2
		if p > phaseStart {
			fmt.Fprintf(&d.b, `<line class="between" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", left, top-svgLine, left, bottom-10)
		}
		d.text(left+svgStep/2-14, "phase", strings.ToUpper(says.Name))
	}
	d.y = bottom
}

// lives draws each process from its first line to its last.
func (d *drawing) lives() {
	for i, n := range d.o.nodes {
		for j := i + 1; j < len(d.o.nodes); j++ {
			if n.SameProcess(d.o.nodes[j]) {
				x1, y := d.at(i)
				x2, _ := d.at(j)
				fmt.Fprintf(&d.b, `<line class="life" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", x1, y, x2, y)
				break
			}
		}
	}
}

func (d *drawing) arrows() {
	for _, of := range d.pairs {
		x1, y1 := d.at(of[0])
		x2, y2 := d.at(of[1])
		bend := min(56, (x2-x1)/2)
		d.arrow(d.o.ruleOf(of[0], of[1]), fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1+7, y1, x1+bend, y1, x2-bend, y2, x2-9, y2), x2-8, y2)
	}
}

// arrow draws a path and the head of an arrow at its end, which comes from the left.
func (d *drawing) arrow(rule, path string, x, y int) {
	k := slices.IndexFunc(d.rules, func(r rules.Rule) bool { return r.Slug == rule })
	dashes := [...]string{"", ` stroke-dasharray="7 4"`, ` stroke-dasharray="2 3"`}[min(max(k, 0)/svgColours, 2)]
	fmt.Fprintf(&d.b, `<g class="edge k%d"><title>%s</title><path d="%s"%s/><path d="M%d %dl7 4-7 4"/></g>`+"\n", max(k, 0)%svgColours, html.EscapeString(rule), path, dashes, x-7, y-4)
}

// marks draws what is seen.
func (d *drawing) marks() {
	for i, n := range d.o.nodes {
		x, y := d.at(i)
		_, says, _ := strings.Cut(n.Name, ": ")
		says = strings.TrimPrefix(says, "signal ")
		kind := trace.Main
		switch {
		case !n.IsLine():
			kind, says = "", "shown"
		case n.Actor.IsProbe():
			kind, says = trace.ReadinessProbe, "succeeds"
		case n.Actor != trace.Main:
			kind = trace.PostStart
		}
		d.mark(kind, x, y, n.Name)
		fmt.Fprintf(&d.texts, `<text class="small" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x, y+18, html.EscapeString(says))
	}
}

// mark draws a circle for a line of a main process, a square for one of a hook, a diamond for a probe, and a ring
// for an update of the status.
func (d *drawing) mark(kind trace.Actor, x, y int, title string) {
	class, shape := "mark", fmt.Sprintf(`<circle cx="%d" cy="%d" r="6"/>`, x, y)
	switch kind {
	case "":
		class = "shown"
	case trace.PostStart:
		shape = fmt.Sprintf(`<rect x="%d" y="%d" width="12" height="12"/>`, x-6, y-6)
	case trace.ReadinessProbe:
		shape = fmt.Sprintf(`<path d="M%d %dl7.5 7.5-7.5 7.5-7.5-7.5z"/>`, x, y-7)
	}
	fmt.Fprintf(&d.b, `<g class="%s"><title>%s</title>%s</g>`+"\n", class, html.EscapeString(title), shape)
}

// key says what the marks are, and lists the rules with the colours of their arrows.
func (d *drawing) key() {
	d.y += svgLine
	x := svgMargin + 6
	for _, k := range []struct {
		kind trace.Actor
		says string
	}{{trace.Main, "a line of a main process"}, {trace.PostStart, "of a hook"}, {trace.ReadinessProbe, "a probe that succeeds"}, {"", "an update of the status"}} {
		d.mark(k.kind, x, d.y-4, k.says)
		d.text(x+12, "dim", k.says)
		x += 12 + int(float64(len(k.says))*svgLetter) + 30
	}
	fmt.Fprintf(&d.b, `<line class="life" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", x, d.y-4, x+24, d.y-4)
	d.text(x+34, "dim", "the life of a process")
	d.y += svgLine + 10
	if len(d.rules) == 0 {
		d.text(svgMargin, "name", "No line has to come before another.")
		return
	}
	d.text(svgMargin, "name", "The rule of each arrow, by its colour")
	for _, r := range d.rules {
		d.y += 8
		y := d.y + svgLine - 4
		d.arrow(r.Slug, fmt.Sprintf("M%d %dH%d", svgMargin, y, svgMargin+33), svgMargin+35, y)
		d.y += svgLine
		d.headed(&d.b, svgMargin+46, r.Slug, r.Level.String())
		d.paragraph(&d.b, svgMargin+46, "says", r.Says)
	}
}

// drawn are the edges that have an arrow: those that other arrows and the lives of processes do not lead along as
// well. The text has more of them, since what is on the way need not be seen: who dies of a signal writes no end.
func (o Order) drawn() (pairs [][2]int) {
	n := len(o.nodes)
	leads := make([][]bool, n)
	for a := range n {
		leads[a] = make([]bool, n)
		for b := range n {
			leads[a][b] = o.nodes[a].Then(o.nodes[b]) || slices.Contains(o.pred[b], a)
		}
	}
	for c := range n {
		for a := range n {
			for b := range n {
				leads[a][b] = leads[a][b] || leads[a][c] && leads[c][b]
			}
		}
	}
	for to, from := range o.pred {
		for _, f := range from {
			around := false
			for c := range n {
				around = around || leads[f][c] && leads[c][to]
			}
			if !around {
				pairs = append(pairs, [2]int{f, to})
			}
		}
	}
	return pairs
}

// levels gives each node the length of the longest chain that leads to it, where what belongs to a later phase
// stands after all of those before; and where each phase begins and the last one ends.
func (o Order) levels() (level []int, first [len(phaseNames) + 1]int) {
	level = make([]int, len(o.nodes))
	phase := o.phases()
	for p := range phaseNames {
		first[p+1] = first[p]
		for range o.nodes { // long enough: a chain visits a node once
			for i, n := range o.nodes {
				if phase[i] != p {
					continue
				}
				level[i] = max(level[i], first[p])
				for _, before := range o.pred[i] {
					level[i] = max(level[i], level[before]+1)
				}
				for j := range i {
					if n.SameProcess(o.nodes[j]) {
						level[i] = max(level[i], level[j]+1)
					}
				}
				first[p+1] = max(first[p+1], level[i]+1)
			}
		}
	}
	return level, first
}

func (o Order) ruleOf(from, to int) string {
	for _, e := range o.Edges {
		if e.Before == o.nodes[from].Name && e.After == o.nodes[to].Name {
			return e.Rule
		}
	}
	return ""
}
