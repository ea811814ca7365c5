package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference/internal/judge"
	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// Check compares the trace with the model of a correct kubelet. The Pod may be
// the manifest or the object that the API server made from it.
//
// If the model does not cover the kubelet, the reason of the verdict says as which
// version it was judged.
func Check(k Kubelet, pod *corev1.Pod, t *trace.Trace) Verdict {
	return LogKnown{}.Check(k, pod, t)
}

// check has the judge look at a trace: whose Pod it is, and whether it is a log alone, is
// filled in here.
func check(j judge.Judge, pod *corev1.Pod, t *trace.Trace) Verdict {
	k := j.Kubelet
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
		return Verdict{Outcome: Unmodelled, Unmodelled: acts, Reason: "the trace has acts that the model does not know"}
	}
	obs, err := record.Observe(t, p)
	if err != nil {
		return broken(t, err)
	}
	j.Pod, j.LogOnly = p, t.LogOnly
	res := j.Trace(obs)
	switch {
	case res.Refusal != nil:
		g := stoodStill(obs)
		if g != nil && j.Untimed().Passes(obs) {
			return standstill(g, refused(res))
		}
		v = explain(j.Kubelet.Deviations(), refused(res), func(with rules.DeviationSet, brief bool) (judge.Result, bool) {
			j.Deviations, j.Brief = with, brief
			res := j.Trace(obs)
			return res, res.Accepted == len(obs)
		})
		j.Deviations = j.Kubelet.Deviations()
		if g != nil && v.Outcome == Violation && j.Untimed().Passes(obs) {
			return standstill(g, v)
		}
		return alone(j, v, res, len(obs))
	case res.Accepted < len(obs):
		return undecided(res.Accepted, obs[res.Accepted].Entry.Line)
	}
	for i := range t.Entries {
		if g := t.Entries[i].Gap; g != nil && g.Channel != trace.GapClock {
			return Verdict{
				Outcome: Inconclusive, Accepted: len(obs),
				Reason: fmt.Sprintf("line %d: something may be missing from %s: %s", t.Entries[i].Line, g.Channel, g.Why),
			}
		}
	}
	v = accept(k, len(obs), t.Logs())
	v.Unshown = slices.Collect(res.Unshown.All())
	v = v.unlessUnheard(p, res, func(q *podspec.Pod) judge.Result {
		k := j
		k.Pod = q
		return k.Trace(obs)
	})
	return alone(j, v, res, len(obs))
}

// CheckLog judges a log alone, as Check does with a trace that is
// [trace.Trace.LogOnly]. It needs little memory: it reads the log once, and a
// second time only if a line is refused.
func CheckLog(k Kubelet, pod *corev1.Pod, log io.ReadSeeker) Verdict {
	return LogKnown{}.CheckLog(k, pod, log)
}

// checkLog has the judge look at a log: the Pod of it is filled in here.
func checkLog(j judge.Judge, pod *corev1.Pod, log io.ReadSeeker) Verdict {
	k := j.Kubelet
	p, v := planFor(k, pod)
	if v.Outcome != 0 {
		return v
	}
	j.Pod, j.LogOnly = p, true
	res, lines, err := j.Log(log)
	switch {
	case errors.Is(err, judge.ErrTooLarge):
		return Verdict{Outcome: Inconclusive, Line: lines, Reason: err.Error()}
	case err != nil:
		v := broken(&trace.Trace{}, err)
		v.Accepted = res.Accepted
		return v
	case lines == 0:
		return Verdict{Outcome: Inconclusive, Reason: "nothing was recorded"}
	case res.Refusal != nil:
		v = explain(k.Deviations(), refused(res), func(deviations rules.DeviationSet, brief bool) (judge.Result, bool) {
			j.Deviations, j.Brief = deviations, brief
			res, _, err := j.Log(log)
			return res, err == nil && res.Accepted == lines
		})
		return alone(j, v, res, lines)
	case res.Accepted < lines:
		return undecided(res.Accepted, res.Accepted+1)
	}
	v = accept(k, lines, lines)
	v.Unshown = slices.Collect(res.Unshown.All())
	v = v.unlessUnheard(p, res, func(q *podspec.Pod) judge.Result {
		k := j
		k.Pod = q
		res, _, err := k.Log(log)
		if err != nil {
			return judge.Result{}
		}
		return res
	})
	return alone(j, v, res, lines)
}

// refused is the verdict on an observation that breaks a rule.
func refused(res judge.Result) Verdict {
	f := res.Refusal
	v := Verdict{Outcome: Violation, Rule: f.Rule, Line: f.Line, Log: f.Log, Accepted: res.Accepted, Reason: f.Reason, Allowed: f.Allowed}
	for _, w := range f.Because {
		v.Because = append(v.Because, Because(w))
	}
	if d := f.Due; d != nil {
		v.Overdue = &Overdue{After: d.After, What: d.Due, Since: d.Since, Within: d.Within, Patience: d.Patience}
	}
	return v
}

// planFor reads the Pod. The verdict has an outcome only if the model does not know a field of it.
func planFor(k Kubelet, pod *corev1.Pod) (*podspec.Pod, Verdict) {
	p, unknown := podspec.New(pod)
	if unknown = append(unknown, p.Needs(k)...); len(unknown) > 0 {
		return nil, Verdict{Outcome: Unmodelled, Unmodelled: unknown, Reason: "the Pod uses fields that the model does not know"}
	}
	return &p, Verdict{}
}

// stoodStill returns the entry that says that the node stood still for a while, or nil.
func stoodStill(obs []record.Observation) *trace.Entry {
	for n := range obs {
		if g := obs[n].Entry.Gap; g != nil && g.Channel == trace.GapClock {
			return obs[n].Entry
		}
	}
	return nil
}

// standstill is the verdict where nothing is refused but what may be late because the node stood
// still, as entry g says.
func standstill(g *trace.Entry, v Verdict) Verdict {
	return Verdict{
		Outcome: Inconclusive, Accepted: v.Accepted, Line: v.Line, Log: v.Log, Deviations: v.Deviations,
		Reason: fmt.Sprintf("line %d: %s; without that, this line would break %s: %s", g.Line, g.Gap.Why, v.Rule, v.Reason),
	}
}

func undecided(n, line int) Verdict {
	return Verdict{Outcome: Inconclusive, Accepted: n, Line: line, Reason: "there are too many ways to read the trace up to this line; not all of them were tried"}
}

func accept(k Kubelet, accepted, logs int) Verdict {
	v := Verdict{Outcome: Pass, Accepted: accepted}
	switch {
	case logs == 0:
		v.Outcome = Inconclusive
		v.Reason = "the log is empty"
	case !k.Known():
		v.Outcome = Inconclusive // of says why
	}
	return v
}

// of adds to the reason of a verdict that the model does not cover the kubelet. A
// trace that cannot be read needs no such note: it is broken for every kubelet.
func (v Verdict) of(k Kubelet) Verdict {
	if note := k.Uncovered(); note != "" && v.Outcome != Broken {
		v.Reason = strings.TrimPrefix(v.Reason+"; "+note, "; ")
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
	case trace.ActApply, trace.ActRemove, trace.ActDelete, trace.ActEvict, trace.ActPatch, trace.ActDebug, trace.ActLook, trace.ActReplace:
		return true
	case trace.ActErase:
		return d.Target() != ""
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
