package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

// Chooser makes every choice of a run: a number from 0 to n-1.
type Chooser func(n int) int

// Pod is what is run.
type Pod struct {
	Containers []Container
	Policy     corev1.RestartPolicy
	Grace      int // seconds
	// HookInBackground makes the kubelet wrong on purpose: it does not wait
	// for a postStart hook.
	HookInBackground bool
}

// Container is one regular container and what its processes do.
type Container struct {
	Name                         string
	PostStart, PreStop           bool
	Startup, Readiness, Liveness bool
	// HookFails, LivenessFails and Exits let the hook, a liveness probe and
	// the main process fail, if the Chooser wants it so.
	HookFails, LivenessFails, Exits bool
}

// Manifest returns the Pod as a manifest would give it.
func (p Pod) Manifest() *corev1.Pod {
	grace := int64(p.Grace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "simulated"}, Spec: corev1.PodSpec{RestartPolicy: p.Policy, TerminationGracePeriodSeconds: &grace}}
	exec := &corev1.ExecAction{Command: []string{"x"}}
	probe := func(has bool) *corev1.Probe {
		if !has {
			return nil
		}
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: exec}}
	}
	for _, c := range p.Containers {
		spec := corev1.Container{Name: c.Name, StartupProbe: probe(c.Startup), ReadinessProbe: probe(c.Readiness), LivenessProbe: probe(c.Liveness)}
		if c.PostStart || c.PreStop {
			spec.Lifecycle = &corev1.Lifecycle{}
			if c.PostStart {
				spec.Lifecycle.PostStart = &corev1.LifecycleHandler{Exec: exec}
			}
			if c.PreStop {
				spec.Lifecycle.PreStop = &corev1.LifecycleHandler{Exec: exec}
			}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, spec)
	}
	return pod
}

// Run executes the Pod under a kubelet of the given minor release of
// Kubernetes 1 and returns the trace.
func Run(p Pod, minor int, choose Chooser) *trace.Trace {
	s := &sim{pod: p, minor: minor, choose: choose, c: make([]container, len(p.Containers))}
	for i := range s.c {
		s.c[i] = container{run: -1, exit: -1}
	}
	s.did(trace.ActApply, nil)
	s.publish(true)
	s.after(s.upTo(300), s.sync)
	if s.choose(4) > 0 {
		s.after(s.upTo(6000), s.delete)
	}
	for len(s.queue) > 0 && s.now < 12000 {
		next := 0
		for i, e := range s.queue {
			if e.at < s.queue[next].at {
				next = i
			}
		}
		e := s.queue[next]
		s.queue = slices.Delete(s.queue, next, next+1)
		s.now = e.at
		e.do()
	}
	return s.trace()
}

// sim is the whole world of one Pod. Times are milliseconds.
type sim struct {
	pod    Pod
	minor  int
	choose Chooser
	now    int
	queue  []event

	c       []container
	cached  []status // what the status manager and the probe workers know
	sandbox bool
	deleted bool // at the API
	ending  bool
	gone    bool
	workers bool // the probe workers have been started

	logAt, watchAt, eventAt int // when the last entry of a channel arrived
	entries                 []trace.Entry
	pending                 bool // a publication is under way
}

type event struct {
	at int
	do func()
}

type container struct {
	run       int
	alive     bool
	exit      int // exit code of the newest instance; -1 while there is none
	exited    bool
	readyRun  int // run+1 for which readiness succeeded
	startRun  int // the same for startup
	failedRun int // run+1 whose liveness failed
	restarts  int
	hookError bool
	closed    bool // the main process has written its last line
}

type status struct {
	run             int
	running, exited bool
	exit            int
	ready, started  bool
	hookError       bool
}

func (s *sim) after(ms int, do func()) { s.queue = append(s.queue, event{s.now + ms, do}) }
func (s *sim) upTo(ms int) int         { return s.choose(ms + 1) }
func (s *sim) stamp(ms int) time.Time {
	return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}
func (s *sim) spec(i int) Container      { return s.pod.Containers[i] }
func (s *sim) still(i, run int) bool     { return s.c[i].run == run && s.c[i].alive }
func (s *sim) add(at int, e trace.Entry) { e.At = s.stamp(at); s.entries = append(s.entries, e) }

// line is a write to the shared log by instance run of container i.
func (s *sim) line(i, run int, a trace.Actor, m trace.Mark) {
	l := trace.Line{Time: s.stamp(s.now), Container: s.spec(i).Name, Run: run, Actor: a, Mark: m}
	text := l.Format()
	s.logAt = max(s.logAt, s.now+s.upTo(600))
	s.add(s.logAt, trace.Entry{Log: &text})
}

