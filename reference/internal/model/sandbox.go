package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// mayStartOver reports whether all containers may have been started anew since
// the last time: the sandbox was lost, or a container asked for it. Where the
// Pod has ended since, that was before, and nothing was seen of it.
func (r *Reading) mayStartOver(s *State) bool {
	if !slices.ContainsFunc(s.c, func(c instance) bool { return c.progress.isStarted() }) {
		return false
	}
	for i := range s.c {
		if s.terminating.known() && (s.c[i].kill == byTermination || r.seenOf(s, i).last >= s.terminating.Obs) {
			return false
		}
	}
	return r.ev.NewSandbox && r.p.Policy != corev1.RestartPolicyNever || r.mayRestartAll(s)
}

// sandboxMayBeReplaced reports whether the sandbox may have been replaced since the
// last time. Where nothing is started again it is not, and all is stopped; but what
// is stopped then may exit with a code for which it asks for all to be restarted
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *Reading) sandboxMayBeReplaced(s *State) bool {
	replaced := r.p.Policy != corev1.RestartPolicyNever || r.p.Gates[rules.GateRestartAll] != ""
	return r.ev.NewSandbox && replaced && !s.terminating.known()
}

// stoppedWithSandbox is what shows that a sandbox which is lost for good has all containers
// stopped: none is started again in it.
func (r *Reading) stoppedWithSandbox(s *State) Cause {
	var first Cause
	for j := range s.c {
		if c := &s.c[j]; c.kill == bySandbox && r.p.Policy == corev1.RestartPolicyNever && (!first.known() || c.killCause.Obs < first.Obs) {
			first = Cause{c.killCause.Obs, rules.NoStart}
		}
	}
	return first
}

// mayRestartAll reports whether a container has exited with a code for which one
// of its rules restarts all containers.
func (r *Reading) mayRestartAll(s *State) bool {
	_, asks := r.restartAllAsked(s)
	return asks
}

// restartAllAsked is the exit, or the last sign, of a container that asks for all to be
// restarted.
func (r *Reading) restartAllAsked(s *State) (Cause, bool) {
	if _, ok := r.p.Gates[rules.GateRestartAll]; !ok {
		return Cause{}, false
	}
	for i := range r.p.Containers {
		spec, x := &r.p.Containers[i], r.seenOf(s, i)
		if len(spec.Rules) == 0 {
			continue
		}
		if r.ev.Containers[i].AskedRestartAll && r.ev.Containers[i].NewestRun > s.c[i].run {
			// One that was started since and wrote nothing may have, as a status
			// shows that one did.
			return Cause{x.last, rules.RestartAll}, true
		}
		if s.c[i].progress.isUnstarted() {
			continue
		}
		// A main process that logs no end may have exited with any code; one
		// that died before it could has the code that a status shows, if one can.
		if x.mainEnd == 0 && (x.mainBegin == 0 || r.ev.Containers[i].AskedRestartAll || r.ev.Containers[i].EndNotShown || r.logOnly) || x.mainEnd != 0 && r.mayHaveExitedWith(i, x, spec.RestartsAllFor) {
			return Cause{max(x.mainEnd, x.last), rules.RestartAll}, true
		}
	}
	return Cause{}, false
}

// startOver is the hidden step to a new round: every instance has ended, and
// the Pod begins with its first init container.
func (r *Reading) startOver(s State, n int) State {
	t := s.clone()
	t.startedOver = true
	t.startSyncEnded = Cause{}
	for i := range t.c {
		if r.p.Containers[i].Role != podspec.Ephemeral {
			// One that was created and never ran is not counted by the log.
			run := r.h[i].newest().run
			t.c[i] = instance{run: run, runBeforeRound: -1}
			if r.p.Containers[i].Role == podspec.Sidecar {
				t.c[i].runBeforeRound = run
			}
		}
	}
	return t
}

// sandboxLostForGood reports whether a sandbox was lost that is not replaced: the sync that
// finds it so stops all that is left of the Pod (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodActions).
func (r *Reading) sandboxLostForGood() bool {
	return r.ev.NewSandbox && r.p.Policy == corev1.RestartPolicyNever
}

// sandboxLostForGoodBefore reports whether that may have been so before an observation (index + 1).
func (r *Reading) sandboxLostForGoodBefore(obs record.Place) bool {
	return r.sandboxLostForGood() && (len(r.ev.SandboxStops) == 0 || r.ev.SandboxStops[0] <= obs)
}
