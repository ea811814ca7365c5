package reference

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// mayBeginAnew reports whether all containers may have been started anew since
// the last time: the sandbox was lost, or a container asked for it. Where the
// Pod has ended since, that was before, and nothing was seen of it.
func (r *reading) mayBeginAnew(s *state) bool {
	if !slices.ContainsFunc(s.c, func(c instance) bool { return !c.fresh }) {
		return false
	}
	for i := range s.c {
		if s.ending.known() && (s.c[i].kill == byEnding || r.seenOf(s, i).last >= s.ending.obs) {
			return false
		}
	}
	return r.ev.newSandbox && r.p.policy != corev1.RestartPolicyNever || r.asksForAll(s)
}

// sandboxLost reports whether the sandbox may have been replaced since the
// last time. Where nothing is started again it is not, and all is stopped; but what
// is stopped then may exit with a code for which it asks for all to be restarted
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *reading) sandboxLost(s *state) bool {
	replaced := r.p.policy != corev1.RestartPolicyNever || r.p.gates[gateRestartAll] != ""
	return r.ev.newSandbox && replaced && !s.ending.known()
}

// leftSandbox is what shows that a sandbox which is lost for good has all containers
// stopped: none is started again in it.
func (r *reading) leftSandbox(s *state) cause {
	var first cause
	for j := range s.c {
		if c := &s.c[j]; c.kill == bySandbox && r.p.policy == corev1.RestartPolicyNever && (!first.known() || c.killed.obs < first.obs) {
			first = cause{c.killed.obs, ruleNoStart}
		}
	}
	return first
}

// asksForAll reports whether a container has exited with a code for which one
// of its rules restarts all containers.
func (r *reading) asksForAll(s *state) bool {
	_, asks := r.asked(s)
	return asks
}

// asked is the exit, or the last sign, of a container that asks for all to be
// restarted.
func (r *reading) asked(s *state) (cause, bool) {
	if _, ok := r.p.gates[gateRestartAll]; !ok {
		return cause{}, false
	}
	for i := range r.p.containers {
		spec, x := &r.p.containers[i], r.seenOf(s, i)
		if len(spec.rules) == 0 {
			continue
		}
		if r.ev.c[i].askedAll && r.ev.c[i].runs > s.c[i].run {
			// One that was started since and wrote nothing may have, as a status
			// shows that one did.
			return cause{x.last, ruleRestartAll}, true
		}
		if s.c[i].fresh {
			continue
		}
		// A main process that logs no end may have exited with any code; one
		// that died before it could has the code that a status shows, if one can.
		if x.mainEnd == 0 && (x.mainBegin == 0 || r.ev.c[i].askedAll || r.ev.c[i].unseenEnd || r.logOnly) || x.mainEnd != 0 && r.mayExit(i, x, spec.restartsAllFor) {
			return cause{max(x.mainEnd, x.last), ruleRestartAll}, true
		}
	}
	return cause{}, false
}

// beginAnew is the hidden step to a new round: every instance has ended, and
// the Pod begins with its first init container.
func (r *reading) beginAnew(s state, n int) state {
	t := s.clone()
	t.anew = true
	t.synced = cause{}
	for i := range t.c {
		if r.p.containers[i].role != ephemeral {
			// One that was created and never ran is not counted by the log.
			run := r.h[i].newest().run
			t.c[i] = instance{run: run, before: -1, fresh: true}
			if r.p.containers[i].role == sidecar {
				t.c[i].before = run
			}
		}
	}
	return t
}
