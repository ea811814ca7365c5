package reference_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// Each field of a recorded status that follows from the others, or from what
// came before, is changed, one at a time, in every update of two recordings:
// each such trace is refused at that update, for a rule about status.
func TestWrongFieldIsRefused(t *testing.T) {
	mutations := map[string]func(*corev1.PodStatus) bool{}
	for _, phase := range []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed} {
		mutations["phase "+string(phase)] = func(st *corev1.PodStatus) bool {
			changed := st.Phase != phase
			st.Phase = phase
			return changed
		}
	}
	for c := range 2 {
		mutations[fmt.Sprintf("ready of the container in place %d", c)] = func(st *corev1.PodStatus) bool {
			st.ContainerStatuses[c].Ready = !st.ContainerStatuses[c].Ready
			return true
		}
		mutations[fmt.Sprintf("started of the container in place %d", c)] = func(st *corev1.PodStatus) bool {
			is := st.ContainerStatuses[c].Started == nil || !*st.ContainerStatuses[c].Started
			st.ContainerStatuses[c].Started = &is
			return true
		}
		mutations[fmt.Sprintf("name of the container in place %d", c)] = func(st *corev1.PodStatus) bool {
			st.ContainerStatuses[c].Name = "other"
			return true
		}
	}
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady, corev1.PodInitialized} {
		mutations["condition "+string(kind)] = func(st *corev1.PodStatus) bool {
			for i := range st.Conditions {
				if c := &st.Conditions[i]; c.Type == kind {
					is := c.Status == corev1.ConditionTrue
					c.Status, c.Reason = map[bool]corev1.ConditionStatus{true: corev1.ConditionFalse, false: corev1.ConditionTrue}[is], "ContainersNotReady"
					return true
				}
			}
			return false
		}
	}
	refused := map[string]int{}
	for _, experiment := range []string{"S1", "S2"} {
		for name, change := range mutations {
			pod, tr, k := recorded(t, experiment, "v1.34.4")
			for n := range tr.Entries {
				e := &tr.Entries[n]
				// Once a Pod is being deleted its phase may already be the final one.
				if e.Pod == nil || len(e.Pod.Status.ContainerStatuses) != 2 || e.Pod.DeletionTimestamp != nil {
					continue
				}
				was := e.Pod
				e.Pod = was.DeepCopy()
				if change(&e.Pod.Status) {
					v := reference.Check(k, pod, tr)
					assert.Equal(t, v.Outcome, reference.Violation, "%s %s in line %d: %s", experiment, name, e.Line, v.Text())
					assert.Equal(t, v.Line, e.Line, "%s %s: %s", experiment, name, v.Text())
					assert.Assert(t, strings.HasPrefix(v.Rule, "status/"), "%s %s: %s", experiment, name, v.Text())
					assert.Assert(t, v.Reason != "")
					refused[name]++
				}
				e.Pod = was
			}
		}
	}
	for name := range mutations {
		assert.Check(t, refused[name] > 0, "no update could be changed: %s", name)
	}
}

// Every line of the hook, put after the first line of the next container, is
// refused; so is every line of the next container put before the last of the
// hook. Dropping or repeating a tick is no fault of a kubelet.
func TestMovedLines(t *testing.T) {
	pod, tr, k := recorded(t, "S1", "v1.37.2")
	lines := logOf(t, tr)
	hook := func(l string) bool { return strings.HasSuffix(l, "post start hook") }
	next := func(l string) bool { return strings.HasSuffix(l, "container2 / main") }
	first := slices.IndexFunc(lines, next)
	last := 0
	for i, l := range lines {
		if hook(l) {
			last = i
		}
	}
	refused := func(lines []string) {
		t.Helper()
		v := judgeLog(t, k, pod, lines)
		assert.Equal(t, v.Outcome, reference.Violation, v.Text())
		assert.Equal(t, v.Rule, "hooks/poststart-blocks-next", v.Text())
	}
	move := func(from, to int) []string {
		l := lines[from]
		out := slices.Delete(slices.Clone(lines), from, from+1)
		return slices.Insert(out, to, l)
	}
	n := 0
	for i, l := range lines {
		switch {
		case hook(l):
			refused(move(i, first))
			n++
		case next(l) && i > last:
			refused(move(i, last))
			n++
		}
		for _, changed := range [][]string{slices.Delete(slices.Clone(lines), i, i+1), slices.Insert(slices.Clone(lines), i, l)} {
			v := judgeLog(t, k, pod, changed)
			assert.Equal(t, v.Outcome, reference.Pass, v.Text())
		}
	}
	assert.Assert(t, n > 60, "%d lines were moved", n)
}

// An explanation stays short and right on a long recording.
func TestExplanationOfALongTrace(t *testing.T) {
	pod, tr, k := recorded(t, "S1", "v1.36.3")
	hook := slices.IndexFunc(tr.Entries, func(e trace.Entry) bool { return e.Log != nil && strings.HasSuffix(*e.Log, "post start hook") })
	assert.Assert(t, hook >= 0, "the hook has no line")
	// One hook line more, as the last entry.
	late := *tr.Entries[hook].Log
	last := tr.Entries[len(tr.Entries)-1]
	changed := &trace.Trace{Header: tr.Header, Entries: append(slices.Clone(tr.Entries), trace.Entry{At: last.At.Add(3600e9), Log: &late, Line: last.Line + 1})}
	v := reference.Check(k, pod, changed)
	assert.Equal(t, v.Outcome, reference.Violation, v.Text())
	assert.Equal(t, v.Line, last.Line+1)
	assert.Assert(t, len(v.Because) >= 1 && len(v.Because) <= 2, v.Text())
	holdsByItself(t, k, pod, changed, v)
}
