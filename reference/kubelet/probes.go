package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// probeWorker runs one probe of one container. It serves all instances of the
// container, one after the other. It works beside the worker of the Pod, also
// while a postStart hook holds that one up, but it only stores results and asks
// for a sync: to kill a container is up to the worker.
//
// restart/kill-after-sync, probes/after-restart
type probeWorker struct {
	k    *kubelet
	c    int
	kind trace.Actor
	spec Probe

	id      string // the container ID it knows
	onHold  bool
	last    result
	run     int  // of equal results; it outlives an instance
	trigger bool // a check is asked for besides the ticks; at most one is pending
}

type workerKey struct {
	c     int
	actor trace.Actor
}

// startProbeWorkers starts the workers that are missing. A sync does so before it
// starts any container.
func (k *kubelet) startProbeWorkers() {
	for n := range k.specs {
		c := n
		if k.pod.Faults.ForgetsSidecar {
			c = (n + len(k.pod.Init)) % len(k.specs) // regular containers first
		}
		spec := k.specs[c]
		for _, kind := range []trace.Actor{trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe} {
			key := workerKey{c, kind}
			if k.probeWorkers[key] != nil && k.pod.Faults.ForgetsSidecar {
				return // pkg/kubelet/prober/prober_manager.go, AddPod
			}
			if spec.probe(kind) == nil || k.probeWorkers[key] != nil {
				continue
			}
			w := &probeWorker{k: k, c: c, kind: kind, spec: spec.probe(kind).WithDefaults()}
			k.probeWorkers[key] = w
			k.goroutine(w.work)
		}
	}
}

// work checks at once, then at each tick, which comes once a period, and where a
// readiness probe is triggered. So several may follow each other closely.
//
// probes/run-periodically, probes/readiness-bunch
func (w *probeWorker) work(p *proc) {
	k := w.k
	period := 1000 * w.spec.Period
	if k.now-k.started < period {
		p.sleep(k.upTo(period))
	}
	next := k.now + period
	for w.check(p) {
		stop := func() bool { return k.allStopped || k.stopLiveness && w.stopsEarly() }
		p.awaitUntil(next, func() bool { return w.trigger || stop() })
		// Where a tick is due as well, it is a matter of chance which comes first.
		if stop() && !(k.now >= next && !k.allStopped && k.oneIn(2)) {
			break
		}
		if k.now >= next && !(w.trigger && k.oneIn(2)) {
			next += period
			if k.now >= next { // at most one tick is pending
				next = k.now + period - (k.now-next)%period
			}
			continue
		}
		w.trigger = false
		p.sleep(k.upTo(5))
		if k.has(TriggerRestartsTicker) {
			next = k.now + period
		}
	}
	delete(k.probeWorkers, workerKey{w.c, w.kind}) // a later sync starts it again
	if f := k.pod.Faults; f.Workerless || f.ForgetsSidecar {
		k.results.forget(w.kind, w.id)
	}
}

// stopsEarly reports whether the worker ends when the termination of the Pod
// begins: startup and liveness probes of regular containers, from 1.38 on those
// of sidecars too. Any other goes on until everything has stopped.
//
// probes/during-termination, probes/readiness-until-stopped
func (w *probeWorker) stopsEarly() bool {
	return w.kind != trace.ReadinessProbe && (w.k.isRegular(w.c) || w.k.has(SidecarProbesStop))
}

