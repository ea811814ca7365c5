package judge

import (
	"cmp"
	"slices"

	"github.com/podorder/podorder/reference/internal/model"
	"github.com/podorder/podorder/reference/internal/record"
)

// maxReadings bounds the ways to settle the doubts of a trace that are tried; past
// it the verdict is inconclusive.
const maxReadings = 64

// readNumbered reads the observations with the lines numbered such that they pass, if it
// finds a way to, and else such that the reading comes furthest; see [read]. Where
// ways are left that were not tried to their end there is no denial. The work of the
// budget bounds all of the readings together.
//
// What is refused may be so because of a doubt before it. The doubts of the way
// that came furthest are settled first, one at a time, the nearest one before the
// others.
func (j Judge) readNumbered(obs []record.Observation, b budget) (best *reader, reach int, d *model.Denial) {
	var open []way
	var tried [][]record.Doubt
	var sure []record.Doubt // of the best one
	cut := false            // a reading had too many states, and might have passed
	for next := (way{}); ; next = slices.MinFunc(open, way.compare) {
		doubts := record.Renumber(j.Pod, obs, next.sure...)
		r, n, why := j.read(obs, b)
		b.work, cut = r.left.work, cut || r.tooMany
		if best == nil || n > reach {
			best, reach, d, sure = r, n, why, next.sure
		}
		tried = append(tried, next.sure)
		if reach == len(obs) {
			return best, reach, nil
		}
		open = append(open, next.further(doubts, n)...)
		open = slices.DeleteFunc(open, func(w way) bool {
			return slices.ContainsFunc(tried, func(sure []record.Doubt) bool { return slices.Equal(sure, w.sure) })
		})
		if len(open) == 0 || len(tried) == maxReadings || b.work < 0 {
			break
		}
	}
	if len(tried) > 1 {
		record.Renumber(j.Pod, obs, sure...)
	}
	if len(open) > 0 || cut {
		return best, reach, nil
	}
	return best, reach, d
}

// way is a way to number the lines that was not tried yet: the doubts that it
// takes as sure, how far the reading came without the last of them, and how many
// other doubts are nearer to that place.
type way struct {
	sure        []record.Doubt
	reach, rank int
}

// further is the ways that take one more of the doubts as sure, where the reading
// came as far as reach.
func (w way) further(doubts []record.Doubt, reach int) []way {
	var next []way
	for _, d := range slices.Backward(doubts) {
		if d.At > reach {
			continue
		}
		sure := append(slices.Clone(w.sure), d)
		slices.SortFunc(sure, func(a, b record.Doubt) int { return cmp.Compare(a.At, b.At) })
		next = append(next, way{sure, reach, len(next)})
	}
	return next
}

// compare orders the more promising of two ways first.
func (w way) compare(v way) int {
	return cmp.Or(cmp.Compare(v.reach, w.reach), cmp.Compare(len(w.sure), len(v.sure)), cmp.Compare(w.rank, v.rank))
}
