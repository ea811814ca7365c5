package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// result is a stored probe result; the zero value is that of a startup probe
// that has not come to one.
type result int

const (
	unknown result = iota
	success
	failure
)

type workerKey struct {
	c     int
	actor trace.Actor
}

// probe is a probe worker, R43: one per container and kind. It serves all
// instances, one after the other.
type probe struct {
	k    *kubelet
	c    int
	kind trace.Actor
	spec Probe

	proc    *proc
	id      string // the container ID it knows
	onHold  bool
	last    result
	run     int  // of equal results, R50: outlives an instance
	trigger bool // R48: at most one is pending
}

// startProbes starts the workers that are missing, before any container, R43.
func (k *kubelet) startProbes() {
	for c, spec := range k.all {
		for _, w := range []struct {
			kind trace.Actor
			spec *Probe
		}{{trace.StartupProbe, spec.Startup}, {trace.ReadinessProbe, spec.Readiness}, {trace.LivenessProbe, spec.Liveness}} {
			key := workerKey{c, w.kind}
			if w.spec == nil || k.workers[key] != nil {
				continue
			}
			b := &probe{k: k, c: c, kind: w.kind, spec: w.spec.WithDefaults()}
			k.workers[key] = b
			b.proc = k.spawnHere(b.work)
		}
	}
}

// work runs the check at once, then at each tick, and for readiness whenever it
// is triggered.
func (b *probe) work(p *proc) {
	k := b.k
	period := 1000 * b.spec.Period
	if k.now-k.since < period {
		p.sleep(k.upTo(period))
	}
	next := k.now + period
	for b.check(p) {
		stop := func() bool { return k.over || k.stopLiveness && b.stopsEarly() }
		p.awaitUntil(next, func() bool { return b.trigger || stop() })
		// R55: where a tick is due as well, it is a matter of chance which comes
		// first.
		if stop() && !(k.now >= next && !k.over && k.oneIn(2)) {
			break
		}
		if k.now >= next && !(b.trigger && k.oneIn(2)) {
			next += period
			if k.now >= next { // at most one tick is pending
				next = k.now + period - (k.now-next)%period
			}
			continue
		}
		b.trigger = false
		p.sleep(k.upTo(5))
		if k.v.Has(TriggerRestartsTicker) {
			next = k.now + period // R48
		}
	}
	if !k.pod.Faults.ForgetsSidecar { // a later sync starts it again
		delete(k.workers, workerKey{b.c, b.kind})
	}
}

// stopsEarly tells which workers end when terminating begins, R55.
func (b *probe) stopsEarly() bool {
	return b.kind != trace.ReadinessProbe && (b.k.isRegular(b.c) || b.k.v.Has(SidecarProbesStop))
}

// check is one check, in the order of R44. It returns false where the worker
// ends.
func (b *probe) check(p *proc) bool {
	k := b.k
	if k.cached == nil { // (1)
		return true
	}
	if terminal(k.cached.Phase) {
		return false
	}
	st := k.cachedStatus(b.c)
	if st == nil || st.ContainerID == "" { // (2), R47
		return true
	}
	if st.ContainerID != b.id { // (3)
		delete(b.results(), b.id)
		b.id = st.ContainerID
		b.store(b.initial(st))
		b.onHold = false
	}
	if b.onHold { // (4)
		return true
	}
	if st.State.Running == nil { // (5)
		b.store(failure)
		return st.State.Terminated == nil || k.pod.Policy != corev1.RestartPolicyNever || k.mayCome(b.c)
	}
	if whole(k.now).Unix()-st.State.Running.StartedAt.Unix() < int64(b.spec.Delay) { // (6), R46
		return true
	}
	if started := st.Started != nil && *st.Started; started == (b.kind == trace.StartupProbe) { // (7), R45
		return true
	}
	outcome := b.probe(p) // (8)
	if outcome == unknown {
		return true // R54: dropped
	}
	if b.last != outcome { // (9), R50
		b.last, b.run = outcome, 0
	}
	b.run++
	if outcome == failure && b.run < b.spec.Failures && !(k.pod.Faults.Impatient && b.kind != trace.ReadinessProbe) || outcome == success && b.run < b.spec.Successes {
		return true
	}
	b.store(outcome)
	if outcome == failure && b.kind != trace.ReadinessProbe || b.kind == trace.StartupProbe && k.v.Has(StartupProbeStops) {
		b.onHold, b.run = true, 0 // R51, R53
	}
	return true
}

// mayCome tells whether a container that has ended in a Pod with policy Never
// can still get another instance, R56.
func (k *kubelet) mayCome(c int) bool {
	if k.isSidecar(c) {
		return !k.pod.Faults.ForgetsSidecar
	}
	return k.v.Has(RestartRules) && (k.all[c].Policy != nil || len(k.all[c].Rules) > 0)
}

// initial is the result that a new container ID begins with, R44, R57.
func (b *probe) initial(st *corev1.ContainerStatus) result {
	k := b.k
	if b.kind == trace.LivenessProbe {
		return success
	}
	kept := k.wasThere(b.c, st)
	switch {
	case b.kind == trace.ReadinessProbe && kept && k.lastStatus[b.c].Ready, b.kind == trace.StartupProbe && kept && *k.lastStatus[b.c].Started:
		return success
	case b.kind == trace.ReadinessProbe:
		return failure
	}
	return unknown
}

