package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// maxStates bounds the set of states: hardly any trace that a kubelet made has more ways
// to be read. Those of a set beyond wide are counted together, from one
// observation and one reading to the next, and there are no more than maxWork. Past either
// bound nothing is decided.
const (
	maxStates = 4096
	wide      = 64
	maxWork   = 1 << 19
)

// budget is what a reading may spend: the states of one set, and what is left of maxWork.
type budget struct{ states, work int }

// judging is the budget of a judgement, and unbounded that of what is small by itself.
func judging() budget   { return budget{maxStates, maxWork} }
func unbounded() budget { return budget{math.MaxInt, math.MaxInt} }

// Check holds the trace against the model of a correct kubelet. The Pod may be
// the manifest or the object that the API server made of it.
func Check(k Kubelet, pod *corev1.Pod, t *trace.Trace) Verdict {
	pod, err := withDebug(pod, t)
	if err != nil {
		return broken(t, err)
	}
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return v
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
	switch r, n, d := readNumbered(k, p, obs, t.LogOnly, judging()); {
	case d != nil:
		if g := stoodStill(obs); g != nil && passesUntimed(k, p, obs, t.LogOnly) {
			v := r.refuse(n, &obs[n], d)
			return Verdict{
				Outcome: Inconclusive, Accepted: n, Line: v.Line, Log: v.Log,
				Reason: fmt.Sprintf("line %d: %s; else this line would be refused by %s: %s", g.Line, g.Gap.Why, v.Rule, v.Reason),
			}
		}
		return r.refuse(n, &obs[n], d)
	case n < len(obs):
		return undecided(n, obs[n].entry.Line)
	}
	for i := range t.Entries {
		if g := t.Entries[i].Gap; g != nil && g.Channel != trace.GapClock {
			return Verdict{
				Outcome: Inconclusive, Accepted: len(obs),
				Reason: fmt.Sprintf("line %d: something may be missing from %s: %s", t.Entries[i].Line, g.Channel, g.Why),
			}
		}
	}
	return accept(k, len(obs), t.Logs())
}

// stoodStill is what tells that the node stood still for a while; nil if nothing does.
func stoodStill(obs []observation) *trace.Entry {
	for n := range obs {
		if g := obs[n].entry.Gap; g != nil && g.Channel == trace.GapClock {
			return obs[n].entry
		}
	}
	return nil
}

// passesUntimed reports whether the observations pass where nothing is late, however long
// it took.
func passesUntimed(k Kubelet, p *plan, obs []observation, logOnly bool) bool {
	_, n, _ := readNumbered(k.untimed(), p, obs, logOnly, judging())
	return n == len(obs)
}

// read reads the observations up to the one that is refused, or that there are too
// many ways to read, which has no denial.
func read(k Kubelet, p *plan, obs []observation, logOnly bool, b budget) (r *reading, n int, d *denial) {
	r = newReading(&model{k: k, p: p, src: recorded(obs), ev: gather(p, obs, logOnly), logOnly: logOnly}, b)
	for n := range obs {
		if d := r.advance(n, &obs[n]); d != nil {
			return r, n, d
		}
		if r.tooMany {
			return r, n, nil
		}
	}
	return r, len(obs), nil
}

// CheckLog holds a log alone against the model, as Check does with a trace that
// is [trace.Trace.LogOnly], in little memory: the log is read once, and again
// where it is refused.
func CheckLog(k Kubelet, pod *corev1.Pod, log io.ReadSeeker) Verdict {
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return v
	}
	f := &logFile{p: p, r: log}
	g := newGatherer(p, true)
	fits := true
	err := f.each(func(n int, o *observation) bool {
		g.take(o, n)
		fits = f.keep(&o.log, o.c)
		return fits
	})
	switch {
	case err != nil:
		v := broken(&trace.Trace{}, err)
		v.Accepted = f.lines
		return v
	case !fits:
		return Verdict{Outcome: Inconclusive, Line: f.lines, Reason: "a number of this line is larger than any that the model looks at"}
	case f.lines == 0:
		return Verdict{Outcome: Inconclusive, Reason: "nothing was recorded"}
	}
	r := newReading(&model{k: k, p: p, src: f, ev: g.evidence(), logOnly: true}, judging())
	var o observation
	for n := range f.lines {
		o = *f.at(n)
		if d := r.advance(n, &o); d != nil {
			some, err := f.pick([]int{n})
			if err != nil {
				return broken(&trace.Trace{}, err)
			}
			r.now = &some[0]
			return r.refuse(n, &some[0], d)
		}
		if r.tooMany {
			return undecided(n, n+1)
		}
	}
	return accept(k, f.lines, f.lines)
}

