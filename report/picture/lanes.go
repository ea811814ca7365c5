package picture

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// lane is one container: its instances, hooks, probes and Events.
type lane struct {
	name, role string
	// rows are those of its main process, hooks and probes, in the order of trace.Actors; nil
	// where nothing was seen of one.
	rows   [6]*row
	events []mark
	// run is the newest instance that a line was of.
	run int
}

// row is one process of a container, each time that it ran.
type row struct {
	actor trace.Actor
	bars  []*bar
	// marks are the lines.
	marks []mark
	// last is the newest result of a probe, by instance.
	last string
}

// bar is one run of a process: an instance of the container, or of a hook.
type bar struct {
	run      int
	from, to float64
	// shown is until when it lasted where the lines do not tell: a status or the next
	// instance does.
	shown float64
	// ended: a line or a status showed its end, and code is its exit code.
	ended bool
	code  string
	// silent: no line is of it, a status alone shows it.
	silent bool
}

// builder reads a trace into a picture.
type builder struct {
	*Picture
	clock clock
	pod   *corev1.Pod
	trace *trace.Trace

	by       map[string]*lane
	ends     map[string]map[string]*ending // by container, then by its id
	seen     map[string]bool               // Events that came before
	previous *corev1.Pod
	first    float64 // the time of the first entry
}

// containers makes a lane for each container of the Pod, in the order of a start.
func (b *builder) containers() {
	b.by, b.seen, b.ends = map[string]*lane{}, map[string]bool{}, map[string]map[string]*ending{}
	for _, c := range b.pod.Spec.InitContainers {
		role := "init container"
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			role = "sidecar"
		}
		b.lane(c.Name, role)
	}
	for _, c := range b.pod.Spec.Containers {
		b.lane(c.Name, "container")
	}
	for i := range b.trace.Entries {
		if p := b.trace.Entries[i].Pod; p != nil {
			for _, c := range p.Spec.EphemeralContainers {
				b.lane(c.Name, "ephemeral container")
			}
		}
	}
}

// lane is that of a container; role is what it gets where there was none.
func (b *builder) lane(name, role string) *lane {
	l := b.by[name]
	if l == nil {
		l = &lane{name: name, role: role}
		b.by[name] = l
		b.lanes = append(b.lanes, l)
	}
	return l
}

// entry puts one entry of the trace into the picture.
func (b *builder) entry(i int) {
	e := &b.trace.Entries[i]
	at, quiet := b.clock.at[i], false
	m := mark{line: e.Line, at: at}
	switch {
	case e.Log != nil && b.clock.lines[i] == nil:
		m.kind, m.text = "broken", "cannot be read: "+clip(*e.Log, 200)
		b.unread = append(b.unread, m)
		b.say(m, "log")
	case e.Log != nil:
		m.text = b.clock.lines[i].String()
		quiet = b.line(m, b.clock.lines[i])
		b.say(m, "log")
	case e.Pod != nil:
		m.text, quiet = b.update(m, e)
		b.say(m, "update")
	case e.Event != nil:
		m.text = eventText(e.Event)
		quiet = b.event(m, e.Event)
		b.say(m, "Event")
	case e.Did != nil:
		m.kind, m.label, m.text = "act", actLabel(*e.Did), "done: "+e.Did.Name+" "+string(e.Did.Param)
		b.acts = append(b.acts, m)
		b.say(m, "act")
	case e.Gap != nil:
		m.kind, m.label, m.text = "gap", "gap in "+e.Gap.Channel, "gap in "+e.Gap.Channel+": "+e.Gap.Why
		b.gaps = append(b.gaps, m)
		b.say(m, "gap")
	}
	b.all = append(b.all, moment{e.Line, at, quiet})
}

// say keeps an entry as text.
func (b *builder) say(m mark, channel string) {
	b.text = append(b.text, Line{N: m.line, At: m.at, Channel: channel, Text: m.text})
}

// line puts a line of the log into its lane. It is quiet if it is a tick, or a probe with the
// same result as before.
func (b *builder) line(m mark, l *trace.Line) (quiet bool) {
	lane := b.lane(l.Container, "not in the Pod")
	i := l.Actor.Index()
	if lane.rows[i] == nil {
		lane.rows[i] = &row{actor: l.Actor}
	}
	r := lane.rows[i]
	run := l.Run
	if run == trace.NoRun {
		if l.Actor == trace.Main && l.Mark.Kind == trace.Begin && lane.begun() {
			lane.run++
		}
		run = lane.run
	}
	lane.run = max(lane.run, run)
	m.kind = l.Mark.Kind.String()
	if l.Actor.IsProbe() {
		if l.Mark.Kind == trace.End {
			m.kind = "ok"
			if l.Mark.N > 0 {
				m.kind = "fail"
			}
		}
		result := fmt.Sprint(run, m.kind)
		quiet = l.Mark.Kind != trace.End || r.last == result
		if l.Mark.Kind == trace.End {
			r.last = result
		}
		r.marks = append(r.marks, m)
		return quiet
	}
	r.bar(l, run, m.at)
	if l.Mark.Kind == trace.Signal {
		m.label = l.Mark.Signal
	}
	r.marks = append(r.marks, m)
	return l.Mark.Kind == trace.Tick
}

// begun reports whether the main process of the container has been seen.
func (l *lane) begun() bool { return l.rows[0] != nil && len(l.rows[0].bars) > 0 }

// bar takes a line into the run of the process that wrote it.
func (r *row) bar(l *trace.Line, run int, at float64) {
	var last *bar
	for _, b := range r.bars {
		if b.run == run {
			last = b
		}
	}
	// A hook may run again for the same instance.
	if last == nil || l.Actor.IsHook() && l.Mark.Kind == trace.Begin {
		last = &bar{run: run, from: at}
		r.bars = append(r.bars, last)
	}
	last.to = at
	if l.Mark.Kind == trace.End {
		last.ended, last.code = true, ""
		if l.Mark.N >= 0 {
			last.code = strconv.Itoa(l.Mark.N)
		}
	}
}

// event puts an Event into the lane of its container. It is quiet if the like was seen before.
func (b *builder) event(m mark, e *trace.Event) (quiet bool) {
	m.kind = "event"
	if e.Type == corev1.EventTypeWarning {
		m.kind = "warning"
	}
	m.label = e.Reason
	key := e.Reason + " " + e.FieldPath
	quiet, b.seen[key] = b.seen[key], true
	if _, name, ok := strings.Cut(e.FieldPath, "{"); ok {
		l := b.lane(strings.TrimSuffix(name, "}"), "not in the Pod")
		l.events = append(l.events, m)
		return quiet
	}
	b.events = append(b.events, m)
	return quiet
}

// eventText is an Event in words.
func eventText(e *trace.Event) string {
	text := strings.TrimSpace("Event " + e.Reason + " " + e.FieldPath)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Count > 1 {
		text += fmt.Sprintf(" (%d times)", e.Count)
	}
	return text
}

// actLabel says in a few words what was done.
func actLabel(a trace.Act) string {
	if d, err := a.Delete(); err == nil {
		if d.GracePeriodSeconds == nil {
			return a.Name + " (the Pod's grace period)"
		}
		return fmt.Sprintf("%s (%d s)", a.Name, *d.GracePeriodSeconds)
	}
	if what := a.Target(); what != "" {
		return a.Name + " " + what
	}
	if param := string(a.Param); param != "{}" && param != "" {
		return a.Name + " " + clip(strings.NewReplacer(`"`, "", "{", "", "}", "").Replace(param), 36)
	}
	return a.Name
}

// clip cuts a text that is too long for its place.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
