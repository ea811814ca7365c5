package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/rules"
)

// TestDeviations: whatever a kubelet does that has a fault of its release is known, if it is not
// allowed anyway, and no violation. On a release that does not have the fault, the same
// kubelet is refused.
func TestDeviations(t *testing.T) {
	for _, tt := range []struct {
		fault      kubelet.Faults
		deviations []rules.Deviation
		with       []string // releases that have it
		without    string   // one that does not; empty where all have it
		pod        func(choose kubelet.Chooser) kubelet.Pod
	}{
		{
			kubelet.Faults{StartedInherited: true, Workerless: true}, []rules.Deviation{rules.StartedInherited}, []string{"v1.35.4", "v1.36.3", "v1.37.2"}, "v1.34.4",
			func(choose kubelet.Chooser) kubelet.Pod {
				probe := func() *kubelet.Probe { return &kubelet.Probe{Period: 1 + choose(3)} }
				return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 1 + choose(3), Seconds: 20, Containers: []kubelet.Container{{
					Name: "a", Startup: probe(), Readiness: probe(), Liveness: probe(), LivenessFails: true, Deaf: choose(2) == 1,
				}, {Name: "b", Exits: choose(2) == 1}}}
			},
		},
		{
			kubelet.Faults{WaitsForDead: true, Workerless: true}, []rules.Deviation{rules.DeadSidecarAwaited}, []string{"v1.29.6"}, "v1.33.13",
			func(choose kubelet.Chooser) kubelet.Pod {
				return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 20 + choose(20), Seconds: 90, Init: []kubelet.Container{
					{Name: "s", Sidecar: true}, {Name: "i"}, {Name: "t", Sidecar: true, Exits: true},
				}, Containers: []kubelet.Container{{Name: "a"}}}
			},
		},
		{
			kubelet.Faults{ForgetsSidecar: true}, []rules.Deviation{rules.SidecarUnprobed}, []string{"v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13"}, "v1.34.4",
			func(choose kubelet.Chooser) kubelet.Pod {
				return kubelet.Pod{Policy: corev1.RestartPolicyNever, Grace: 4, Seconds: 120, Init: []kubelet.Container{
					{Name: "s", Sidecar: true, Exits: true, Readiness: &kubelet.Probe{Period: 1 + choose(3)}},
				}, Containers: []kubelet.Container{{Name: "a", Readiness: &kubelet.Probe{Period: 5}}}}
			},
		},
		{
			kubelet.Faults{FrozenReadiness: true, Workerless: true}, []rules.Deviation{rules.ProbesCancelled}, []string{"v1.35.4", "v1.36.3"}, "v1.37.2",
			func(choose kubelet.Chooser) kubelet.Pod {
				return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 30, Seconds: 60, Init: []kubelet.Container{
					{Name: "s", Sidecar: true, Readiness: &kubelet.Probe{Period: 1}, PreStop: kubelet.Exec},
				}, Containers: []kubelet.Container{{Name: "a", Deaf: true}}}
			},
		},
		{
			kubelet.Faults{Workerless: true}, []rules.Deviation{rules.ShownBeforeWorkers, rules.ReadyAsPodEnds}, kubelet.Versions(), "",
			func(choose kubelet.Chooser) kubelet.Pod {
				p := kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 4, Seconds: 30, May: kubelet.May{RestartKubelet: true}, Containers: []kubelet.Container{
					{Name: "a", Startup: &kubelet.Probe{Period: 1 + choose(5)}, Readiness: &kubelet.Probe{Period: 1 + choose(5)}, Liveness: &kubelet.Probe{Period: 1}},
				}}
				if choose(2) == 1 {
					p.Policy, p.May.RestartKubelet = corev1.RestartPolicyNever, false
					p.Init = []kubelet.Container{{Name: "s", Sidecar: true, Readiness: &kubelet.Probe{Period: 1 + choose(3)}}, {Name: "i", Exits: true}}
				}
				return p
			},
		},
	} {
		t.Run(tt.deviations[0].Name(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			choose := func(n int) int { return r.IntN(n) }
			seen := map[string]int{}
			judge := func(version string, p kubelet.Pod) reference.Verdict {
				p.Faults = tt.fault
				tr := kubelet.Run(p, version, choose)
				k, err := reference.ParseKubelet(version)
				assert.NilError(t, err)
				v := reference.Check(k, p.Manifest(), tr)
				if slices.Contains(tt.with, version) && v.Outcome == reference.Violation {
					t.Fatalf("%s %+v\n%s\n%s", version, p, v.Text(), file(t, tr))
				}
				return v
			}
			for n := range 60 {
				version := tt.with[n%len(tt.with)]
				for _, p := range []kubelet.Pod{tt.pod(choose), search.AnyPod(version, choose)} {
					v := judge(version, p)
					for _, d := range v.Deviations {
						seen[d.Name]++
					}
				}
				if tt.without != "" && judge(tt.without, tt.pod(choose)).Outcome == reference.Violation {
					seen["violation"]++
				}
			}
			t.Log(fmt.Sprint(seen))
			for _, d := range tt.deviations {
				assert.Check(t, seen[d.Name()] > 0, "%s never showed", d.Name())
			}
			assert.Check(t, tt.without == "" || seen["violation"] > 0, "nothing was refused on %s", tt.without)
		})
	}
}
