package reference

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// Order is the allowed order of what a Pod shows: a partial order of its first
// instances, with the rule behind each edge. What no edge connects, in either
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

	nodes []node
	pred  [][]int // by node: the nodes right before it, in Edges
}

// Edge says that Before is seen before After, by Rule.
type Edge struct{ Before, After, Rule string }

// node is one kind of observation.
type node struct {
	name  string
	line  trace.Line  // of a log line
	pod   *corev1.Pod // of an update
	c     int         // container; -1 for an update
	actor trace.Actor
}

// Explain returns the allowed order of a Pod without a log. It is read off the
// judge: an edge is a pair whose reverse [Check] refuses, and its rule is the
// one that the refusal names. The error lists the fields of a Pod that the
// model does not know.
func Explain(k Kubelet, pod *corev1.Pod) (Order, error) {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return Order{}, unmodelledError(v)
	}
	o := Order{Pod: pod.Name, Kubelet: k, nodes: nodesOf(k, p)}
	n := len(o.nodes)
	rule := make([][]string, n)
	for a := range n {
		rule[a] = make([]string, n)
	}
	for a, x := range o.nodes {
		for b, y := range o.nodes {
			if a == b || x.c >= 0 && x.c == y.c && x.actor == y.actor {
				continue // a process orders its own lines
			}
			if r := refusal(k, p, y, x); r != "" && refusal(k, p, x, y) == "" {
				rule[a][b] = r
			}
		}
	}
	o.pred = make([][]int, n)
	for a := range n {
		for b := range n {
			if rule[a][b] != "" && !slices.ContainsFunc(span(n), func(c int) bool { return o.before(rule, a, c) && o.before(rule, c, b) }) {
				o.Edges = append(o.Edges, Edge{o.nodes[a].name, o.nodes[b].name, rule[a][b]})
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
	return a < b && x.c >= 0 && x.c == y.c && x.actor == y.actor
}

func span(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// nodesOf lists what the first instances of a Pod's containers can show.
func nodesOf(k Kubelet, p *plan) []node {
	var nodes []node
	add := func(c int, a trace.Actor, m trace.Mark) {
		l := trace.Line{Container: p.containers[c].name, Run: trace.NoRun, Actor: a, Mark: m}
		name := pattern(l)
		if a.IsProbe() {
			name, _, _ = strings.Cut(name, ": ")
		}
		l.Run = 0
		nodes = append(nodes, node{name: name, line: l, c: c, actor: a})
	}
	begin, end := trace.Mark{Kind: trace.Begin, N: -1}, trace.Mark{Kind: trace.End, N: 0}
	for c, s := range p.containers {
		add(c, trace.Main, begin)
		for _, a := range trace.Actors()[1:] {
			switch {
			case !s.has(a):
			case a.IsProbe():
				add(c, a, end)
			default:
				add(c, a, begin)
				add(c, a, end)
			}
		}
		if s.role == initContainer {
			add(c, trace.Main, end)
			continue
		}
		add(c, trace.Main, trace.Mark{Kind: trace.Signal, N: -1, Signal: s.stop})
	}
	nodes = append(nodes, node{name: "status: " + names(p, func(s spec) bool { return s.role == regular }) + " running", pod: shownPod(k, p, -1), c: -1, actor: "shown"})
	for c, s := range p.containers {
		if s.readiness.declared {
			nodes = append(nodes, node{name: "status: " + s.name + " ready", pod: shownPod(k, p, c), c: -1, actor: trace.Actor("ready " + s.name)})
		}
	}
	return nodes
}

func names(p *plan, of func(spec) bool) string {
	var out []string
	for _, s := range p.containers {
		if of(s) {
			out = append(out, s.name)
		}
	}
	return strings.Join(out, " and ")
}

// shownPod is the object in which all containers run; those without a
// readiness probe are ready, and container ready, if it is not -1, as well.
func shownPod(k Kubelet, p *plan, ready int) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Status.Phase = corev1.PodRunning
	all := true
	for c, s := range p.containers {
		started := true
		is := !s.readiness.declared || c == ready
		cs := corev1.ContainerStatus{Name: s.name, Ready: is, Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		switch s.role {
		case initContainer:
			cs.Ready, cs.State = true, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, cs)
			continue
		case ephemeral:
			continue
		case sidecar:
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, cs)
		default:
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, cs)
		}
		all = all && is
	}
	is := corev1.ConditionFalse
	if all {
		is = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: is}, {Type: corev1.PodReady, Status: is}}
	if k.Enabled(gateSandboxCondition) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue})
	}
	return pod
}

// refusal asks the judge for the two observations in this order, with a Pod
// that may be deleted at any time, and returns the rule that forbids them.
func refusal(k Kubelet, p *plan, first, second node) string {
	var obs []observation
	for i, x := range []node{first, second} {
		e := &trace.Entry{At: time.Unix(int64(i), 0)}
		o := observation{entry: e, c: x.c, log: x.line}
		if x.pod != nil {
			e.Type, e.Pod = trace.Modified, x.pod
		} else {
			e.Log, o.isLog = &x.name, true
			o.log.Time = e.At
		}
		obs = append(obs, o)
	}
	ev := gather(p, obs, true)
	ev.ample = true
	r := newReader(&model{k: k, p: p, src: recorded(obs), ev: ev, logOnly: true}, unbounded())
	for n := range obs {
		if d := r.advance(n, &obs[n]); d != nil {
			return d.rule
		}
	}
	return ""
}

func freePairs(p *plan) []Edge {
	var free []Edge
	for _, s := range p.containers {
		if s.postStart {
			free = append(free, Edge{s.name + " / main: begin", s.name + " / post start hook: begin", ruleMainUnordered})
		}
		if s.readiness.declared {
			free = append(free, Edge{s.name + " / readiness probe", "", ruleReadinessBunch})
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
	fmt.Fprintf(&b, "# Pod %s, kubelet %s: \"a < b\" is seen in this order while the grace period lasts, all else in any\n", name, o.Kubelet)
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
