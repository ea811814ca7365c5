package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/search"
	"github.com/podorder/podorder/reference/trace"
)

// A kubelet that leaves out one thing that is due is blamed for that, in every run of a situation in
// which it comes up, however long each delay is. One that leaves nothing out passes.
func TestOmissionsAreBlamed(t *testing.T) {
	for _, duty := range kubelet.Duties() {
		assert.Check(t, len(situations[duty]) > 0, "no situation for %s", duty)
		for _, s := range situations[duty] {
			t.Run(duty.String()+"/"+s.name, func(t *testing.T) {
				for seed := range uint64(6) {
					correct, _ := played(t, s, kubelet.NoDuty, seed)
					assert.Equal(t, correct.Outcome, reference.Pass, "%s", correct.Text())
					v, story := played(t, s, duty, seed)
					assert.Assert(t, v.Outcome == reference.Violation && slices.Contains(s.rules, v.Rule), "seed %d: %s%s", seed, v.Text(), story)
				}
			})
		}
	}
}

// played judges a run of a situation by a kubelet that leaves out a duty, and tells it.
func played(t *testing.T, s situation, duty kubelet.Duty, seed uint64) (reference.Verdict, fmt.Stringer) {
	t.Helper()
	const version = "v1.37.2"
	p := s.pod
	p.Faults.Omits = duty
	r, err := kubelet.Play(p, version, s.script, kubelet.Seed(seed))
	assert.NilError(t, err)
	k, err := reference.ParseKubelet(version)
	assert.NilError(t, err)
	pod, names := p.Manifest(), []string{}
	for _, c := range p.All() {
		names = append(names, c.Name)
	}
	pod.Annotations = map[string]string{reference.WritesAnnotation: strings.Join(names, ", ")} // as their image would tell
	return reference.Check(k, pod, r.Trace), r
}

// owed are the duties of which a trace itself shows that they were left out, whatever the Pod: each
// reports what does, and "" where nothing does.
var owed = map[kubelet.Duty]func(s *story) string{
	kubelet.PostStartHooks: (*story).shownWithoutHook,
	kubelet.PreStopHooks:   (*story).stoppedWithoutHook,
}

// So is it in Pods of any kind: a run in which a duty was left out that the trace shows to be owed
// is refused.
func TestOmissionsInAnyPodAreBlamed(t *testing.T) {
	for duty, shows := range owed {
		t.Run(duty.String(), func(t *testing.T) {
			blamed, runs := 0, 0
			for seed := uint64(0); blamed < 5 && seed < 5000; seed++ {
				runs++
				choose := odd(seed + 1)
				version := kubelet.Versions()[choose(len(kubelet.Versions()))]
				p := search.AnyPod(version, choose)
				p.Faults.Omits, p.Grace = duty, max(p.Grace, 20) // time for hooks
				tr := kubelet.Run(p, version, choose)
				s := tell(t, p, tr)
				why := ""
				if s.calm() && !s.resets() {
					why = shows(s)
				}
				if why == "" {
					continue
				}
				k, err := reference.ParseKubelet(version)
				assert.NilError(t, err)
				v := reference.Check(k, p.Manifest(), tr)
				assert.Assert(t, v.Outcome == reference.Violation || v.Outcome == reference.Known, "seed %d: %s\n%s%s", seed, why, v.Text(), s)
				blamed++
			}
			assert.Assert(t, blamed == 5, "%d of %d runs show that it is owed", blamed, runs)
		})
	}
}

// shownWithoutHook: an update shows a container running that has a postStart hook which writes, so it
// has ended, and a line shows that it is the instance of the log.
func (s *story) shownWithoutHook() string {
	if s.pod.May.Silent {
		return "" // an instance may have been there before the first that wrote
	}
	wrote := map[string]bool{}
	for _, l := range s.lines {
		if l.Run == 0 && l.Actor == trace.Main {
			wrote[l.Container] = true
		}
	}
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		for _, cs := range slices.Concat(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses) {
			c := s.pod.All()[s.index[cs.Name]]
			if c.PostStart == kubelet.Exec && !c.NoStart && !c.NoCreate && !c.NoImage && cs.State.Running != nil && cs.RestartCount == 0 && wrote[cs.Name] {
				return fmt.Sprintf("line %d shows %s, and its hook has not run", n+2, cs.Name)
			}
		}
	}
	return ""
}

// stoppedWithoutHook: a regular container, which can be stopped for nothing but the deletion of its Pod, got
// TERM within the grace period, and its preStop hook has not run.
func (s *story) stoppedWithoutHook() string {
	if s.did(trace.ActPatch) || s.did(trace.ActEvict) || s.pod.Deadline > 0 {
		return ""
	}
	var over time.Time
	for n, e := range s.tr.Entries {
		switch {
		case e.Did != nil:
			if p, err := e.Did.Delete(); err == nil && p.GracePeriodSeconds != nil {
				grace := min(int(*p.GracePeriodSeconds), s.pod.Grace)
				if end := e.At.Add(time.Duration(grace) * time.Second); over.IsZero() || end.Before(over) {
					over = end
				}
			}
		case e.Log != nil:
			l, err := trace.ParseLine(*e.Log)
			if err != nil {
				return ""
			}
			c := s.spec(l)
			only := c.PreStop == kubelet.Exec && c.PostStart == kubelet.None && c.Liveness == nil && c.Startup == nil
			if only && s.regular(l) && l.Mark.Kind == trace.Signal && l.Time.Before(over.Add(-2*time.Second)) {
				return fmt.Sprintf("line %d: %s is stopped, and its hook has not run", n+2, l.Container)
			}
		}
	}
	return ""
}
