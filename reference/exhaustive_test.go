package reference_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/explore"
	"github.com/podorder/podorder/reference/trace"
)

// For Pods small enough the judge is compared with the explorer of package kubelet,
// which shares no code with it: every log that the explorer can make is
// accepted, and every log that leaves them by one line is refused. So it is for
// every way to change a legal log by swapping, dropping or repeating a line: the
// result is either another of these logs, or it leaves them at some line.
func TestAcceptsExactlyWhatCanHappen(t *testing.T) {
	never, always := corev1.RestartPolicyNever, corev1.RestartPolicyAlways
	all := explore.Options{Deletion: true, GraceEnds: true, KillGraceEnds: true, Crashes: true, Silent: true}
	exit := func(containers []kubelet.Container) []kubelet.Container {
		for i := range containers {
			containers[i].Exits = true
		}
		return containers
	}
	pod := func(policy corev1.RestartPolicy, containers ...kubelet.Container) kubelet.Pod {
		return kubelet.Pod{Policy: policy, Grace: 30, Containers: exit(containers)}
	}
	a, b := kubelet.Container{Name: "a"}, kubelet.Container{Name: "b"}
	hook := kubelet.Container{Name: "a", PostStart: kubelet.Exec}
	second := kubelet.Container{Name: "b", PostStart: kubelet.Exec}
	probed := kubelet.Container{Name: "b", Readiness: &kubelet.Probe{}}
	started := kubelet.Container{Name: "b", Startup: &kubelet.Probe{}, Liveness: &kubelet.Probe{}}
	stopped := kubelet.Container{Name: "a", PreStop: kubelet.Exec}
	exits := kubelet.Container{Name: "a", Exits: true}
	setup, proxy := kubelet.Container{Name: "init"}, kubelet.Container{Name: "proxy", Sidecar: true}
	proxyHook := kubelet.Container{Name: "proxy", Sidecar: true, PostStart: kubelet.Exec}
	with := func(p kubelet.Pod, init ...kubelet.Container) kubelet.Pod {
		p.Init = exit(init)
		return p
	}
	for _, tt := range []struct {
		name  string
		pod   kubelet.Pod
		limit int
	}{
		{"two containers", pod(never, a, b), 6},
		{"a hook blocks", pod(never, hook, b), 7},
		{"a hook last", pod(never, b, hook), 7},
		{"two hooks", pod(never, hook, second), 7},
		{"probes wait", pod(never, hook, probed), 6},
		{"startup gates", pod(never, started), 6},
		{"a preStop hook", pod(never, stopped, b), 7},
		{"an init container", with(pod(never, b), setup), 6},
		{"an init container and a hook", with(pod(never, hook), setup), 7},
		{"a sidecar", with(pod(never, b), proxy), 6},
		{"a sidecar with a hook", with(pod(never, b), proxyHook), 6},
		{"a restart", pod(always, exits, b), 6},
		{"a restart with a hook", pod(always, hook), 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, err := reference.ParseKubelet("v1.37.2")
			assert.NilError(t, err)
			c := comparison{t: t, k: k, pod: tt.pod.Manifest(), limit: tt.limit, alphabet: alphabetOf(tt.pod)}
			c.walk(nil, explore.Begin(tt.pod, all))
			t.Logf("%d logs accepted, %d refused", c.accepted, c.refused)
			assert.Assert(t, c.accepted > 8 && c.refused > 8)
		})
	}
}

// alphabetOf lists the lines that the processes of a tiny Pod write.
func alphabetOf(p kubelet.Pod) []string {
	var lines []string
	for _, c := range slices.Concat(p.Init, p.Containers) {
		for run := range 2 {
			add := func(actor trace.Actor, marks ...string) {
				for _, m := range marks {
					lines = append(lines, fmt.Sprintf("%s#%d / %s: %s", c.Name, run, actor, m))
				}
			}
			add(trace.Main, "begin", "signal TERM", "end 0")
			ends := func(actor trace.Actor, declared, fails bool, marks ...string) {
				if declared {
					add(actor, append(marks, "end 0")...)
				}
				if declared && fails {
					add(actor, "end 1")
				}
			}
			ends(trace.PostStart, c.PostStart != kubelet.None, c.HookFails, "begin")
			ends(trace.PreStop, c.PreStop != kubelet.None, c.HookFails, "begin")
			ends(trace.StartupProbe, c.Startup != nil, c.StartupFails)
			ends(trace.ReadinessProbe, c.Readiness != nil, false)
			ends(trace.LivenessProbe, c.Liveness != nil, c.LivenessFails)
		}
	}
	slices.Sort(lines)
	return lines
}

// comparison walks through all logs of a Pod.
type comparison struct {
	t                 *testing.T
	k                 reference.Kubelet
	pod               *corev1.Pod
	limit             int
	alphabet          []string
	accepted, refused int
}

func (c *comparison) walk(log []string, set *explore.Set) {
	if len(log) == 0 {
		c.accepted++
	}
	if len(log) < c.limit {
		c.next(log, set, c.walk)
	}
}

// next judges the log with every line after it, and goes on with those that can
// come there.
func (c *comparison) next(log []string, set *explore.Set, on func([]string, *explore.Set)) {
	for _, line := range c.alphabet {
		next := append(slices.Clip(log), line)
		after := set.After(line)
		if after == nil && !possible(next) {
			continue
		}
		v := c.judge(next)
		switch {
		case after == nil && v.Outcome != reference.Violation:
			c.t.Fatalf("cannot happen and is accepted:\n%s\n%s", strings.Join(next, "\n"), v.Text())
		case after != nil && v.Outcome != reference.Pass:
			c.t.Fatalf("can happen and is refused:\n%s\n%s", strings.Join(next, "\n"), v.Text())
		case after == nil:
			c.refused++
		default:
			c.accepted++
			on(next, after)
		}
	}
}

// possible reports whether the last line can come from its own process at all:
// its first line is its begin, and its end the last.
func possible(log []string) bool {
	last := log[len(log)-1]
	who, mark, _ := strings.Cut(last, ": ")
	probe := strings.HasSuffix(who, "probe")
	begun := false
	for _, l := range log[:len(log)-1] {
		if l == last || strings.HasPrefix(l, who+": end") {
			return false
		}
		begun = begun || strings.HasPrefix(l, who+": ")
		// A process that is run in a container may write until the main process
		// is gone, which is a little after its last line.
		container, _, _ := strings.Cut(who, " / ")
		if strings.HasPrefix(l, container+" / main: end") {
			return false
		}
	}
	return probe || begun != (mark == "begin")
}

func (c *comparison) judge(log []string) reference.Verdict {
	tr := &trace.Trace{Header: trace.Header{Kubelet: c.k.String()}, LogOnly: true}
	for i, l := range log {
		// A quarter of an hour apart, so that no bound has a say.
		text := epoch.Add(time.Duration(i)*15*time.Minute).Format(time.RFC3339) + ": " + l
		tr.Entries = append(tr.Entries, trace.Entry{Log: &text, Line: i + 1})
	}
	return reference.CheckComplete(c.k, c.pod, tr)
}
