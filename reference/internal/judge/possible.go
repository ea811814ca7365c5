package judge

import (
	"strings"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"

	corev1 "k8s.io/api/core/v1"
)

// Possible is one kind of observation.
type Possible struct {
	Name      string
	Line      trace.Line  // of a log line
	pod       *corev1.Pod // of an update
	shows     int         // container, whose start the update tells
	Container int         // container; -1 for an update
	Actor     trace.Actor
}

// IsLine reports whether the observation is a line of the log, and not an update.
func (x Possible) IsLine() bool { return x.pod == nil }

// Then reports whether y is a later line of the process that writes line x. A process orders
// its own lines.
func (x Possible) Then(y Possible) bool {
	return x.SameProcess(y) && step(x.Line.Mark) < step(y.Line.Mark)
}

// SameProcess reports whether one process writes both lines.
func (x Possible) SameProcess(y Possible) bool {
	return x.IsLine() && y.IsLine() && x.Container == y.Container && x.Actor == y.Actor
}

// step is the place of a line among those of its process.
func step(m trace.Mark) int {
	switch m.Kind {
	case trace.Begin:
		return 0
	case trace.End:
		return 2
	}
	return 1
}

// Ends reports whether the observation is the end of a main process that is not an init
// container's. It may be missing where everything else is seen: who dies of a signal writes no more.
func (x Possible) Ends(p *podspec.Pod) bool {
	return x.IsLine() && x.Actor == trace.Main && x.Line.Mark.Kind == trace.End && p.Containers[x.Container].Role != podspec.InitContainer
}

// Possibles lists what the first instances of a Pod's containers can show: each process begins and
// ends once, and each probe succeeds once. The lines come first.
func Possibles(k rules.Kubelet, p *podspec.Pod) []Possible {
	var nodes []Possible
	add := func(c int, a trace.Actor, m trace.Mark) {
		l := trace.Line{Container: p.Containers[c].Name, Run: trace.NoRun, Actor: a, Mark: m}
		name := pattern(l)
		if a.IsProbe() {
			name, _, _ = strings.Cut(name, ": ")
		}
		l.Run = 0
		nodes = append(nodes, Possible{Name: name, Line: l, Container: c, Actor: a})
	}
	begin, end := trace.Mark{Kind: trace.Begin, N: -1}, trace.Mark{Kind: trace.End, N: 0}
	for c, s := range p.Containers {
		add(c, trace.Main, begin)
		for _, a := range trace.Actors()[1:] {
			switch {
			case !s.Has(a), a == trace.PostStart && s.SleepStart > 0, a == trace.PreStop && s.SleepStop > 0:
				// What sleeps in the kubelet has no process.
			case a.IsProbe():
				add(c, a, end)
			default:
				add(c, a, begin)
				add(c, a, end)
			}
		}
		if s.Role != podspec.InitContainer {
			add(c, trace.Main, trace.Mark{Kind: trace.Signal, N: -1, Signal: s.Stop})
		}
		add(c, trace.Main, end)
	}
	return append(nodes, updates(k, p)...)
}
