package reference

import (
	"fmt"
	"io"
)

// Judge holds what a kubelet did with one Pod against the model.
type Judge struct {
	Kubelet Kubelet
	Pod     *plan
	// LogOnly: nothing but the log was recorded.
	LogOnly bool
	// untimed: the node may have stood still, and nothing is late.
	untimed bool
}

// Untimed is the judge of a node that may have stood still for any time.
func (j Judge) Untimed() Judge {
	j.untimed = true
	return j
}

// Result says how far the observations were accepted. Where Accepted is fewer than
// there are, Refusal says why; without one, there are more ways to read them up to
// there than were tried.
type Result struct {
	Accepted int
	Refusal  *Refusal
}

// Trace judges the observations of a trace.
func (j Judge) Trace(obs []observation) Result {
	r, n, d := j.readNumbered(obs, judging())
	if d != nil {
		return Result{n, r.refuse(n, &obs[n], d)}
	}
	return Result{Accepted: n}
}

// Passes reports whether the observations of a trace are all accepted.
func (j Judge) Passes(obs []observation) bool {
	_, n, _ := j.readNumbered(obs, judging())
	return n == len(obs)
}

// Log judges a log alone, and returns how many lines it has. It reads the log once,
// and again where it is refused. The error is a *trace.Error for a line that is torn or
// foreign, with the number of lines before it in the result.
func (j Judge) Log(log io.ReadSeeker) (res Result, lines int, err error) {
	f := &logFile{p: j.Pod, r: log}
	g := newGatherer(j.Pod, true)
	fits := true
	err = f.each(func(n int, o *observation) bool {
		g.take(o, n)
		fits = f.keep(&o.log, o.c)
		return fits
	})
	switch {
	case err != nil:
		return Result{Accepted: f.lines}, f.lines, err
	case !fits:
		return Result{Accepted: f.lines - 1}, f.lines, errTooLarge
	}
	r := newReader(&model{k: j.Kubelet, p: j.Pod, src: f, ev: g.evidence(), logOnly: true}, judging())
	var o observation
	for n := range f.lines {
		o = *f.at(n)
		if d := r.advance(n, &o); d != nil {
			some, err := f.pick([]int{n})
			if err != nil {
				return Result{Accepted: n}, f.lines, err
			}
			r.now = &some[0]
			return Result{n, r.refuse(n, &some[0], d)}, f.lines, nil
		}
		if r.tooMany {
			return Result{Accepted: n}, f.lines, nil
		}
	}
	return Result{Accepted: f.lines}, f.lines, nil
}

// errTooLarge is what Log says of a line with a number larger than the model looks at.
var errTooLarge = fmt.Errorf("a number of this line is larger than any that the model looks at")
