package reference

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// onPod takes a Pod as the watch delivered it. Its status was published by
// then; it may be old, so it is never refused for showing too little.
func (r *reading) onPod(s state, n int) ([]state, *denial) {
	pod := r.ob(n).entry.Pod
	st := &pod.Status
	// Who ends a Pod that has just come to its end by itself may not know that yet.
	ended := r.ev.endsAnyTime && st.Phase == corev1.PodFailed
	if isFinal(r.phase) && st.Phase != r.phase && !ended {
		return nil, because(deny(rulePhase, cause{r.shownAt, rulePhase}), "status.phase is %s behind %s, which is final", st.Phase, r.phase)
	}
	if len(st.ContainerStatuses) == 0 {
		if slices.ContainsFunc(r.h, func(h history) bool { return h.shown >= 0 }) && !r.roundsInTrace() {
			return nil, because(deny(ruleForward, cause{r.shownAt, ruleForward}), "status.containerStatuses has gone")
		}
		if p := st.Phase; p != corev1.PodPending && p != "" && st.Reason == "" {
			return nil, because(deny(rulePhase), "status.phase is %s before any container state was shown", p)
		}
		return r.onDeleted([]state{s}, n), nil
	}
	if d := r.objectFits(pod, n); d != nil {
		return nil, d
	}
	states := []state{s}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, ok := r.p.index[cs.Name]
			if !ok {
				if list := st.EphemeralContainerStatuses; len(list) > 0 && cs == &list[k] {
					continue // the manifest is older than the ephemeral container
				}
				return nil, because(deny(ruleForward), "the status names container %q, which the Pod does not have", cs.Name)
			}
			var next []state
			var d *denial
			for _, t := range states {
				after, other := r.onContainer(t, i, cs, n)
				next, d = append(next, after...), firstOf(d, other)
			}
			if len(next) == 0 {
				return nil, d
			}
			states = next
		}
	}
	if d := r.wholeSync(pod, n); d != nil {
		return nil, d
	}
	var d *denial
	states = slices.DeleteFunc(states, func(t state) bool {
		other := r.together(t, pod, n)
		d = firstOf(d, other)
		return other != nil
	})
	if len(states) == 0 {
		return nil, d
	}
	return r.onDeleted(states, n), nil
}

// roundsInTrace reports whether the containers may have begun anew at all: then
// counts and states of a container may go back.
func (r *reading) roundsInTrace() bool { return r.ev.newSandbox || r.p.gates[gateRestartAll] != "" }

// rankOf orders the states that a container is shown in. An instance that has
// ended is shown as terminated, or as waiting with its end in lastState, and
// may go from one to the other and back (a deletion ends the waiting).
func rankOf(cs *corev1.ContainerStatus) int {
	run := 3 * int(cs.RestartCount)
	switch {
	case cs.State.Running != nil:
		return run + 1
	case isEnd(cs.State.Terminated), isEnd(cs.LastTerminationState.Terminated):
		return run + 2
	}
	return run
}

// isEnd reports whether a shown end is that of an instance. The kubelet makes one up
// for a container that RestartAllContainers has removed
// (pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses), and where a Pod is
// through for each that is not shown as terminated, be it that it never was started
// (pkg/kubelet/status/status_manager.go, TerminatePod).
func isEnd(end *corev1.ContainerStateTerminated) bool {
	return end != nil && end.Reason != restartingAll && end.Reason != statusUnknown
}

