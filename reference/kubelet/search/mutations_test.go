package search_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// timed are the properties in which time counts: a mutation may break them by less than
// the clocks of a trace are sure of.
var timed = []string{"back-off", "sidecars last", "preStop before TERM"}

// otherReadings are the mutations that break a property, and leave a trace that a correct kubelet can have
// made all the same, each with the reason.
var otherReadings = map[string]string{
	"another restartCount against shown after the hook":    "an instance that has left no line may have been there as well",
	"another restartCount against ready after a probe":     "the same",
	"a line of another instance against a stop has an end": "a busy node is left a quarter of a minute",
	"a line moved against a stop has an end":               "the same",
	"a line repeated against a stop has an end":            "the same",
}

// told are the properties that stories break, in a test of their own.
var told = append([]string{"no start once it stops"}, timed...)

// TestBrokenPropertiesAreRefused changes the traces of runs in which nothing is done to the Pod or its node but
// a deletion, one thing in each, and looks at those that no correct kubelet can make, since one of the
// properties does not hold any more: the judge refuses every one of them. Where there is another way to
// read one, otherReadings says which.
func TestBrokenPropertiesAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 6))
	choose := func(n int) int { return r.IntN(n) }
	refused, made, broke := map[string]int{}, map[string]int{}, map[string]int{}
	for n := range 700 {
		version := kubelet.Versions()[n%len(kubelet.Versions())]
		p := calmPod(version, choose)
		tr := kubelet.Run(p, version, choose)
		k, err := reference.ParseKubelet(version)
		assert.NilError(t, err)
		for _, name := range slices.Sorted(maps.Keys(mutations)) {
			m := &trace.Trace{Header: tr.Header, Entries: slices.Clone(tr.Entries)}
			if !mutations[name](m, choose) {
				continue
			}
			all := brokenProperties(tell(t, p, m))
			for _, property := range all {
				broke[property]++
			}
			all = slices.DeleteFunc(all, func(property string) bool { return slices.Contains(timed, property) })
			if len(all) == 0 || m.Logs() == 0 { // of a trace without a line nothing is said
				continue
			}
			made[name]++
			owed := slices.ContainsFunc(all, func(property string) bool { return otherReadings[name+" against "+property] == "" })
			v := reference.Check(k, p.Manifest(), m)
			if v.Outcome == reference.Violation || v.Outcome == reference.Known {
				refused[name+" against "+all[0]]++
				continue
			}
			// Where there are too many ways to read a trace, nothing is said of it.
			assert.Check(t, !owed || v.Outcome == reference.Inconclusive, "run %d: %s, so that %q do not hold: %v\n%s%s", n, name, all, properties[all[0]](tell(t, p, m)), v.Text(), kubelet.Timeline(m))
		}
	}
	for name := range mutations {
		assert.Check(t, made[name] > 0, "no trace was broken: %s", name)
	}
	for name := range properties {
		// No mutation makes a file that cannot be read, and what depends on time has a test of its own.
		if name == "the trace is well formed" || slices.Contains(told, name) {
			continue
		}
		assert.Check(t, broke[name] > 0, "whatever was changed, this held: %s", name)
	}
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%s: %d refused", what, refused[what])
	}
}

// Each of the properties in which time counts, or that mutations seldom break, can be broken: it holds for
// one story, and not for the same a little sooner or later.
func TestToldPropertiesCanBreak(t *testing.T) {
	at := func(s float64) time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
	}
	line := func(s float64, text string) trace.Entry {
		log := at(s).Format(time.RFC3339Nano) + ": " + text
		return trace.Entry{At: at(s), Log: &log}
	}
	killing := trace.Entry{At: at(0), Event: &trace.Event{Reason: "Killing", Message: "Stopping container a", FirstTimestamp: metav1.Time{Time: at(0)}}}
	p := kubelet.Pod{Policy: corev1.RestartPolicyAlways, Init: []kubelet.Container{{Name: "s", Sidecar: true}}, Containers: []kubelet.Container{{Name: "a", PreStop: kubelet.Exec}, {Name: "b"}}}
	for name, story := range map[string]struct{ holds, broken []trace.Entry }{
		"back-off": {
			[]trace.Entry{line(0, "a#1 / main: end 1"), line(10, "a#2 / main: begin")},
			[]trace.Entry{line(0, "a#1 / main: end 1"), line(9.9, "a#2 / main: begin")},
		},
		"sidecars last": {
			[]trace.Entry{killing, line(1, "s#0 / main: signal TERM"), line(1.1, "a#0 / main: tick 1")},
			[]trace.Entry{killing, line(0.9, "s#0 / main: signal TERM"), line(1.1, "a#0 / main: tick 1")},
		},
		"no start once it stops": {
			[]trace.Entry{line(0, "s#0 / main: signal TERM"), line(1.5, "b#0 / main: begin")},
			[]trace.Entry{line(0, "s#0 / main: signal TERM"), line(1.6, "b#0 / main: begin")},
		},
		"preStop before TERM": {
			[]trace.Entry{line(0, "a#0 / main: signal TERM"), line(1.5, "a#0 / pre stop hook: begin")},
			[]trace.Entry{line(0, "a#0 / main: signal TERM"), line(1.6, "a#0 / pre stop hook: begin")},
		},
	} {
		assert.Assert(t, slices.Contains(told, name), name)
		assert.NilError(t, properties[name](tell(t, p, &trace.Trace{Entries: story.holds})), name)
		assert.Assert(t, properties[name](tell(t, p, &trace.Trace{Entries: story.broken})) != nil, name)
	}
}