// planFor reads the Pod; the verdict is one only if the model does not know it.
func planFor(k Kubelet, pod *corev1.Pod) (*plan, Verdict) {
	p, unknown := newPlan(pod)
	if unknown = append(unknown, p.needs(k)...); len(unknown) > 0 {
		return nil, Verdict{Outcome: Unmodelled, Unmodelled: unknown, Reason: "the Pod uses fields that the model does not know"}
	}
	return &p, Verdict{}
}

func undecided(n, line int) Verdict {
	return Verdict{Outcome: Inconclusive, Accepted: n, Line: line, Reason: "there are more ways to read the trace up to here than were tried"}
}

// advance maps the set of states over observation n, and takes it into the
// history. The denial, which leaves everything as it was, is that of the first
// state, the one that assumes the fewest faults. Where the states are too many it
// says so and does neither.
func (r *reading) advance(n int, o *observation) *denial {
	r.now, r.n = o, n
	next := set{states: r.spare[:0]}
	var first *denial
	for i := range r.states {
		after, d := r.step(r.states[i], n)
		if first == nil {
			first = d
		}
		for _, t := range after {
			next.add(&t)
		}
		if len(next.states) > r.left.states {
			r.tooMany = true
			return nil
		}
	}
	if len(next.states) == 0 {
		if r.next || !r.mayBeNext(o) {
			return first
		}
		// The line has no number, and the instance seen so far cannot have
		// written it: it is of the next one.
		r.next = true
		if r.advance(n, o) != nil {
			r.next = false
			return first
		}
		r.next = false
		return nil
	}
	if over := len(next.states) - wide; over > 0 {
		if r.left.work -= over; r.left.work < 0 {
			r.tooMany = true
			return nil
		}
	}
	r.states, r.spare = next.states, r.states
	r.record(n)
	return nil
}

// mayBeNext reports whether a line may be of the instance after the one to which
// it was taken to belong.
func (r *reading) mayBeNext(o *observation) bool {
	return o.isLog && o.log.Run == trace.NoRun && r.h[o.c].newest().run >= 0 && r.runOf(o.c, &o.log) < r.ev.c[o.c].runs
}

// record takes an accepted observation into the history.
func (r *reading) record(n int) {
	o := r.ob(n)
	switch e := o.entry; {
	case o.isLog:
		spec, run := &r.p.containers[o.c], r.runOf(o.c, &o.log)
		old := spec.probe(o.log.Actor).network && run > 0 && (o.log.Actor != trace.StartupProbe || r.startsOld(o.c, run, n)) && !r.shownBy(o.c, run, n)
		other := r.roundsInTrace() || r.ev.c[o.c].changed != 0
		r.h[o.c].record(spec, run, &o.log, n, old, other)
	case e.Event != nil:
		r.hear(n)
	case e.Pod != nil:
		r.shownAt, r.phase = int32(n)+1, e.Pod.Status.Phase
		r.ready = slices.ContainsFunc(e.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		r.initialized = r.initialized || slices.ContainsFunc(e.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodInitialized && c.Status == corev1.ConditionTrue
		})
		for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses} {
			for i := range list {
				if c, ok := r.p.index[list[i].Name]; ok {
					r.h[c].show(&list[i], n)
				}
			}
		}
	}
}

