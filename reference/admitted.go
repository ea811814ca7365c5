package reference

import "github.com/podorder/podorder/reference/trace"

// CheckTrace judges a trace as [Check] does, with the Pod that the trace itself shows. That is
// the Pod that the API server admitted, with everything that webhooks or policies added: what the
// kubelet was told to run.
func CheckTrace(k Kubelet, t *trace.Trace) Verdict {
	if t == nil || len(t.Entries) == 0 {
		return Verdict{Outcome: Inconclusive, Reason: "nothing was recorded"}
	}
	pod := t.Admitted()
	if pod == nil {
		return Verdict{Outcome: Inconclusive, Reason: "the trace has no Pod, so it is not known what the kubelet was to run"}
	}
	return Check(k, pod, t)
}
