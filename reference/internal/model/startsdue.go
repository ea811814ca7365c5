// The duties of starts: what is listed next starts when its turn has come, and what has ended and
// may be started again is. When they come at the earliest is in start.go and restart.go.
// A log alone is not asked: an image may be pulled for minutes, and a deletion may have come before the
// start was due, and neither leaves a line.
// Rules: start/when-due, restart/when-due.

package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

const (
	// retryAfter is within what time a kubelet makes another sync after one with an error, jitter
	// and the poll of its queue included (pkg/kubelet/pod_workers.go, completeWork).
	retryAfter = 16 * time.Second
	// aimsBeside is how far beyond the end of a back-off a sync that is aimed at it may come
	// (pkg/kubelet/pod_workers.go, completeWork: half of the time that is left).
	aimsBeside = 30 * time.Second
)

// startOverdue says why container i should have been started by observation n: everything before it is
// done, and it logs its begin.
func (r *Reading) startOverdue(s *State, i, n int) *Denial {
	if i >= r.p.Inits+r.p.Regulars || !s.c[i].progress.isUnstarted() || s.c[i].ended.known() || s.startedOver || !r.mayBeLate(s, i, n) || r.h[i].stage != unheard || r.h[i].shownRun >= 0 {
		return nil
	}
	if r.excused(rules.NextStarts, -1, n, 0) {
		return nil
	}
	since, busy, known := r.turnOfStart(s, i)
	if !known || !since.Known() {
		return nil
	}
	if wait := r.passed(since, r.undisturbed(n)); wait > busy+r.patientStart() {
		return late(rules.NextStarts, Cause{since, rules.StartsWhenDue}, "container %s is not started, %s after its turn has come", r.p.Containers[i].Name, wait)
	}
	return nil
}

// mayBeLate reports whether a start of container i would be seen by observation n: it logs its begin, and
// n is no sign of it.
func (r *Reading) mayBeLate(s *State, i, n int) bool {
	return !s.terminating.known() && r.marks(i, trace.Main) && r.noSignOf(i, n)
}

// noSignOf reports whether observation n tells nothing of container i.
func (r *Reading) noSignOf(i, n int) bool {
	switch o := r.ob(n); {
	case o.IsLog:
		return o.Container != i
	case o.Entry.Event != nil:
		of, ok := record.EventContainer(r.p, o.Entry.Event)
		return !ok || of != i
	case o.Entry.Pod != nil:
		return false // what it shows is taken first
	}
	return true
}

// undisturbed is the first observation after which the Pod may have been ended, n if there is none
// before it: nothing is started from then on.
func (r *Reading) undisturbed(n int) int {
	for _, a := range r.ev.Ends {
		n = min(n, a.Index())
	}
	return n
}

// turnOfStart is the last of the lines that show everything before container i to be done, and how long
// the sync may have gone on beside what they show. known is false where one is missing.
func (r *Reading) turnOfStart(s *State, i int) (since record.Place, busy time.Duration, known bool) {
	for j := range i {
		spec, c, y := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
		if c.progress.isUnstarted() || !y.first.Known() {
			return 0, 0, false
		}
		if spec.Role == podspec.InitContainer {
			if !y.mainEnd.Known() || y.mainCode != 0 || r.mayHaveExitedWith(j, y, podspec.Failed) {
				return 0, 0, false
			}
			since = max(since, y.mainEnd)
			continue
		}
		over, sleeps, ok := r.hookOver(s, j)
		if !ok {
			return 0, 0, false
		}
		since, busy = max(since, y.first, over), busy+sleeps+r.stoppedBySync(s, j, r.n)
		if spec.Role != podspec.Sidecar {
			continue
		}
		// Only a sidecar that runs, and has started as it must, lets others start.
		if y.mainEnd.Known() || c.ended.known() || c.kill != notKilled || c.run > 0 || y.hookCode != 0 || y.failing.Known() {
			return 0, 0, false
		}
		if spec.Startup.Declared {
			if !y.started.Known() || r.ev.Containers[j].SilentFailure {
				return 0, 0, false
			}
			since = max(since, y.started)
		}
	}
	return since, busy, true
}

// hookOver is the end of the postStart hook of container j; known is false where it may still run. One
// that sleeps in the kubelet is over after that time.
func (r *Reading) hookOver(s *State, j int) (end record.Place, sleeps time.Duration, known bool) {
	spec, y := &r.p.Containers[j], r.seenOf(s, j)
	switch {
	case !spec.PostStart:
		return 0, 0, true
	case spec.SleepStart > 0:
		return 0, spec.SleepStart, true
	}
	return y.hookEnd, 0, y.hookEnd.Known() && r.marks(j, trace.PostStart)
}

