package reference

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

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

	pod   *podspec.Pod
	order judge.Order
	nodes []judge.Possible
	pred  [][]int // by node: the nodes right before it, in Edges
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
	o := Order{Pod: pod.Name, Kubelet: k, Containers: rolesOf(p), pod: p, order: order, nodes: order.Nodes, pred: make([][]int, len(order.Nodes))}
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
	fmt.Fprintf(&b, "# Pod %s, kubelet %s: \"a < b\" is seen in this order while no probe fails and the grace period lasts; everything else in any order\n", o.name(), o.Kubelet)
	if note := o.Kubelet.Uncovered(); note != "" {
		fmt.Fprintf(&b, "# warning: %s\n", note)
	}
	t := table(&b)
	for _, c := range o.Containers {
		fmt.Fprintf(t, "# %s\t%s\n", c.Container, strings.TrimSuffix(c.Role+"; "+c.Sleeps, "; "))
	}
	t.Flush()
	writePairs(&b, o.Edges, o.Free)
	return b.String()
}

func (o Order) name() string {
	if o.Pod == "" {
		return "without a name"
	}
	return o.Pod
}

// table aligns columns, which are two spaces apart.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// writePairs writes a line for each pair.
func writePairs(w io.Writer, edges, free []Edge) {
	t := table(w)
	for _, e := range edges {
		fmt.Fprintf(t, "%s\t<\t%s\t%s\n", e.Before, e.After, e.Rule)
	}
	for _, e := range free {
		if e.After == "" {
			fmt.Fprintf(t, "%s\t*\tmay repeat at once\t%s\n", e.Before, e.Rule)
			continue
		}
		fmt.Fprintf(t, "%s\t~\t%s\t%s\n", e.Before, e.After, e.Rule)
	}
	t.Flush()
}

// RulesText lists the rules that the order names, each with its sentence, and what suspends
// it or a part of it.
func (o Order) RulesText() string {
	var b strings.Builder
	t := table(&b)
	for _, r := range o.rules() {
		says := wrap(r.Says, columns)
		if unless := r.UnlessText(); unless != "" {
			says = append(says, wrap("unless "+unless, columns)...)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Slug, r.Level, says[0])
		for _, more := range says[1:] {
			fmt.Fprintf(t, "\t\t%s\n", more)
		}
	}
	t.Flush()
	return b.String()
}

// rules are those that the order names, each once, as the phases name them; those of the free pairs come last.
func (o Order) rules() (used []rules.Rule) {
	var pairs []Edge
	for _, p := range o.Phases() {
		pairs = append(pairs, p.Edges...)
	}
	for _, e := range append(pairs, o.Free...) {
		r, ok := rules.BySlug(e.Rule)
		if ok && !slices.ContainsFunc(used, func(u rules.Rule) bool { return u.Slug == r.Slug }) {
			used = append(used, r)
		}
	}
	return used
}
