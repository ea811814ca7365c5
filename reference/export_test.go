package reference

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// CheckComplete is Check for a trace in which every process of the Pod writes
// every line that it can.
func CheckComplete(k Kubelet, pod *corev1.Pod, t *trace.Trace) Verdict {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return v
	}
	obs, err := observe(t, p)
	if err != nil {
		return broken(t, err)
	}
	ev := gather(p, obs, t.LogOnly)
	ev.complete = true
	r := newReader(&model{k: k, p: p, src: recorded(obs), ev: ev, logOnly: t.LogOnly}, judging())
	for n := range obs {
		if d := r.advance(n, &obs[n]); d != nil {
			return Verdict{Outcome: Violation, Rule: d.rule, Line: n + 1}
		}
		if r.tooMany {
			return undecided(n, n+1)
		}
	}
	return Verdict{Outcome: Pass}
}

// CheckWithin is Check with so many states for each set.
func CheckWithin(k Kubelet, pod *corev1.Pod, t *trace.Trace, states int) Outcome {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return v.Outcome
	}
	obs, err := observe(t, p)
	if err != nil {
		return Broken
	}
	switch _, n, d := (Judge{Kubelet: k, Pod: p, LogOnly: t.LogOnly}).readNumbered(obs, budget{states, maxWork}); {
	case d != nil:
		return Violation
	case n < len(obs):
		return Inconclusive
	}
	return Pass
}

// Wide has so many states, no two the same, take a line that each admits, with so much
// work to spend. It reports whether they were too many.
func Wide(k Kubelet, pod *corev1.Pod, states, work int) (tooMany bool, left int) {
	p, _ := planFor(k, pod)
	begin := pod.Spec.Containers[0].Name + " / main: begin"
	l, err := trace.ParseLine("2026-01-02T03:00:00Z: " + begin)
	if err != nil {
		panic(err)
	}
	o := observation{entry: &trace.Entry{At: l.Time, Log: &begin, Line: 1}, isLog: true, log: l, counted: l.Run}
	all := recorded{o}
	r := newReader(&model{k: k, p: p, src: all, ev: gather(p, all, true), logOnly: true}, budget{maxStates, work})
	for before := range states - 1 {
		s := newState(p)
		s.c[0].before = int32(before)
		s.c[1].before = s.c[0].before
		r.states = append(r.states, s)
	}
	if d := r.advance(0, &all[0]); d != nil {
		panic(d.rule)
	}
	return r.tooMany, len(r.states)
}

// Distinct counts the different ones of some states, as a set does and one by one.
func Distinct(pod *corev1.Pod, n int, choose func(n int) int) (inSet, oneByOne int) {
	p, _ := newPlan(pod)
	var all set
	var naive []state
	for range n {
		s := newState(&p)
		s.anew = choose(2) == 0
		for i := range s.c {
			s.c[i].run, s.c[i].fresh, s.c[i].kill = int32(choose(4)), choose(2) == 0, killing(choose(3))
			if choose(2) == 0 {
				s.c[i].gone = cause{int32(choose(3)) + 1, ruleInstances}
			}
		}
		all.add(&s)
		known := false
		for i := range naive {
			known = known || naive[i].same(&s)
		}
		if !known {
			naive = append(naive, s)
		}
	}
	return len(all.states), len(naive)
}
