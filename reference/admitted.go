package reference

import "github.com/podorder/podorder/reference/trace"

// CheckTrace holds a trace against the model, as [Check] does, with the Pod that the trace itself
// shows: the one that the API server admitted, with all that somebody else may have added to it.
// Nothing else tells what the kubelet was to run.
func CheckTrace(k Kubelet, t *trace.Trace) Verdict {
	if t == nil || len(t.Entries) == 0 {
		return Verdict{Outcome: Inconclusive, Reason: "nothing was recorded"}
	}
	pod := t.Admitted()
	if pod == nil {
		return Verdict{Outcome: Inconclusive, Reason: "the trace shows no Pod, so nothing tells what the kubelet was to run"}
	}
	return Check(k, pod, t)
}