// calmPod makes up a Pod of which every container can be started, and every instance writes. Nobody ends it
// but by a deletion.
func calmPod(version string, choose kubelet.Chooser) kubelet.Pod {
	p := search.AnyPod(version, choose)
	p.May.Silent, p.May.RestartKubelet, p.May.StopSandbox, p.May.Evict, p.Deadline = false, false, false, false, 0
	for _, list := range [][]kubelet.Container{p.Init, p.Containers} {
		for i := range list {
			c := &list[i]
			c.NoImage, c.NoCreate, c.NoStart = false, false, false
		}
	}
	return p
}

// brokenProperties are the properties that do not hold, in the order of their names.
func brokenProperties(s *story) []string {
	var broken []string
	for name, holds := range properties {
		if holds(s) != nil {
			broken = append(broken, name)
		}
	}
	slices.Sort(broken)
	return broken
}

// mutations change one thing in a trace, in entries of their own. Each reports whether it
// found anything to change. A line that is left out, alone, proves nothing: what it was about
// may not write at all.
var mutations = map[string]func(m *trace.Trace, choose kubelet.Chooser) bool{
	"a line moved": func(m *trace.Trace, choose kubelet.Chooser) bool {
		at := which(m, func(e *trace.Entry) bool { return e.Log != nil })
		if len(at) < 2 {
			return false
		}
		from, to := choose(len(at)), choose(len(at))
		lines := linesOf(m, at)
		l := lines[from]
		lines = slices.Insert(slices.Delete(lines, from, from+1), to, l)
		for i, old := range linesOf(m, at) { // the stamps stay where they are
			lines[i].Time = old.Time
			text := lines[i].Format()
			m.Entries[at[i]].Log = &text
		}
		return from != to
	},
	"a line repeated": func(m *trace.Trace, choose kubelet.Chooser) bool {
		at := which(m, func(e *trace.Entry) bool { return e.Log != nil })
		if len(at) < 2 {
			return false
		}
		from := choose(len(at) - 1)
		after := from + 1 + choose(len(at)-1-from)
		lines := linesOf(m, at)
		lines[from].Time = lines[after].Time
		text := lines[from].Format()
		m.Entries = slices.Insert(m.Entries, at[after]+1, trace.Entry{At: m.Entries[at[after]].At, Log: &text})
		return true
	},
	"a line of another instance": func(m *trace.Trace, choose kubelet.Chooser) bool {
		at := which(m, func(e *trace.Entry) bool { return e.Log != nil })
		if len(at) == 0 {
			return false
		}
		from := choose(len(at))
		after := from + choose(len(at)-from)
		lines := linesOf(m, at)
		lines[from].Time = lines[after].Time
		lines[from].Run++
		text := lines[from].Format()
		m.Entries = slices.Insert(m.Entries, at[after]+1, trace.Entry{At: m.Entries[at[after]].At, Log: &text})
		return true
	},
	"a stop that lasts": func(m *trace.Trace, choose kubelet.Chooser) bool {
		at := which(m, func(e *trace.Entry) bool { return e.Log != nil })
		lines := linesOf(m, at)
		told := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Mark.Kind == trace.Signal })
		if told < 0 {
			return false
		}
		goesOn := told + 1 + slices.IndexFunc(lines[told+1:], func(l trace.Line) bool {
			return l.Container == lines[told].Container && l.Run == lines[told].Run
		})
		if goesOn == told {
			return false
		}
		if startsAcross(m, at[goesOn], lines[goesOn].Time) {
			return false // the node would look slow
		}
		// All that comes from there on comes five minutes later.
		for i := at[goesOn]; i < len(m.Entries); i++ {
			later(&m.Entries[i], lines[goesOn].Time, 5*time.Minute)
		}
		for i := goesOn; i < len(lines); i++ {
			lines[i].Time = lines[i].Time.Add(5 * time.Minute)
			text := lines[i].Format()
			m.Entries[at[i]].Log = &text
		}
		return true
	},
	"updates exchanged": func(m *trace.Trace, choose kubelet.Chooser) bool {
		at := which(m, func(e *trace.Entry) bool { return e.Pod != nil })
		if len(at) < 2 {
			return false
		}
		one, other := &m.Entries[at[choose(len(at))]], &m.Entries[at[choose(len(at))]]
		one.Pod, other.Pod = other.Pod, one.Pod
		return one != other
	},
	"a container as it was before": func(m *trace.Trace, choose kubelet.Chooser) bool {
		at := which(m, func(e *trace.Entry) bool { return e.Pod != nil && len(e.Pod.Status.ContainerStatuses) > 0 })
		if len(at) < 2 {
			return false
		}
		to := 1 + choose(len(at)-1)
		from := choose(to)
		one, old := m.Entries[at[to]].Pod.DeepCopy(), m.Entries[at[from]].Pod
		lists := [][2][]corev1.ContainerStatus{{one.Status.InitContainerStatuses, old.Status.InitContainerStatuses}, {one.Status.ContainerStatuses, old.Status.ContainerStatuses}}
		list := lists[choose(2)]
		if len(list[0]) == 0 || len(list[0]) != len(list[1]) {
			return false
		}
		c := choose(len(list[0]))
		list[0][c] = list[1][c]
		m.Entries[at[to]].Pod = one
		return true
	},
	"another phase": inStatus(func(st *corev1.PodStatus, choose kubelet.Chooser) {
		st.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}[choose(4)]
	}),
	"another condition": inStatus(func(st *corev1.PodStatus, choose kubelet.Chooser) {
		c := &st.Conditions[choose(len(st.Conditions))]
		if c.Status == corev1.ConditionTrue {
			c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
			return
		}
		c.Status = corev1.ConditionTrue
	}),
	"another ready": inStatus(func(st *corev1.PodStatus, choose kubelet.Chooser) {
		cs := &st.ContainerStatuses[choose(len(st.ContainerStatuses))]
		cs.Ready = !cs.Ready
	}),
	"another restartCount": inStatus(func(st *corev1.PodStatus, choose kubelet.Chooser) {
		st.ContainerStatuses[choose(len(st.ContainerStatuses))].RestartCount += int32(1 - 2*choose(2))
	}),
}

