package search_test

import (
	"bytes"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// regularPod draws a Pod of regular containers with exec hooks and probes.
func regularPod(t *rapid.T) kubelet.Pod {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	hook := func(name string) kubelet.Handler {
		if flag(name) {
			return kubelet.Exec
		}
		return kubelet.None
	}
	probe := func(name string) *kubelet.Probe {
		if flag(name) {
			return &kubelet.Probe{}
		}
		return nil
	}
	p := kubelet.Pod{
		Policy: rapid.SampledFrom([]corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}).Draw(t, "policy"),
		Grace:  rapid.IntRange(2, 4).Draw(t, "grace"),
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		c := kubelet.Container{
			Name: fmt.Sprintf("container%d", i+1), PostStart: hook("postStart"), PreStop: hook("preStop"),
			Startup: probe("startup"), Readiness: probe("readiness"), Liveness: probe("liveness"),
			HookFails: flag("hook fails"), LivenessFails: flag("liveness fails"), Exits: flag("exits"), Deaf: flag("deaf"),
		}
		p.Containers = append(p.Containers, c)
	}
	return p
}

func choices(t *rapid.T) kubelet.Chooser {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}

// simulate draws a Pod, a kubelet and a run of it.
func simulate(t *rapid.T) (*corev1.Pod, reference.Kubelet, *trace.Trace) {
	p := regularPod(t)
	tr := kubelet.Run(p, rapid.SampledFrom(kubelet.Versions()).Draw(t, "version"), choices(t))
	k, err := reference.ParseKubelet(tr.Header.Kubelet)
	assert.NilError(t, err)
	return p.Manifest(), k, tr
}

func file(t assert.TestingT, tr *trace.Trace) string {
	var b bytes.Buffer
	w, err := trace.NewWriter(&b, tr.Header)
	assert.NilError(t, err)
	for _, e := range tr.Entries {
		if e.Pod == nil {
			assert.NilError(t, w.Write(e))
			continue
		}
		fmt.Fprintf(&b, "%s %s %s", e.At, e.Type, e.Pod.Status.Phase)
		for _, cs := range e.Pod.Status.ContainerStatuses {
			fmt.Fprintf(&b, " %s#%d %+v ready=%t", cs.Name, cs.RestartCount, cs.State, cs.Ready)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// refused reports whether a run was not accepted. Of one without a line nothing can be said.
func refused(v reference.Verdict, tr *trace.Trace) bool {
	return v.Outcome != reference.Pass && !(v.Outcome == reference.Inconclusive && tr.Logs() == 0)
}

// Whatever a correct kubelet does, the judge accepts.
func TestEveryRunIsAccepted(t *testing.T) {
	decided := 0
	defer func() { assert.Assert(t, decided > 0, "nothing was decided of any run") }()
	rapid.Check(t, func(t *rapid.T) {
		pod, k, tr := simulate(t)
		v := reference.Check(k, pod, tr)
		decided += count(v.Outcome == reference.Pass)
		if refused(v, tr) {
			t.Fatalf("%s\n%s", v.Text(), file(t, tr))
		}
	})
}

// So it does for Pods of every kind, whatever is done to them.
func TestEveryRunOfAnyPodIsAccepted(t *testing.T) {
	decided := 0
	defer func() { assert.Assert(t, decided > 0, "nothing was decided of any run") }()
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.SampledFrom(kubelet.Versions()).Draw(t, "version")
		p := search.AnyPod(version, choices(t))
		tr := kubelet.Run(p, version, choices(t))
		k, err := reference.ParseKubelet(version)
		assert.NilError(t, err)
		v := reference.Check(k, p.Manifest(), tr)
		decided += count(v.Outcome == reference.Pass)
		if refused(v, tr) {
			t.Fatalf("%s\n%+v\n%s", v.Text(), p, file(t, tr))
		}
	})
}

// The log alone is accepted as well.
func TestEveryLogIsAccepted(t *testing.T) {
	decided := 0
	defer func() { assert.Assert(t, decided > 0, "nothing was decided of any log") }()
	rapid.Check(t, func(t *rapid.T) {
		pod, k, tr := simulate(t)
		var log bytes.Buffer
		for _, e := range tr.Entries {
			if e.Log != nil {
				log.WriteString(*e.Log + "\n")
			}
		}
		alone, err := trace.ReadLog(&log, k.String())
		assert.NilError(t, err)
		v := reference.Check(k, pod, alone)
		decided += count(v.Outcome == reference.Pass)
		if refused(v, tr) {
			t.Fatalf("%s\n%s", v.Text(), file(t, tr))
		}
	})
}

// A kubelet that does not wait for a postStart hook is found out by every log
// that shows it: a line of a later container's first instance before a line of
// the hook of an earlier one.
func TestHookInBackgroundIsRefused(t *testing.T) {
	shown := 0
	rapid.Check(t, func(t *rapid.T) {
		p := regularPod(t)
		p.Faults.HookInBackground = true
		tr := kubelet.Run(p, "v1.37.2", choices(t))
		order := map[string]int{}
		for i, c := range p.Containers {
			order[c.Name] = i
		}
		last, wrong := -1, false
		for _, e := range tr.Entries {
			if e.Log == nil {
				continue
			}
			l, err := trace.ParseLine(*e.Log)
			assert.NilError(t, err)
			if l.Run != 0 {
				continue
			}
			wrong = wrong || l.Actor == trace.PostStart && last > order[l.Container]
			last = max(last, order[l.Container])
		}
		if !wrong {
			return
		}
		shown++
		k, err := reference.ParseKubelet(tr.Header.Kubelet)
		assert.NilError(t, err)
		if v := reference.Check(k, p.Manifest(), tr); v.Outcome != reference.Violation && v.Outcome != reference.Known {
			t.Fatalf("%s\n%s", v.Text(), file(t, tr))
		}
	})
	assert.Assert(t, shown > 0, "no run showed the fault")
}

// A kubelet that does not wait for a hook that sleeps is found out by many runs,
// for the rule that the hook bears on.
func TestSleeplessHookIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		containers []kubelet.Container
	}{
		{"postStart", "hooks/poststart-blocks-next", []kubelet.Container{{Name: "container1", PostStart: kubelet.Sleep, Seconds: 6}, {Name: "container2"}}},
		{"preStop", "terminate/prestop-before-term", []kubelet.Container{{Name: "container1", PreStop: kubelet.Sleep, Seconds: 6}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refusedFor(t, kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 8, Seconds: 20, Containers: tt.containers, Faults: kubelet.Faults{Sleepless: true}}, tt.rule)
		})
	}
}