func (s *sim) event(i int, reason, message string) {
	s.eventAt = max(s.eventAt, s.now+s.upTo(400))
	s.add(s.eventAt, trace.Entry{Event: &trace.Event{Reason: reason, Message: message, FieldPath: "spec.containers{" + s.spec(i).Name + "}", Count: 1}})
}

func (s *sim) did(name string, param any) {
	a, err := trace.NewAct(name, param)
	if err != nil {
		panic(err) // parameters of this file only
	}
	s.add(s.now, trace.Entry{Did: &a})
}

func (s *sim) delete() {
	grace := int64(1 + s.choose(3))
	s.did(trace.ActDelete, trace.DeleteParam{GracePeriodSeconds: &grace})
	s.pod.Grace = int(grace)
	s.after(s.upTo(50), func() { s.deleted = true; s.publish(false) })
}

// sync is one pass of the worker.
func (s *sim) sync() {
	s.generate()
	if s.deleted {
		s.terminate()
		return
	}
	var kills, list []int
	for i := range s.c {
		c := &s.c[i]
		switch {
		case c.run < 0:
			list = append(list, i)
		case c.exited && s.restarts(i):
			list = append(list, i)
		case c.alive && c.failedRun == c.run+1:
			kills = append(kills, i)
			if s.pod.Policy != corev1.RestartPolicyNever {
				list = append(list, i)
			}
		}
	}
	if !s.workers {
		s.workers = true
		s.startWorkers()
	}
	s.sandboxThen(func() { s.killAll(kills, func() { s.start(list, s.again) }) })
}

func (s *sim) restarts(i int) bool {
	switch s.pod.Policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return s.c[i].exit != 0
	}
	return s.c[i].restarts < 3 // what follows is back-off beyond the end of a run
}

func (s *sim) again() { s.after(s.upTo(1100), s.sync) }

func (s *sim) sandboxThen(do func()) {
	if s.sandbox {
		do()
		return
	}
	s.after(50+s.upTo(300), func() {
		s.sandbox = true
		if s.minor >= 36 {
			s.publish(false)
		}
		do()
	})
}

func (s *sim) killAll(list []int, then func()) {
	if len(list) == 0 {
		then()
		return
	}
	s.event(list[0], "Killing", fmt.Sprintf("Container %s failed liveness probe, will be restarted", s.spec(list[0]).Name))
	s.kill(list[0], func() { s.killAll(list[1:], then) })
}

// start goes through the start list, one container at a time.
func (s *sim) start(list []int, then func()) {
	if len(list) == 0 {
		then()
		return
	}
	i := list[0]
	next := func() { s.start(list[1:], then) }
	s.event(i, "Pulled", "Container image already present on machine")
	s.after(s.upTo(80), func() {
		s.event(i, "Created", "Container created")
		s.after(s.upTo(200), func() {
			if s.c[i].run >= 0 {
				s.c[i].restarts++
			}
			run := s.c[i].run + 1
			s.c[i] = container{run: run, alive: true, exit: -1, readyRun: s.c[i].readyRun, startRun: s.c[i].startRun, failedRun: s.c[i].failedRun, restarts: s.c[i].restarts}
			s.event(i, "Started", "Container started")
			s.main(i, run)
			switch {
			case !s.spec(i).PostStart:
				next()
			case s.pod.HookInBackground:
				s.postStart(i, run, func() {})
				next()
			default:
				s.postStart(i, run, next)
			}
		})
	})
}

// main runs the main process: a first line some time after the start, ticks,
// and an end of its own where the container may exit.
func (s *sim) main(i, run int) {
	exits := s.spec(i).Exits && s.choose(3) == 0
	var tick func(n int)
	tick = func(n int) {
		if !s.still(i, run) || s.c[i].closed {
			return
		}
		if exits && n > s.choose(8) {
			code := s.choose(2)
			s.line(i, run, trace.Main, trace.Mark{Kind: trace.End, N: code})
			s.c[i].closed = true
			s.after(s.upTo(20), func() {
				if s.still(i, run) {
					s.exit(i, code)
				}
			})
			return
		}
		s.line(i, run, trace.Main, trace.Mark{Kind: trace.Tick, N: n})
		s.after(100+s.upTo(500), func() { tick(n + 1) })
	}
	s.after(s.upTo(400), func() {
		if s.still(i, run) {
			s.line(i, run, trace.Main, trace.Mark{Kind: trace.Begin, N: -1})
			s.after(s.upTo(300), func() { tick(1) })
		}
	})
}

func (s *sim) exit(i, code int) {
	s.c[i].alive, s.c[i].exited, s.c[i].exit = false, true, code
}

