package kubelet

import (
	"slices"

	"github.com/podorder/podorder/reference/trace"
)

// node is one node with one Pod on it: the containers, and the kubelet that
// looks after them.
type node struct {
	*world
	surroundings
	rec     *recorder
	release Release
	pod     Pod
	specs   []Container // init containers and sidecars, then regular containers

	instances []*instance
	sandboxes []sandbox
	volumes   bool  // the Pod's volumes are mounted
	created   []int // how many instances of each container were created
	logs      []int // the number of the next one by the log files that are there
	numbers   []int // how many of them have taken a number
	// noImage, noCreate and noStart hold until when the image of a container is missing
	// and until when it cannot be created, or started.
	noImage, noCreate, noStart []int

	api     *apiServer
	kubelet *kubelet
}

func newNode(p Pod, r Release, choose Chooser) *node {
	p = p.withDefaults()
	w := &world{choose: choose}
	counters := func() []int { return make([]int, len(p.All())) }
	n := &node{
		world: w, rec: &recorder{w: w, counts: map[eventKey]*trace.Event{}}, release: r, pod: p, specs: p.All(),
		created: counters(), logs: counters(), numbers: counters(), noImage: counters(), noCreate: counters(), noStart: counters(),
	}
	n.api = &apiServer{n: n, pod: p.Manifest(), images: counters()}
	return n
}

func (n *node) has(c Change) bool { return n.release.Has(c) }

func (n *node) anythingRuns() bool {
	return slices.ContainsFunc(n.instances, func(i *instance) bool { return i.running })
}

// What follows is done to the Pod.

func (n *node) delete(p *proc, grace int) {
	if n.api.gone {
		return
	}
	seconds := int64(grace)
	n.rec.did(trace.ActDelete, trace.DeleteParam{GracePeriodSeconds: &seconds})
	p.sleep(n.upTo(30))
	n.api.delete(grace)
}

// evict is the kubelet's own decision. It may only shorten the grace period.
func (n *node) evict(grace func() int) {
	k := n.kubelet
	if k == nil || k.deleted || k.terminating || k.phaseIsTerminal() {
		return
	}
	// A forced deletion may keep its status from showing, and the judge never
	// assumes what is done to a Pod from outside: its Event shows it.
	n.rec.surely("", "Warning", "Evicted", "The node was low on resource: memory.")
	k.evicted, k.evictGrace = true, grace()
	k.wake = true
}

// restartKubelet stops the kubelet, which keeps nothing in memory, and starts
// it again. The runtime and its containers go on; what the kubelet runs in them
// through exec is killed with its connection.
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

// changeImage changes the image of a container at the API.
func (n *node) changeImage(p *proc, c int) {
	if n.api.gone {
		return
	}
	type container struct {
		Name  string `json:"name"`
		Image string `json:"image"`
	}
	list := "containers"
	if !n.isRegular(c) {
		list = "initContainers"
	}
	n.rec.did(trace.ActPatch, map[string]any{"spec": map[string]any{list: []container{{n.specs[c].Name, imageOf(n.api.images[c] + 1)}}}})
	p.sleep(n.upTo(30))
	n.api.changeImage(c)
}

// loseSandbox stops the sandbox without the kubelet's doing: its containers die
// one after another, then it is not ready any more.
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
