package reference

import (
	"fmt"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// Enumerate yields every order in which the first instances of a Pod's
// containers may log their lives: each process begins and ends once, each probe
// succeeds once, and a deletion, whose grace period does not run out, ends it
// all. The slice is valid until the next one. The number grows with the
// factorial of what is unordered: it is meant for small Pods. The error lists
// the fields that the model does not know.
func Enumerate(k Kubelet, pod *corev1.Pod) (iter.Seq[[]string], error) {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return nil, unmodelledError(v)
	}
	var lines []node
	for _, x := range nodesOf(k, p) {
		if x.pod == nil {
			lines = append(lines, x)
		}
	}
	return func(yield func([]string) bool) {
		e := enumerator{lines: lines, used: make([]bool, len(lines)), yield: yield}
		all := make(recorded, len(lines))
		for i := range lines {
			all[i] = e.observation(i, i)
		}
		ev := gather(p, all, true)
		ev.ample = true
		e.from(newReader(&model{k: k, p: p, ev: ev, logOnly: true}, unbounded()), nil)
	}, nil
}

// Count returns how many orders Enumerate yields, or an error where they are
// more than most.
func Count(k Kubelet, pod *corev1.Pod, most int) (int, error) {
	all, err := Enumerate(k, pod)
	if err != nil {
		return 0, err
	}
	n := 0
	for range all {
		if n++; n > most {
			return 0, fmt.Errorf("the Pod has more than %d allowed interleavings", most)
		}
	}
	return n, nil
}

// enumerator goes depth first through the orders of some lines.
type enumerator struct {
	lines []node
	used  []bool
	yield func([]string) bool
	order []string
}

// observation is line i, written as the n-th.
func (e *enumerator) observation(i, n int) observation {
	l := e.lines[i].line
	l.Time = time.Unix(int64(n), 0)
	return observation{entry: &trace.Entry{At: l.Time, Log: &e.lines[i].name, Line: n + 1}, isLog: true, c: e.lines[i].c, log: l}
}

// from yields the orders that go on from a reading of the path; false means
// that no more are wanted.
func (e *enumerator) from(r *reader, path recorded) bool {
	n := len(path)
	if n == len(e.lines) {
		return e.yield(e.order)
	}
	for i, x := range e.lines {
		if e.used[i] || e.waits(i) {
			continue
		}
		longer := append(path[:n:n], e.observation(i, n))
		next := r.copy()
		m := *r.model
		m.src = longer
		next.model = &m
		if next.advance(n, &longer[n]) != nil {
			continue
		}
		e.used[i], e.order = true, append(e.order, x.name)
		more := e.from(next, longer)
		e.used[i], e.order = false, e.order[:n]
		if !more {
			return false
		}
	}
	return true
}

// waits reports whether the process of line i has another line before it that
// is not used yet.
func (e *enumerator) waits(i int) bool {
	for j := range i {
		if x, y := e.lines[i], e.lines[j]; x.c == y.c && x.actor == y.actor && !e.used[j] {
			return true
		}
	}
	return false
}