// postStart runs the hook and, if it fails, kills the container.
func (s *sim) postStart(i, run int, then func()) {
	fails := s.spec(i).HookFails && s.choose(3) == 0
	ticks := s.choose(4)
	failed := func() {
		s.event(i, "FailedPostStartHook", "PostStartHook failed")
		s.event(i, "Killing", "FailedPostStartHook")
		s.c[i].hookError = true
		s.kill(i, then)
	}
	var step func(n int)
	step = func(n int) {
		switch {
		case !s.still(i, run): // it died with the container
			s.after(s.upTo(50), failed)
		case n == 0:
			s.line(i, run, trace.PostStart, trace.Mark{Kind: trace.Begin, N: -1})
			s.after(s.upTo(300), func() { step(1) })
		case n <= ticks:
			s.line(i, run, trace.PostStart, trace.Mark{Kind: trace.Tick, N: n})
			s.after(s.upTo(700), func() { step(n + 1) })
		case fails:
			s.line(i, run, trace.PostStart, trace.Mark{Kind: trace.End, N: 1})
			s.after(s.upTo(50), failed)
		default:
			s.line(i, run, trace.PostStart, trace.Mark{Kind: trace.End, N: 0})
			s.after(s.upTo(50), then)
		}
	}
	s.after(s.upTo(400), func() { step(0) })
}

// kill stops one container: preStop, TERM, and KILL at the end of the grace
// period.
func (s *sim) kill(i int, then func()) {
	run := s.c[i].run
	if !s.c[i].alive {
		then()
		return
	}
	begun := s.now
	term := func() {
		deaf := s.choose(4) == 0
		left := max(2000, 1000*s.pod.Grace-(s.now-begun))
		if deaf {
			s.after(left, func() {
				if s.still(i, run) {
					s.exit(i, 137)
				}
				then()
			})
			return
		}
		s.after(s.upTo(100), func() {
			if !s.still(i, run) {
				then()
				return
			}
			if !s.c[i].closed {
				s.line(i, run, trace.Main, trace.Mark{Kind: trace.Signal, N: -1, Signal: "TERM"})
			}
			s.after(s.upTo(400), func() {
				if s.still(i, run) && !s.c[i].closed {
					s.line(i, run, trace.Main, trace.Mark{Kind: trace.End, N: 0})
					s.exit(i, 0)
				}
				if s.still(i, run) {
					s.exit(i, 143)
				}
				then()
			})
		})
	}
	if !s.spec(i).PreStop {
		term()
		return
	}
	lasts := s.upTo(4000)
	over := 1000 * s.pod.Grace
	s.after(s.upTo(200), func() {
		if s.still(i, run) {
			s.line(i, run, trace.PreStop, trace.Mark{Kind: trace.Begin, N: -1})
		}
	})
	s.after(200+lasts, func() {
		if s.still(i, run) {
			s.line(i, run, trace.PreStop, trace.Mark{Kind: trace.End, N: 0})
		}
	})
	s.after(min(220+lasts, over), term)
}

// terminate ends the Pod: all containers are killed at once.
func (s *sim) terminate() {
	s.ending = true
	left := len(s.c)
	done := func() {
		if left--; left > 0 {
			return
		}
		s.after(s.upTo(500), func() {
			s.sandbox = false
			s.generate()
			s.after(s.upTo(1000), func() { s.gone = true; s.publish(false) })
		})
	}
	for i := range s.c {
		if s.c[i].alive {
			s.event(i, "Killing", "Stopping container "+s.spec(i).Name)
		}
		s.kill(i, done)
	}
}

// generate computes the status from what runs now.
func (s *sim) generate() {
	s.cached = s.cached[:0]
	for i := range s.c {
		c := s.c[i]
		st := status{run: c.run, running: c.alive, exited: c.exited, exit: c.exit}
		st.started = c.alive && (!s.spec(i).Startup || c.startRun == c.run+1)
		st.ready = st.started && (!s.spec(i).Readiness || c.readyRun == c.run+1)
		st.hookError = c.exited && c.hookError && s.choose(2) == 0
		s.cached = append(s.cached, st)
		if c.alive && st.started && s.spec(i).Readiness && !st.ready && s.choose(2) == 0 {
			s.after(s.upTo(30), func() { s.probe(i, trace.ReadinessProbe) })
		}
	}
	s.publish(false)
}

func (s *sim) startWorkers() {
	for i := range s.c {
		var probes []trace.Actor
		if s.spec(i).Startup {
			probes = append(probes, trace.StartupProbe)
		}
		if s.spec(i).Readiness {
			probes = append(probes, trace.ReadinessProbe)
		}
		if s.spec(i).Liveness {
			probes = append(probes, trace.LivenessProbe)
		}
		for _, a := range probes {
			var tick func()
			tick = func() {
				if s.gone || s.ending && a != trace.ReadinessProbe {
					return
				}
				s.probe(i, a)
				s.after(1000, tick)
			}
			s.after(s.upTo(1000), tick)
		}
	}
}

