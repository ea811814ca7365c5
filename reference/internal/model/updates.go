package model

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// onPod takes a Pod as the watch delivered it. Its status was published by
// then; it may be old, so it is never refused for showing too little.
func (r *Reading) onPod(s State, n int) ([]State, *Denial) {
	pod := r.ob(n).Entry.Pod
	st := &pod.Status
	// Who ends a Pod that has just come to its end by itself may not know that yet.
	ended := r.ev.EndsAnyTime && st.Phase == corev1.PodFailed
	if record.IsFinal(r.phase) && st.Phase != r.phase && !ended {
		return nil, because(deny(rules.Phase, Cause{r.shownAt, rules.Phase}), "status.phase is %s behind %s, which is final", st.Phase, r.phase)
	}
	if len(st.ContainerStatuses) == 0 {
		if slices.ContainsFunc(r.h, func(h history) bool { return h.shown >= 0 }) && !r.roundsInTrace() {
			return nil, because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "status.containerStatuses has gone")
		}
		if p := st.Phase; p != corev1.PodPending && p != "" && st.Reason == "" {
			return nil, because(deny(rules.Phase), "status.phase is %s before any container state was shown", p)
		}
		return r.onDeleted([]State{s}, n), nil
	}
	if d := r.objectFits(pod, n); d != nil {
		return nil, d
	}
	states := []State{s}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for k := range list {
			cs := &list[k]
			i, ok := r.p.Index[cs.Name]
			if !ok {
				if list := st.EphemeralContainerStatuses; len(list) > 0 && cs == &list[k] {
					continue // the manifest is older than the ephemeral container
				}
				return nil, because(deny(rules.Forward), "the status names container %q, which the Pod does not have", cs.Name)
			}
			var next []State
			var d *Denial
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
	var d *Denial
	states = slices.DeleteFunc(states, func(t State) bool {
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
func (r *Reading) roundsInTrace() bool {
	return r.ev.NewSandbox || r.p.Gates[rules.GateRestartAll] != ""
}

// onContainer takes the shown state of container i.
func (r *Reading) onContainer(s State, i int, cs *corev1.ContainerStatus, n int) ([]State, *Denial) {
	rank, run, c := record.RankOf(cs), cs.RestartCount, &s.c[i]
	if rank < r.h[i].shown && !r.roundsInTrace() {
		return nil, because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "status of container %s goes back to %s", cs.Name, record.StateWord(cs))
	}
	if d := r.goesOn(i, cs); d != nil {
		return nil, d
	}
	if run > 0 && r.ev.Containers[i].StartFailed || r.roundsInTrace() {
		// The kubelet counts instances whose start failed, and begins anew with
		// a new sandbox; the log counts those that ran. What is shown cannot be
		// told to be of one of them.
		return []State{s}, nil
	}
	if d := r.slept(i, run, startOf(cs), n); d != nil {
		return nil, d
	}
	if rank%3 == 0 || run < c.run {
		// It has not been started, or the state is an old one.
		return []State{s}, nil
	}
	states := []State{s}
	if c.fresh && run <= c.run {
		return states, nil // of the round before
	}
	if run > c.run {
		var d *Denial
		if states, d = r.shownFirst(s, i, cs, n); d != nil {
			return nil, d
		}
	}
	var next []State
	var first *Denial
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
		after, d := r.instanceDone(t, i, n, rules.BetweenSyncs)
		if rank%3 == 1 {
			after, d = r.outlived(after, d, i, n, rules.BetweenSyncs)
		}
		next, first = append(next, after...), firstOf(first, d)
	}
	if len(next) == 0 {
		return nil, firstOf(first, because(deny(rules.BetweenSyncs), "container %s is shown as %s, but nothing can have started it", cs.Name, record.StateWord(cs)))
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
func (r *Reading) goesOn(i int, cs *corev1.ContainerStatus) *Denial {
	h := &r.h[i]
	anew := r.ev.NodeRestarted || r.ev.NewSandbox && !r.p.IsRegular(i) && !r.k.Enabled(rules.GateRestartAll)
	switch {
	case cs.RestartCount < h.counted && !anew:
		return because(deny(rules.Forward, Cause{h.countedAt, rules.Forward}), "status of container %s goes back from restart count %d to %d", cs.Name, h.counted, cs.RestartCount)
	case cs.State.Running != nil && cs.ContainerID != "" && slices.Contains(h.dead, cs.ContainerID):
		return because(deny(rules.Forward, Cause{r.shownAt, rules.Forward}), "status of container %s says running with the ID of one that had ended", cs.Name)
	}
	return nil
}

// shownFirst starts an instance of which the status is the first sign.
func (r *Reading) shownFirst(s State, i int, cs *corev1.ContainerStatus, n int) ([]State, *Denial) {
	run, c := cs.RestartCount, &s.c[i]
	if r.p.IsRegular(i) && c.fresh && !c.late && !s.anew && run == 0 && !s.ending.known() {
		states, d := r.endSync(s, n, rules.BetweenSyncs)
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
func (r *Reading) readyFits(i int, cs *corev1.ContainerStatus, n int) *Denial {
	spec := &r.p.Containers[i]
	if !spec.Readiness.Declared || spec.Role == podspec.InitContainer || !r.ev.Writes(i, trace.ReadinessProbe) || r.ev.LogGap {
		return nil
	}
	x := r.h[i].at(cs.RestartCount)
	if !cs.Ready {
		// What was shown as ready stays so until the probe has failed often enough.
		row, started := x.failures[record.RowOf(trace.ReadinessProbe)], cs.Started != nil && *cs.Started
		if r.ev.Containers[i].Runs > cs.RestartCount || r.ev.EndsAnyTime || len(r.ev.Ends) > 0 {
			row++ // one may have died with its container, and left no line
		}
		loses := cs.State.Running != nil && started && r.h[i].shownReady == cs.RestartCount+1
		if !loses || row >= spec.Readiness.Failures || spec.Readiness.Network || r.unlogged(i, n) || r.ev.EventGap || r.eventsBehind(n) || r.ev.Containers[i].Changed != 0 || len(r.ev.Restarts) > 0 {
			return nil
		}
		if x.readyLast != 0 && r.ob(n).Entry.At.Sub(r.written(int(x.readyLast)-1)) < overtaken {
			return nil
		}
		return because(deny(rules.SuccessThreshold, Cause{x.readinessLast, rules.SuccessThreshold}), "status of container %s says ready no more after %d failures in a row; failureThreshold is %d", cs.Name, row, spec.Readiness.Failures)
	}
	switch {
	case x.ready == 0:
		return because(deny(rules.ReadyAfterProbe), "status of container %s says ready, and no readiness probe of this instance has succeeded by then", cs.Name)
	case r.h[i].shownReady != cs.RestartCount+1 && r.h[i].best < spec.Readiness.Success:
		return because(deny(rules.SuccessThreshold, Cause{x.readinessLast, rules.SuccessThreshold}), "status of container %s says ready after %d successes in a row; successThreshold is %d", cs.Name, r.h[i].best, spec.Readiness.Success)
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
func (r *Reading) forgotten(i int, cs *corev1.ContainerStatus, n int) *Denial {
	h, spec, run := &r.h[i], &r.p.Containers[i], cs.RestartCount
	if cs.State.Running == nil || spec.Role == podspec.InitContainer || !r.k.Remembers() || r.ev.LogGap || r.ev.EventGap {
		return nil
	}
	var restart int32
	for _, a := range r.ev.Restarts {
		if int(a) > n+1 {
			break
		}
		e := r.ob(int(a) - 1).Entry
		if e.Did.Name != trace.ActRestart || e.Did.Target() != "kubelet" || e.At.Sub(cs.State.Running.StartedAt.Time) < outlives {
			return nil
		}
		restart = a
	}
	if restart == 0 {
		return nil
	}
	x, started := h.at(run), cs.Started != nil && *cs.Started
	if spec.Startup.Declared && (x.started == 0 || !r.ev.Writes(i, trace.StartupProbe)) {
		return nil // what is shown of it may be taken back
	}
	if h.wasStarted == run+1 && !started {
		return because(deny(rules.KeptOver, Cause{restart, rules.KeptOver}, Cause{r.shownAt, rules.KeptOver}, Cause{x.started, rules.KeptOver}), "status of container %s says not started any more behind a restart of the kubelet", cs.Name)
	}
	if h.wasReady != run+1 || cs.Ready || !r.ready {
		return nil
	}
	for j := range r.p.Containers {
		// One that is not ready makes the others so that have a probe.
		p := &r.p.Containers[j].Readiness
		failed := slices.ContainsFunc(r.h[j].runs, func(x seen) bool { return x.failures[record.RowOf(trace.ReadinessProbe)] > 0 })
		if p.Declared && (p.Network || failed || r.unlogged(j, n) || r.eventsBehind(n) || !r.ev.Writes(j, trace.ReadinessProbe)) {
			return nil
		}
	}
	return because(deny(rules.KeptOver, Cause{restart, rules.KeptOver}, Cause{r.shownAt, rules.KeptOver}, Cause{x.ready, rules.KeptOver}), "status of container %s says not ready any more behind a restart of the kubelet, and no readiness probe has failed", cs.Name)
}

// killedTooSoon says why a container cannot have been killed so soon after its
// TERM: the kubelet leaves it two seconds at least.
func (r *Reading) killedTooSoon(s *State, i int, cs *corev1.ContainerStatus, n int) *Denial {
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
		outlasted := x.preStopBegin != 0 && r.ev.Marks(i, trace.PreStop) && len(r.ev.Ends) == 1
		before = r.ev.Ends[0]
		if !outlasted && before > x.term {
			return nil
		}
		since = r.ob(int(before) - 1).Entry.At.Add(r.ev.Ahead)
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
				since, grace = last, min(grace, time.Duration(r.p.Grace)*time.Second)
			}
		}
		since = since.Add(grace)
	default:
		return nil
	}
	// finishedAt has whole seconds: the end came less than one later.
	if end.FinishedAt.Add(time.Second + record.StampSlack).Before(since.Add(minimumGrace)) {
		return because(deny(rules.KillAfterTerm, Cause{before, rules.KillAfterTerm}, Cause{x.term, rules.KillAfterTerm}), "container %s was killed at %s, less than %s after its TERM", cs.Name, end.FinishedAt.UTC().Format("15:04:05"), minimumGrace)
	}
	return nil
}

// deletedOnly reports whether container i was stopped because its Pod was deleted, and for
// nothing else.
func (r *Reading) deletedOnly(s *State, i int) bool {
	ev := &r.ev.Containers[i]
	return s.c[i].kill == byEnding && len(r.ev.Ends) > 0 && !r.ev.EndsAnyTime && !r.lostForGood() && !ev.ProbeFailed && !ev.HookFailed && r.seenOf(s, i).failing == 0
}

// ended takes the newest instance of container i as over. One that was stopped
// with its whole Pod is shown as terminated only when all of them are.
func (r *Reading) ended(s *State, i int, cs *corev1.ContainerStatus, n int) {
	c := &s.c[i]
	if c.gone.known() {
		return
	}
	c.gone = at(n, rules.Instances)
	end := cs.State.Terminated
	if r.p.Containers[i].Role == podspec.InitContainer && end != nil && end.ExitCode == 0 && !c.done.known() {
		c.done = at(n, rules.InitOnce)
	}
	if c.kill != byEnding || r.kubeletRestarted(n) {
		return // a kubelet that begins anew shows what it finds
	}
	for j := range s.c {
		if o := &s.c[j]; !o.fresh && !o.gone.known() {
			o.gone = at(n, rules.Together)
		}
	}
}

// wholeSync checks that the regular containers, which one sync starts, are
// shown together.
func (r *Reading) wholeSync(pod *corev1.Pod, n int) *Denial {
	if r.roundsInTrace() || r.kubeletRestarted(n) {
		return nil
	}
	list := pod.Status.ContainerStatuses
	shown := slices.IndexFunc(list, func(cs corev1.ContainerStatus) bool { return record.RankOf(&cs) > 0 })
	for k := range list {
		if cs := &list[k]; shown >= 0 && record.RankOf(cs) == 0 && !r.ev.Containers[r.p.Index[cs.Name]].StartFailed {
			return because(deny(rules.WholeSync), "container %s is shown and container %s, started by the same sync, is still waiting", list[shown].Name, cs.Name)
		}
	}
	return nil
}

// together checks that containers which are stopped with their Pod are shown as
// terminated together.
func (r *Reading) together(s State, pod *corev1.Pod, n int) *Denial {
	if r.kubeletRestarted(n) || r.roundsInTrace() {
		return nil
	}
	var stopped, runs string
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for k := range list {
			cs := &list[k]
			if c := &s.c[r.p.Index[cs.Name]]; record.IsEnd(cs.State.Terminated) && c.kill == byEnding && !c.fresh && c.run == cs.RestartCount {
				stopped = cs.Name
			}
			if cs.State.Running != nil {
				runs = cs.Name
			}
		}
	}
	if stopped != "" && runs != "" {
		return because(deny(rules.Together, s.ending), "container %s is shown as terminated while container %s is shown as running", stopped, runs)
	}
	return nil
}

// onDeleted takes the removal of the object, where n is one.
func (r *Reading) onDeleted(states []State, n int) []State {
	if r.ob(n).Entry.Type != trace.Deleted || r.forced() {
		return states
	}
	for a := range states {
		states[a] = states[a].clone()
		for i := range states[a].c {
			if c := &states[a].c[i]; !c.gone.known() {
				c.gone = at(n, rules.ObjectLast)
			}
		}
	}
	return states
}
