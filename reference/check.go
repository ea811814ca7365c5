package reference

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// maxStates bounds the set of states. More than this many ways to read a trace
// do not occur in one that a kubelet made; past it the verdict is inconclusive.
const maxStates = 4096

// Check holds the trace against the model of a correct kubelet. The Pod may be
// the manifest or the object that the API server made of it.
func Check(k Kubelet, pod *corev1.Pod, t *trace.Trace) Verdict {
	p, unknown := newPlan(pod)
	if len(unknown) > 0 {
		return Verdict{Outcome: Unmodelled, Unmodelled: unknown, Reason: "the Pod uses fields that the model does not know"}
	}
	if t == nil || len(t.Entries) == 0 {
		return Verdict{Outcome: Inconclusive, Reason: "nothing was recorded"}
	}
	if acts := unknownActs(t); len(acts) > 0 {
		return Verdict{Outcome: Unmodelled, Unmodelled: acts, Reason: "the trace holds acts that the model does not know"}
	}
	obs, err := observe(t, p)
	if err != nil {
		return broken(t, err)
	}
	m := newModel(k, p, obs, t.LogOnly)
	states := []state{newState(p)}
	for n := range obs {
		next, d := m.advance(states, n)
		if len(next) == 0 {
			return m.refuse(states, n, d)
		}
		if len(next) > maxStates {
			return Verdict{Outcome: Inconclusive, Accepted: n, Line: obs[n].entry.Line, Reason: fmt.Sprintf("more than %d ways to read the trace up to here", maxStates)}
		}
		states = next
	}
	return m.accept(t)
}

func newModel(k Kubelet, p plan, obs []observation, logOnly bool) *model {
	m := &model{k: k, p: p, obs: obs, ev: gather(p, obs, logOnly), deleteAt: len(obs), shownBefore: make([]int32, len(obs))}
	var shown int32
	for n, o := range obs {
		m.shownBefore[n] = shown
		switch e := o.entry; {
		case e.Pod != nil:
			shown = int32(n) + 1
		case e.Did != nil && e.Did.Name == trace.ActDelete && m.deleteAt == len(obs):
			m.deleteAt = n
		}
	}
	return m
}

// advance maps a set of states over observation n. The denial is that of the
// first state, the one that assumes the fewest faults.
func (m *model) advance(states []state, n int) ([]state, *denial) {
	var next []state
	var first *denial
	for _, s := range states {
		after, d := m.step(s, n)
		if first == nil {
			first = d
		}
		for _, t := range after {
			known := false
			for _, u := range next {
				known = known || u.same(t)
			}
			if !known {
				next = append(next, t)
			}
		}
	}
	return next, first
}

func (m *model) refuse(states []state, n int, d *denial) Verdict {
	o := m.obs[n]
	v := Verdict{
		Outcome:  Violation,
		Rule:     d.rule,
		Line:     o.entry.Line,
		Log:      o.text,
		Accepted: n,
		Reason:   d.why,
		Allowed:  m.allowed(states),
	}
	for _, c := range d.because {
		b := m.obs[c.obs-1]
		v.Because = append(v.Because, Because{Line: b.entry.Line, Log: b.text, Rule: c.rule})
	}
	if v.Reason == "" {
		v.Reason = reasonOf(d, o, v)
	}
	if issue := knownIssue(m.k, d.rule); issue != "" {
		v.Outcome, v.Issue = Known, issue
	}
	return v
}

// reasonOf says what the refused line and the earlier one have to do with each
// other, where the rule alone does not.
func reasonOf(d *denial, o observation, v Verdict) string {
	if len(v.Because) == 0 {
		return "no state of a correct kubelet admits this here"
	}
	what := "this"
	if o.entry.Log != nil {
		what = fmt.Sprintf("the %s of %s", o.log.Actor, o.log.Container)
	}
	switch earlier := v.Because[0].Line; d.rule {
	case ruleBlocksNext, ruleAfterSync, ruleBetweenSyncs, ruleTermAfterSync, ruleRestartSerial:
		return fmt.Sprintf("line %d shows that %s had ended, and here it goes on", earlier, what)
	case ruleObjectLast, ruleTogether, ruleInstances:
		return fmt.Sprintf("line %d shows that the instance was over, and here it goes on", earlier)
	default:
		return fmt.Sprintf("line %d forbids it", earlier)
	}
}