// onContainer takes the shown state of container i.
func (r *reading) onContainer(s state, i int, cs *corev1.ContainerStatus, n int) ([]state, *denial) {
	rank, run, c := rankOf(cs), cs.RestartCount, &s.c[i]
	if rank < r.h[i].shown && !r.roundsInTrace() {
		return nil, because(deny(ruleForward, cause{r.shownAt, ruleForward}), "status of container %s goes back to %s", cs.Name, stateWord(cs))
	}
	if d := r.goesOn(i, cs); d != nil {
		return nil, d
	}
	if run > 0 && r.ev.c[i].startFailed || r.roundsInTrace() {
		// The kubelet counts instances whose start failed, and begins anew with
		// a new sandbox; the log counts those that ran. What is shown cannot be
		// told to be of one of them.
		return []state{s}, nil
	}
	if d := r.slept(i, run, startOf(cs), n); d != nil {
		return nil, d
	}
	if rank%3 == 0 || run < c.run {
		// It has not been started, or the state is an old one.
		return []state{s}, nil
	}
	states := []state{s}
	if c.fresh && run <= c.run {
		return states, nil // of the round before
	}
	if run > c.run {
		var d *denial
		if states, d = r.shownFirst(s, i, cs, n); d != nil {
			return nil, d
		}
	}
	var next []state
	var first *denial
	for _, t := range states {
		if t.c[i].run != run || t.c[i].fresh {
			if t.c[i].run > run {
				next = append(next, t)
			}
			continue // its start failed in this branch, yet it is shown
		}
		if rank%3 == 2 {
			t = t.clone()
			r.ended(&t, i, cs, n)
		}
		after, d := r.instanceDone(t, i, n, ruleBetweenSyncs)
		if rank%3 == 1 {
			after, d = r.outlived(after, d, i, n, ruleBetweenSyncs)
		}
		next, first = append(next, after...), firstOf(first, d)
	}
	if len(next) == 0 {
		return nil, firstOf(first, because(deny(ruleBetweenSyncs), "container %s is shown as %s, but nothing can have started it", cs.Name, stateWord(cs)))
	}
	if d := firstOf(r.readyFits(i, cs, n), firstOf(r.forgotten(i, cs, n), firstOf(r.killedTooSoon(&s, i, cs, n), r.endedTooLate(&s, i, cs, n)))); d != nil {
		return nil, d
	}
	return next, nil
}

// goesOn says what of the status of container i goes back that never does, also where
// the containers begin anew: the count of its restarts, which the kubelet finds in the names
// of the log files, and a process that was shown to have ended. In a new sandbox, up to
// v1.35, the log files of init containers and sidecars are gone
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, purgeInitContainers), and where the node was
// restarted those of all may be (staging/src/k8s.io/api/core/v1/types.go, ContainerStatus).
func (r *reading) goesOn(i int, cs *corev1.ContainerStatus) *denial {
	h := &r.h[i]
	anew := r.ev.nodeRestarted || r.ev.newSandbox && !r.p.isRegular(i) && !r.k.Enabled(gateRestartAll)
	switch {
	case cs.RestartCount < h.counted && !anew:
		return because(deny(ruleForward, cause{h.countedAt, ruleForward}), "status of container %s goes back from restart count %d to %d", cs.Name, h.counted, cs.RestartCount)
	case cs.State.Running != nil && cs.ContainerID != "" && slices.Contains(h.dead, cs.ContainerID):
		return because(deny(ruleForward, cause{r.shownAt, ruleForward}), "status of container %s says running with the ID of one that had ended", cs.Name)
	}
	return nil
}

// shownFirst starts an instance of which the status is the first sign.
func (r *reading) shownFirst(s state, i int, cs *corev1.ContainerStatus, n int) ([]state, *denial) {
	run, c := cs.RestartCount, &s.c[i]
	if r.p.isRegular(i) && c.fresh && !c.late && !s.anew && run == 0 && !s.ending.known() {
		states, d := r.endSync(s, n, ruleBetweenSyncs)
		if d != nil || !r.kubeletRestarted(n) {
			return states, d
		}
		// Or the kubelet was stopped behind the start of this one.
		more, _ := r.start(s, i, run, n)
		return append(slices.Clone(states), more...), nil
	}
	return r.start(s, i, run, n)
}

// readyFits says why a container cannot be ready.
func (r *reading) readyFits(i int, cs *corev1.ContainerStatus, n int) *denial {
	spec := &r.p.containers[i]
	if !spec.readiness.declared || spec.role == initContainer || !r.ev.writes(i, trace.ReadinessProbe) || r.ev.logGap {
		return nil
	}
	x := r.h[i].at(cs.RestartCount)
	if !cs.Ready {
		// What was shown as ready stays so until the probe has failed often enough.
		row, started := x.failures[rowOf(trace.ReadinessProbe)], cs.Started != nil && *cs.Started
		if r.ev.c[i].runs > cs.RestartCount || r.ev.endsAnyTime || len(r.ev.ends) > 0 {
			row++ // one may have died with its container, and left no line
		}
		loses := cs.State.Running != nil && started && r.h[i].shownReady == cs.RestartCount+1
		if !loses || row >= spec.readiness.failures || spec.readiness.network || r.unlogged(i, n) || r.ev.eventGap || r.eventsBehind(n) || r.ev.c[i].changed != 0 || len(r.ev.restarts) > 0 {
			return nil
		}
		if x.readyLast != 0 && r.ob(n).entry.At.Sub(r.written(int(x.readyLast)-1)) < overtaken {
			return nil
		}
		return because(deny(ruleSuccessThreshold, cause{x.readinessLast, ruleSuccessThreshold}), "status of container %s says ready no more after %d failures in a row; failureThreshold is %d", cs.Name, row, spec.readiness.failures)
	}
	switch {
	case x.ready == 0:
		return because(deny(ruleReadyAfterProbe), "status of container %s says ready, and no readiness probe of this instance has succeeded by then", cs.Name)
	case r.h[i].shownReady != cs.RestartCount+1 && r.h[i].best < spec.readiness.success:
		return because(deny(ruleSuccessThreshold, cause{x.readinessLast, ruleSuccessThreshold}), "status of container %s says ready after %d successes in a row; successThreshold is %d", cs.Name, r.h[i].best, spec.readiness.success)
	}
	return nil
}

