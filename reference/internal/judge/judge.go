package judge

import (
	"fmt"
	"io"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// Judge compares what a kubelet did with one Pod with the model.
type Judge struct {
	Kubelet rules.Kubelet
	Pod     *podspec.Pod
	// LogOnly: nothing but the log was recorded.
	LogOnly bool
	// Assume is what a log alone is judged by.
	Assume record.Assumptions
	// Complete: every process of the Pod writes every line that it can.
	Complete bool
	// Ignores are suspensions that do not count, as if the table did not have them; nil
	// where all do.
	Ignores func(rules.Clause, rules.Suspension) bool
	// Deviations are those that the kubelet may show.
	Deviations rules.DeviationSet
	// Brief: a refusal says rule and line, and not why.
	Brief bool
	// untimed: the node may have stood still, so nothing counts as late.
	untimed bool
}

// Untimed is the judge of a node that may have stood still for any time.
func (j Judge) Untimed() Judge {
	j.untimed = true
	return j
}

// Result says how many observations were accepted. If not all were, Refusal says
// why; a nil Refusal then means that there are more ways to read them than were tried.
type Result struct {
	Accepted int
	Refusal  *Refusal
	// Used are the observations that needed a deviation, in their order.
	Used []Used
	// Unshown are the deviations of the kubelet that should have shown and did not.
	Unshown rules.DeviationSet
	// wrote is [Result.Wrote] of what is accepted.
	wrote func(c int, a trace.Actor) bool
	// explain is [Result.Explain] of a log alone that is refused.
	explain func(rules.DeviationSet) *Explanation
}

// Wrote reports whether any line of an actor of container c is in what was accepted as a whole.
func (res Result) Wrote(c int, a trace.Actor) bool { return res.wrote != nil && res.wrote(c, a) }

// Used is an observation that needed a deviation.
type Used struct {
	Deviation rules.Deviation
	Line      int
}

// Trace judges the observations of a trace.
func (j Judge) Trace(obs []record.Observation) Result {
	r, n, d := j.readNumbered(obs, judging())
	if d != nil {
		res := Result{Accepted: n, Refusal: r.refuse(n, &obs[n], d), Used: r.used()}
		res.explain = r.explainer(n, d, res.Refusal.named, func(j Judge) (passes, undecided bool) {
			n, rule := j.Decide(obs)
			return n == len(obs), n < len(obs) && rule == ""
		})
		return res
	}
	return Result{Accepted: n, Used: r.used(), Unshown: r.Unshown(), wrote: r.Wrote}
}

// Decide judges the observations of a trace as Trace does, and explains nothing: it returns how
// many are accepted, and the rule that refuses the next one, empty if none does.
func (j Judge) Decide(obs []record.Observation) (accepted int, rule string) {
	_, n, d := j.readNumbered(obs, judging())
	if d == nil {
		return n, ""
	}
	return n, d.Rule
}

// Passes reports whether the observations of a trace are all accepted.
func (j Judge) Passes(obs []record.Observation) bool {
	n, _ := j.Decide(obs)
	return n == len(obs)
}

// Log judges a log alone, and returns how many lines it has. It reads the log once,
// and again where it is refused. The error is a *trace.Error for a line that is torn or
// foreign, with the number of lines before it in the result.
func (j Judge) Log(log io.ReadSeeker) (res Result, lines int, err error) {
	f := record.NewLogFile(j.Pod, log)
	g := record.NewGatherer(j.Pod, true)
	fits := true
	err = f.Each(func(n int, o *record.Observation) bool {
		g.Take(o, n)
		fits = f.Keep(&o.Log, o.Container)
		return fits
	})
	switch {
	case err != nil:
		return Result{Accepted: f.Lines}, f.Lines, err
	case !fits:
		return Result{Accepted: f.Lines - 1}, f.Lines, ErrTooLarge
	}
	ev := g.Evidence()
	r := j.reader(f, ev, judging())
	var o record.Observation
	for n := range f.Lines {
		o = *f.At(n)
		if d := r.advance(n, &o); d != nil {
			some, err := f.Pick([]int{n})
			if err != nil {
				return Result{Accepted: n}, f.Lines, err
			}
			r.Look(n, &some[0])
			res := Result{Accepted: n, Refusal: r.refuse(n, &some[0], d), Used: r.used()}
			res.explain = r.explainer(n, d, res.Refusal.named, func(j Judge) (passes, undecided bool) {
				return j.passes(f, f.Lines, ev)
			})
			return res, f.Lines, nil
		}
		if r.tooMany {
			return Result{Accepted: n}, f.Lines, nil
		}
	}
	return Result{Accepted: f.Lines, Used: r.used(), Unshown: r.Unshown(), wrote: r.Wrote}, f.Lines, nil
}

// passes reports whether all of so many observations are accepted, or that it cannot decide.
func (j Judge) passes(src record.Source, lines int, ev record.Evidence) (passes, undecided bool) {
	r := j.reader(src, ev, judging())
	var o record.Observation
	for n := range lines {
		o = *src.At(n)
		if r.advance(n, &o) != nil {
			return false, false
		}
		if r.tooMany {
			return false, true
		}
	}
	return true, false
}

// ErrTooLarge is the error of [Judge.Log] for a line with a number that is too large for the model.
var ErrTooLarge = fmt.Errorf("a number in this line is larger than any that the model handles")