// A kubelet that restarts a container after fewer failures of its probe than it
// should is found out, as is one that starts two containers again in the wrong
// order. Neither shows in every run.
func TestFaultsOfRestartsAreRefused(t *testing.T) {
	probe := &kubelet.Probe{Failures: 3}
	for _, tt := range []struct {
		name, rule string
		pod        kubelet.Pod
	}{
		{"after one failure", "terminate/cause", kubelet.Pod{
			Containers: []kubelet.Container{{Name: "container1", Liveness: probe, LivenessFails: true}}, Faults: kubelet.Faults{Impatient: true},
		}},
		{"backwards", "start/listed-order", kubelet.Pod{
			Containers: []kubelet.Container{{Name: "container1", PostStart: kubelet.Exec, Exits: true}, {Name: "container2", Exits: true}},
			Faults:     kubelet.Faults{RestartsBackwards: true},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.pod.Policy, tt.pod.Grace, tt.pod.Seconds = corev1.RestartPolicyAlways, 2, 20
			refusedFor(t, tt.pod, tt.rule)
		})
	}
}

// refusedFor fails unless some of the runs of a Pod are refused for a rule.
func refusedFor(t *testing.T, p kubelet.Pod, rule string) {
	t.Helper()
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		tr := kubelet.Run(p, "v1.37.2", choices(t))
		k, err := reference.ParseKubelet(tr.Header.Kubelet)
		assert.NilError(t, err)
		if v := reference.Check(k, p.Manifest(), tr); v.Outcome == reference.Violation && v.Rule == rule {
			refused++
		}
	})
	assert.Assert(t, refused > 0, "no run showed the fault")
	t.Logf("%d runs were refused", refused)
}
