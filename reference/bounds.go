package reference

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// The rules that have a bound, and only these, look at a clock. Two kinds of
// slack go into them:
//
//   - stampSlack is uncertainty of the clock: stamps taken inside a process are
//     out of order by some milliseconds, and those of date(1) have whole
//     seconds. What is refused lies outside whatever the clock was.
//   - patience is for things that have no bound of their own: how long a
//     runtime takes to start or stop a process on a busy machine.
const (
	stampSlack = 100 * time.Millisecond
	patience   = 15 * time.Second
)

// minimumGrace is the least time between TERM and KILL
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, minimumGracePeriodInSeconds).
const minimumGrace = 2 * time.Second

// written is when line n was written, by its own stamp.
func (r *reading) written(n int) time.Time { return r.obs[n].log.Time }

// slack is the uncertainty of the stamp of line n.
func (r *reading) slack(n int) time.Duration {
	if r.obs[n].log.Whole {
		return time.Second + stampSlack
	}
	return stampSlack
}

// between is the time from line a to line b.
func (r *reading) between(a, b int) time.Duration {
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
func (r *reading) backoff(run int32) time.Duration {
	first, most := backoffStart, backoffMax
	if r.k.Enabled(gateShortBackoff) {
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
func (r *reading) tooSoon(i int, x *seen, n int) bool {
	l := &r.obs[n].log
	if !r.obs[n].isLog || r.ev.probeFailed[i] || r.ev.changed || r.ev.newSandbox || len(r.p.gates) > 0 && r.p.gates[gateRestartAll] != "" || x.last == 0 {
		return false
	}
	runs := r.h[i].runs
	counted := int32(1)
	for k := len(runs) - 1; k > 0; k-- {
		a, b := &runs[k-1], &runs[k]
		if a.run+1 != b.run || r.written(int(b.first)-1).Sub(r.written(int(a.first)-1)) > backoffForget-patience {
			break
		}
		counted++
	}
	if l.Time.Sub(r.written(int(x.first)-1)) > backoffForget-patience {
		return false
	}
	return r.between(int(x.last)-1, n)+r.slack(n)+r.slack(int(x.last)-1) < r.backoff(counted)
}

// grace is the grace period of a deletion or eviction.
func (r *reading) grace(of int32) time.Duration {
	g := r.p.grace
	if p, err := r.obs[of-1].entry.Did.Delete(); err == nil && p.GracePeriodSeconds != nil {
		g = *p.GracePeriodSeconds
	}
	return time.Duration(g) * time.Second
}

// graceLeft reports whether the grace period within which container i is being
// stopped had surely not run out when line n was written. A second is left for
// the arithmetic in whole seconds (killContainer floors what it subtracts).
func (r *reading) graceLeft(s *state, i, n int) bool {
	if r.ev.endsAnyTime {
		return false // it may have been ended with any period
	}
	var end time.Time
	least := time.Duration(r.p.grace) * time.Second
	for _, a := range r.ev.ends {
		if int(a) > n+1 {
			break
		}
		// A Pod that is being deleted has the period of its deletion, also for
		// a container that is stopped for another reason.
		g := r.grace(a)
		least = min(least, g)
		if e := r.obs[a-1].entry.At.Add(g); end.IsZero() || e.Before(end) {
			end = e
		}
	}
	x := r.seenOf(s, i)
	switch s.c[i].kill {
	case byEnding:
		if !end.IsZero() {
			break
		}
		for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ { // it came to its end by itself
			y := r.seenOf(s, j)
			if y.mainEnd == 0 {
				return false
			}
			if e := r.written(int(y.mainEnd) - 1).Add(least); e.After(end) {
				end = e
			}
		}
	case byProbe:
		if x.failing == 0 {
			return false
		}
		spec := &r.p.containers[i]
		g := min(orGrace(spec.liveness, r.p.grace), orGrace(spec.startup, r.p.grace))
		end = r.written(int(x.failing) - 1).Add(min(least, time.Duration(g)*time.Second))
	case byHook:
		if x.hookEnd == 0 {
			return false
		}
		end = r.written(int(x.hookEnd) - 1).Add(least)
	default:
		return false
	}
	return r.written(n).Add(r.slack(n)).Before(end.Add(-time.Second))
}

func orGrace(p probe, grace int64) int64 {
	if p.declared {
		return p.grace
	}
	return grace
}

// tooLate reports why container i can no longer be alive when line n was
// written: its Pod has been stopped for longer than the grace period.
func (r *reading) tooLate(s *state, i, n int) *denial {
	if !s.ending.known() || s.c[i].kill != byEnding || len(r.ev.ends) == 0 {
		return nil
	}
	// The kill had begun when the first of its lines was written.
	x := r.seenOf(s, i)
	begun := x.preStop
	if begun == 0 || x.term != 0 && x.term < begun {
		begun = x.term
	}
	if begun == 0 {
		return nil
	}
	var g time.Duration
	for _, a := range r.ev.ends {
		g = max(g, r.grace(a))
	}
	if limit := max(g, minimumGrace) + minimumGrace + patience; r.between(int(begun)-1, n) > limit+r.slack(n) {
		return because(deny(ruleGrace, cause{begun, ruleGrace}), "container %s is still alive %s after it began to be stopped, with a grace period of %s", r.p.containers[i].name, r.between(int(begun)-1, n), g)
	}
	return nil
}

// tooEarly reports why line n, of a probe of container i, comes before the
// initial delay was over. It goes by the start that an update showed.
func (r *reading) tooEarly(i, n int) *denial {
	l, h := &r.obs[n].log, &r.h[i]
	delay := r.delay(i, l.Actor)
	if delay == 0 || h.startedRun < 0 || h.startedRun != r.runOf(i, l) {
		return nil
	}
	// The kubelet compares whole seconds: it may be a second short.
	if first := h.startedAt.Add(delay - time.Second); l.Time.Add(r.slack(n)).Before(first) {
		return because(deny(ruleInitialDelay, cause{r.shownAt, ruleInitialDelay}), "the %s of container %s has initialDelaySeconds %d, and the container was started %s before", l.Actor, r.p.containers[i].name, int(delay/time.Second), l.Time.Sub(h.startedAt).Round(time.Millisecond))
	}
	return nil
}

func (r *reading) delay(i int, a trace.Actor) time.Duration {
	spec := &r.p.containers[i]
	p := map[trace.Actor]probe{trace.StartupProbe: spec.startup, trace.ReadinessProbe: spec.readiness, trace.LivenessProbe: spec.liveness}[a]
	return time.Duration(p.delay) * time.Second
}

// forced reports whether the Pod may have been removed without waiting for its
// node. The API shows a grace period of 0 in the last object of every
// deletion, so that the act decides; without one it may be.
func (r *reading) forced() bool {
	return len(r.ev.ends) == 0 || slices.ContainsFunc(r.ev.ends, func(a int32) bool { return r.grace(a) == 0 })
}
