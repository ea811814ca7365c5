package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// queue decides which case runs when, and on which node.
//
// Nothing begins before all that will run is known. Then the longest cases begin
// first, beside all others, since the run takes at least as long as the longest. A
// case that needs a node for itself comes first as well where there are nodes
// kept for such cases, and last on a node that it shares, since it would hold up
// whatever waits after it.
type queue struct {
	// short and long are how many runs of either kind may be under way. A long
	// case does little but wait, so it takes no place from the others.
	short, long int
	// perNode is how many runs a node takes at once.
	perNode int

	mu      sync.Mutex
	unknown int // candidates that may still come
	waiting []*ticket
	shorts  int // under way
	longs   int
	running map[string]int  // by node
	alone   map[string]bool // nodes that one run has for itself
}

// ticket is one run of a case that waits for its turn, or has it.
type ticket struct {
	need
	place string        // the node, once it has one
	turn  chan struct{} // closed once it has
}

// need is what a run needs.
type need struct {
	// nodes are where it may run, the best first.
	nodes []string
	// alone tells that it disturbs whatever else is on its node; shared that
	// others run there as well.
	alone, shared bool
	// long tells that it mostly waits; length orders runs, the longest first.
	long   bool
	length int
}

func newQueue(short, long, perNode int) *queue {
	return &queue{short: max(1, short), long: max(1, long), perNode: max(1, perNode), running: map[string]int{}, alone: map[string]bool{}}
}

// expect announces candidates. Nothing begins until each of them has come or is
// settled.
func (q *queue) expect(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unknown += n
}

// settled tells that a candidate has come, or never will: flags exclude it.
func (q *queue) settled() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unknown--
	q.serve()
}

// join adds n runs of one case at once.
func (q *queue) join(n int, what need) []*ticket {
	var all []*ticket
	for range n {
		all = append(all, &ticket{need: what, turn: make(chan struct{})})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, all...)
	slices.SortStableFunc(q.waiting, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.length, a.length))
	})
	q.serve()
	return all
}

// rank orders runs: the first is served first.
func (n need) rank() int {
	switch {
	case n.alone && n.shared:
		return 3
	case n.alone:
		return 0
	case n.long:
		return 1
	}
	return 2
}

// await waits for the turn of a run and returns its node. leave has to be called
// at its end.
func (q *queue) await(ctx context.Context, t *ticket) (node string, err error) {
	select {
	case <-t.turn:
	case <-ctx.Done():
		q.mu.Lock()
		if i := slices.Index(q.waiting, t); i >= 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
		}
		q.mu.Unlock()
	}
	if ctx.Err() != nil {
		q.leave(t)
		return "", fmt.Errorf("waiting for a turn: %w", context.Cause(ctx))
	}
	return t.place, nil
}

// leave gives back what a run had.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-t.turn:
	default:
		return // it never had its turn
	}
	if t.long {
		q.longs--
	} else {
		q.shorts--
	}
	q.running[t.place]--
	if t.alone {
		delete(q.alone, t.place)
	}
	q.serve()
}

// serve gives a turn to everyone who can have one.
func (q *queue) serve() {
	if q.unknown > 0 {
		return
	}
	for _, t := range slices.Clone(q.waiting) {
		if t.long && q.longs >= q.long || !t.long && q.shorts >= q.short {
			continue
		}
		place, ok := q.free(t)
		if !ok {
			continue
		}
		q.waiting = slices.DeleteFunc(q.waiting, func(w *ticket) bool { return w == t })
		if t.long {
			q.longs++
		} else {
			q.shorts++
		}
		t.place = place
		q.running[place]++
		q.alone[place] = t.alone
		close(t.turn)
	}
}

// free returns a node on which a run can begin.
func (q *queue) free(t *ticket) (string, bool) {
	for _, n := range t.nodes {
		switch {
		case q.alone[n]:
		case !t.alone && q.running[n] < q.perNode:
			return n, true
		case t.alone && q.running[n] == 0 && !q.wanted(n):
			return n, true
		}
	}
	return "", false
}

// wanted reports whether someone who would share a node waits for it.
func (q *queue) wanted(node string) bool {
	return slices.ContainsFunc(q.waiting, func(t *ticket) bool { return !t.alone && slices.Contains(t.nodes, node) })
}

