package judge

import (
	"iter"
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/trace"
)

// Enumerate yields every order in which the first instances of the containers may log
// their runs, while no grace period runs out; the slice is valid until the next one.
func (j Judge) Enumerate() iter.Seq[[]string] {
	nodes := Possibles(j.Kubelet, j.Pod)
	l := j.life(nodes, len(j.Pod.Containers), signalled)
	at := map[int]int{} // the line of a node
	var lines []Possible
	for i, x := range nodes {
		if x.IsLine() && !x.Ends(j.Pod) {
			at[i], lines = len(lines), append(lines, x)
		}
	}
	return func(yield func([]string) bool) {
		e := enumerator{lines: lines, used: make([]bool, len(lines)), yield: yield, waits: make([][]int, len(lines))}
		for i, a := range at {
			for _, after := range l.follow(i) {
				if b, ok := at[after]; ok {
					e.waits[b] = append(e.waits[b], a)
				}
			}
		}
		all := make(record.Recorded, len(lines))
		for i := range lines {
			all[i] = e.observation(i, i)
		}
		ev := record.Gather(j.Pod, all, true)
		ev.GraceNeverEnds = true
		ev.ForgetTold()
		e.from(j.reader(nil, ev, unbounded()), nil)
	}
}

// enumerator goes depth first through the orders of some lines.
type enumerator struct {
	lines []Possible
	used  []bool
	// waits are, for each line, those that come before it in every such life.
	waits [][]int
	yield func([]string) bool
	order []string
}

// observation is line i, written as the n-th.
func (e *enumerator) observation(i, n int) record.Observation {
	l := e.lines[i].Line
	l.Time = time.Unix(int64(n), 0)
	return record.Observation{Entry: &trace.Entry{At: l.Time, Log: &e.lines[i].Name, Line: n + 1}, IsLog: true, Container: e.lines[i].Container, Log: l}
}

// from yields the orders that go on from a reading of the path; false means
// that no more are wanted.
func (e *enumerator) from(r *reader, path record.Recorded) bool {
	n := len(path)
	if n == len(e.lines) {
		return e.yield(e.order)
	}
	for i, x := range e.lines {
		if e.used[i] || slices.ContainsFunc(e.waits[i], func(before int) bool { return !e.used[before] }) {
			continue
		}
		longer := append(path[:n:n], e.observation(i, n))
		next := r.copy()
		next.From(longer)
		if next.advance(n, &longer[n]) != nil {
			continue
		}
		e.used[i], e.order = true, append(e.order, x.Name)
		more := e.from(next, longer)
		e.used[i], e.order = false, e.order[:n]
		if !more {
			return false
		}
	}
	return true
}
