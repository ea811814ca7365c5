package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// kubelet is one run of the kubelet: what it keeps in memory for the Pod, and
// its goroutines.
type kubelet struct {
	*node
	procs []*proc
	execs []*process // processes that it runs in containers
	since int        // when it was started

	// What it knows.
	snapshot   *view
	relistNow  bool
	cached     *corev1.PodStatus // the status manager's
	address    int               // the sandbox whose address that has
	readiness  map[string]result // stored probe results, by container ID
	liveness   map[string]result
	startup    map[string]result
	results    map[trace.Actor]int             // when the main loop hears of the latest of each kind
	workers    map[workerKey]*probe            // running probe workers
	reasons    map[int]string                  // why the last start of a container failed
	backoffs   map[entry]*backoff              // of restarts
	pulls      map[int]*backoff                // of image pulls
	lastStatus map[int]*corev1.ContainerStatus // what the API said at the kubelet's start
	began      *corev1.PodStatus               // the same, as a whole

	// The worker.
	wake                          bool
	requeue                       int
	seen                          bool // the Pod has come from the API
	deleted                       bool // its deletion has
	grace                         int  // the deletion's
	forced                        bool
	orphan                        bool // it found the containers of a Pod that the API does not know
	evicted                       bool
	evictGrace                    int
	heard                         []int // how often images were changed, as the API said
	images                        []int // the same for the call that runs
	finished                      bool  // the computed phase is terminal
	terminating, over, terminated bool
	stopLiveness                  bool
	dirty                         bool
}

// spawnHere lets a goroutine of this kubelet act, which ends with it.
func (k *kubelet) spawnHere(f func(p *proc)) *proc {
	p := k.spawn(f)
	k.procs = append(k.procs, p)
	return p
}

// die ends the kubelet, R26.
func (k *kubelet) die() {
	for _, p := range k.procs {
		p.kill()
	}
	for _, x := range k.execs {
		if !x.over {
			x.proc.kill()
			x.over = true
		}
	}
}

func (n *node) startKubelet(since int) *kubelet {
	k := &kubelet{
		node: n, since: since, requeue: never,
		readiness: map[string]result{}, liveness: map[string]result{}, startup: map[string]result{}, results: map[trace.Actor]int{},
		workers: map[workerKey]*probe{}, reasons: map[int]string{}, backoffs: map[entry]*backoff{}, pulls: map[int]*backoff{},
		lastStatus: map[int]*corev1.ContainerStatus{}, began: n.api.pod.Status.DeepCopy(),
	}
	for c := range n.all {
		k.lastStatus[c] = n.apiStatus(c)
	}
	k.spawnHere(k.relist)
	k.spawnHere(k.work)
	k.spawnHere(k.publish)
	k.spawnHere(k.listen)
	k.spawnHere(k.listenToPatches)
	return k
}

// listen hears of the Pod from the API, R2a.
func (k *kubelet) listen(p *proc) {
	p.sleep(k.upTo(300))
	k.heard = slices.Clone(k.api.images)
	k.deleted, k.grace, k.orphan = k.api.deleted, k.api.grace, k.api.gone
	k.forced = k.deleted && k.grace == 0
	k.seen, k.wake = true, true
	for {
		p.await(func() bool { return k.api.deleted && (!k.deleted || k.api.grace < k.grace) })
		grace := k.api.grace
		p.sleep(k.upTo(50))
		k.deleted, k.grace, k.wake = true, grace, true
		k.forced = grace == 0
	}
}

// listenToPatches hears of changes of the Pod.
func (k *kubelet) listenToPatches(p *proc) {
	p.await(func() bool { return k.seen })
	for {
		p.await(func() bool { return !slices.Equal(k.heard, k.api.images) })
		images := slices.Clone(k.api.images)
		p.sleep(k.upTo(50))
		k.heard, k.wake = images, true
	}
}

// relist is the Pod Lifecycle Event Generator, R3: a pass over the runtime one
// second after the last one, and from 1.36 one for the Pod alone where it is
// asked for.
func (k *kubelet) relist(p *proc) {
	next := k.now + k.upTo(1000)
	for {
		alone := p.awaitUntil(next, func() bool { return k.relistNow })
		k.relistNow = false
		p.sleep(1)
		v := k.look()
		p.sleep(k.upTo(30)) // R3: d
		if k.snapshot == nil || k.snapshot.differs(v) {
			k.wake = true // R2b
		}
		k.snapshot = &v
		if !alone {
			next = k.now + 1000
		}
	}
}

// work is the Pod's worker, R1: one call after the other. What comes meanwhile
// is merged into one pending request.
func (k *kubelet) work(p *proc) {
	p.await(func() bool { return k.seen })
	k.finished = terminal(k.api.pod.Status.Phase)
	last := -1 // when the call before ended
	for {
		p.awaitUntil(k.requeue, func() bool { return k.wake })
		k.wake = false
		// Which call it is, is settled now; then the worker waits for a
		// snapshot that is newer than the last call's end, R3.
		ends := k.deleted || k.evicted || k.finished
		k.images = k.heard
		p.await(func() bool { return k.snapshot != nil && k.snapshot.at > last })
		if ends {
			k.terminatePod(p)
			last = k.now
			p.await(func() bool { return k.snapshot.at > last })
			k.terminatedPod(p)
			return
		}
		err := k.sync(p, *k.snapshot)
		last = k.now
		k.requeueAfter(err)
	}
}

// requeueAfter says when the worker runs again by itself, R4.
func (k *kubelet) requeueAfter(err *syncError) {
	jitter := func(ms int) int { return ms + k.upTo(ms/2) }
	delay := 0
	switch {
	case err == nil:
		delay = jitter(60000)
	case err.backoff >= 0 && k.v.Has(AimedRetry):
		delay = jitter(min(max(err.backoff, 0), 60000))
	default:
		delay = jitter(10000)
	}
	k.requeue = k.now + delay + k.upTo(1000) // the queue is polled once a second
	if k.finished {
		k.wake = true
	}
}

// syncError is why a sync failed; backoff is the time left of the earliest
// crash-loop back-off among its errors, -1 if there is none.
type syncError struct{ backoff int }

func (e *syncError) and(f *syncError) *syncError {
	switch {
	case e == nil:
		return f
	case f == nil || f.backoff < 0:
		return e
	case e.backoff < 0:
		return f
	}
	return &syncError{min(e.backoff, f.backoff)}
}

// alive lists the containers of a view that run.
func (v view) alive() []int {
	var list []int
	for c, i := range v.newest {
		if i != nil && i.running {
			list = append(list, c)
		}
	}
	return list
}

func (v view) runs(c int) bool { return slices.Contains(v.alive(), c) }
