package reference

import (
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// LogKnown is what is known beside a log that is judged alone. The zero value is nothing: then
// it is judged twice. First by what is ordinary: the Pod, if anything ended it, was ended with
// its own grace period, and nothing befell it or its node. If that refuses it, with the acts
// that no line shows, such as a restart of the kubelet. What they explain is inconclusive, and
// the verdict says which of them would; what is refused whatever was done is a violation.
// Nothing of it bears on a trace.
type LogKnown struct {
	// Deleted is when the Pod was deleted, and Grace the grace period it had then.
	Deleted time.Time
	Grace   *time.Duration
	// Nothing is to be assumed: any of the acts may have happened. Then a pass says no more
	// than that a correct kubelet can have left the log, whatever was done.
	Nothing bool
}

// Check is [Check] with what is known.
func (o LogKnown) Check(k Kubelet, pod *corev1.Pod, t *trace.Trace) Verdict {
	return check(judge.Judge{Kubelet: k, Assume: o.assume()}, pod, t).of(k)
}

// CheckLog is [CheckLog] with what is known.
func (o LogKnown) CheckLog(k Kubelet, pod *corev1.Pod, log io.ReadSeeker) Verdict {
	return checkLog(judge.Judge{Kubelet: k, Assume: o.assume()}, pod, log).of(k)
}

func (o LogKnown) assume() record.Assumptions {
	a := record.Assumptions{Deleted: o.Deleted, Grace: o.Grace}
	if o.Nothing {
		a = a.With(a.Open()...)
	}
	return a
}

// alone adds to a verdict on a log alone what it takes for granted and what it cannot judge,
// and turns a violation into what the acts that no line shows leave of it.
func alone(j judge.Judge, v Verdict, res judge.Result, lines int) Verdict {
	if !j.LogOnly {
		return v
	}
	granted := j.Assume
	if e := explanation(j, v, res); e != nil {
		if e.Shown {
			v = Verdict{Outcome: Pass, Accepted: lines}
			granted = granted.With(e.Acts...)
			v.Assumed = append(v.Assumed, e.Acts[0].String()+", as the lines show")
		} else {
			v.Outcome = Inconclusive
			for _, a := range e.Acts {
				v.Explained = append(v.Explained, a.String())
			}
			if e.Undecided {
				v.Explained = nil
				v.Reason += "; whether it is explained by acts that no line shows was not decided: there are too many ways to read the log"
			}
		}
		if !j.Kubelet.Known() {
			v.Outcome = Inconclusive // of says why
		}
	}
	v.Assumed = append(v.Assumed, granted.Granted(j.Pod)...)
	for _, r := range rules.All() {
		if !r.Log && r.Level == rules.Must && j.Kubelet.Holds(r.Slug) {
			v.NotJudged = append(v.NotJudged, r.Slug)
		}
	}
	return v
}

// explanation is what acts leave of a violation; nil if it is none, or nothing explains it.
func explanation(j judge.Judge, v Verdict, res judge.Result) *judge.Explanation {
	if v.Outcome != Violation {
		return nil
	}
	return res.Explain(j.Kubelet.Deviations())
}

// aloneText writes what a verdict on a log alone has beside the others.
func (v Verdict) aloneText(b *strings.Builder) {
	for _, list := range []struct {
		label string
		all   []string
	}{{"explains", v.Explained}, {"assumed", v.Assumed}} {
		label := list.label
		for _, s := range list.all {
			fmt.Fprintf(b, "  %-8s %s\n", label, s)
			label = ""
		}
	}
	if len(v.NotJudged) > 0 {
		fmt.Fprintf(b, "  unjudged %s\n", strings.Join(v.NotJudged, " "))
	}
}
