package judge

import (
	"github.com/podorder/podorder/reference/internal/model"
	"github.com/podorder/podorder/reference/internal/record"
)

// Within judges a trace with so many states for each set. It reports whether it is refused,
// and whether it is not decided.
func (j Judge) Within(obs []record.Observation, states int) (refused, undecided bool) {
	_, n, d := j.readNumbered(obs, budget{states, maxWork})
	return d != nil, d == nil && n < len(obs)
}

// Wide takes the last of the observations in so many states as there are others, each the one
// that one of the others leads to, with so much work to spend. It reports whether they were too
// many.
func (j Judge) Wide(obs []record.Observation, work int) (tooMany bool, left int) {
	r := j.reader(record.Recorded(obs), record.Gather(j.Pod, obs, j.LogOnly), budget{maxStates, work})
	r.states = nil
	last := len(obs) - 1
	for n := range last {
		r.Look(n, &obs[n])
		after, d := r.Step(model.NewState(j.Pod), n)
		if d != nil {
			panic(d.Rule)
		}
		r.states = append(r.states, after[0])
	}
	if d := r.advance(last, &obs[last]); d != nil {
		panic(d.Rule)
	}
	return r.tooMany, len(r.states)
}
