package reference

import (
	"slices"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// record takes an accepted observation into the history.
func (r *reading) record(n int) {
	o := r.ob(n)
	switch e := o.entry; {
	case o.isLog:
		spec, run := &r.p.containers[o.c], r.runOf(o.c, &o.log)
		old := spec.probe(o.log.Actor).network && run > 0 && (o.log.Actor != trace.StartupProbe || r.startsOld(o.c, run, n)) && !r.shownBy(o.c, run, n)
		other := r.roundsInTrace() || r.ev.c[o.c].changed != 0
		r.h[o.c].record(spec, run, &o.log, n, old, other)
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
				if c, ok := r.p.index[list[i].Name]; ok {
					r.h[c].show(&list[i], n)
				}
			}
		}
	}
}

// mayBeNext reports whether a line may be of the instance after the one to which
// it was taken to belong.
func (r *reading) mayBeNext(o *observation) bool {
	return o.isLog && o.log.Run == trace.NoRun && r.h[o.c].newest().run >= 0 && r.runOf(o.c, &o.log) < r.ev.c[o.c].runs
}

// copy is a reading of its own from here on.
func (r *reading) copy() reading {
	c := *r
	c.h = slices.Clone(r.h)
	for i := range c.h {
		c.h[i].runs = slices.Clone(c.h[i].runs)
	}
	return c
}
