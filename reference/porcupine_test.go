package reference_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/explore"
	"github.com/podorder/podorder/reference/trace"
)

// porcupine decides whether a history fits a nondeterministic model, whatever
// the model is. Here it gets the untimed kubelet of package kubelet, every hidden
// step spelled out; each line of a log is an operation that ends before the next
// one begins.
func kubeletModel(p kubelet.Pod, o explore.Options) porcupine.Model {
	states := func(of []explore.Situation) []any {
		var all []any
		for _, s := range of {
			all = append(all, s)
		}
		return all
	}
	m := porcupine.NondeterministicModel{
		Init:  func() []any { return states(explore.Begin(p, o).Situations()) },
		Step:  func(state, line, _ any) []any { return states(state.(explore.Situation).After(line.(string))) },
		Equal: func(a, b any) bool { return a == b },
	}
	return m.ToModel()
}

func operations(log []string) []porcupine.Operation {
	var ops []porcupine.Operation
	for i, line := range log {
		ops = append(ops, porcupine.Operation{Input: line, Call: int64(2 * i), Return: int64(2*i + 1)})
	}
	return ops
}

// histories are logs of a small Pod: legal ones, and the same with a last line
// that cannot come there.
func histories(p kubelet.Pod, o explore.Options, n, lines int) [][]string {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := alphabetOf(p)
	var all [][]string
	for len(all) < n {
		var log []string
		set := explore.Begin(p, o)
		for len(log) < lines {
			next := set.Lines()
			if len(next) == 0 {
				break
			}
			line := next[random.IntN(len(next))]
			log, set = append(log, line), set.After(line)
		}
		all = append(all, log)
		for _, i := range random.Perm(len(alphabet)) {
			if wrong := append(log[:len(log):len(log)], alphabet[i]); set.After(alphabet[i]) == nil && possible(wrong) {
				all = append(all, wrong)
				break
			}
		}
	}
	return all
}

// restartedPod is a Pod of one or two containers that are restarted and probed, oncePod one
// of containers that run once; both have postStart hooks.
func restartedPod(containers int) kubelet.Pod {
	return kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 30, Containers: []kubelet.Container{
		{
			Name: "a", PostStart: kubelet.Exec, PreStop: kubelet.Exec, Exits: true,
			Readiness: &kubelet.Probe{}, Liveness: &kubelet.Probe{Failures: 1},
		},
		{Name: "b", PostStart: kubelet.Exec, Exits: true, Readiness: &kubelet.Probe{}},
	}[:containers]}
}

func oncePod(containers int) kubelet.Pod {
	return kubelet.Pod{Policy: corev1.RestartPolicyNever, Grace: 30, Containers: []kubelet.Container{
		{Name: "a", PostStart: kubelet.Exec, Exits: true}, {Name: "b", PostStart: kubelet.Exec, Exits: true}, {Name: "c", PostStart: kubelet.Exec, Exits: true},
	}[:containers]}
}

var porcupineOptions = explore.Options{Deletion: true, GraceEnds: true, KillGraceEnds: true, Crashes: true}

func timed(log []string) *trace.Trace {
	tr := &trace.Trace{Header: trace.Header{Kubelet: "v1.37.2"}, LogOnly: true}
	for i, l := range log {
		text := epoch.Add(time.Duration(i)*15*time.Minute).Format(time.RFC3339) + ": " + l
		tr.Entries = append(tr.Entries, trace.Entry{Log: &text, Line: i + 1})
	}
	return tr
}

func TestSameVerdictsAsPorcupine(t *testing.T) {
	for name, tc := range map[string]struct {
		pod              kubelet.Pod
		histories, lines int
	}{
		"1 container restarted": {restartedPod(1), 60, 8}, "2 containers restarted": {restartedPod(2), 20, 4},
		"2 containers once": {oncePod(2), 40, 12}, "3 containers once": {oncePod(3), 20, 6},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := tc.pod, porcupineOptions
			k, err := reference.ParseKubelet("v1.37.2")
			assert.NilError(t, err)
			model, pod := kubeletModel(p, o), p.Manifest()
			passed, refused := 0, 0
			for _, log := range histories(p, o, tc.histories, tc.lines) {
				want := porcupine.CheckOperations(model, operations(log))
				v := reference.CheckComplete(k, pod, timed(log))
				assert.Equal(t, v.Outcome == reference.Pass, want, "%s\n%s", strings.Join(log, "\n"), v.Rule)
				if want {
					passed++
				} else {
					refused++
				}
			}
			assert.Assert(t, passed > 5 && refused > 5, "%d passed, %d refused", passed, refused)
		})
	}
}

// The same histories, judged by porcupine and by the judge. A Pod with more to choose from has more states that porcupine goes through one by one.
func BenchmarkPorcupine(b *testing.B) {
	for _, bc := range []struct {
		name  string
		pod   kubelet.Pod
		lines int
	}{
		{"restarted=1", restartedPod(1), 6}, {"restarted=1", restartedPod(1), 10}, {"restarted=2", restartedPod(2), 6},
		{"once=2", oncePod(2), 9}, {"once=3", oncePod(3), 9},
	} {
		b.Run(fmt.Sprintf("%s/lines=%d", bc.name, bc.lines), func(b *testing.B) {
			comparePorcupine(b, bc.pod, porcupineOptions, histories(bc.pod, porcupineOptions, 200, bc.lines))
		})
	}
}

func comparePorcupine(b *testing.B, p kubelet.Pod, o explore.Options, all [][]string) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(b, err)
	model, pod := kubeletModel(p, o), p.Manifest()
	traces := make([]*trace.Trace, len(all))
	for i, log := range all {
		traces[i] = timed(log)
	}
	var porcupines, judge time.Duration
	timed := func(total *time.Duration, do func()) {
		runtime.GC() // of what the other one has left
		start := time.Now()
		do()
		*total += time.Since(start)
	}
	for b.Loop() {
		timed(&porcupines, func() {
			for _, log := range all {
				porcupine.CheckOperations(model, operations(log))
			}
		})
		timed(&judge, func() {
			for _, tr := range traces {
				reference.CheckComplete(k, pod, tr)
			}
		})
	}
	b.ReportMetric(float64(porcupines)/float64(judge), "times-as-long")
}