// copy is a reading of its own from here on.
func (r *reading) copy() *reading {
	c := *r
	c.states, c.spare = slices.Clone(r.states), nil
	c.h = slices.Clone(r.h)
	for i := range c.h {
		c.h[i].runs = slices.Clone(c.h[i].runs)
	}
	return &c
}

func (r *reading) refuse(n int, o *observation, d *denial) Verdict {
	v := Verdict{
		Outcome:  Violation,
		Rule:     d.rule,
		Line:     o.entry.Line,
		Log:      o.text(),
		Accepted: n,
		Reason:   d.why,
		Allowed:  r.allowed(),
	}
	var direct int
	v.Because, direct = r.contradiction(n, o, d)
	if v.Reason == "" && len(v.Because) == 0 {
		v.Reason = "no state of a correct kubelet admits this here"
	} else if v.Reason == "" {
		v.Reason = reasonOf(d, o, v.Because[direct].Line)
	}
	if issue := knownIssue(r.k, d.rule); issue != "" {
		v.Outcome, v.Issue = Known, issue
	}
	return v
}

// reasonOf says what the refused line and the earlier one have to do with each
// other, where the rule alone does not.
func reasonOf(d *denial, o *observation, earlier int) string {
	what := "this"
	if o.isLog {
		what = fmt.Sprintf("the %s of %s", o.log.Actor, o.log.Container)
	}
	switch d.rule {
	case ruleBlocksNext, ruleAfterSync, ruleBetweenSyncs, ruleTermAfterSync, ruleRestartSerial:
		if o.isLog && o.log.Actor != trace.PostStart {
			return fmt.Sprintf("line %d shows that the post start hook of %s had returned; it has logged no end, so it died with its container, and here that goes on", earlier, o.log.Container)
		}
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
				marks = []trace.Mark{{Kind: trace.Begin, N: -1}, {Kind: trace.Tick, N: -1}, {Kind: trace.Signal, N: -1, Signal: s.stop}, {Kind: trace.End, N: 0}}
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

// admits asks the states for a line that was not seen, in the place of the one
// that is being taken.
func (r *reading) admits(i int, l trace.Line) bool {
	ask := *r
	if o := r.now; o != nil && o.isLog {
		l.Time, l.Whole = o.log.Time, o.log.Whole
	} else if o != nil {
		l.Time = o.entry.At
	}
	ask.now = &observation{entry: &trace.Entry{}, isLog: true, c: i, log: l}
	return slices.ContainsFunc(r.states, func(s state) bool {
		next, _ := ask.step(s, ask.n)
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

func accept(k Kubelet, accepted, logs int) Verdict {
	v := Verdict{Outcome: Pass, Accepted: accepted}
	switch {
	case logs == 0:
		v.Outcome = Inconclusive
		v.Reason = "the log is empty"
	case !k.Known():
		v.Outcome = Inconclusive
		v.Reason = fmt.Sprintf("the model covers kubelets from v%d.%d to v%d.%d; %s was judged as the nearest of them", oldest.Major, oldest.Minor, newest.Major, newest.Minor, k)
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
	case trace.ActApply, trace.ActRemove, trace.ActDelete, trace.ActEvict, trace.ActPatch, trace.ActDebug:
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

// withDebug returns the Pod with the ephemeral containers that were added to it
// while it ran.
func withDebug(pod *corev1.Pod, t *trace.Trace) (*corev1.Pod, error) {
	if t == nil {
		return pod, nil
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Did == nil || e.Did.Name != trace.ActDebug {
			continue
		}
		var c corev1.EphemeralContainerCommon
		if err := json.Unmarshal(e.Did.Param, &c); err != nil {
			return nil, &trace.Error{Line: e.Line, Err: fmt.Errorf("parameter of act %q: %w", e.Did.Name, err)}
		}
		if slices.ContainsFunc(pod.Spec.EphemeralContainers, func(have corev1.EphemeralContainer) bool { return have.Name == c.Name }) {
			continue
		}
		pod = pod.DeepCopy()
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: c})
	}
	return pod, nil
}
