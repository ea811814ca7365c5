package reference

import (
	"fmt"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
)

// unlessUnheard makes a pass inconclusive where a hook must have run of which there is no line, and
// nothing tells whether it writes any: it was skipped, or it is silent, and only the reader
// knows which. again judges once more, with a Pod in which such hooks write.
func (v Verdict) unlessUnheard(p *podspec.Pod, again func(*podspec.Pod) judge.Result) Verdict {
	q, some := p.HooksWrite()
	if v.Outcome != Pass || !some {
		return v
	}
	res := again(&q)
	if res.Refusal == nil || res.Refusal.Rule != rules.HookRuns && res.Refusal.Rule != rules.PreStopRuns {
		return v
	}
	w := refused(res)
	w.Outcome, w.Unshown = Inconclusive, v.Unshown
	w.Reason = fmt.Sprintf("%s; nothing tells whether it ever writes to the log. Name what does, or nothing, with -writes or in the annotation %s", w.Reason, WritesAnnotation)
	return w
}
