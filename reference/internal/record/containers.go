package record

import (
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// What lines, updates and Events show of each container.

// line takes a line of container c.
func (g *gatherer) line(c int, l *trace.Line, n int) {
	ev, of, actor := &g.ev.Containers[c], &g.c[c], actorIndex(l.Actor)
	ev.LastAlive = PlaceOf(n)
	if first := &ev.FirstLines[actor]; !first.Known() {
		*first = PlaceOf(n)
	}
	if l.Mark.Kind == trace.Begin {
		ev.logsBegin[actor] = true
	}
	if l.Actor == trace.PostStart && l.Mark.Kind == trace.End && l.Mark.N > 0 {
		ev.HookFailed = true
	}
	if l.Actor.IsProbe() && (l.Mark.Kind != trace.End || l.Mark.N != 0) {
		row := RowOf(l.Actor)
		of.failedLines[row]++
		if !g.logOnly {
			of.failedAt[row] = append(of.failedAt[row], l.Time)
		}
	}
	if l.Actor.IsProbe() && l.Mark.Kind == trace.End && l.Mark.N == 0 && !ev.FirstSuccess[RowOf(l.Actor)].Known() {
		ev.FirstSuccess[RowOf(l.Actor)] = PlaceOf(n)
	}
	of.countRun(l)
	if !g.logOnly && l.Run != trace.NoRun && of.wrote != of.run+1 {
		of.wrote = of.run + 1
		by := l.Time.Add(StampSlack)
		if l.Whole {
			by = by.Add(time.Second)
		}
		ev.started(Start{Run: of.run, By: by, Obs: PlaceOf(n)})
	}
	if l.Actor.IsHook() {
		if runs := &ev.hookRuns[hookIndex(l.Actor)]; !slices.Contains(*runs, of.run) {
			*runs = append(*runs, of.run)
		}
	}
	ev.NewestRun, ev.LastAliveRun = max(ev.NewestRun, of.run), of.run
}

// started takes a sign that an instance was started. Of several the earliest one counts.
func (ev *ContainerEvidence) started(s Start) {
	for k := len(ev.Starts) - 1; k >= 0; k-- {
		old := &ev.Starts[k]
		if old.Run != s.Run || old.ID != "" && s.ID != "" && old.ID != s.ID {
			continue
		}
		if old.ID == "" {
			old.ID = s.ID
		}
		if s.By.Before(old.By) {
			old.By, old.Obs = s.By, s.Obs
		}
		return
	}
	ev.Starts = append(ev.Starts, s)
}

// countRun finds the run of a line.
func (of *containerGatherer) countRun(l *trace.Line) {
	switch {
	case l.Run != trace.NoRun:
		of.run = int32(l.Run)
	case l.Actor == trace.Main:
		if of.begun && (of.ended || l.Mark.Kind == trace.Begin) {
			of.run++
		}
		of.begun, of.ended = true, l.Mark.Kind == trace.End
	}
}

// update takes a Pod as the watch delivered it.
func (g *gatherer) update(e *trace.Entry, n int) {
	st := &e.Pod.Status
	g.deleted = g.deleted || e.Pod.DeletionTimestamp != nil || e.Type == trace.Deleted
	g.life(e, n)
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i := range list {
			if c, ok := g.p.Index[list[i].Name]; ok {
				g.status(c, &list[i], e, n)
			}
		}
	}
	g.dueTogether(st, PlaceOf(n))
	g.compare(&e.Pod.Spec)
}

// status takes what an update shows of container c.
func (g *gatherer) status(c int, s *corev1.ContainerStatus, e *trace.Entry, n int) {
	ev, running := &g.ev.Containers[c], s.State.Running != nil
	if running && s.RestartCount >= ev.LastAliveRun { // or it is late, and tells of an instance before that
		ev.LastAlive, ev.LastAliveRun = PlaceOf(n), s.RestartCount
	}
	ev.EndNotShown = running && e.Type == trace.Deleted
	if at := StartShown(s); isTime(at) {
		ev.started(Start{s.RestartCount, s.ContainerID, at.Add(time.Second), PlaceOf(n)})
	}
	if st := &e.Pod.Status; IsFinal(st.Phase) && st.Reason == "" && s.RestartCount == 0 && IsEnd(s.State.Terminated) {
		ev.OnlyInstance = PlaceOf(n)
	}
	g.resizeApplied(c, s)
	if w := s.State.Waiting; w != nil {
		ev.StartFailed = ev.StartFailed || IsStartError(w.Reason)
		ev.HookFailed = ev.HookFailed || w.Reason == "PostStartHookError"
	}
	for _, end := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if IsEnd(end) {
			ev.AskedRestartAll = ev.AskedRestartAll || g.p.Containers[c].RestartsAllFor(end.ExitCode)
		} else if end != nil && end.Reason == RestartingAll {
			g.removedAll = true
		}
	}
	if run, end := endOf(s); end != nil {
		run = ev.runOf(end, run)
		if last := s.LastTerminationState.Terminated; end == s.State.Terminated && IsEnd(last) {
			ev.exited(run-1, last)
		}
		ev.exited(run, end)
	}
	ev.NewestRun = max(ev.NewestRun, s.RestartCount)
	// An instance that has ended may be replaced before the trace ends.
	if IsEnd(s.State.Terminated) || IsEnd(s.LastTerminationState.Terminated) && s.State.Waiting != nil {
		ev.NewestRun = max(ev.NewestRun, s.RestartCount+1)
	}
}