// wasThere tells whether ready and started are kept since the container is
// older than this kubelet, R57. A correct kubelet does so for the same container
// ID only, and 1.35 to 1.37 differ in this only where they are wrong.
func (k *kubelet) wasThere(c int, st *corev1.ContainerStatus) bool {
	if !k.v.Has(KeptOverRestart) || st.State.Running == nil || stamp(k.since).Sub(st.State.Running.StartedAt.Time).Seconds() <= 10 {
		return false
	}
	old := k.lastStatus[c]
	return old != nil && old.ContainerID == st.ContainerID && old.Started != nil
}

func (b *probe) results() map[string]result {
	switch b.kind {
	case trace.ReadinessProbe:
		return b.k.readiness
	case trace.LivenessProbe:
		return b.k.liveness
	}
	return b.k.startup
}

// store keeps a result; a change has the effects of R51 and R2c.
func (b *probe) store(r result) {
	k := b.k
	old, had := b.results()[b.id]
	if had && old == r {
		return
	}
	b.results()[b.id] = r
	id := b.id
	// Through a channel to the kubelet's main loop, which keeps their order.
	at := max(k.results[b.kind], k.now+k.upTo(10))
	k.results[b.kind] = at
	k.spawnHere(func(p *proc) {
		p.sleep(at - k.now)
		switch {
		case b.kind == trace.ReadinessProbe:
			k.setReady(id, r == success)
			k.wake = true
		case b.kind == trace.StartupProbe:
			k.setStarted(id, r == success)
			k.wake = true
		case r == failure:
			k.wake = true
		}
	})
}

// probe runs the handler and returns its outcome, unknown for an error.
func (b *probe) probe(p *proc) result {
	k := b.k
	spec := k.all[b.c]
	code := 0
	switch b.kind {
	case trace.ReadinessProbe:
		code = k.choose(2)
	case trace.StartupProbe:
		if spec.StartupFails || k.oneIn(3) {
			code = k.choose(2)
		}
	default:
		if spec.LivenessFails && k.oneIn(2) {
			code = 1
		}
	}
	// Exec goes to the container that the worker knows; a network probe to
	// whatever listens at the address that the status has: R47.
	i := k.byID(b.id)
	if b.spec.HTTP {
		if i = k.newest(b.c); i != nil && i.sandbox != k.address {
			i = nil
		}
	}
	// The main loop has heard of a new instance before its first probe returns.
	lag := k.between(10, 200)
	word := map[trace.Actor]string{trace.StartupProbe: "Startup", trace.ReadinessProbe: "Readiness", trace.LivenessProbe: "Liveness"}[b.kind]
	if !b.spec.HTTP && (i == nil || !i.running || k.pod.Faults.FrozenReadiness && k.deleted) { // R54
		p.sleep(k.upTo(50))
		k.event(b.c, "Warning", "Unhealthy", word+" probe errored and resulted in unknown state")
		return unknown
	}
	late := spec.Slow && !b.spec.HTTP && k.oneIn(4)
	x := k.reach(i, b.spec.HTTP, func(p *proc) int {
		if late && k.choose(2) == 0 {
			p.sleep(k.between(1000, 1500))
			return 1
		}
		p.sleep(lag)
		k.line(i, b.kind, end(code))
		if late {
			p.sleep(k.between(1000, 1500) - lag)
			return 1
		}
		p.sleep(k.upTo(20))
		return code
	})
	p.await(func() bool { return x.ended(i) })
	p.sleep(k.upTo(40))
	if !x.over && !b.spec.HTTP { // it died with its container
		if k.choose(2) == 0 {
			k.event(b.c, "Warning", "Unhealthy", word+" probe errored and resulted in unknown state")
			return unknown
		}
	}
	if x.code == 0 {
		return success
	}
	message := fmt.Sprintf("%s probe failed: %d", word, x.code)
	if late {
		message = word + " probe failed: command timed out"
	}
	if spec.Slow {
		// Nothing else shows one that left no line, among those that did.
		k.rec.told(k.path(b.c), "Warning", "Unhealthy", message)
		return failure
	}
	unseen := b.spec.HTTP || k.pod.May.ForceDelete || k.now > 1000*(k.pod.Seconds-k.pod.Grace-10)
	if unseen && k.rec.counts[eventKey{"Unhealthy", message, k.path(b.c)}] == nil {
		// Nothing else may show it: it leaves no line where nobody answers, and no status
		// where the Pod is deleted by force, or the trace ends before the instance does.
		k.rec.told(k.path(b.c), "Warning", "Unhealthy", message)
		return failure
	}
	k.event(b.c, "Warning", "Unhealthy", message)
	return failure
}

// byID is the container of an ID; nil if there is none any more.
func (n *node) byID(id string) *instance {
	for _, i := range n.instances {
		if i.id == id {
			return i
		}
	}
	return nil
}
