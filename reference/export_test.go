package reference

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// CheckComplete is Check for a trace in which every process of the Pod writes
// every line that it can.
func CheckComplete(k Kubelet, pod *corev1.Pod, t *trace.Trace) Verdict {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return v
	}
	obs, err := observe(t, p)
	if err != nil {
		return broken(t, err)
	}
	ev := gather(p, obs, t.LogOnly)
	ev.complete = true
	r := newReading(&model{k: k, p: p, src: recorded(obs), ev: ev, logOnly: t.LogOnly})
	for n := range obs {
		if d := r.advance(n, &obs[n]); d != nil {
			return Verdict{Outcome: Violation, Rule: d.rule, Line: n + 1}
		}
	}
	return Verdict{Outcome: Pass}
}
