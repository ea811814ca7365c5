package search_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
)

// omission is a Pod in which a duty comes up, and the rules.
type omission struct {
	pod   kubelet.Pod
	rules []string
}

// probed is a container of which the liveness probe may fail; its readiness probe shows it alive.
var probed = kubelet.Container{Name: "a", Readiness: &kubelet.Probe{}, Liveness: &kubelet.Probe{Failures: 1}, LivenessFails: true}

// omissions has for each duty a Pod in which it comes up, and the rules by which a kubelet that leaves
// it out is blamed.
var omissions = map[kubelet.Duty]omission{
	kubelet.LivenessProbes: {
		kubelet.Pod{Containers: []kubelet.Container{probed}},
		[]string{"probes/run-periodically", "probes/after-restart"},
	},
	kubelet.ProbeKills: {
		kubelet.Pod{Containers: []kubelet.Container{probed}},
		[]string{"probes/failure-stops"},
	},
	kubelet.PostStartHooks: {
		kubelet.Pod{Containers: []kubelet.Container{{Name: "a", PostStart: kubelet.Exec}, {Name: "b"}}},
		// A hook that sleeps in the kubelet leaves no line: what is too early is refused.
		[]string{"hooks/poststart-runs", "hooks/poststart-blocks-next", "probes/after-sync", "terminate/after-sync", "status/between-syncs"},
	},
	kubelet.FirstStarts: {
		kubelet.Pod{Init: []kubelet.Container{{Name: "setup"}}, Containers: []kubelet.Container{{Name: "a"}, {Name: "b"}}},
		[]string{"start/when-due", "status/whole-sync-at-once"},
	},
	kubelet.Restarts: {
		kubelet.Pod{Containers: []kubelet.Container{{Name: "a", Exits: true}, {Name: "b"}}},
		[]string{"restart/when-due"},
	},
	kubelet.PreStopHooks: {
		kubelet.Pod{Containers: []kubelet.Container{{Name: "a", PreStop: kubelet.Exec, Liveness: &kubelet.Probe{Failures: 1}, LivenessFails: true}}},
		[]string{"hooks/prestop-runs", "terminate/prestop-before-term"},
	},
}

// A kubelet that leaves out one thing that is due is blamed for that by its rule. It does not show
// in every run: there may be no occasion, or no time left.
func TestOmissionsAreBlamed(t *testing.T) {
	for _, duty := range kubelet.Duties() {
		o, ok := omissions[duty]
		if !ok {
			continue
		}
		t.Run(duty.String(), func(t *testing.T) {
			p := o.pod
			p.Policy, p.Grace, p.Seconds, p.Faults.Omits = corev1.RestartPolicyAlways, 20, 120, duty
			blamed := 0
			for seed := range uint64(40) {
				_, by := omitted(t, p, "v1.37.2", kubelet.Seed(seed), o.rules)
				blamed += count(by)
			}
			assert.Assert(t, blamed >= 5, "only %d of 40 runs are blamed for %v", blamed, o.rules)
		})
	}
}

// So is it in Pods of any kind, and seldom for a rule that has little to do with what it left out:
// where one explanation of a stop breaks the rule of the omission, another may break one later.
func TestOmissionsInAnyPodAreBlamed(t *testing.T) {
	for duty, o := range omissions {
		t.Run(duty.String(), func(t *testing.T) {
			blamed, others := 0, 0
			for seed := range uint64(300) {
				choose := odd(seed + 1)
				version := kubelet.Versions()[choose(len(kubelet.Versions()))]
				p := search.AnyPod(version, choose)
				p.Faults.Omits = duty
				refused, by := omitted(t, p, version, choose, o.rules)
				blamed, others = blamed+count(by), others+count(refused && !by)
			}
			t.Logf("%d of 300 runs are blamed for it, %d for something else", blamed, others)
			assert.Assert(t, blamed > 0, "no run is blamed for %v", o.rules)
		})
	}
}

// omitted reports whether a run of a Pod is refused, and whether it is for one of the rules.
func omitted(t *testing.T, p kubelet.Pod, version string, choose kubelet.Chooser, rules []string) (is, by bool) {
	t.Helper()
	tr := kubelet.Run(p, version, choose)
	k, err := reference.ParseKubelet(version)
	assert.NilError(t, err)
	v := reference.Check(k, p.Manifest(), tr)
	is = refused(v, tr)
	return is, is && slices.Contains(rules, v.Rule)
}
