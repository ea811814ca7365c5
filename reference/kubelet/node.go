package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

// Run executes the Pod under a correct kubelet of the version ("v1.37.2") and
// returns the trace, which ends where the Pod is gone or the time is up.
func Run(p Pod, version string, choose Chooser) *trace.Trace {
	n := newNode(p, version, choose)
	n.spawn(n.harness)
	seconds := p.Seconds
	if seconds == 0 {
		seconds = 12
	}
	idle := 0
	n.run(1000*seconds, func() bool {
		if !n.api.gone || n.anythingRuns() {
			idle = n.now
			return false
		}
		return n.now > idle+1000 // what is under way still arrives
	})
	return n.rec.trace(n.v)
}

func newNode(p Pod, version string, choose Chooser) *node {
	w := &world{choose: choose}
	n := &node{
		world: w, rec: &recorder{w: w, counts: map[eventKey]*trace.Event{}}, v: MustParseRelease(version), pod: p, all: p.All(),
		created: make([]int, len(p.All())), logs: make([]int, len(p.All())), numbers: make([]int, len(p.All())), noImage: make([]int, len(p.All())), noCreate: make([]int, len(p.All())), noStart: make([]int, len(p.All())),
	}
	for c, spec := range n.all {
		if spec.NoImage {
			n.noImage[c] = n.upTo(15000)
		}
		if spec.NoCreate {
			n.noCreate[c] = n.upTo(15000)
		}
		if spec.NoStart {
			n.noStart[c] = n.upTo(15000)
		}
	}
	n.api = &api{n: n, pod: p.Manifest(), images: make([]int, len(n.all))}
	return n
}

func (n *node) anythingRuns() bool {
	for _, i := range n.instances {
		if i.running {
			return true
		}
	}
	return false
}

// api is the API server's copy of the Pod.
type api struct {
	n       *node
	pod     *corev1.Pod
	deleted bool
	grace   int   // deletionGracePeriodSeconds
	images  []int // how often that of each container was changed
	gone    bool
}

func (a *api) changed(kind string) { a.n.rec.pod(kind, a.pod.DeepCopy()) }

// delete is what a deletion does at the API server: the grace period can only
// become shorter, and one of 0 removes the object at once.
func (a *api) delete(grace int) {
	if a.gone || a.deleted && grace >= a.grace {
		return
	}
	a.deleted, a.grace = true, grace
	seconds := int64(grace)
	a.pod.DeletionGracePeriodSeconds = &seconds
	a.pod.DeletionTimestamp = &metav1.Time{Time: whole(a.n.now).Add(time.Duration(grace) * time.Second)}
	if grace == 0 {
		a.remove()
		return
	}
	a.changed(trace.Modified)
}

func (a *api) remove() {
	if !a.gone {
		a.gone = true
		a.changed(trace.Deleted)
	}
}

// changeImage gives a container another image.
func (a *api) changeImage(c int) {
	if a.gone {
		return
	}
	a.images[c]++
	list, i := a.pod.Spec.InitContainers, c
	if a.n.isRegular(c) {
		list, i = a.pod.Spec.Containers, c-len(list)
	}
	list[i].Image = imageOf(a.images[c])
	a.changed(trace.Modified)
}

// patchStatus stores a status; an equal one changes nothing, R29.
func (a *api) patchStatus(s corev1.PodStatus) {
	if a.gone || equal(a.pod.Status, s) {
		return
	}
	a.pod.Status = *s.DeepCopy()
	a.changed(trace.Modified)
}

// harness makes the Pod, and lets happen to it what may happen.
func (n *node) harness(p *proc) {
	n.rec.did(trace.ActApply, nil)
	p.sleep(n.upTo(20))
	n.api.pod.CreationTimestamp = whole(n.now)
	n.api.pod.Status.Phase = corev1.PodPending
	n.api.changed(trace.Added)
	n.spawn(func(p *proc) {
		p.sleep(n.upTo(200))
		n.kubelet = n.startKubelet(-100000 + n.choose(2)*99000) // up for long, or for a second
	})
	most := 6000
	if n.pod.Seconds > 12 && n.oneIn(2) {
		most = 900 * n.pod.Seconds
	}
	happens := func(may bool, what func(p *proc)) {
		if may && n.choose(4) > 0 {
			at := n.upTo(most)
			n.spawn(func(p *proc) {
				p.sleep(at)
				what(p)
			})
		}
	}
	happens(true, func(p *proc) { n.delete(p, 1+n.choose(n.pod.Grace+1)) })
	happens(n.pod.May.ForceDelete, func(p *proc) { n.delete(p, 0) })
	happens(n.pod.May.DeleteAgain, func(p *proc) {
		p.await(func() bool { return n.api.deleted })
		p.sleep(n.upTo(2000))
		n.delete(p, 1)
	})
	happens(n.pod.May.Evict, n.evict)
	happens(n.pod.May.RestartKubelet, n.restartKubelet)
	happens(n.pod.May.StopSandbox, n.loseSandbox)
	happens(n.pod.May.Patch, n.patch)
}

func (n *node) delete(p *proc, grace int) {
	if n.api.gone {
		return
	}
	seconds := int64(grace)
	n.rec.did(trace.ActDelete, trace.DeleteParam{GracePeriodSeconds: &seconds})
	p.sleep(n.upTo(30))
	n.api.delete(grace)
}

// evict is the kubelet's own decision, R79, R85: it may only shorten the grace
// period.
func (n *node) evict(p *proc) {
	k := n.kubelet
	if k == nil || k.deleted || k.terminating || k.phaseIsTerminal() {
		return
	}
	// A forced deletion may keep its status from showing, and the judge never
	// assumes what befalls a Pod from outside: its Event shows it.
	n.rec.told("", "Warning", "Evicted", "The node was low on resource: memory.")
	k.evicted, k.evictGrace = true, n.choose(n.pod.Grace+1)
	k.wake = true
}

// restartKubelet stops the kubelet, which keeps nothing in memory, and starts
// it again. The runtime and its containers go on; what the kubelet runs in them
// through exec is killed with its connection, R26.
func (n *node) restartKubelet(p *proc) {
	if n.kubelet == nil {
		return
	}
	n.rec.did(trace.ActRestart, "kubelet")
	p.sleep(n.upTo(100))
	n.kubelet.die()
	p.sleep(n.between(300, 1500))
	n.kubelet = n.startKubelet(n.now)
}

// patch changes the image of a regular container or of a sidecar.
func (n *node) patch(p *proc) {
	c := n.choose(len(n.all))
	if n.api.gone || n.isInit(c) {
		return
	}
	type container struct {
		Name  string `json:"name"`
		Image string `json:"image"`
	}
	list := "containers"
	if n.isSidecar(c) {
		list = "initContainers"
	}
	n.rec.did(trace.ActPatch, map[string]any{"spec": map[string]any{list: []container{{n.all[c].Name, imageOf(n.api.images[c] + 1)}}}})
	p.sleep(n.upTo(30))
	n.api.changeImage(c)
}

// loseSandbox stops the sandbox behind the kubelet's back, R64: its containers
// die one after another, then it is not ready any more.
func (n *node) loseSandbox(p *proc) {
	last := len(n.sandboxes) - 1
	if last < 0 || !n.sandboxes[last].ready {
		return
	}
	n.rec.did(trace.ActStop, "sandbox")
	for _, i := range slices.Clone(n.instances) { // some may be removed meanwhile
		if i.sandbox == last && i.running {
			p.sleep(n.upTo(100))
			n.dies(i, 137)
		}
	}
	p.sleep(n.upTo(200))
	n.sandboxes[last].ready = false
}
