package model

import (
	"math"
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// The rules that have a bound, and only these, look at a clock. Two kinds of
// slack go into them:
//
//   - stampSlack is uncertainty of the clock: stamps taken inside a process are
//     out of order by some milliseconds, and those of date(1) have whole
//     seconds. What is refused lies outside whatever the clock was.
//   - patience is for things that have no bound of their own: how long a
//     runtime takes to start or stop a process on a busy machine. It grows with
//     what the trace shows the node to take.
const (
	patience = 15 * time.Second
	// prompt is the patience for the next run of a probe, beside its periods.
	prompt = 8 * time.Second
)

// patient is a patience on the node of the trace: where the start of a process took
// longer, probes and signals take longer as well. On a node with a hundred processes
// that wait for its two cores, starts of 18 s and gaps of 14 s between the probes of
// each second were recorded.
func (r *Reading) patient(d time.Duration) time.Duration {
	if r.ev.Untimed {
		return forever
	}
	return max(d, 2*r.ev.Slowest)
}

// forever is longer than any Pod lives, and can be added to.
const forever = 10 * 365 * 24 * time.Hour

// minimumGrace is the least time between TERM and KILL
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, minimumGracePeriodInSeconds).
const minimumGrace = 2 * time.Second

// written is when line n was written, by its own stamp.
func (r *Reading) written(n int) time.Time {
	if n == r.n && r.now != nil {
		return r.now.Log.Time
	}
	at, _ := r.src.Stamp(n)
	return at
}

// slack is the uncertainty of the stamp of line n.
func (r *Reading) slack(n int) time.Duration {
	whole := false
	if n == r.n && r.now != nil {
		whole = r.now.Log.Whole
	} else {
		_, whole = r.src.Stamp(n)
	}
	if whole {
		return time.Second + record.StampSlack
	}
	return record.StampSlack
}

// between is the time from line a to line b.
func (r *Reading) between(a, b int) time.Duration {
	return r.written(b).Sub(r.written(a)).Round(time.Millisecond)
}

// Backoff between restarts (pkg/kubelet/kubelet.go, newCrashLoopBackOff), and
// the time after which the kubelet forgets a container's.
const (
	backoffStart  = 10 * time.Second
	backoffMax    = 300 * time.Second
	backoffForget = 600 * time.Second
)

// backoff is the least time between the end of instance run-1 and the start of
// instance run.
func (r *Reading) backoff(run int32) time.Duration {
	first, most := backoffStart, backoffMax
	if r.k.Enabled(rules.GateShortBackoff) {
		first, most = time.Second, time.Minute
	}
	if run <= 1 {
		return 0
	}
	d := first
	for range run - 2 {
		if d = 2 * d; d >= most {
			return most
		}
	}
	return d
}

// tooSoon reports whether line n shows an instance of container i that was
// started before its backoff was over. x is the instance before it. A start in
// the sync of a kill, and one of all containers, has no backoff; nor has one
// long after the last. Only instances that were all seen to their end are
// counted.
func (r *Reading) tooSoon(i int, x *seen, n int) bool {
	l, spec := &r.ob(n).Log, &r.p.Containers[i]
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		if p := spec.Probe(a); p.Network || p.Declared && !r.ev.Writes(i, a) {
			return false // one that nobody answers, or that is cut off, leaves no line
		}
	}
	if r.kubeletRestarted(n) {
		return false // what it knew of earlier exits is lost
	}
	if !r.ob(n).IsLog || r.ev.Containers[i].ProbeFailed || r.ev.Containers[i].Changed != 0 || r.ev.NewSandbox || len(r.p.Gates) > 0 && r.p.Gates[rules.GateRestartAll] != "" || x.last == 0 || x.failing != 0 {
		return false
	}
	runs := r.h[i].runs
	counted := int32(1)
	for k := len(runs) - 1; k > 0; k-- {
		a, b := &runs[k-1], &runs[k]
		if a.run+1 != b.run || a.failing != 0 || r.written(int(b.first)-1).Sub(r.written(int(a.first)-1)) > backoffForget-r.patient(patience) {
			break
		}
		counted++
	}
	if l.Time.Sub(r.written(int(x.first)-1)) > backoffForget-r.patient(patience) {
		return false
	}
	return r.between(int(x.last)-1, n)+r.slack(n)+r.slack(int(x.last)-1) < r.backoff(counted)
}

