package kubelet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// kubelet is one run of the kubelet: what it keeps in memory for the Pod, and
// its goroutines. None of it outlives a restart of the kubelet.
type kubelet struct {
	*node
	procs   []*proc
	execs   []*process // processes that it runs in containers
	started int        // when it was started
	syncs   int        // how many syncs there were

	// What it knows.
	snapshot      *snapshot // of the latest relist
	listed        *snapshot // what that had listed
	inspection    int       // how long it takes to inspect a container, at most
	relistNow     bool
	cached        *corev1.PodStatus // the latest status, which the status manager keeps
	dirty         bool              // it has not been sent to the API yet
	address       int               // the sandbox whose address that has
	results       results           // stored probe results
	probeWorkers  map[workerKey]*probeWorker
	startErrors   map[int]string                  // why the last start of a container failed
	backoffs      map[backoffKey]*backoff         // of restarts
	pulls         map[int]*backoff                // of image pulls
	atStart       *corev1.PodStatus               // what the API said when this kubelet was started
	atStartStatus map[int]*corev1.ContainerStatus // the same for each container

	// What it has heard of the Pod from the API.
	podSeen bool
	deleted bool
	grace   int   // that of the deletion
	forced  bool  // which has a grace period of 0
	orphan  bool  // it found the containers of a Pod that the API does not know
	heard   []int // how often images were changed

	// It has decided itself to evict the Pod.
	evicted    bool
	evictGrace int

	// The Pod's worker.
	wake         bool  // a call is asked for
	requeue      int   // when one is due anyway
	images       []int // what the call that runs knows of images
	finished     bool  // the phase that was computed is terminal
	terminating  bool  // the terminating call has begun
	allStopped   bool  // it has stopped everything
	terminated   bool  // the terminated call has begun
	stopLiveness bool  // liveness and startup probes are to end
}

func (n *node) startKubelet(started int) *kubelet {
	k := &kubelet{
		node: n, started: started, requeue: never,
		results:      results{stored: map[trace.Actor]map[string]result{trace.ReadinessProbe: {}, trace.LivenessProbe: {}, trace.StartupProbe: {}}, heardAt: map[trace.Actor]int{}},
		probeWorkers: map[workerKey]*probeWorker{}, startErrors: map[int]string{}, backoffs: map[backoffKey]*backoff{}, pulls: map[int]*backoff{},
		atStart: n.api.pod.Status.DeepCopy(), atStartStatus: map[int]*corev1.ContainerStatus{},
	}
	for c := range n.specs {
		k.atStartStatus[c] = n.find(n.api.pod.Status.DeepCopy(), c)
	}
	if n.oneIn(4) {
		k.inspection = 1 + n.upTo(40)
	}
	k.goroutine(k.relist)
	k.goroutine(k.work)
	k.goroutine(k.publish)
	k.goroutine(k.listen)
	k.goroutine(k.listenToPatches)
	k.goroutine(k.watchDeadline)
	return k
}

// goroutine lets a goroutine of this kubelet act, which ends with it.
func (k *kubelet) goroutine(f func(p *proc)) *proc {
	p := k.spawn(f)
	k.procs = append(k.procs, p)
	return p
}

// die ends the kubelet, and with it what it runs in containers. A postStart hook
// that was cut off so is not run again.
//
// hooks/poststart-once
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

// listen hears of the Pod from the API, and of its deletion.
func (k *kubelet) listen(p *proc) {
	p.sleep(k.upTo(300))
	k.heard = slices.Clone(k.api.images)
	k.deleted, k.grace, k.orphan = k.api.deleted, k.api.grace, k.api.gone
	k.forced = k.deleted && k.grace == 0
	k.podSeen, k.wake = true, true
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
	p.await(func() bool { return k.podSeen })
	for {
		p.await(func() bool { return !slices.Equal(k.heard, k.api.images) })
		images := slices.Clone(k.api.images)
		p.sleep(k.upTo(50))
		k.heard, k.wake = images, true
	}
}

// note tells what the kubelet does, for [Recording].
func (k *kubelet) note(format string, args ...any) { k.rec.step(fmt.Sprintf(format, args...)) }

// names are those of some containers, as a sentence has them.
func (n *node) names(list []int) string {
	var names []string
	for _, c := range list {
		names = append(names, n.specs[c].Name)
	}
	return strings.Join(names, ", ")
}