// restartOverdue says why container i should have been started again by observation n: it has ended, its
// policy says so, and the back-off is over.
func (r *Reading) restartOverdue(s *State, i, n int) *Denial {
	c, x := &s.c[i], r.seenOf(s, i)
	if i >= r.p.Inits+r.p.Regulars || c.progress.isUnstarted() || !x.mainEnd.Known() || r.h[i].counted > c.run || !r.mayBeLate(s, i, n) || r.mayEverStartOver() {
		return nil
	}
	if !r.surelyRestarts(s, i) || r.podIsOver(s, i) && !r.initializing(s, i) && !r.somethingRuns(s, n) || r.excused(rules.RestartComes, -1, n, 0) {
		return nil
	}
	began, held := r.lastSidecarHolds(s, i, n)
	if held {
		return nil
	}
	since, busy := max(x.mainEnd, began), time.Duration(0)
	for j := range r.p.Inits + r.p.Regulars {
		if s.c[j].progress.isUnstarted() {
			continue
		}
		over, sleeps, known := r.hookOver(s, j)
		if !known && !r.seenOf(s, j).mainEnd.Known() {
			return nil // a hook may keep the worker
		}
		// The sync that found it running may have been starting another one.
		since, busy = max(since, over, r.seenOf(s, j).first), busy+sleeps+r.p.Containers[j].SleepStop+r.stoppedBySync(s, j, n)
	}
	since, takes, up := r.kubeletBack(since, n)
	if !up || r.kubeletRestarted(n) && !r.sidecarsStartedAgain(s, i) {
		return nil
	}
	busy += takes
	wait, least := r.passed(since, r.undisturbed(n)), r.backoff(c.run+1)
	if wait > r.latestRestart(least)+busy+r.patientStart() {
		return late(rules.RestartComes, Cause{x.mainEnd, rules.RestartsWhenDue}, "container %s has ended, and %s after that it was not started again; its back-off is %s", r.p.Containers[i].Name, wait, least)
	}
	return nil
}

// sidecarsStartedAgain reports whether no sidecar can hold back container i, after the kubelet was restarted:
// each with a startup probe has been found started by the new kubelet.
func (r *Reading) sidecarsStartedAgain(s *State, i int) bool {
	last := r.ev.Restarts[len(r.ev.Restarts)-1]
	for j := range min(i, r.p.Inits) {
		spec, x := &r.p.Containers[j], r.seenOf(s, j)
		kept := r.k.Holds(rules.KeptOver) && x.started.Known() && r.obAt(last).At().Sub(r.writtenAt(x.first)) >= outlives
		if spec.Role == podspec.Sidecar && spec.Startup.Declared && !kept && max(x.startupLast, x.livenessLast, x.readyLast) <= last {
			return false
		}
	}
	return true
}

// somethingRuns reports whether the Pod has surely not come to its end by observation n: a container that is
// no sidecar runs.
func (r *Reading) somethingRuns(s *State, n int) bool {
	for j := range r.p.Inits + r.p.Regulars {
		if r.p.Containers[j].Role != podspec.Sidecar && r.lives(s, j, n) {
			return true
		}
	}
	return false
}

// initializing reports whether the Pod cannot have come to its end since no regular container was started
// yet: container i is an init container that has to succeed first.
func (r *Reading) initializing(s *State, i int) bool {
	started := func(c instance) bool { return c.progress.isStarted() }
	return r.p.Containers[i].Role == podspec.InitContainer && !slices.ContainsFunc(s.c[r.p.Inits:r.p.Inits+r.p.Regulars], started)
}

// lastSidecarHolds reports whether container i may not be started again by observation n, as no regular
// container runs: up to 1.36 the Pod then counts as initialized only if the last of its sidecars, where
// nothing is listed after it, runs and has started, and that one may wait for its back-off. Where it runs,
// began is what shows that it did (pkg/kubelet/kuberuntime/kuberuntime_container.go,
// computeInitContainerActions).
func (r *Reading) lastSidecarHolds(s *State, i, n int) (began record.Place, held bool) {
	k := r.p.Inits - 1
	if !r.p.IsRegular(i) || k < 0 || r.p.Containers[k].Role != podspec.Sidecar || r.k.EndsBeforeSidecars() {
		return 0, false
	}
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		if first := r.seenOf(s, j).first; first.Known() && first < r.seenOf(s, i).mainEnd && r.lives(s, j, n) {
			return 0, false
		}
	}
	y := r.seenOf(s, k)
	if !r.lives(s, k, n) || r.p.Containers[k].Startup.Declared && !y.started.Known() {
		return 0, true
	}
	return max(y.first, y.started), false
}

// latestRestart is when the sync that restarts a container comes at the latest, where its back-off is
// the given one.
func (r *Reading) latestRestart(backoff time.Duration) time.Duration {
	if backoff == 0 {
		return 0
	}
	return backoff + max(min(backoff/2, aimsBeside), retryAfter)
}

// surelyRestarts reports whether the kubelet has to start container i again, which has logged its end.
func (r *Reading) surelyRestarts(s *State, i int) bool {
	spec, x := &r.p.Containers[i], r.seenOf(s, i)
	if spec.Role == podspec.Sidecar {
		return true
	}
	if len(spec.Rules) > 0 && len(r.ev.Containers[i].Exits[x.run]) == 0 {
		return false // they decide by the exit code, which is not shown
	}
	if spec.Role == podspec.InitContainer {
		succeeded := func(code int32) bool { return !podspec.Failed(code) }
		return !s.c[i].nextMayStart.known() && spec.Policy != corev1.RestartPolicyNever && !r.mayHaveExitedWith(i, x, succeeded)
	}
	return !r.mayHaveExitedWith(i, x, spec.ThroughWith)
}