// grace is the grace period of a deletion or eviction.
func (r *Reading) grace(of int32) time.Duration {
	g := r.p.Grace
	if p, err := r.ob(int(of) - 1).Entry.Did.Delete(); err == nil && p.GracePeriodSeconds != nil {
		g = *p.GracePeriodSeconds
	}
	return time.Duration(g) * time.Second
}

// graceLeft reports whether the grace period within which container i is being
// stopped had surely not run out when line n was written.
func (r *Reading) graceLeft(s *State, i, n int) bool {
	return r.ev.Ample || r.stoppedWithin(s, i, n, math.MaxInt64)
}

// stoppedWithin reports whether line n was surely written before so much time
// had passed since the stop of container i began, with the grace period not over
// either. A second is left for the arithmetic in whole seconds (killContainer
// floors what it subtracts), and for the clock that an act was recorded by.
func (r *Reading) stoppedWithin(s *State, i, n int, most time.Duration) bool {
	if r.ev.EndsAnyTime {
		return false // it may have been ended with any period
	}
	var end time.Time
	least := min(time.Duration(r.p.Grace)*time.Second, most)
	for _, a := range r.ev.Ends {
		if int(a) > n+1 {
			break
		}
		by := s.c[i].killed
		if s.c[i].kill == byEnding && (!by.known() || s.ending.Obs < by.Obs) {
			by = s.ending
		}
		if by.known() && by.Obs < a {
			return false // it was being stopped already, and nothing says since when
		}
		// A Pod that is being deleted has the period of its deletion, also for
		// a container that is stopped for another reason.
		g := min(r.grace(a), most)
		least = min(least, g)
		if e := r.ob(int(a) - 1).Entry.At.Add(g); end.IsZero() || e.Before(end) {
			end = e
		}
	}
	x := r.seenOf(s, i)
	switch s.c[i].kill {
	case byEnding:
		deleted := !end.IsZero()
		if deleted && r.lostForGood() {
			// Or it was stopped because of its sandbox, before the Pod was deleted and
			// with the grace period of the Pod; no line says which of the two.
			if len(r.ev.Sandboxes) == 0 {
				return false
			}
			if a := r.ev.Sandboxes[0]; int(a) <= n+1 {
				if e := r.ob(int(a) - 1).Entry.At.Add(least); e.Before(end) {
					end = e
				}
			}
		}
		last, seen := r.endedByItself(s, i, n, deleted)
		if !seen {
			return false
		}
		if e := last.Add(least); !last.IsZero() && (end.IsZero() || e.Before(end)) {
			end = e
		}
	case byProbe:
		spec := &r.p.Containers[i]
		if !spec.Liveness.Declared && !spec.Startup.Declared {
			// Its definition has changed, and no act before has asked for it.
			a := r.ev.Containers[i].Changed
			if a <= 1 || r.kubeletRestarted(n) {
				return false
			}
			end = r.ob(int(a) - 1).Entry.At.Add(least)
			break
		}
		if x.failing == 0 {
			return false
		}
		g := min(orGrace(spec.Liveness, r.p.Grace), orGrace(spec.Startup, r.p.Grace))
		end = r.written(int(x.failing) - 1).Add(min(least, time.Duration(g)*time.Second))
		if r.changedBy(i, n) {
			return false // or it was stopped for that
		}
	case byHook:
		if x.hookEnd == 0 || r.cutOff(s.c[i].killed.Obs, n) {
			return false // or another kubelet has stopped it for another reason
		}
		end = r.written(int(x.hookEnd) - 1).Add(least)
	default:
		return false
	}
	return r.written(n).Add(r.slack(n)).Before(end.Add(-time.Second))
}

