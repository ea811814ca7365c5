package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"

	corev1 "k8s.io/api/core/v1"
)

// Order is the allowed order of what a Pod shows: a partial order of its first
// instances, with the rule of each edge. What no edge connects, in either
// direction, may come in either order.
type Order struct {
	Pod     string
	Kubelet Kubelet
	// Edges are the direct ones: an edge that follows from two others is left
	// out.
	Edges []Edge
	// Free are pairs that a reader might take for ordered and that are not,
	// with the rule that says so.
	Free []Edge

	nodes []judge.Possible
	pred  [][]int // by node: the nodes right before it, in Edges
}

// Edge says that Before is seen before After, by Rule.
type Edge struct{ Before, After, Rule string }

// Explain returns the allowed order of a Pod without a log. It is read off the
// judge: an edge is a pair whose reverse [Check] refuses, and its rule is the
// one that the refusal names. The error lists the fields of a Pod that the
// model does not know.
func Explain(k Kubelet, pod *corev1.Pod) (Order, error) {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return Order{}, unmodelledError(v)
	}
	o := Order{Pod: pod.Name, Kubelet: k, nodes: judge.Possibles(k, p)}
	n := len(o.nodes)
	rule := make([][]string, n)
	for a := range n {
		rule[a] = make([]string, n)
	}
	for a, x := range o.nodes {
		for b, y := range o.nodes {
			if a == b || x.Container >= 0 && x.Container == y.Container && x.Actor == y.Actor {
				continue // a process orders its own lines
			}
			if r := judge.RuleBetween(k, p, y, x); r != "" && judge.RuleBetween(k, p, x, y) == "" {
				rule[a][b] = r
			}
		}
	}
	o.pred = make([][]int, n)
	for a := range n {
		for b := range n {
			if rule[a][b] != "" && !slices.ContainsFunc(span(n), func(c int) bool { return o.before(rule, a, c) && o.before(rule, c, b) }) {
				o.Edges = append(o.Edges, Edge{o.nodes[a].Name, o.nodes[b].Name, rule[a][b]})
				o.pred[b] = append(o.pred[b], a)
			}
		}
	}
	o.Free = freePairs(p)
	return o, nil
}

func unmodelledError(v Verdict) error {
	return fmt.Errorf("%s: %s", v.Reason, strings.Join(v.Unmodelled, ", "))
}

// before reports whether a comes before b by a rule or by the process itself.
func (o Order) before(rule [][]string, a, b int) bool {
	if rule[a][b] != "" {
		return true
	}
	x, y := o.nodes[a], o.nodes[b]
	return a < b && x.Container >= 0 && x.Container == y.Container && x.Actor == y.Actor
}

func span(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func freePairs(p *podspec.Pod) []Edge {
	var free []Edge
	for _, s := range p.Containers {
		if s.PostStart {
			free = append(free, Edge{s.Name + " / main: begin", s.Name + " / post start hook: begin", rules.MainUnordered})
		}
		if s.Readiness.Declared {
			free = append(free, Edge{s.Name + " / readiness probe", "", rules.ReadinessBunch})
		}
	}
	return free
}

// Text returns the order as lines of three columns, in the order in which the
// Pod lists its containers.
func (o Order) Text() string {
	var b strings.Builder
	name := o.Pod
	if name == "" {
		name = "without a name"
	}
	fmt.Fprintf(&b, "# Pod %s, kubelet %s: \"a < b\" is seen in this order while the grace period lasts; everything else in any order\n", name, o.Kubelet)
	left, right := 0, 0
	for _, e := range append(slices.Clone(o.Edges), o.Free...) {
		left, right = max(left, len(e.Before)), max(right, len(e.After))
	}
	for _, e := range o.Edges {
		fmt.Fprintf(&b, "%-*s  <  %-*s  %s\n", left, e.Before, right, e.After, e.Rule)
	}
	for _, e := range o.Free {
		if e.After == "" {
			fmt.Fprintf(&b, "%-*s  *  %-*s  %s\n", left, e.Before, right, "may repeat at once", e.Rule)
			continue
		}
		fmt.Fprintf(&b, "%-*s  ~  %-*s  %s\n", left, e.Before, right, e.After, e.Rule)
	}
	return b.String()
}

// RulesText lists the rules that the order names, each with its sentence, and what suspends
// it or a part of it.
func (o Order) RulesText() string {
	var used []rules.Rule
	wide := 0
	for _, e := range slices.Concat(o.Edges, o.Free) {
		r, ok := rules.BySlug(e.Rule)
		if ok && !slices.ContainsFunc(used, func(u rules.Rule) bool { return u.Slug == r.Slug }) {
			used, wide = append(used, r), max(wide, len(r.Slug))
		}
	}
	var b strings.Builder
	for _, r := range used {
		fmt.Fprintf(&b, "%-*s  %-4s  %s\n", wide, r.Slug, r.Level, r.Says)
		if unless := r.UnlessText(); unless != "" {
			fmt.Fprintf(&b, "%-*s  %-4s  unless %s\n", wide, "", "", unless)
		}
	}
	return b.String()
}
