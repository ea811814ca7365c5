package judge

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/model"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// Explanation is what would explain a log alone that is refused by what is ordinary.
type Explanation struct {
	// Acts are the fewest acts that were found with which all of the log is accepted. None of
	// them alone does where there is more than one.
	Acts []record.Act
	// Shown: the log itself shows that the grace period of the end was over, and that it was
	// another one than is taken for granted. Then nothing else is open.
	Shown bool
	// Undecided: with these acts there were too many ways to read the log.
	Undecided bool
}

// shown is how long after the first sign of the end of the Pod its order is broken where the
// log shows that a grace period was over. No period is shorter, and a kubelet that keeps no
// order breaks it at once.
const shown = time.Second

// Explain is what would explain a log alone that is refused, with the deviations that the kubelet
// may show; nil where nothing would, and for everything else.
func (res Result) Explain(with rules.DeviationSet) *Explanation {
	if res.explain == nil {
		return nil
	}
	return res.explain(with)
}

// explainer finds the acts that explain why observation n is refused. It judges again with each
// of them, then with all together, and leaves out what is not needed.
func (r *reader) explainer(n int, d *model.Denial, named []int, passes func(Judge) (passes, undecided bool)) func(rules.DeviationSet) *Explanation {
	j := r.judge
	if !j.LogOnly || len(j.Assume.Befell) > 0 {
		return nil // or the caller has said what to judge by
	}
	return func(deviations rules.DeviationSet) *Explanation {
		j.Deviations = deviations
		return r.explain(j, n, d, named, passes)
	}
}

func (r *reader) explain(j Judge, n int, d *model.Denial, named []int, passes func(Judge) (passes, undecided bool)) *Explanation {
	with := func(acts ...record.Act) (passed, open bool) {
		j.Assume = j.Assume.With(acts...)
		return passes(j)
	}
	all := j.Assume.Open()
	for _, a := range all {
		if passed, _ := with(a); passed {
			return &Explanation{Acts: []record.Act{a}, Shown: a == record.OtherPeriod && r.SinceEnd(n, d) >= shown}
		}
	}
	passed, open := with(all...)
	if !passed {
		if open && !r.refusesAlone(j, named, n) {
			return &Explanation{Acts: all, Undecided: true}
		}
		return nil
	}
	for _, a := range slices.Backward(all) {
		fewer := slices.DeleteFunc(slices.Clone(all), func(b record.Act) bool { return a == b })
		if passed, _ := with(fewer...); passed {
			all = fewer
		}
	}
	return &Explanation{Acts: all}
}

// refusesAlone reports whether the observations that forbid observation n are enough to refuse
// it, whatever was done: so it is asked where there are too many ways to read all of them.
func (r *reader) refusesAlone(j Judge, named []int, n int) bool {
	some := slices.Clone(named)
	at, _ := slices.BinarySearch(some, n)
	some = slices.Insert(some, at, n)
	obs, err := r.src.Pick(some)
	if err != nil {
		return false
	}
	j.Assume = j.Assume.With(j.Assume.Open()...)
	_, rule := j.Decide(obs)
	return rule != ""
}
