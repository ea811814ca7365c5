// The duty of the status manager: what the probes have found is shown. It is published at once,
// unless a sync that had begun before publishes what it knew then; the next sync corrects that.
// Rules: status/follows-probes.

package model

import (
	"time"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// probesNotShown says what should have been shown of the probes of container i by
// observation n.
func (r *Reading) probesNotShown(s *State, i, n int) *Denial {
	spec, c, h := &r.p.Containers[i], &s.c[i], &r.h[i]
	if !probed(spec) || c.progress.isUnstarted() || c.ended.known() || c.kill != notKilled || s.terminating.known() || h.shownRun != c.run || h.shown.State != record.Running {
		return nil
	}
	x := r.seenOf(s, i)
	if x.mainEnd.Known() {
		return nil
	}
	started, ready := h.wasStarted == c.run+1, h.wasReady == c.run+1
	row := &x.sure[record.RowOf(trace.ReadinessProbe)]
	startup := &x.sure[record.RowOf(trace.StartupProbe)]
	switch {
	case !started:
		if spec.Startup.Declared && startup.successes > 0 {
			return r.notShown(s, i, n, rules.StartedShown, x.startupLast, 3*period(&spec.Startup)+2*timeout(&spec.Startup), "the startup probe of container %s has succeeded, and it is not shown as started")
		}
	case ready:
		if spec.Readiness.Declared && row.failures > 0 && row.enough.Known() {
			return r.notShown(s, i, n, rules.UnreadyShown, row.enough, 0, "the readiness probe of container %s has failed often enough, and it is still shown as ready")
		}
	case !spec.Readiness.Declared:
		return r.notShown(s, i, n, rules.ReadyShown, h.startedShownObs, 0, "container %s is shown as started, it has no readiness probe, and it is not shown as ready")
	case row.successes > 0 && row.enough.Known():
		return r.notShown(s, i, n, rules.ReadyShown, row.enough, 0, "the readiness probe of container %s has succeeded often enough, and it is not shown as ready")
	}
	return nil
}

// notShown is the denial of observation n by which an update should have shown what was found by
// an earlier one, if it is late: patience and so much more has passed.
func (r *Reading) notShown(s *State, i, n int, clause rules.Clause, from record.Place, more time.Duration, format string) *Denial {
	within := r.patient(patience) + more
	if !from.Known() || r.passed(from, n) <= within {
		return nil
	}
	since, busy, known := r.workerFreeSince(s, i, from, n)
	busy += r.stoppedBySync(s, i, n) // nothing may show yet that it is being stopped
	if !known || r.passed(since, r.untilEnd(n)) <= within+busy || !r.lives(s, i, n) || r.podIsOver(s, i) || r.excused(clause, i, n, from) {
		return nil
	}
	return late(clause, Cause{from, rules.FollowsProbes}, format, r.p.Containers[i].Name)
}
