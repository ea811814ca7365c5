package reference

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/trace"
)

// The measures of the picture, in pixels.
const (
	svgLabel = 220 // width of the column of names
	svgStep  = 120 // distance of two levels
	svgRow   = 34  // height of the row of one process
	svgGap   = 22  // between two lanes
	svgTop   = 64
)

// SVG draws the order: one lane for each container with its main process,
// hooks and probes in rows of their own, and one for the status. What stands
// further right waits, directly or not, for what an arrow comes from; the rule
// of an arrow is its title.
func (o Order) SVG() string {
	level := o.levels()
	type row struct {
		c     int
		actor trace.Actor
	}
	var rows []row
	y := map[row]int{}
	height, lane := svgTop, -2
	for _, n := range o.nodes {
		r := row{n.Container, n.Actor}
		if _, ok := y[r]; ok {
			continue
		}
		if lane != -2 && n.Container != lane {
			height += svgGap
		}
		lane = n.Container
		y[r] = height
		height += svgRow
		rows = append(rows, r)
	}
	width := svgLabel + svgStep*(slices.Max(append(level, 0))+1) + 40
	x := func(i int) int { return svgLabel + 40 + svgStep*level[i] }

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height+20, width, height+20)
	b.WriteString(`<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#444"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height+20)
	fmt.Fprintf(&b, `<text x="16" y="26" font-size="16" font-weight="bold">Pod %s, kubelet %s</text>`+"\n", html.EscapeString(o.Pod), o.Kubelet)
	says := "an arrow points from what comes first to what waits for it; everything else may come in any order"
	if note := o.Kubelet.Uncovered(); note != "" {
		says = "warning: " + note
	}
	fmt.Fprintf(&b, `<text x="16" y="46" fill="#555">%s</text>`+"\n", html.EscapeString(says))
	for i, r := range rows {
		if i == 0 || rows[i-1].c != r.c {
			last := i
			for last+1 < len(rows) && rows[last+1].c == r.c {
				last++
			}
			fmt.Fprintf(&b, `<rect x="8" y="%d" width="%d" height="%d" rx="6" fill="%s"/>`+"\n", y[r]-4, width-16, y[rows[last]]-y[r]+svgRow, laneFill(r.c))
		}
		fmt.Fprintf(&b, `<text x="16" y="%d">%s</text>`+"\n", y[r]+svgRow/2+2, html.EscapeString(o.rowName(r.c, r.actor)))
		if r.c >= 0 && r.actor == trace.Main {
			fmt.Fprintf(&b, `<text x="16" y="%d" font-size="10" fill="#555">%s</text>`+"\n", y[r]+svgRow/2+14, html.EscapeString(o.Containers[r.c].Role))
		}
	}
	for i, n := range o.nodes {
		for j := i + 1; j < len(o.nodes); j++ {
			if m := o.nodes[j]; n.SameProcess(m) {
				cy := y[row{n.Container, n.Actor}] + svgRow/2 - 3
				fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="9" stroke-linecap="round"/>`+"\n", x(i), cy, x(j), cy, barFill(n.Actor))
				break
			}
		}
	}
	for to, from := range o.pred {
		for _, f := range from {
			x1, y1 := x(f), y[row{o.nodes[f].Container, o.nodes[f].Actor}]+svgRow/2-3
			x2, y2 := x(to), y[row{o.nodes[to].Container, o.nodes[to].Actor}]+svgRow/2-3
			fmt.Fprintf(&b, `<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#444" marker-end="url(#head)"><title>%s</title></path>`+"\n",
				x1+6, y1, x1+50, y1, x2-50, y2, x2-7, y2, html.EscapeString(o.ruleOf(f, to)))
		}
	}
	for i, n := range o.nodes {
		cy := y[row{n.Container, n.Actor}] + svgRow/2 - 3
		_, mark, _ := strings.Cut(n.Name, ": ")
		if n.Actor.IsProbe() || n.Container < 0 {
			mark = ""
		}
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="6" fill="%s" stroke="#222"><title>%s</title></circle>`+"\n", x(i), cy, barFill(n.Actor), html.EscapeString(n.Name))
		if mark != "" {
			fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="10" text-anchor="middle" fill="#333">%s</text>`+"\n", x(i), cy+17, html.EscapeString(strings.TrimPrefix(mark, "signal ")))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// levels gives each node the length of the longest chain that leads to it.
func (o Order) levels() []int {
	level := make([]int, len(o.nodes))
	for range o.nodes { // long enough: a chain visits a node once
		for i, n := range o.nodes {
			for _, p := range o.pred[i] {
				level[i] = max(level[i], level[p]+1)
			}
			for j := range i {
				if m := o.nodes[j]; n.SameProcess(m) {
					level[i] = max(level[i], level[j]+1)
				}
			}
		}
	}
	return level
}

func (o Order) rowName(c int, a trace.Actor) string {
	for _, n := range o.nodes {
		if n.Container == c && n.Actor == a {
			if c < 0 {
				return n.Name
			}
			return n.Line.Container + " / " + string(a)
		}
	}
	return string(a)
}

func (o Order) ruleOf(from, to int) string {
	for _, e := range o.Edges {
		if e.Before == o.nodes[from].Name && e.After == o.nodes[to].Name {
			return e.Rule
		}
	}
	return ""
}

func laneFill(c int) string {
	switch {
	case c < 0:
		return "#eef1f4"
	case c%2 == 0:
		return "#eaf3ea"
	}
	return "#f6f0e4"
}

func barFill(a trace.Actor) string {
	switch a {
	case trace.Main:
		return "#5b8c5a"
	case trace.PostStart, trace.PreStop:
		return "#c8843c"
	case trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe:
		return "#4a7fb0"
	}
	return "#9098a0"
}
