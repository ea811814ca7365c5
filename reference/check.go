package reference

import (
	"errors"
	"fmt"
	"slices"

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
	unknown = append(unknown, p.needs(k)...)
	if len(unknown) > 0 {
		return Verdict{Outcome: Unmodelled, Unmodelled: unknown, Reason: "the Pod uses fields that the model does not know"}
	}
	if t == nil || len(t.Entries) == 0 {
		return Verdict{Outcome: Inconclusive, Reason: "nothing was recorded"}
	}
	if acts := unknownActs(t); len(acts) > 0 {
		return Verdict{Outcome: Unmodelled, Unmodelled: acts, Reason: "the trace holds acts that the model does not know"}
	}
	obs, err := observe(t, &p)
	if err != nil {
		return broken(t, err)
	}
	m := &model{k: k, p: &p, obs: obs, ev: gather(&p, obs, t.LogOnly)}
	r := newReading(m)
	for n := range obs {
		if d := r.advance(n); d != nil {
			return r.refuse(n, d)
		}
		if len(r.states) > maxStates {
			return Verdict{Outcome: Inconclusive, Accepted: n, Line: obs[n].entry.Line, Reason: fmt.Sprintf("more than %d ways to read the trace up to here", maxStates)}
		}
	}
	return m.accept(t)
}

// advance maps the set of states over observation n, and takes it into the
// history. The denial, which leaves everything as it was, is that of the first
// state, the one that assumes the fewest faults.
func (r *reading) advance(n int) *denial {
	var next []state
	var first *denial
	for _, s := range r.states {
		after, d := r.step(s, n)
		first = firstOf(first, d)
		for _, t := range after {
			if !slices.ContainsFunc(next, t.same) {
				next = append(next, t)
			}
		}
	}
	if len(next) == 0 {
		return first
	}
	r.states = next
	r.record(n)
	return nil
}

// record takes an accepted observation into the history.
func (r *reading) record(n int) {
	o := &r.obs[n]
	switch e := o.entry; {
	case o.isLog:
		r.h[o.c].record(r.runOf(o.c, &o.log), &o.log, n)
	case e.Event != nil:
		r.hear(n)
	case e.Pod != nil:
		r.shownAt = int32(n) + 1
		for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses} {
			for i := range list {
				if c, ok := r.p.index[list[i].Name]; ok {
					r.h[c].show(&list[i])
				}
			}
		}
	}
}

// copy is a reading of its own from here on.
func (r *reading) copy() *reading {
	c := *r
	c.h = slices.Clone(r.h)
	for i := range c.h {
		c.h[i].runs = slices.Clone(c.h[i].runs)
	}
	return &c
}

func (r *reading) refuse(n int, d *denial) Verdict {
	o := &r.obs[n]
	v := Verdict{
		Outcome:  Violation,
		Rule:     d.rule,
		Line:     o.entry.Line,
		Log:      o.text(),
		Accepted: n,
		Reason:   d.why,
		Allowed:  r.allowed(),
	}
	for _, c := range d.because {
		b := &r.obs[c.obs-1]
		v.Because = append(v.Because, Because{Line: b.entry.Line, Log: b.text(), Rule: c.rule})
	}
	if v.Reason == "" {
		v.Reason = reasonOf(d, o, v)
	}
	if issue := knownIssue(r.k, d.rule); issue != "" {
		v.Outcome, v.Issue = Known, issue
	}
	return v
}

// reasonOf says what the refused line and the earlier one have to do with each
// other, where the rule alone does not.
func reasonOf(d *denial, o *observation, v Verdict) string {
	if len(v.Because) == 0 {
		return "no state of a correct kubelet admits this here"
	}
	what := "this"
	if o.isLog {
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
func (r *reading) allowed() []string {
	var out []string
	for i, s := range r.p.containers {
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
				if r.admits(i, l) {
					out = append(out, pattern(l))
				}
			}
		}
	}
	return out
}

// admits asks the states for a line that was not seen. It is taken to be
// written right after the last one that was.
func (r *reading) admits(i int, l trace.Line) bool {
	n := len(r.obs)
	for k := n - 1; k >= 0; k-- {
		if o := &r.obs[k]; o.isLog && o.log.Time.After(l.Time) {
			l.Time, l.Whole = o.log.Time, o.log.Whole
		}
	}
	m := *r.model
	m.obs = append(m.obs[:n:n], observation{entry: &trace.Entry{}, isLog: true, c: i, log: l})
	ask := *r
	ask.model = &m
	return slices.ContainsFunc(r.states, func(s state) bool {
		next, _ := ask.step(s, n)
		return len(next) > 0
	})
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
	for i := range m.obs {
		o := &m.obs[i]
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
		if d == nil || known(d) || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		names = append(names, "did."+d.Name)
	}
	return names
}

func known(d *trace.Act) bool {
	switch d.Name {
	case trace.ActApply, trace.ActDelete, trace.ActEvict, trace.ActPatch:
		return true
	case trace.ActRestart:
		return d.Target() == "kubelet" || d.Target() == "node"
	case trace.ActStop:
		return d.Target() == "kubelet" || d.Target() == "sandbox"
	case trace.ActStart:
		return d.Target() == "kubelet"
	}
	return false
}
