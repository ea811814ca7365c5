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
	// Containers are those of the Pod, in the order in which it lists them.
	Containers []Role
	// Edges are the direct ones: an edge that follows from two others is left
	// out.
	Edges []Edge
	// Free are pairs that a reader might take for ordered and that are not,
	// with the rule that says so.
	Free []Edge

	order judge.Order
	nodes []judge.Possible
	pred  [][]int // by node: the nodes right before it, in Edges
}

// Role says what the kubelet takes a container for: a sidecar is an init container with restartPolicy Always.
type Role struct {
	Container, Role string
	// Sleeps says how long its hooks sleep in the kubelet, which leaves no line.
	Sleeps string
}

func rolesOf(p *podspec.Pod) []Role {
	var roles []Role
	for _, s := range p.Containers {
		r := Role{Container: s.Name, Role: s.Role.String()}
		if s.SleepStart > 0 {
			r.Sleeps += fmt.Sprintf("; its postStart hook sleeps for %s", s.SleepStart)
		}
		if s.SleepStop > 0 {
			r.Sleeps += fmt.Sprintf("; its preStop hook sleeps for %s before the signal", s.SleepStop)
		}
		r.Sleeps = strings.TrimPrefix(r.Sleeps, "; ")
		roles = append(roles, r)
	}
	return roles
}

// Edge says that Before is seen before After, by Rule.
type Edge struct{ Before, After, Rule string }

// Explain returns the allowed order of a Pod without a log. It is read off the
// judge: an edge is a pair whose reverse [Check] refuses in every life of the Pod, and its rule
// is the one that the refusal names. The error lists the fields of a Pod that the
// model does not know.
//
// A signal is taken to be the kubelet's, also where the containers share a process namespace, so that others can send one.
func Explain(k Kubelet, pod *corev1.Pod) (Order, error) {
	p, err := toExplain(k, pod)
	if err != nil {
		return Order{}, err
	}
	order := judge.Judge{Kubelet: k, Pod: p}.Order()
	o := Order{Pod: pod.Name, Kubelet: k, Containers: rolesOf(p), order: order, nodes: order.Nodes, pred: make([][]int, len(order.Nodes))}
	for a, x := range order.Nodes {
		for b, y := range order.Nodes {
			if rule := order.Rule[a][b]; rule != "" && !order.Follows(a, b, p) {
				o.Edges = append(o.Edges, Edge{x.Name, y.Name, rule})
				o.pred[b] = append(o.pred[b], a)
			}
		}
	}
	o.Free = freePairs(p)
	return o, nil
}

// toExplain reads the Pod. Nobody but the kubelet signals its processes.
func toExplain(k Kubelet, pod *corev1.Pod) (*podspec.Pod, error) {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return nil, unmodelledError(v)
	}
	for c := range p.Containers {
		p.Containers[c].SharedProcesses = false
	}
	return p, nil
}

func unmodelledError(v Verdict) error {
	return fmt.Errorf("%s: %s", v.Reason, strings.Join(v.Unmodelled, ", "))
}

func freePairs(p *podspec.Pod) []Edge {
	var free []Edge
	for _, s := range p.Containers {
		if s.PostStart && s.SleepStart == 0 {
			free = append(free, Edge{s.Name + " / main: begin", s.Name + " / post start hook: begin", rules.MainUnordered})
		}
		if s.Readiness.Declared {
			free = append(free, Edge{s.Name + " / readiness probe", "", rules.ReadinessBunch})
		}
	}
	return free
}

// Text returns the order as lines of three columns, in the order in which the
// Pod lists its containers. What kind each container is comes before them.
func (o Order) Text() string {
	var b strings.Builder
	name := o.Pod
	if name == "" {
		name = "without a name"
	}
	fmt.Fprintf(&b, "# Pod %s, kubelet %s: \"a < b\" is seen in this order while no probe fails and the grace period lasts; everything else in any order\n", name, o.Kubelet)
	if note := o.Kubelet.Uncovered(); note != "" {
		fmt.Fprintf(&b, "# warning: %s\n", note)
	}
	left, right := 0, 0
	for _, c := range o.Containers {
		left = max(left, len(c.Container))
	}
	for _, c := range o.Containers {
		fmt.Fprintf(&b, "# %-*s  %s\n", left, c.Container, strings.TrimSuffix(c.Role+"; "+c.Sleeps, "; "))
	}
	left = 0
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