// check is one check, which looks at the status first, and then may run the
// probe. It returns false where the worker ends.
func (w *probeWorker) check(p *proc) bool {
	k := w.k
	if k.cached == nil {
		return true
	}
	if terminal(k.cached.Phase) {
		return false
	}
	// The status knows an instance only when the sync that started it has ended,
	// with all its postStart hooks.
	//
	// probes/after-sync
	st := k.find(k.cached, w.c)
	if st == nil || st.ContainerID == "" {
		return true
	}
	if st.ContainerID != w.id { // a new instance
		k.results.forget(w.kind, w.id)
		w.id = st.ContainerID
		if w.kind != trace.StartupProbe || !k.pod.Faults.Workerless || !k.outlivedKubelet(w.c, st) {
			w.store(w.initial(st))
		}
		w.onHold = false
	}
	if w.onHold {
		return true
	}
	if st.State.Running == nil {
		w.store(failure)
		return st.State.Terminated == nil || k.pod.Policy != corev1.RestartPolicyNever || k.mayComeBack(w.c)
	}
	// Counted from the start of the main process, in whole seconds, so up to a
	// second is missing.
	//
	// probes/initial-delay
	if whole(k.now).Unix()-st.State.Running.StartedAt.Unix() < int64(w.spec.Delay) {
		return true
	}
	// A startup probe runs until the status says that the container has started,
	// the other two from then on.
	//
	// probes/startup-gates
	if started := st.Started != nil && *st.Started; started == (w.kind == trace.StartupProbe) {
		return true
	}
	if w.kind == trace.LivenessProbe && k.omits(LivenessProbes) {
		return true
	}
	w.countOutcome(w.probe(p))
	return true
}

// countOutcome counts an outcome, and stores the one that has come often enough in a row.
//
// probes/success-threshold, terminate/cause
func (w *probeWorker) countOutcome(outcome result) {
	k := w.k
	if outcome == unknown {
		return // it is dropped
	}
	if w.last != outcome {
		w.last, w.run = outcome, 0
	}
	w.run++
	if outcome == failure && w.run < w.spec.Failures && !(k.pod.Faults.Impatient && w.kind != trace.ReadinessProbe) || outcome == success && w.run < w.spec.Successes {
		return
	}
	if outcome == failure && w.kind != trace.ReadinessProbe {
		k.note("the %s of %s has failed: a sync is asked for", w.kind, k.specs[w.c].Name)
	}
	if outcome != failure || w.kind == trace.ReadinessProbe || !k.omits(ProbeKills) {
		w.store(outcome)
	}
	// After its verdict a probe waits for the next instance.
	//
	// probes/startup-stops, probes/held-after-failure
	if outcome == failure && w.kind != trace.ReadinessProbe || w.kind == trace.StartupProbe && k.has(StartupProbeStops) {
		w.onHold, w.run = true, 0
	}
}

// mayComeBack reports whether a container that has ended in a Pod with policy Never
// can still get another instance.
func (k *kubelet) mayComeBack(c int) bool {
	if k.isSidecar(c) {
		return !k.pod.Faults.ForgetsSidecar
	}
	return k.has(RestartRules) && (k.specs[c].Policy != nil || len(k.specs[c].Rules) > 0)
}

// initial is the result that a new container ID begins with.
func (w *probeWorker) initial(st *corev1.ContainerStatus) result {
	k := w.k
	if w.kind == trace.LivenessProbe {
		return success
	}
	kept := k.outlivedKubelet(w.c, st)
	switch {
	case w.kind == trace.ReadinessProbe && kept && k.atStartStatus[w.c].Ready, w.kind == trace.StartupProbe && kept && *k.atStartStatus[w.c].Started:
		return success
	case w.kind == trace.ReadinessProbe:
		return failure
	}
	return unknown
}

// probe runs the handler and returns its outcome, unknown for an error.
func (w *probeWorker) probe(p *proc) result {
	k := w.k
	does := k.surroundings.check(w.c, w.kind)
	// Exec goes to the container that the worker knows; a network probe to
	// whatever listens at the address that the status has.
	i := k.byID(w.id)
	if w.spec.HTTP {
		if i = k.newest(w.c); i != nil && i.sandbox != k.address {
			i = nil
		}
	}
	if !w.spec.HTTP && (i == nil || !i.running || k.pod.Faults.FrozenReadiness && k.deleted) {
		p.sleep(k.upTo(50))
		k.probeErred(w)
		return unknown
	}
	inside, timesOut := does(i)
	x := k.reach(i, w.spec.HTTP, inside)
	p.await(func() bool { return x.ended(i) })
	p.sleep(k.upTo(40))
	if !x.over && !w.spec.HTTP { // it died with its container
		if k.choose(2) == 0 {
			k.probeErred(w)
			return unknown
		}
	}
	if x.code == 0 {
		return success
	}
	k.probeFailed(w, x.code, timesOut)
	return failure
}
