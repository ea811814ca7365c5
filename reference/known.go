package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/rules"
)

// reading judges once more, with some deviations, and reports whether all was accepted. A brief
// one does not say why something is refused.
type reading func(with rules.DeviationSet, brief bool) (res judge.Result, all bool)

// explain is the verdict on what was refused, where the kubelet has deviations. It is known only
// if the model with deviations accepts all of it. Where that model refuses something as well,
// that is the violation.
func explain(has rules.DeviationSet, v Verdict, read reading) Verdict {
	if has == 0 {
		return v
	}
	res, all := read(has, true)
	switch {
	case all && len(res.Used) > 0:
		used := least(res, read)
		v.Outcome, v.Deviations = Known, deviationsOf(used)
		v.Issue = v.Deviations[0].Issue
		return v
	case len(res.Used) == 0 && (res.Refusal == nil || res.Refusal.Rule == v.Rule):
		return v // none of them changes anything
	case res.Refusal == nil:
		v.Reason = fmt.Sprintf("this line breaks %s, which known faults of this kubelet may explain, but there are too many ways to read the trace with them; not all of them were tried", v.Rule)
		v.Outcome, v.Rule, v.Deviations = Inconclusive, "", deviationsOf(res.Used)
		return v
	}
	if res, _ = read(has, false); res.Refusal == nil {
		return v // the log has changed under the judge
	}
	v = refused(res)
	v.Deviations = deviationsOf(res.Used)
	return v
}

// least is what a reading needs that accepts all with as few deviations as it can.
func least(res judge.Result, read reading) []judge.Used {
	var with rules.DeviationSet
	for _, u := range res.Used {
		with = with.With(u.Deviation)
	}
	for d := range with.All() {
		if with.Len() == 1 {
			break
		}
		if other, all := read(with.Without(d), true); all {
			with, res = with.Without(d), other
		}
	}
	return res.Used
}

// deviationsOf lists deviations in the order in which they were needed first.
func deviationsOf(used []judge.Used) (list []Deviation) {
	for _, u := range used {
		k := slices.IndexFunc(list, func(d Deviation) bool { return d.Name == u.Deviation.Name() })
		if k < 0 {
			k = len(list)
			list = append(list, Deviation{Name: u.Deviation.Name(), Issue: u.Deviation.Issue()})
		}
		if at, had := slices.BinarySearch(list[k].Lines, u.Line); !had {
			list[k].Lines = slices.Insert(list[k].Lines, at, u.Line)
		}
	}
	return list
}

// text names the deviation, its issue and its lines.
func (d Deviation) text() string {
	lines := make([]string, len(d.Lines))
	for i, n := range d.Lines {
		lines[i] = fmt.Sprint(n)
	}
	word := "line"
	if len(lines) > 1 {
		word = "lines"
	}
	return fmt.Sprintf("%s (%s), %s %s", d.Name, d.Issue, word, strings.Join(lines, ", "))
}