// onNode reports whether a case acts on its node behind the back of the API.
func onNode(c fixtures.Case) bool { return c.OnNode() }

// disturbs reports whether a case disturbs what else runs on its node.
func disturbs(c fixtures.Case) bool { return c.Disturbs() }

// longPatience is the patience for one step from which a case counts as long.
// Cases are to ask for no more than they need, so what a case asks for is the
// best hint of how long it takes.
const longPatience = 90 // seconds

// ordinary is what a step counts that asks for no patience of its own, in seconds.
const ordinary = 60

// removal is the grace period that Pods of a workload have where they ask for none, in seconds.
const removal = 30

// patience returns what a case asks for in all and for the most patient step, in
// seconds.
func patience(c fixtures.Case) (all, most int) {
	for _, s := range c.Steps {
		if s.Await != nil {
			n := ordinary
			if s.Await.Within > 0 {
				n = int(s.Await.Within.Seconds())
			}
			all, most = all+n, max(most, n)
		}
		if s.Act != nil && s.Act.Name == trace.ActRemove {
			all += removal
		}
	}
	return all, most
}

// delay returns the longest that one process, hook or probe of a case takes by its Pod, in
// seconds. It tells cases apart that ask for the same patience.
func delay(c fixtures.Case) int {
	longest := time.Duration(0)
	takes := func(d time.Duration) { longest = max(longest, d) }
	handler := func(exec *corev1.ExecAction, sleep *corev1.SleepAction) {
		if exec != nil {
			takes(ticking(exec.Command))
		}
		if sleep != nil {
			takes(time.Duration(sleep.Seconds) * time.Second)
		}
	}
	pod := c.Pod()
	for _, k := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		takes(ticking(slices.Concat(k.Command, k.Args)))
		if l := k.Lifecycle; l != nil {
			for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
				if h != nil {
					handler(h.Exec, h.Sleep)
				}
			}
		}
		for _, p := range []*corev1.Probe{k.StartupProbe, k.ReadinessProbe, k.LivenessProbe} {
			if p != nil {
				takes(time.Duration(p.InitialDelaySeconds) * time.Second)
				handler(p.Exec, nil)
			}
		}
	}
	return int(longest.Seconds())
}

// ticking returns how long the recorder ticks if it is called so: -ticks 12 -every 250ms. What
// cannot be read, or is no recorder, delays nothing.
func ticking(argv []string) time.Duration {
	after := func(flag string) string {
		if i := slices.Index(argv, flag); i >= 0 && i+1 < len(argv) {
			return argv[i+1]
		}
		return ""
	}
	n, err := strconv.Atoi(after("-ticks"))
	if err != nil {
		return 0
	}
	every, err := time.ParseDuration(after("-every"))
	if err != nil {
		return 0
	}
	return time.Duration(n) * every
}

// isLong reports whether a case takes much longer than most.
func isLong(c fixtures.Case) bool {
	_, most := patience(c)
	return most > longPatience
}

// limits are what bounds how many cases run at once.
type limits struct {
	cpus, pods, memory int64 // memory in bytes; pods and memory are those of one node
	// followed is how many cases this machine can follow at once; 0 if nothing
	// limits that.
	followed int64
	// asked is what the user says; 0 if nothing.
	asked int64
}

// Sizes of what a case needs, taken generously.
const (
	podsPerCase   = 4 // a workload has several
	systemPods    = 10
	memoryPerCase = 96 << 20
)

// room returns how many short and how many long cases may run at once, and how
// many on one node. What a case takes of a CPU is the start and the end of its
// containers and the probes; more cases at once would only delay each other.
func room(l limits) (short, long, perNode int) {
	perNode = int(max(1, min((l.pods-systemPods)/podsPerCase, l.memory/memoryPerCase)))
	short, long = int(max(shortLeast, shortPerCPU*l.cpus)), int(max(longLeast, longPerCPU*l.cpus))
	if l.asked > 0 {
		short, long = int(l.asked), int(l.asked)
	}
	if f := int(l.followed); f > 0 && short+long > f {
		long = max(1, min(long, f/3))
		short = max(1, min(short, f-long))
	}
	return short, long, perNode
}

// A guess that keeps two cores busy; it was never measured on a machine without
// other work.
const (
	shortPerCPU, shortLeast = 6, 4
	longPerCPU, longLeast   = 8, 8
)