// startsAcross reports whether a container is created before a time, and started after it, as Events tell.
func startsAcross(m *trace.Trace, from int, cut time.Time) bool {
	return slices.ContainsFunc(m.Entries[from:], func(e trace.Entry) bool {
		return e.Event != nil && (e.Event.Reason == "Started" || e.Event.Reason == "Created") && !e.Event.LastTimestamp.Time.After(cut.Add(2*time.Second))
	})
}

// later shifts an entry, and the times in it that are not before the cut.
func later(e *trace.Entry, cut time.Time, by time.Duration) {
	shift := func(at *metav1.Time) {
		if !at.Time.Before(cut.Truncate(time.Second)) {
			at.Time = at.Time.Add(by)
		}
	}
	e.At = e.At.Add(by)
	if e.Event != nil {
		event := *e.Event
		shift(&event.FirstTimestamp)
		shift(&event.LastTimestamp)
		e.Event = &event
	}
	if e.Pod == nil {
		return
	}
	e.Pod = e.Pod.DeepCopy()
	for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses} {
		for i := range list {
			for _, state := range []*corev1.ContainerState{&list[i].State, &list[i].LastTerminationState} {
				if state.Running != nil {
					shift(&state.Running.StartedAt)
				}
				if state.Terminated != nil {
					shift(&state.Terminated.StartedAt)
					shift(&state.Terminated.FinishedAt)
				}
			}
		}
	}
}

// inStatus changes the status of one update that shows the containers.
func inStatus(change func(st *corev1.PodStatus, choose kubelet.Chooser)) func(m *trace.Trace, choose kubelet.Chooser) bool {
	return func(m *trace.Trace, choose kubelet.Chooser) bool {
		at := which(m, func(e *trace.Entry) bool {
			return e.Pod != nil && len(e.Pod.Status.ContainerStatuses) > 0 && len(e.Pod.Status.Conditions) > 0
		})
		if len(at) == 0 {
			return false
		}
		e := &m.Entries[at[choose(len(at))]]
		e.Pod = e.Pod.DeepCopy()
		change(&e.Pod.Status, choose)
		return true
	}
}

// which are the places of the entries of a kind.
func which(m *trace.Trace, kind func(e *trace.Entry) bool) []int {
	var at []int
	for i := range m.Entries {
		if kind(&m.Entries[i]) {
			at = append(at, i)
		}
	}
	return at
}

// linesOf reads the lines in these places, which the kubelet wrote.
func linesOf(m *trace.Trace, at []int) []trace.Line {
	lines := make([]trace.Line, len(at))
	for i, n := range at {
		l, err := trace.ParseLine(*m.Entries[n].Log)
		if err != nil {
			panic(err)
		}
		lines[i] = l
	}
	return lines
}
