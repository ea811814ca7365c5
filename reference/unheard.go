package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// unlessUnheard makes a pass inconclusive where a hook must have run of which there is no line, and
// nothing tells whether it writes any: it was skipped, or it is silent, and only the reader
// knows which. again judges once more, with a Pod in which such hooks write; passed is the result before.
func (v Verdict) unlessUnheard(p *podspec.Pod, passed judge.Result, again func(*podspec.Pod) judge.Result) Verdict {
	if v.Outcome != Pass {
		return v
	}
	q, some := p.HooksWrite(passed.Wrote)
	if !some {
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

// dueBy says by which rules the lines that match patterns not seen are due, if they are: a pass means
// that none of them was late when the recording ended, or that something suspends it.
func dueBy(want []trace.Pattern, seen []bool) string {
	var slugs []string
	for i, p := range want {
		l, err := trace.ParseLine("2006-01-02T15:04:05Z: " + p.String())
		if err != nil || seen[i] {
			continue
		}
		slug := ""
		switch {
		case l.Actor == trace.PostStart:
			slug = rules.HookRuns
		case l.Actor == trace.PreStop:
			slug = rules.PreStopRuns
		case l.Actor.IsProbe():
			slug = rules.ProbesRun
		case l.Mark.Kind == trace.Begin && l.Run > 0:
			slug = rules.RestartsWhenDue
		case l.Mark.Kind == trace.Begin:
			slug = rules.StartsWhenDue
		}
		if slug != "" && !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	if len(slugs) == 0 {
		return ""
	}
	return "; what is due by " + strings.Join(slugs, ", ") + " was not late yet when the recording ended, or something suspends it"
}
