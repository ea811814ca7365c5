package judge

import (
	"strings"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"

	corev1 "k8s.io/api/core/v1"
)

// Possible is one kind of observation.
type Possible struct {
	Name      string
	Line      trace.Line  // of a log line
	pod       *corev1.Pod // of an update
	Container int         // container; -1 for an update
	Actor     trace.Actor
}

// Possibles lists what the first instances of a Pod's containers can show.
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
			case !s.Has(a):
			case a.IsProbe():
				add(c, a, end)
			default:
				add(c, a, begin)
				add(c, a, end)
			}
		}
		if s.Role == podspec.InitContainer {
			add(c, trace.Main, end)
			continue
		}
		add(c, trace.Main, trace.Mark{Kind: trace.Signal, N: -1, Signal: s.Stop})
	}
	nodes = append(nodes, Possible{Name: "status: " + names(p, func(s podspec.Container) bool { return s.Role == podspec.Regular }) + " running", pod: shownPod(k, p, -1), Container: -1, Actor: "shown"})
	for c, s := range p.Containers {
		if s.Readiness.Declared {
			nodes = append(nodes, Possible{Name: "status: " + s.Name + " ready", pod: shownPod(k, p, c), Container: -1, Actor: trace.Actor("ready " + s.Name)})
		}
	}
	return nodes
}

func names(p *podspec.Pod, of func(podspec.Container) bool) string {
	var out []string
	for _, s := range p.Containers {
		if of(s) {
			out = append(out, s.Name)
		}
	}
	return strings.Join(out, " and ")
}

// shownPod is the object in which all containers run; those without a
// readiness probe are ready, and container ready, if it is not -1, as well.
func shownPod(k rules.Kubelet, p *podspec.Pod, ready int) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Status.Phase = corev1.PodRunning
	all := true
	for c, s := range p.Containers {
		started := true
		is := !s.Readiness.Declared || c == ready
		cs := corev1.ContainerStatus{Name: s.Name, Ready: is, Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		switch s.Role {
		case podspec.InitContainer:
			cs.Ready, cs.State = true, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, cs)
			continue
		case podspec.Ephemeral:
			continue
		case podspec.Sidecar:
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
	if k.Enabled(rules.GateSandboxCondition) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue})
	}
	return pod
}

// RuleBetween asks the judge for the two observations in this order, with a Pod
// that may be deleted at any time, and returns the rule that forbids them.
func RuleBetween(k rules.Kubelet, p *podspec.Pod, first, second Possible) string {
	var obs []record.Observation
	for i, x := range []Possible{first, second} {
		e := &trace.Entry{At: time.Unix(int64(i), 0)}
		o := record.Observation{Entry: e, Container: x.Container, Log: x.Line}
		if x.pod != nil {
			e.Type, e.Pod = trace.Modified, x.pod
		} else {
			e.Log, o.IsLog = &x.Name, true
			o.Log.Time = e.At
		}
		obs = append(obs, o)
	}
	ev := record.Gather(p, obs, true)
	ev.GraceNeverEnds = true
	r := Judge{Kubelet: k, Pod: p, LogOnly: true}.reader(record.Recorded(obs), ev, unbounded())
	for n := range obs {
		if d := r.advance(n, &obs[n]); d != nil {
			return d.Rule
		}
	}
	return ""
}