// asleep reports whether the preStop hook of container i, which sleeps in the
// kubelet and so writes nothing, had surely not returned when line n was written:
// it takes its full time, or what there is of the grace period
// (pkg/kubelet/lifecycle/handlers.go, runSleepHandler).
func (r *Reading) asleep(s *State, i, n int) bool {
	spec := &r.p.Containers[i]
	d := spec.SleepStop
	if d == 0 || !r.k.Enabled(rules.GateSleepHooks) || r.ev.Ample || r.kubeletRestarted(n) {
		return false
	}
	if s.c[i].kill == byProbe && (spec.Liveness.Network || spec.Startup.Network) {
		return false // the line of one that was given up comes late
	}
	for _, a := range r.ev.Ends {
		// The clock of the node may be behind that of the recorder, by which the
		// line had not arrived either.
		if act := r.ob(int(a) - 1).Entry.At; s.c[i].kill == byEnding && int(a) <= n+1 && !r.ob(n).Entry.At.Before(act.Add(min(r.grace(a), d))) {
			return false
		}
	}
	if s.c[i].kill == byEnding && r.lostForGood() {
		for _, a := range r.ev.Sandboxes {
			if int(a) <= n+1 && !r.ob(n).Entry.At.Before(r.ob(int(a)-1).Entry.At.Add(min(time.Duration(r.p.Grace)*time.Second, d))) {
				return false
			}
		}
	}
	return r.stoppedWithin(s, i, n, d)
}

// stopCause is what asleep counts from.
func (r *Reading) stopCause(s *State, i, n int) Cause {
	x := r.seenOf(s, i)
	obs := x.hookEnd
	switch s.c[i].kill {
	case byProbe:
		obs = x.failing
	case byEnding:
		obs = s.ending.Obs
		for _, a := range r.ev.Ends {
			if int(a) <= n+1 {
				obs = min(obs, a)
			}
		}
	}
	return Cause{obs, rules.PreStopFirst}
}

// sleepUntil is when the postStart hook of container i can have returned that
// sleeps in the kubelet, at the earliest, if its instance was started at the time
// that a status shows; that has whole seconds, and is the clock of the node. Zero
// where there is no such hook.
func (r *Reading) sleepUntil(i, n int, started time.Time) time.Time {
	d := r.p.Containers[i].SleepStart
	if d == 0 || started.IsZero() || !r.k.Enabled(rules.GateSleepHooks) || r.kubeletRestarted(n) {
		return time.Time{}
	}
	return started.Add(d)
}

// heldBack says why line n, the first of instance run of container i, comes too
// early: another container had to be started, and its postStart hook to sleep,
// before that instance was started.
func (r *Reading) heldBack(i int, run int32, n int) *Denial {
	if run != 0 || r.roundsInTrace() || r.h[i].at(0).first != 0 {
		return nil
	}
	for j := range min(i, r.p.Inits+r.p.Regulars) {
		h := &r.h[j]
		if h.startedRun != 0 || r.ev.Containers[j].StartFailed {
			continue
		}
		if until := r.sleepUntil(j, n, h.startedAt); r.written(n).Add(r.slack(n)).Before(until) {
			return r.sleeps(j, rules.BlocksNext, h.startedObs)
		}
	}
	return nil
}

// slept says what comes too early beside an instance of container i that an
// update shows to have been started: its postStart hook sleeps in the kubelet,
// and until that is over no container listed behind is started, none is stopped,
// and nothing is shown or probed of the instance.
func (r *Reading) slept(i int, run int32, started time.Time, n int) *Denial {
	until := r.sleepUntil(i, n, started)
	if until.IsZero() {
		return nil
	}
	early := func(line int32) bool {
		return line != 0 && r.written(int(line)-1).Add(r.slack(int(line)-1)).Before(until)
	}
	for j := i + 1; run == 0 && j < r.p.Inits+r.p.Regulars && !r.ev.Containers[i].StartFailed; j++ {
		if x := r.h[j].at(0); early(x.first) {
			return r.sleeps(i, rules.BlocksNext, x.first)
		}
	}
	x := r.h[i].at(run)
	switch {
	case early(x.term):
		return r.sleeps(i, rules.TermAfterSync, x.term)
	case early(x.preStop):
		return r.sleeps(i, rules.TermAfterSync, x.preStop)
	case run == 0 && early(x.probed):
		return r.sleeps(i, rules.AfterSync, x.probed)
	}
	// The clock of the recorder is another one.
	if r.ob(n).Entry.At.Add(time.Second).Before(until) {
		return r.sleeps(i, rules.BetweenSyncs, 0)
	}
	return nil
}

