// A new sandbox, and RestartAllContainers. Both start the Pod over from its
// first init container. What is started or stopped because of it is in start.go and stop.go.
// Rules: restart/all-containers, terminate/no-start-after.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// mayStartOver reports whether all containers may have been started over since this round
// began: the sandbox was lost, or a container asked for it. Once a container shows that the
// Pod is being terminated, they are not started over any more.
func (r *Reading) mayStartOver(s *State) bool {
	if !slices.ContainsFunc(s.c, func(c instance) bool { return c.progress.isStarted() }) {
		return false
	}
	for i := range s.c {
		if s.terminating.known() && (s.c[i].kill == byTermination || r.seenOf(s, i).last >= s.terminating.Obs) {
			return false
		}
	}
	return r.ev.NewSandbox && r.p.Policy != corev1.RestartPolicyNever && r.sandboxShownLost(s) || r.mayRestartAll(s)
}

// sandboxTakes is the time within which a lost sandbox is not noticed and replaced: the kubelet
// looks once a second (pkg/kubelet/pleg/generic.go, Relist).
const sandboxTakes = time.Second

// sandboxShownLost reports whether a log alone leaves room for the loss of a sandbox: it ends
// something that has not ended by itself, or it takes its time.
func (r *Reading) sandboxShownLost(s *State) bool {
	if !r.logOnly {
		return true
	}
	for i := range s.c {
		x := r.seenOf(s, i)
		ended := x.mainEnd.Known() && !r.stopShown(x)
		if x.first.Known() && (!ended || r.between(x.mainEnd, r.n)-r.slackAt(x.mainEnd)+record.StampSlack > sandboxTakes) {
			return true
		}
	}
	return false
}

// sandboxMayBeReplaced reports whether the containers may be stopped because the sandbox was
// lost and another one is made. With restartPolicy Never there is no other one, and the whole
// Pod is terminated instead; but a container that is stopped then may exit with a code for
// which its rules restart all containers, so that there is one after all
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *Reading) sandboxMayBeReplaced(s *State) bool {
	replaced := r.p.Policy != corev1.RestartPolicyNever || r.p.Gates[rules.GateRestartAll] != ""
	return r.ev.NewSandbox && replaced && !s.terminating.known()
}

// stoppedWithSandbox is the first sign that a sandbox was lost which is not replaced. All
// containers are stopped then, and none is started again.
func (r *Reading) stoppedWithSandbox(s *State) Cause {
	var first Cause
	for j := range s.c {
		if c := &s.c[j]; c.kill == bySandbox && r.p.Policy == corev1.RestartPolicyNever && (!first.known() || c.killCause.Obs < first.Obs) {
			first = Cause{c.killCause.Obs, rules.NoStart}
		}
	}
	return first
}

// mayRestartAll reports whether a container may have exited with a code for which one of its
// rules restarts all containers.
func (r *Reading) mayRestartAll(s *State) bool {
	_, asks := r.restartAllAsked(s)
	return asks
}

// restartAllShown reports whether a line shows such an exit.
func (r *Reading) restartAllShown(s *State) bool {
	for i := range s.c {
		if x := r.seenOf(s, i); x.mainEnd.Known() && r.p.Containers[i].RestartsAllFor(x.mainCode) {
			return r.p.Gates[rules.GateRestartAll] != ""
		}
	}
	return false
}

// restartAllAsked is the exit of such a container, or its last sign; false if there is none.
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
			// A status shows that an instance of it did. It may be one that was started
			// since and wrote nothing.
			return Cause{x.last, rules.RestartAll}, true
		}
		if s.c[i].progress.isUnstarted() {
			continue
		}
		// A main process that logs no end may have exited with any code. One that logs its end
		// and died before that has the code that a status shows, if there is a status.
		if x.mainEnd == 0 && (x.mainBegin == 0 || r.ev.Containers[i].AskedRestartAll || r.ev.Containers[i].EndNotShown || r.logOnly) || x.mainEnd != 0 && r.mayHaveExitedWith(i, x, spec.RestartsAllFor) {
			return Cause{max(x.mainEnd, x.last), rules.RestartAll}, true
		}
	}
	return Cause{}, false
}

// startOver begins a new round: every instance has ended, and the Pod starts over from its
// first init container.
func (r *Reading) startOver(s State, n int) State {
	t := s.clone()
	t.startedOver = true
	t.startSyncEnded, t.periodOver = Cause{}, Cause{}
	for i := range t.c {
		if r.p.Containers[i].Role != podspec.Ephemeral {
			// The log does not count an instance that was created and never ran.
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
// finds it lost stops all that is left of the Pod
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *Reading) sandboxLostForGood() bool {
	return r.ev.NewSandbox && r.p.Policy == corev1.RestartPolicyNever
}

// sandboxLostForGoodBefore reports whether that may have been so before an observation.
func (r *Reading) sandboxLostForGoodBefore(obs record.Place) bool {
	return r.sandboxLostForGood() && (len(r.ev.SandboxStops) == 0 || r.ev.SandboxStops[0] <= obs)
}
