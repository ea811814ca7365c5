package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// Picture is the timeline of one Pod, with everything at its place in time.
type Picture struct {
	// Title says what the picture is of. [Of] takes it from the header of the trace.
	Title string
	// says is what the head has below the title: the verdict, the rule and the reason.
	says []string
	// notes are what the reader has to know about the times.
	notes []string

	lanes []*lane
	strip strip
	// acts are what was done to the Pod, and gaps where something may be missing.
	acts, gaps []mark
	// events are those of the Pod itself.
	events []mark
	// unread are lines of the log that cannot be read.
	unread []mark
	// flags are the lines that the verdict names.
	flags []flag
	// all has every entry once, in the order of time.
	all []moment
	// text are the entries as text, in the order of the trace.
	text []Line
	// zero is what the clock of the recorder showed at second zero.
	zero time.Time
}

// Line is an entry of the trace as text.
type Line struct {
	// N is the number of the line, counted from 1.
	N int
	// At is its time in seconds after zero.
	At float64
	// Channel is where it came by: log, update, Event, act or gap.
	Channel string
	// Text is what it says, without its stamp.
	Text string
	// Flag says what the verdict has to say of it: "not allowed here", "forbids the refused line"; it is empty for most.
	Flag string
}

// Lines are the entries of the trace as text, in its order.
func (p *Picture) Lines() []Line { return slices.Clone(p.text) }

// Zero is what the clock of the recorder showed at second zero.
func (p *Picture) Zero() time.Time { return p.zero }

// mark is an entry of the trace at its place.
type mark struct {
	line int
	// at is its time in seconds after zero.
	at   float64
	kind string
	// label is what a picture has room for, and text what the title says.
	label, text string
}

// moment is what the axis knows of an entry.
type moment struct {
	line int
	at   float64
	// quiet: it shows nothing that was not seen before, so the axis may be broken over it.
	quiet bool
}

// flag is a line that the verdict names.
type flag struct {
	line  int
	at    float64
	kind  string
	label string
	text  string
}

// Of returns the picture of a trace of the Pod. Any verdict will do, also none.
func Of(pod *corev1.Pod, t *trace.Trace, v reference.Verdict) *Picture {
	p := &Picture{Title: title(pod, t)}
	if pod == nil {
		pod = &corev1.Pod{}
	}
	c := newClock(t)
	p.notes, p.zero = c.notes, c.zero
	b := builder{Picture: p, clock: c, pod: pod, trace: t}
	b.containers()
	for i := range t.Entries {
		b.entry(i)
	}
	b.finish()
	p.verdict(v)
	slices.SortStableFunc(p.all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return p
}

// Kubelet sets apart the pictures of one case.
func title(pod *corev1.Pod, t *trace.Trace) string {
	what := "a Pod"
	switch {
	case t.Header.Case != "":
		what = t.Header.Case
	case pod != nil && pod.Name != "":
		what = "Pod " + pod.Name
	}
	if t.Header.Kubelet != "" {
		what += " on kubelet " + t.Header.Kubelet
	}
	if t.LogOnly {
		what += ", by its log alone"
	}
	return what
}

// verdict puts the lines that the verdict names, and what it says of them, into the picture.
func (p *Picture) verdict(v reference.Verdict) {
	if v.Outcome == 0 {
		return
	}
	p.Title += ": " + v.Outcome.String()
	if r, ok := rules.BySlug(v.Rule); ok {
		p.says = append(p.says, fmt.Sprintf("%s (%s): %s", r.Slug, r.Level, r.Says))
	}
	if v.Reason != "" {
		p.says = append(p.says, v.Reason)
	}
	seen := map[int]bool{}
	add := func(line int, kind, label, text string) {
		if line == 0 || seen[line] {
			return
		}
		seen[line] = true
		for i := range p.all {
			if m := &p.all[i]; m.line == line {
				m.quiet = false
				p.flags = append(p.flags, flag{line, m.at, kind, strings.TrimSpace(fmt.Sprintf("line %d %s", line, label)), text})
				return
			}
		}
	}
	switch v.Outcome {
	case reference.Violation:
		add(v.Line, "no", "is not allowed here", v.Log)
	case reference.Known:
		add(v.Line, "no", strings.TrimSpace("is known: "+v.Issue), v.Log)
	case reference.Broken:
		add(v.Line, "no", "cannot be read", v.Log)
	default:
		add(v.Line, "no", "in question", v.Log)
	}
	for _, b := range v.Because {
		add(b.Line, "why", "", strings.TrimSpace(b.Log+" "+b.Rule))
	}
	if v.Overdue != nil {
		add(v.Overdue.Since, "why", "since then due: "+v.Overdue.What, v.Overdue.String())
	}
	for _, d := range v.Deviations {
		for _, line := range d.Lines {
			add(line, "why", "", "known: "+d.Name+" "+d.Issue)
		}
	}
	slices.SortStableFunc(p.flags, func(a, b flag) int { return cmp.Compare(a.at, b.at) })
	for i := range p.text {
		if n := slices.IndexFunc(p.flags, func(f flag) bool { return f.line == p.text[i].N }); n >= 0 {
			p.text[i].Flag = p.flags[n].says()
		}
	}
}

// says is what stands beside a line that the verdict names.
func (f flag) says() string {
	switch label := strings.TrimPrefix(f.label, fmt.Sprintf("line %d", f.line)); {
	case label != "":
		return strings.TrimPrefix(strings.TrimSpace(label), "is ")
	case strings.HasPrefix(f.text, "known: "):
		return f.text
	}
	return "forbids the refused line"
}

// end is the time of the last entry.
func (p *Picture) end() float64 {
	if len(p.all) == 0 {
		return 0
	}
	return p.all[len(p.all)-1].at
}

// begin is the time of the first entry.
func (p *Picture) begin() float64 {
	if len(p.all) == 0 {
		return 0
	}
	return p.all[0].at
}
