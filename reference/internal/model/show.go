package model

import (
	"slices"

	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/trace"

	corev1 "k8s.io/api/core/v1"
)

// Record takes an accepted observation into the history.
func (r *Reading) Record(n int) {
	o := r.ob(n)
	switch e := o.Entry; {
	case o.IsLog:
		spec, run := &r.p.Containers[o.Container], r.runOf(o.Container, &o.Log)
		old := spec.Probe(o.Log.Actor).Network && run > 0 && (o.Log.Actor != trace.StartupProbe || r.startsOld(o.Container, run, n)) && !r.shownBy(o.Container, run, n)
		other := r.roundsInTrace() || r.ev.Containers[o.Container].Changed != 0
		r.h[o.Container].record(spec, run, &o.Log, n, old, other)
	case e.Event != nil:
		r.hear(n)
	case e.Pod != nil:
		r.shownAt, r.phase = int32(n)+1, e.Pod.Status.Phase
		r.ready = slices.ContainsFunc(e.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		r.initialized = r.initialized || slices.ContainsFunc(e.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodInitialized && c.Status == corev1.ConditionTrue
		})
		for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses} {
			for i := range list {
				if c, ok := r.p.Index[list[i].Name]; ok {
					r.h[c].show(&list[i], n)
				}
			}
		}
	}
}

// MayBeNext reports whether a line may be of the instance after the one to which
// it was taken to belong.
func (r *Reading) MayBeNext(o *record.Observation) bool {
	return o.IsLog && o.Log.Run == trace.NoRun && r.h[o.Container].newest().run >= 0 && r.runOf(o.Container, &o.Log) < r.ev.Containers[o.Container].Runs
}

// Copy is a reading of its own from here on.
func (r *Reading) Copy() Reading {
	c := *r
	c.h = slices.Clone(r.h)
	for i := range c.h {
		c.h[i].runs = slices.Clone(c.h[i].runs)
	}
	return c
}

// Landmarks calls do with the observations (index + 1) that the history points at, and with
// the acts.
func (r *Reading) Landmarks(do func(obs int32)) {
	for i := range r.h {
		for _, x := range r.h[i].runs {
			for _, at := range []int32{
				x.first, x.last, x.mainBegin, x.mainEnd, x.term, x.hookFirst, x.hookBegin, x.hookEnd, x.preStop, x.preStopBegin, x.preStopEnd,
				x.started, x.ready, x.failing, x.probed, x.readinessLast, x.livenessLast, x.startupFirst, x.startupLast, x.passed,
			} {
				do(at)
			}
		}
		do(r.h[i].stageAt)
		do(r.h[i].shownObs)
	}
	do(r.shownAt)
	for _, at := range slices.Concat(r.ev.Ends, r.ev.Restarts, r.ev.Sandboxes) {
		do(at)
	}
	for _, d := range r.ev.Due {
		do(d.Obs)
	}
}

// Signs calls do with the observations (index + 1), early or late, that show that an actor
// writes to the log at all, that a container lived, and that there were Events of that time.
func (r *Reading) Signs(do func(obs int32)) {
	for c := range r.ev.Containers {
		for _, at := range slices.Concat(r.ev.Containers[c].Logs[:], []int32{r.ev.Containers[c].Alive}) {
			do(at)
		}
	}
	do(r.ev.ToldAt)
}