// overtaken is for how long a status may still be on its way that was computed
// before a readiness probe succeeded: it takes back, until the next sync, what the
// probe worker has published meanwhile (pkg/kubelet/kubelet.go, SyncPod). This is
// patience.
const overtaken = 2 * time.Second

// outlives is for how long a container must have run before its kubelet was
// started for that to take it over as it was shown
// (pkg/kubelet/prober/prober_manager.go, kubeletRestartGracePeriod). Two seconds
// are for the whole ones of its start, and for the two clocks.
const outlives = 10*time.Second + 2*time.Second

// forgotten says what a restarted kubelet has made of a container that it should
// have taken over: one that was shown as started stays so, and one that was shown
// as ready, in a Pod that was, until its readiness probe fails.
func (r *reading) forgotten(i int, cs *corev1.ContainerStatus, n int) *denial {
	h, spec, run := &r.h[i], &r.p.containers[i], cs.RestartCount
	if cs.State.Running == nil || spec.role == initContainer || !r.k.remembers() || r.ev.logGap || r.ev.eventGap {
		return nil
	}
	var restart int32
	for _, a := range r.ev.restarts {
		if int(a) > n+1 {
			break
		}
		e := r.ob(int(a) - 1).entry
		if e.Did.Name != trace.ActRestart || e.Did.Target() != "kubelet" || e.At.Sub(cs.State.Running.StartedAt.Time) < outlives {
			return nil
		}
		restart = a
	}
	if restart == 0 {
		return nil
	}
	x, started := h.at(run), cs.Started != nil && *cs.Started
	if spec.startup.declared && (x.started == 0 || !r.ev.writes(i, trace.StartupProbe)) {
		return nil // what is shown of it may be taken back
	}
	if h.wasStarted == run+1 && !started {
		return because(deny(ruleKeptOver, cause{restart, ruleKeptOver}, cause{r.shownAt, ruleKeptOver}, cause{x.started, ruleKeptOver}), "status of container %s says not started any more behind a restart of the kubelet", cs.Name)
	}
	if h.wasReady != run+1 || cs.Ready || !r.ready {
		return nil
	}
	for j := range r.p.containers {
		// One that is not ready makes the others so that have a probe.
		p := &r.p.containers[j].readiness
		failed := slices.ContainsFunc(r.h[j].runs, func(x seen) bool { return x.failures[rowOf(trace.ReadinessProbe)] > 0 })
		if p.declared && (p.network || failed || r.unlogged(j, n) || r.eventsBehind(n) || !r.ev.writes(j, trace.ReadinessProbe)) {
			return nil
		}
	}
	return because(deny(ruleKeptOver, cause{restart, ruleKeptOver}, cause{r.shownAt, ruleKeptOver}, cause{x.ready, ruleKeptOver}), "status of container %s says not ready any more behind a restart of the kubelet, and no readiness probe has failed", cs.Name)
}