// probe is one run of a probe worker, which knows the cached status only.
func (s *sim) probe(i int, a trace.Actor) {
	if len(s.cached) == 0 || !s.cached[i].running {
		return
	}
	run := s.cached[i].run
	if (a == trace.StartupProbe) == s.cached[i].started || s.c[i].failedRun == run+1 {
		return
	}
	code := 0
	if a != trace.LivenessProbe && s.choose(4) == 0 || a == trace.LivenessProbe && s.spec(i).LivenessFails && s.choose(3) == 0 {
		code = 1
	}
	s.after(s.upTo(150), func() {
		if !s.still(i, run) {
			return
		}
		s.line(i, run, a, trace.Mark{Kind: trace.End, N: code})
		s.after(s.upTo(60), func() { s.result(i, run, a, code == 0) })
	})
}

func (s *sim) result(i, run int, a trace.Actor, ok bool) {
	if s.c[i].run != run {
		return
	}
	known := s.cached[i].run == run && s.cached[i].running
	switch {
	case a == trace.LivenessProbe && !ok:
		s.c[i].failedRun = run + 1
		s.event(i, "Unhealthy", "Liveness probe failed: no")
	case a == trace.StartupProbe && ok:
		s.c[i].startRun = run + 1
		if known {
			s.cached[i].started = true
			s.cached[i].ready = !s.spec(i).Readiness
			s.publish(false)
		}
	case a == trace.ReadinessProbe:
		was := s.c[i].readyRun
		s.c[i].readyRun = 0
		if ok {
			s.c[i].readyRun = run + 1
		}
		if known && was != s.c[i].readyRun {
			s.cached[i].ready = ok && s.cached[i].started
			s.publish(false)
		}
	}
}

// publish sends the cached status to the API, late and merged with what comes
// meanwhile.
func (s *sim) publish(first bool) {
	if s.pending && !s.gone {
		return
	}
	s.pending = true
	s.after(s.upTo(150), func() {
		s.pending = false
		kind := trace.Modified
		switch {
		case first:
			kind = trace.Added
		case s.gone:
			kind = trace.Deleted
		}
		s.watchAt = max(s.watchAt, s.now+s.upTo(100))
		s.add(s.watchAt, trace.Entry{Type: kind, Pod: s.object()})
	})
}

func (s *sim) object() *corev1.Pod {
	pod := s.pod.Manifest()
	if s.deleted {
		pod.DeletionTimestamp = &metav1.Time{Time: s.stamp(s.now)}
	}
	pod.Status.Phase = corev1.PodPending
	if len(s.cached) == 0 {
		return pod
	}
	ready, waiting, running, failed := true, 0, 0, 0
	for i, c := range s.cached {
		started := c.started
		cs := corev1.ContainerStatus{Name: s.spec(i).Name, Ready: c.ready, Started: &started, RestartCount: int32(max(c.run, 0))}
		ready = ready && c.ready
		end := &corev1.ContainerStateTerminated{ExitCode: int32(c.exit)}
		switch {
		case c.running:
			running++
			cs.State.Running = &corev1.ContainerStateRunning{}
		case c.exited && c.hookError:
			cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PostStartHookError"}
			cs.LastTerminationState.Terminated = end
		case c.exited:
			cs.State.Terminated = end
		default:
			waiting++
			cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		if c.exited && c.exit != 0 {
			failed++
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, cs)
	}
	final := false
	switch {
	case waiting > 0:
	case running > 0:
		pod.Status.Phase = corev1.PodRunning
	case !s.ending && (s.pod.Policy == corev1.RestartPolicyAlways || s.pod.Policy == corev1.RestartPolicyOnFailure && failed > 0):
		pod.Status.Phase = corev1.PodRunning
	default:
		final = true
		pod.Status.Phase = corev1.PodSucceeded
		if failed > 0 {
			pod.Status.Phase = corev1.PodFailed
		}
	}
	is := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: is[ready && !final], Reason: "ContainersNotReady"},
		{Type: corev1.PodReady, Status: is[ready && !final], Reason: "ContainersNotReady"},
	}
	if s.minor >= 29 {
		up := s.sandbox && (s.minor >= 36 || waiting < len(s.cached))
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: is[up]})
	}
	return pod
}

// trace returns what the recorder has: its entries in the order in which they
// arrived.
func (s *sim) trace() *trace.Trace {
	slices.SortStableFunc(s.entries, func(a, b trace.Entry) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	for n := range s.entries {
		s.entries[n].Line = n + 2
	}
	return &trace.Trace{Header: trace.Header{Trace: trace.Version, Kubelet: fmt.Sprintf("v1.%d.0", s.minor)}, Entries: s.entries}
}
