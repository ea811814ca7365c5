package judge

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/trace"
)

// life is one way for a Pod to live: everything that its first instances show, in an
// order that a kubelet keeps if it does one thing after the other. What is seen of other
// orders follows from asking the judge for them.
type life struct {
	judge Judge
	// nodes are what can be seen at all, and order which of them are, as indices of nodes.
	nodes []Possible
	order []int
	// deleted: the Pod is deleted.
	deleted bool
}

// ending says how the processes of a life end.
type ending uint8

const (
	// signalled: the Pod is deleted, and each main process ends when it is told to.
	signalled ending = iota
	// unasked: the Pod is deleted, and each main process that may end by itself does, before it is told to.
	unasked
	// completed: all regular containers end by themselves, and with them the Pod.
	completed
)

// lives returns the ways for a Pod to live. It is deleted: when all of its containers have been started, or while one of its init
// containers or sidecars is the last that was. Regular containers that are not started again after a
// success may also end by themselves, and if all do, the Pod needs no deletion.
func (j Judge) lives(nodes []Possible) []life {
	p := j.Pod
	all := []life{j.life(nodes, len(p.Containers), signalled)}
	finite := 0
	for c := range p.Containers {
		if j.finite(c) {
			finite++
		}
	}
	if finite > 0 {
		all = append(all, j.life(nodes, len(p.Containers), unasked))
	}
	if finite > 0 && finite == p.Regulars {
		all = append(all, j.life(nodes, len(p.Containers), completed))
	}
	for c := range p.Inits {
		all = append(all, j.life(nodes, c+1, signalled))
	}
	return all
}

// finite reports whether container c is a regular one that ends for good where it succeeds.
func (j Judge) finite(c int) bool {
	s := &j.Pod.Containers[c]
	return j.Pod.IsRegular(c) && s.ThroughWith(0) && !s.RestartsAllFor(0)
}

// life is the lines of a Pod of which the first containers are started.
func (j Judge) life(nodes []Possible, last int, how ending) life {
	l := life{judge: j, nodes: nodes, deleted: how != completed}
	l.judge.LogOnly = false // it is known that the Pod is deleted, and that nothing else befalls it
	p := j.Pod
	add := func(c int, a trace.Actor, kinds ...trace.MarkKind) {
		for _, kind := range kinds {
			i := slices.IndexFunc(nodes, func(x Possible) bool {
				return x.IsLine() && x.Container == c && x.Actor == a && x.Line.Mark.Kind == kind
			})
			if i >= 0 {
				l.order = append(l.order, i)
			}
		}
	}
	start := func(c int) {
		add(c, trace.Main, trace.Begin)
		add(c, trace.PostStart, trace.Begin, trace.End)
	}
	probe := func(c int) {
		for _, a := range []trace.Actor{trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe} {
			add(c, a, trace.End)
		}
	}
	for c := range min(last, p.Inits) {
		start(c)
		probe(c)
		if p.Containers[c].Role == podspec.InitContainer {
			add(c, trace.Main, trace.End)
		}
	}
	for c := p.Inits; c < last; c++ {
		start(c)
	}
	for c := p.Inits; c < last; c++ {
		probe(c)
	}
	byItself := func(c int) bool { return how == completed && p.IsRegular(c) }
	for c := range last {
		if byItself(c) {
			add(c, trace.Main, trace.End)
		}
	}
	for c := range last {
		if !byItself(c) {
			add(c, trace.PreStop, trace.Begin, trace.End)
		}
	}
	stop := func(c int) {
		switch {
		case byItself(c) || p.Containers[c].Role == podspec.InitContainer:
		case how == unasked && j.finite(c):
			add(c, trace.Main, trace.End)
		default:
			add(c, trace.Main, trace.Signal, trace.End)
		}
	}
	for c := p.Inits; c < last; c++ {
		stop(c)
	}
	for c := min(last, p.Inits) - 1; c >= 0; c-- {
		stop(c)
	}
	return l
}

// pace is the time between two observations of a life. No delay of a probe and no sleep of a
// hook is longer, so nothing is too early; and nothing is late, since the node may have
// stood still.
const pace = 24 * time.Hour

// refused asks the judge for another order of the life. It returns the place of the
// observation that is refused, and the rule; at is -1 if none is.
func (l *life) refused(order []int) (at int, rule string) {
	obs := make([]record.Observation, 0, len(order)+1)
	of := make([]int, 0, len(order)+1) // the place in order; that of the act is the one before which it stands
	now := time.Unix(0, 0)
	take := func(n int, e trace.Entry) *record.Observation {
		now = now.Add(pace)
		e.At, e.Line = now, len(obs)+1
		obs, of = append(obs, record.Observation{Entry: &e, Container: -1}), append(of, n)
		return &obs[len(obs)-1]
	}
	deleted := false
	for n, i := range order {
		x := &l.nodes[i]
		if l.deleted && !deleted && x.IsLine() && (x.Actor == trace.PreStop || x.Line.Mark.Kind == trace.Signal) {
			deleted = true
			take(n, trace.Entry{Did: &trace.Act{Name: trace.ActDelete, Param: []byte("{}")}})
		}
		if !x.IsLine() {
			take(n, trace.Entry{Type: trace.Modified, Pod: x.pod})
			continue
		}
		o := take(n, trace.Entry{Log: &x.Name})
		o.IsLog, o.Container, o.Log = true, x.Container, x.Line
		o.Log.Time = now
	}
	j := l.judge
	ev := record.Gather(j.Pod, obs, false)
	ev.GraceNeverEnds, ev.NodeStoodStill = true, true
	ev.ForgetTold()
	r := j.reader(record.Recorded(obs), ev, unbounded())
	for n := range obs {
		if d := r.advance(n, &obs[n]); d != nil {
			return of[n], d.Rule
		}
	}
	return -1, ""
}

// with is the life with an update as well.
func (l life) with(update int) life {
	l.order = append(slices.Clone(l.order), update)
	return l
}
