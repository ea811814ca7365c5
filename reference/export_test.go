package reference

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// CheckComplete is Check for a trace in which every process of the Pod writes
// every line that it can.
func CheckComplete(k Kubelet, pod *corev1.Pod, t *trace.Trace) Verdict {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return v
	}
	obs, err := record.Observe(t, p)
	if err != nil {
		return broken(t, err)
	}
	// The explanation of a refusal costs more than the decision on a small trace.
	switch n, rule := (judge.Judge{Kubelet: k, Pod: p, LogOnly: t.LogOnly, Complete: true}).Decide(obs); {
	case rule != "":
		return Verdict{Outcome: Violation, Rule: rule, Line: n + 1} // a known issue is refused like any other
	case n < len(obs):
		return undecided(n, n+1)
	}
	return Verdict{Outcome: Pass}
}

// CheckIgnoring is Check as if a clause had a suspension less.
func CheckIgnoring(k Kubelet, pod *corev1.Pod, t *trace.Trace, clause rules.Clause, suspension rules.Suspension) Verdict {
	ignores := func(c rules.Clause, s rules.Suspension) bool { return c == clause && s == suspension }
	return check(judge.Judge{Kubelet: k, Ignores: ignores}, pod, t).of(k)
}

// Pairs are all pairs of which the first is always seen before the second by a rule, as "a < b": the
// edges and what follows from them.
func (o Order) Pairs() map[string]string {
	pairs := map[string]string{}
	for a, x := range o.nodes {
		for b, y := range o.nodes {
			if rule := o.order.Rule[a][b]; rule != "" {
				pairs[x.Name+" < "+y.Name] = rule
			}
		}
	}
	return pairs
}

// Drawn are the edges that have an arrow in the picture, and what one process writes after another.
func (o Order) Drawn() (edges, lives []Edge) {
	for _, p := range o.drawn() {
		edges = append(edges, Edge{o.nodes[p[0]].Name, o.nodes[p[1]].Name, o.ruleOf(p[0], p[1])})
	}
	for _, a := range o.nodes {
		for _, b := range o.nodes {
			if a.Then(b) {
				lives = append(lives, Edge{Before: a.Name, After: b.Name})
			}
		}
	}
	return edges, lives
}

// Levels are the places of the observations in the picture, and where each phase begins.
func (o Order) Levels() (map[string]int, []int) {
	level, first := o.levels()
	at := map[string]int{}
	for i, n := range o.nodes {
		at[n.Name] = level[i]
	}
	return at, first[:]
}
