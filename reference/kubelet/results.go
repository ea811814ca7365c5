package kubelet

import "github.com/podorder/podorder/reference/trace"

// result is a stored probe result; the zero value is that of a startup probe
// that has not come to one.
type result int

const (
	unknown result = iota
	success
	failure
)

// results holds the stored results of all probes, by kind and container ID.
type results struct {
	stored  map[trace.Actor]map[string]result
	heardAt map[trace.Actor]int // when the main loop hears of the latest of each kind
}

// of is the result of a probe for an instance.
func (r *results) of(kind trace.Actor, i *instance) result { return r.stored[kind][i.id] }

func (r *results) lookup(kind trace.Actor, id string) (result, bool) {
	is, known := r.stored[kind][id]
	return is, known
}

func (r *results) forget(kind trace.Actor, id string) { delete(r.stored[kind], id) }

// store keeps a result. The main loop of the kubelet hears of a change soon, in
// order: readiness and a startup probe's success show in the status at once, also
// while the worker is held up; any but a success of a liveness probe asks for a
// sync.
//
// status/ready-after-probe, status/follows-probes
func (w *probeWorker) store(r result) {
	k := w.k
	old, had := k.results.lookup(w.kind, w.id)
	if had && old == r {
		return
	}
	k.results.stored[w.kind][w.id] = r
	id := w.id
	at := max(k.results.heardAt[w.kind], k.now+k.upTo(10))
	k.results.heardAt[w.kind] = at
	k.goroutine(func(p *proc) {
		p.sleep(at - k.now)
		switch {
		case w.kind == trace.ReadinessProbe:
			k.setReady(id, r == success)
			k.wake = true
		case w.kind == trace.StartupProbe:
			k.setStarted(id, r == success)
			k.wake = true
		case r == failure:
			k.wake = true
		}
	})
}