// runOf is the run of a shown end: that of its container ID, if an update showed that one run, else the
// given one. The end of the instance before the one that runs may be gone, and an earlier one be shown.
func (ev *ContainerEvidence) runOf(end *corev1.ContainerStateTerminated, otherwise int32) int32 {
	for _, s := range ev.Starts {
		if s.ID != "" && s.ID == end.ContainerID && s.Run < otherwise {
			return s.Run
		}
	}
	return otherwise
}

// exited takes the shown end of an instance, once.
func (ev *ContainerEvidence) exited(run int32, end *corev1.ContainerStateTerminated) {
	if ev.Exits == nil {
		ev.Exits = map[int32][]*corev1.ContainerStateTerminated{}
	}
	if all := ev.Exits[run]; len(all) == 0 || !all[len(all)-1].FinishedAt.Equal(&end.FinishedAt) || all[len(all)-1].ExitCode != end.ExitCode {
		ev.Exits[run] = append(all, end)
	}
}

// shownExit is a container that an update shows as ended. again: it is started again,
// for the first time.
type shownExit struct {
	c, run int32
	again  bool
}

// exitsOf returns what a status shows as ended, without the init containers.
func (g *gatherer) exitsOf(st *corev1.PodStatus) (exits []shownExit) {
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for i := range list {
			cs := &list[i]
			c, ok := g.p.Index[cs.Name]
			if !ok || !IsEnd(cs.State.Terminated) || g.p.Containers[c].Role == podspec.InitContainer {
				continue
			}
			spec := &g.p.Containers[c]
			again := len(spec.Rules) == 0 && (spec.Policy == corev1.RestartPolicyAlways || spec.Policy == corev1.RestartPolicyOnFailure && cs.State.Terminated.ExitCode != 0)
			exits = append(exits, shownExit{int32(c), cs.RestartCount, again && cs.RestartCount == 0})
		}
	}
	return exits
}

// dueTogether finds the containers that are due in one sync. Only of the one listed
// first is it asked whether its exit is followed by a start: whenever the other one is
// started, it was the turn of the first.
func (g *gatherer) dueTogether(st *corev1.PodStatus, obs Place) {
	exits := g.exitsOf(st)
	for i, a := range exits {
		for _, b := range exits[i+1:] {
			if !a.again || a.c > b.c {
				continue
			}
			pair := DuePair{int(a.c), int(b.c), b.run, obs}
			known := slices.ContainsFunc(g.ev.DueTogether, func(d DuePair) bool {
				return d.First == pair.First && d.Second == pair.Second && d.Run == pair.Run
			})
			if !known {
				g.ev.DueTogether = append(g.ev.DueTogether, pair)
			}
		}
	}
}

// event takes an Event of the Pod.
func (g *gatherer) event(e *trace.Event, n int) {
	g.events++
	if e.Reason != "Scheduled" {
		g.eventMade(e.LastTimestamp.Time, n)
	}
	switch e.Reason {
	case "SandboxChanged":
		g.ev.NewSandbox = true
	case "Evicted", "Preempting", "Preempted", deadlineExceeded:
		g.endedBy(e.Reason, n)
	}
	if c, ok := EventContainer(g.p, e); ok {
		g.timeStart(c, e)
		g.containerEvent(c, e, n)
	}
}

// timeStart takes from the Events of a start how long it took. Where one of them was lost, those of
// different starts tell nothing.
func (g *gatherer) timeStart(c int, e *trace.Event) {
	of := &g.c[c]
	switch e.Reason {
	case "Created":
		of.created = e.LastTimestamp.Time
	case "Started":
		if !of.created.IsZero() && e.Count <= of.startsTold+1 {
			g.ev.SlowestStart = max(g.ev.SlowestStart, e.LastTimestamp.Sub(of.created))
		}
		of.created, of.startsTold = time.Time{}, max(e.Count, 1)
	}
}

// containerEvent takes an Event of container c.
func (g *gatherer) containerEvent(c int, e *trace.Event, n int) {
	ev := &g.ev.Containers[c]
	switch e.Reason {
	case "Pulled", "Created", "Started":
		ev.StartsPerEvent = max(ev.StartsPerEvent, e.Count)
	case "Failed":
		ev.StartFailed = true
	case "BackOff":
		if !strings.HasPrefix(e.Message, "Back-off restarting") {
			ev.StartFailed = true
		}
	case "FailedPostStartHook":
		ev.HookFailed = true
		if !ev.HookFailedEvent.Known() {
			ev.HookFailedEvent = PlaceOf(n)
		}
	case "FailedPreStopHook":
		ev.PreStopFailed = true
	case "Killing":
		g.resizeEvent(c, e)
		ev.HookFailed = ev.HookFailed || strings.Contains(e.Message, "FailedPostStartHook")
		ev.ProbeFailed = ev.ProbeFailed || strings.Contains(e.Message, "liveness probe") || strings.Contains(e.Message, "startup probe")
	case "Unhealthy":
		if !strings.HasPrefix(e.Message, "Readiness") && !couldNotRun(e.Message) {
			ev.ProbeFailed = true
		}
		for word, a := range probeWords {
			if strings.Contains(e.Message, word+" probe failed") {
				g.c[c].failedEvents[RowOf(a)].take(e)
			}
		}
	}
}