// killedTooSoon says why a container cannot have been killed so soon after its
// TERM: the kubelet leaves it two seconds at least.
func (r *reading) killedTooSoon(s *state, i int, cs *corev1.ContainerStatus, n int) *denial {
	end := cs.State.Terminated
	if end == nil || end.ExitCode != 137 || end.Reason == "OOMKilled" || end.FinishedAt.IsZero() {
		return nil
	}
	// A line of TERM may come long after the signal. What came surely before
	// the signal is the end of the preStop hook, or the end of the Pod.
	x := r.h[i].at(cs.RestartCount)
	if x.mainEnd != 0 || s.c[i].run != cs.RestartCount {
		return nil
	}
	before, since := x.preStopEnd, time.Time{}
	switch {
	case before != 0 && before < x.term:
		if !r.graceLeft(s, i, int(before)-1) {
			return nil // one that outlasts the grace period is not waited for
		}
		since = r.written(int(before) - 1)
	case before == 0 && r.deletedOnly(s, i):
		// A preStop hook that goes on was waited for until the grace period was over.
		outlasted := x.preStopBegin != 0 && r.ev.marks(i, trace.PreStop) && len(r.ev.ends) == 1
		before = r.ev.ends[0]
		if !outlasted && before > x.term {
			return nil
		}
		since = r.ob(int(before) - 1).entry.At.Add(r.ev.ahead)
		grace := time.Duration(0)
		if outlasted {
			grace = r.grace(before)
		}
		if r.finished(s, i) {
			// Or it had come to its end by itself before.
			last, seen := r.endedByItself(s, i, n, true)
			if !seen {
				return nil
			}
			if !last.IsZero() && last.Before(since) {
				since, grace = last, min(grace, time.Duration(r.p.grace)*time.Second)
			}
		}
		since = since.Add(grace)
	default:
		return nil
	}
	// finishedAt has whole seconds: the end came less than one later.
	if end.FinishedAt.Add(time.Second + stampSlack).Before(since.Add(minimumGrace)) {
		return because(deny(ruleKillAfterTerm, cause{before, ruleKillAfterTerm}, cause{x.term, ruleKillAfterTerm}), "container %s was killed at %s, less than %s after its TERM", cs.Name, end.FinishedAt.UTC().Format("15:04:05"), minimumGrace)
	}
	return nil
}

// deletedOnly reports whether container i was stopped because its Pod was deleted, and for
// nothing else.
func (r *reading) deletedOnly(s *state, i int) bool {
	ev := &r.ev.c[i]
	return s.c[i].kill == byEnding && len(r.ev.ends) > 0 && !r.ev.endsAnyTime && !r.lostForGood() && !ev.probeFailed && !ev.hookFailed && r.seenOf(s, i).failing == 0
}

// ended takes the newest instance of container i as over. One that was stopped
// with its whole Pod is shown as terminated only when all of them are.
func (r *reading) ended(s *state, i int, cs *corev1.ContainerStatus, n int) {
	c := &s.c[i]
	if c.gone.known() {
		return
	}
	c.gone = at(n, ruleInstances)
	end := cs.State.Terminated
	if r.p.containers[i].role == initContainer && end != nil && end.ExitCode == 0 && !c.done.known() {
		c.done = at(n, ruleInitOnce)
	}
	if c.kill != byEnding || r.kubeletRestarted(n) {
		return // a kubelet that begins anew shows what it finds
	}
	for j := range s.c {
		if o := &s.c[j]; !o.fresh && !o.gone.known() {
			o.gone = at(n, ruleTogether)
		}
	}
}

// wholeSync checks that the regular containers, which one sync starts, are
// shown together.
func (r *reading) wholeSync(pod *corev1.Pod, n int) *denial {
	if r.roundsInTrace() || r.kubeletRestarted(n) {
		return nil
	}
	list := pod.Status.ContainerStatuses
	shown := slices.IndexFunc(list, func(cs corev1.ContainerStatus) bool { return rankOf(&cs) > 0 })
	for k := range list {
		if cs := &list[k]; shown >= 0 && rankOf(cs) == 0 && !r.ev.c[r.p.index[cs.Name]].startFailed {
			return because(deny(ruleWholeSync), "container %s is shown and container %s, started by the same sync, is still waiting", list[shown].Name, cs.Name)
		}
	}
	return nil
}

// together checks that containers which are stopped with their Pod are shown as
// terminated together.
func (r *reading) together(s state, pod *corev1.Pod, n int) *denial {
	if r.kubeletRestarted(n) || r.roundsInTrace() {
		return nil
	}
	var stopped, runs string
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			if c := &s.c[r.p.index[cs.Name]]; isEnd(cs.State.Terminated) && c.kill == byEnding && !c.fresh && c.run == cs.RestartCount {
				stopped = cs.Name
			}
			if cs.State.Running != nil {
				runs = cs.Name
			}
		}
	}
	if stopped != "" && runs != "" {
		return because(deny(ruleTogether, s.ending), "container %s is shown as terminated while container %s is shown as running", stopped, runs)
	}
	return nil
}

// onDeleted takes the removal of the object, where n is one.
func (r *reading) onDeleted(states []state, n int) []state {
	if r.ob(n).entry.Type != trace.Deleted || r.forced() {
		return states
	}
	for a := range states {
		states[a] = states[a].clone()
		for i := range states[a].c {
			if c := &states[a].c[i]; !c.gone.known() {
				c.gone = at(n, ruleObjectLast)
			}
		}
	}
	return states
}