func (r *Reading) sleeps(i int, rule string, obs int32) *Denial {
	return because(deny(rule, Cause{obs, rule}), "the postStart hook of container %s sleeps for %s from its start on", r.p.Containers[i].Name, r.p.Containers[i].SleepStart)
}

// startOf is when the instance of a status was started; whole seconds.
func startOf(cs *corev1.ContainerStatus) time.Time {
	switch {
	case cs.State.Running != nil:
		return cs.State.Running.StartedAt.Time
	case cs.State.Terminated != nil:
		return cs.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// endedByItself is when the last regular container ended, or an init container
// failed for good; zero where the Pod did not come to its end by itself: it was
// deleted as well, and one of them had not ended when container i began to be
// stopped. It reports whether the end of each was seen.
func (r *Reading) endedByItself(s *State, i, n int, deleted bool) (last time.Time, seen bool) {
	if deleted && !r.finished(s, i) {
		return time.Time{}, true
	}
	if j := r.failedInit(s); j >= 0 {
		x := r.seenOf(s, j)
		if x.mainEnd == 0 || x.mainCode == 0 {
			return time.Time{}, false // it wrote nothing of its end
		}
		return r.written(int(x.mainEnd) - 1), true
	}
	begun := r.stopBegun(r.seenOf(s, i))
	if begun == 0 {
		begun = int32(n) + 1
	}
	for j := r.p.Inits; j < r.p.Inits+r.p.Regulars; j++ {
		y := r.seenOf(s, j)
		died := !s.c[j].fresh && r.h[j].over >= s.c[j].run
		switch {
		case y.mainEnd == 0 && (died || !deleted), r.condemned(s, j):
			return time.Time{}, false // this one may have been stopped with the Pod
		case deleted && (y.mainEnd == 0 || y.mainEnd > begun):
			return time.Time{}, true
		}
		if e := r.written(int(y.mainEnd) - 1); e.After(last) {
			last = e
		}
	}
	return last, true
}

func orGrace(p podspec.Probe, grace int64) int64 {
	if p.Declared {
		return p.Grace
	}
	return grace
}

// lastProbes is how many liveness and startup probes of a container are accepted
// after the termination of its Pod has begun. A worker is told to end; where a tick
// is due as well, because a probe took longer than its period, Go chooses between
// the two by chance (pkg/kubelet/prober/worker.go, run), so one more probe follows
// another with a probability of a half. This is patience, not a rule: three in a
// row were recorded.
const lastProbes = 8

// overdue reports why something that the kubelet does by itself should have
// happened long before line n of container i was written. Nothing of the kind
// is asked of a kubelet that was stopped meanwhile, or where lines are missing.
func (r *Reading) overdue(s *State, i, n int) *Denial {
	if !r.punctual() {
		return nil
	}
	if s.ending.known() {
		return r.readinessStopped(s, i, n)
	}
	return r.notProbed(s, i, n)
}

// punctual reports whether the kubelet ran all the time and nothing is missing.
func (r *Reading) punctual() bool {
	return !r.ev.LogGap && len(r.ev.Restarts) == 0 && !r.ev.Ample && !r.logOnly
}

// readinessStopped: the readiness probe goes on while the Pod is terminated. It does
// not in one that an init container has failed for good: that has its last phase
// before anything is stopped (pkg/kubelet/kubelet_pods.go, getPhase), with which the
// probes end (pkg/kubelet/prober/worker.go, doProbe).
func (r *Reading) readinessStopped(s *State, i, n int) *Denial {
	p, x := &r.p.Containers[i].Readiness, r.seenOf(s, i)
	since := max(x.readinessLast, r.stopBegun(x))
	if !p.Declared || r.ev.Containers[i].Unlogged || x.readinessLast == 0 || x.mainEnd != 0 || r.stopBegun(x) == 0 || r.forced() || r.failedInit(s) >= 0 {
		return nil
	}
	wait := r.between(int(since)-1, n)
	if r.ev.Crowded {
		// Of what came later, an Event may have been dropped.
		wait = min(wait, r.ev.HeardUntil.Sub(r.written(int(since)-1)))
	}
	if wait > 3*time.Duration(p.Period)*time.Second+r.patient(prompt)+r.slack(n) {
		return because(deny(rules.ReadinessGoesOn, Cause{x.readinessLast, rules.ReadinessGoesOn}, Cause{r.stopBegun(x), rules.ReadinessGoesOn}), "container %s is being stopped and has not been probed for readiness for %s; the period is %d s", r.p.Containers[i].Name, wait, p.Period)
	}
	return nil
}

// stopBegun is the first line that shows an instance being stopped.
func (r *Reading) stopBegun(x *seen) int32 {
	if x.preStop == 0 || x.term != 0 && x.term < x.preStop {
		return x.term
	}
	return x.preStop
}

// turnMissed: the TERM of a sidecar follows as soon as everything that it waits
// for has stopped.
func (r *Reading) turnMissed(s *State, i, n int) *Denial {
	if x := r.seenOf(s, i); r.p.Containers[i].Role != podspec.Sidecar || s.c[i].kill != byEnding || x.term != 0 || !r.punctual() {
		return nil
	}
	var since int32
	var busy time.Duration
	for j := range r.p.Inits + r.p.Regulars {
		spec, y := &r.p.Containers[j], r.seenOf(s, j)
		busy += spec.SleepStart // goes on though its container has ended
		if spec.Role == podspec.Sidecar || y.mainEnd != 0 && r.endAsked(int(y.mainEnd)-1) {
			busy += spec.SleepStop // as does this, where the container was being stopped by then
		}
		if j != i {
			busy += r.stoppedBySync(s, j, n)
		}
		if spec.Role != podspec.InitContainer {
			// The sync before the stop may still have been starting containers,
			// and waited for their hooks.
			if spec.PostStart && y.first != 0 && y.hookEnd == 0 && y.mainEnd == 0 {
				return nil
			}
			since = max(since, y.first, y.hookEnd)
		}
		if again := spec.Role == podspec.Sidecar && s.c[j].run > 0 && spec.Startup.Declared; again && j == r.p.Inits-1 && !r.k.EndsBeforeSidecars() {
			// It may have been started again when nothing else was left to run, and has
			// come to its start then before anything is stopped.
			if y.started == 0 {
				return nil
			}
			since = max(since, y.started)
		}
		if spec.PreStop {
			// A hook that logs no end may run for longer than is seen.
			if y.preStopEnd == 0 && (j == i || y.mainEnd == 0 || y.preStop != 0 || y.term != 0) {
				return nil
			}
			since = max(since, y.preStopEnd)
		}
		if j <= i || spec.Role == podspec.InitContainer {
			continue
		}
		if y.mainEnd == 0 {
			return nil
		}
		since = max(since, y.mainEnd)
	}
	for _, a := range slices.Concat(r.ev.Ends, r.ev.Sandboxes) {
		if int(a) <= n && a > since {
			return nil // what came last is the act, which has another clock
		}
	}
	// Nor is it known when somebody ended a Pod that did not come to its end by itself.
	if since == 0 || r.ev.EndsAnyTime && !r.finished(s, i) {
		return nil
	}
	if wait := r.between(int(since)-1, n); wait > busy+r.patient(patience)+r.slack(n) {
		return because(deny(rules.SidecarPrompt, Cause{since, rules.SidecarPrompt}), "everything that sidecar %s waits for had stopped %s before its TERM", r.p.Containers[i].Name, wait)
	}
	return nil
}

// stoppedBySync is for how long a sync may have been stopping the newest instance of
// container j by observation n, because its postStart hook or a probe has failed or
// its definition has changed: nothing else is stopped meanwhile, even where the
// container has ended and its preStop hook sleeps on.
func (r *Reading) stoppedBySync(s *State, j, n int) time.Duration {
	spec, c, y := &r.p.Containers[j], &s.c[j], r.seenOf(s, j)
	grace := int64(-1)
	if c.kill == byHook || y.hookCode != 0 || y.hookEnd == 0 && r.ev.Containers[j].HookFailed || r.changedBy(j, n) {
		grace = r.p.Grace
	}
	if c.kill == byProbe || r.probeFailed(s, j) {
		grace = max(grace, orGrace(spec.Liveness, 0), orGrace(spec.Startup, 0))
	}
	if grace < 0 {
		return 0
	}
	return max(time.Duration(grace)*time.Second, minimumGrace) + minimumGrace
}

// notProbed: a container that was restarted is probed like its instance before.
func (r *Reading) notProbed(s *State, i, n int) *Denial {
	spec, c, x := &r.p.Containers[i], &s.c[i], r.seenOf(s, i)
	if c.run == 0 || c.first || x.probed != 0 || x.first == 0 || c.kill != alive || r.unlogged(i, n) {
		return nil
	}
	var due time.Duration
	for _, a := range record.Actors {
		p := spec.Probe(a)
		if !p.Declared || p.Network || !r.ev.Writes(i, a) || spec.Startup.Declared && a != trace.StartupProbe {
			continue
		}
		if d := time.Duration(p.Delay+3*p.Period) * time.Second; due == 0 || d < due {
			due = d
		}
	}
	if due == 0 {
		return nil
	}
	// The sync that started it may have waited for hooks.
	since := x.first
	for j := range s.c {
		y := r.seenOf(s, j)
		if !s.c[j].fresh {
			due += r.p.Containers[j].SleepStart // it sleeps on though its container has ended
		}
		switch {
		case !r.p.Containers[j].PostStart || s.c[j].fresh:
		case y.hookEnd == 0 && !s.c[j].gone.known():
			return nil
		default:
			since = max(since, y.hookEnd)
		}
		// One whose hook failed is stopped within that sync.
		if y.hookCode != 0 || s.c[j].kill == byHook || y.hookEnd == 0 && r.ev.Containers[j].HookFailed {
			due += max(time.Duration(r.p.Grace)*time.Second, minimumGrace)
		}
	}
	// A Pod that ends is probed no more; the first sign of that may come behind a preStop
	// hook that sleeps.
	until := n
	for _, a := range r.ev.Ends {
		until = min(until, int(a)-1)
	}
	due += spec.SleepStop
	if wait := r.between(int(since)-1, until); !r.ev.EndsAnyTime && wait > due+r.patient(prompt)+r.slack(n) {
		return because(deny(rules.ProbedAgain, Cause{x.first, rules.ProbedAgain}), "container %s was started again %s before and has not been probed", spec.Name, wait)
	}
	return nil
}

// tooEarly reports why line n, of a probe of container i, comes before the
// initial delay was over. It goes by the start that an update showed.
func (r *Reading) tooEarly(i, n int) *Denial {
	l, h := &r.ob(n).Log, &r.h[i]
	delay := r.delay(i, l.Actor)
	if delay == 0 || h.startedRun < 0 || h.startedRun != r.runOf(i, l) {
		return nil
	}
	// The kubelet compares whole seconds: it may be a second short.
	if first := h.startedAt.Add(delay - time.Second); l.Time.Add(r.slack(n)).Before(first) {
		return because(deny(rules.InitialDelay, Cause{r.shownAt, rules.InitialDelay}), "the %s of container %s has initialDelaySeconds %d, and the container was started %s before", l.Actor, r.p.Containers[i].Name, int(delay/time.Second), l.Time.Sub(h.startedAt).Round(time.Millisecond))
	}
	return nil
}

func (r *Reading) delay(i int, a trace.Actor) time.Duration {
	return time.Duration(r.p.Containers[i].Probe(a).Delay) * time.Second
}

// forced reports whether the Pod may have been removed without waiting for its
// node. The API shows a grace period of 0 in the last object of every
// deletion, so that the act decides; without one it may be.
func (r *Reading) forced() bool {
	return len(r.ev.Ends) == 0 || slices.ContainsFunc(r.ev.Ends, func(a int32) bool { return r.grace(a) == 0 })
}