// allowed lists the log lines that some state would have admitted next.
func (m *model) allowed(states []state) []string {
	var out []string
	for i, s := range m.p.containers {
		for _, a := range trace.Actors() {
			if !s.has(a) {
				continue
			}
			var marks []trace.Mark
			switch {
			case a.IsProbe():
				marks = []trace.Mark{{Kind: trace.End, N: 0}}
			case a.IsHook():
				marks = []trace.Mark{{Kind: trace.Begin, N: -1}, {Kind: trace.Tick, N: -1}, {Kind: trace.End, N: 0}}
			default:
				marks = []trace.Mark{{Kind: trace.Begin, N: -1}, {Kind: trace.Tick, N: -1}, {Kind: trace.Signal, N: -1, Signal: "TERM"}, {Kind: trace.End, N: 0}}
			}
			for _, mark := range marks {
				l := trace.Line{Container: s.name, Run: trace.NoRun, Actor: a, Mark: mark}
				if m.admits(states, i, l) {
					out = append(out, pattern(l))
				}
			}
		}
	}
	return out
}

// admits asks the states for a line that was not seen.
func (m *model) admits(states []state, i int, l trace.Line) bool {
	text := l.String()
	ask := *m
	ask.obs = append(m.obs[:len(m.obs):len(m.obs)], observation{entry: &trace.Entry{Log: &text}, c: i, log: l, text: text})
	ask.shownBefore = append(m.shownBefore[:len(m.obs):len(m.obs)], 0)
	next, _ := ask.advance(states, len(m.obs))
	return len(next) > 0
}

// pattern writes a line as a case would, with its mark spelled out.
func pattern(l trace.Line) string {
	s := l.String()
	if l.Mark.Kind == trace.Tick {
		s += ": tick"
	}
	return s
}

func (m *model) accept(t *trace.Trace) Verdict {
	v := Verdict{Outcome: Pass, Accepted: len(m.obs)}
	for _, o := range m.obs {
		if g := o.entry.Gap; g != nil {
			v.Outcome = Inconclusive
			v.Reason = fmt.Sprintf("line %d: something may be missing from %s: %s", o.entry.Line, g.Channel, g.Why)
			return v
		}
	}
	switch {
	case t.Logs() == 0:
		v.Outcome = Inconclusive
		v.Reason = "the log is empty"
	case !m.k.Known():
		v.Outcome = Inconclusive
		v.Reason = fmt.Sprintf("the model covers kubelets from v%d.%d to v%d.%d; %s was judged as the nearest of them", oldest.Major, oldest.Minor, newest.Major, newest.Minor, m.k)
	}
	return v
}

func broken(t *trace.Trace, err error) Verdict {
	v := Verdict{Outcome: Broken, Reason: err.Error()}
	var at *trace.Error
	if errors.As(err, &at) {
		v.Line = at.Line
		for i := range t.Entries {
			if e := &t.Entries[i]; e.Line == at.Line && e.Log != nil {
				v.Log, v.Accepted = *e.Log, i
			}
		}
	}
	return v
}

// unknownActs names the acts of a trace that the model has no rules for.
func unknownActs(t *trace.Trace) []string {
	var names []string
	seen := map[string]bool{}
	for i := range t.Entries {
		d := t.Entries[i].Did
		if d == nil || d.Name == trace.ActApply || d.Name == trace.ActDelete || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		names = append(names, "did."+d.Name)
	}
	return names
}
