package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// The runs are as varied as the rules: each of these things happens.
func TestEverythingHappens(t *testing.T) {
	seen := map[string]int{}
	r := rand.New(rand.NewPCG(1, 2))
	choose := func(n int) int { return r.IntN(n) }
	for n := range 3000 {
		version := kubelet.Versions()[n%len(kubelet.Versions())]
		p := search.AnyPod(version, choose)
		s := tell(t, p, kubelet.Run(p, version, choose))
		here := map[string]bool{}
		for _, e := range s.tr.Entries {
			switch {
			case e.Event != nil:
				words := strings.Fields(e.Event.Message)
				here["event "+e.Event.Reason+" "+words[0]] = true
			case e.Did != nil:
				here["did "+e.Did.Name] = true
			case e.Pod != nil:
				here["phase "+string(e.Pod.Status.Phase)+" "+e.Pod.Status.Reason] = true
				here["type "+e.Type] = true
				for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
					if cs.State.Waiting != nil {
						here["waiting "+cs.State.Waiting.Reason] = true
					}
				}
			}
		}
		for _, l := range s.lines {
			kind := "regular"
			if !s.regular(l) {
				kind = "init"
				if s.spec(l).Sidecar {
					kind = "sidecar"
				}
			}
			here[fmt.Sprintf("%s %s %s", kind, l.Actor, l.Mark.Kind)] = true
			here[fmt.Sprintf("%s run %d", kind, min(l.Run, 3))] = true
		}
		for what := range here {
			seen[what]++
		}
	}
	for _, what := range []string{
		"did apply", "did delete", "did restart", "did stop", "did patch", "type DELETED",
		"phase Pending ", "phase Running ", "phase Succeeded ", "phase Failed ", "phase Failed Evicted", "phase Failed DeadlineExceeded",
		"waiting ContainerCreating", "waiting PodInitializing", "waiting CrashLoopBackOff", "waiting PostStartHookError",
		"waiting ErrImagePull", "waiting ImagePullBackOff", "waiting CreateContainerError", "waiting CreateContainerConfigError",
		"event BackOff Back-off", "event SandboxChanged Pod", "event FailedPostStartHook PostStartHook",
		"event FailedPreStopHook PreStopHook", "event Killing Stopping", "event Killing killing", "event Killing Container",
		"event Killing FailedPostStartHook", "event Unhealthy Startup", "event Unhealthy Readiness", "event Unhealthy Liveness",
		"init run 0", "init run 1", "init run 2", "sidecar run 2", "regular run 2", "regular run 3",
		"regular main signal", "sidecar main signal", "init main signal", "regular post start hook end", "sidecar post start hook end",
		"regular pre stop hook end", "sidecar pre stop hook end", "regular startup probe end", "sidecar readiness probe end", "sidecar liveness probe end",
	} {
		assert.Check(t, seen[what] > 0, "%s: never seen", what)
	}
}

// Each fault of a kubelet shows in some run, and never in that of a correct
// one: it writes what a correct one never does, or never what a correct one
// does.
func TestFaultsShow(t *testing.T) {
	fails := func(properties ...func(s *story) error) func(s *story) bool {
		return func(s *story) bool {
			for _, holds := range properties {
				if holds(s) != nil {
					return true
				}
			}
			return false
		}
	}
	any := func(choose kubelet.Chooser) kubelet.Pod { return search.AnyPod("v1.37.2", choose) }
	at := func(s *story, container string, a trace.Actor, kind trace.MarkKind, run int) (time.Time, bool) {
		for _, l := range s.lines {
			if l.Container == container && l.Actor == a && l.Mark.Kind == kind && l.Run >= run {
				return l.Time, true
			}
		}
		return time.Time{}, false
	}
	for _, test := range []struct {
		name    string
		pod     func(choose kubelet.Chooser) kubelet.Pod
		fault   kubelet.Faults
		mark    func(s *story) bool
		correct bool // the mark is one of a correct kubelet
	}{
		{"hook in background", any, kubelet.Faults{HookInBackground: true}, fails((*story).hookBlocks, (*story).hooksNeverOverlap, (*story).initComesFirst), false},
		{"started inherited", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 3, Seconds: 20, Containers: []kubelet.Container{{Name: "a", Startup: &kubelet.Probe{}, Readiness: &kubelet.Probe{}, Liveness: &kubelet.Probe{}, LivenessFails: true}}}
		}, kubelet.Faults{StartedInherited: true}, fails((*story).startupGates), false},
		{"frozen readiness", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 4, Containers: []kubelet.Container{{Name: "a", Readiness: &kubelet.Probe{}, PreStop: kubelet.Exec, Deaf: true}}}
		}, kubelet.Faults{FrozenReadiness: true}, func(s *story) bool {
			for _, e := range s.tr.Entries {
				if e.Did == nil || e.Did.Name != trace.ActDelete {
					continue
				}
				for _, l := range s.lines {
					if l.Actor == trace.ReadinessProbe && l.Time.After(e.At.Add(500*time.Millisecond)) {
						return true
					}
				}
			}
			return false
		}, true},
		{"waits for the dead", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 4, Seconds: 60, Init: []kubelet.Container{{Name: "s", Sidecar: true}, {Name: "i", Sidecar: true, Exits: true}}, Containers: []kubelet.Container{{Name: "a"}}}
		}, kubelet.Faults{WaitsForDead: true}, func(s *story) bool {
			a, one := at(s, "a", trace.Main, trace.Signal, 0)
			b, two := at(s, "s", trace.Main, trace.Signal, 0)
			dead := false // long before
			for _, l := range s.lines {
				if l.Container == "i" {
					dead = l.Mark.Kind == trace.End && a.Sub(l.Time) > time.Second
				}
			}
			return one && two && dead && b.Sub(a) < 800*time.Millisecond
		}, true},
		{"forgets a sidecar", func(kubelet.Chooser) kubelet.Pod {
			return kubelet.Pod{Policy: corev1.RestartPolicyNever, Grace: 4, Seconds: 40, Init: []kubelet.Container{{Name: "s", Sidecar: true, Exits: true, Readiness: &kubelet.Probe{}}}, Containers: []kubelet.Container{{Name: "a", Readiness: &kubelet.Probe{}}}}
		}, kubelet.Faults{ForgetsSidecar: true}, func(s *story) bool {
			// From the third instance on: in the back-off before it a tick has found
			// the ended one for sure.
			_, probed := at(s, "s", trace.ReadinessProbe, trace.End, 2)
			return probed
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			choose := func(n int) int { return r.IntN(n) }
			marks := map[bool]int{}
			for range 150 {
				p := test.pod(choose)
				marks[false] += count(test.mark(tell(t, p, kubelet.Run(p, "v1.37.2", choose))))
				p.Faults = test.fault
				marks[true] += count(test.mark(tell(t, p, kubelet.Run(p, "v1.37.2", choose))))
			}
			t.Log(marks)
			assert.Assert(t, marks[!test.correct] > 0)
			assert.Equal(t, marks[test.correct], 0)
		})
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
