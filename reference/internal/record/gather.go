package record

import (
	"slices"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// gatherer reads through a trace for its [Evidence], one observation at a time. What
// befell the Pod as a whole is in befell.go, what a container shows in containers.go.
type gatherer struct {
	p       *podspec.Pod
	ev      Evidence
	c       []containerGatherer
	logOnly bool
	// deleted: an update shows that the Pod was deleted.
	deleted bool
	// anyLine: a line was read. lastLine is the stamp of the last one.
	anyLine  bool
	lastLine time.Time
	// resumed: lines follow a gap of the log.
	resumed bool
	// applied is when the Pod was created, by the clock of the recorder, and appliedObs what
	// tells that.
	applied    time.Time
	appliedObs Place
	// events counts the Events of any kind, and firstEvent is when the first Event of the
	// kubelet was made.
	events     int
	firstEvent time.Time
	// removedAll: a status shows that RestartAllContainers removed a container.
	removedAll bool
	// spec is the spec of the latest update.
	spec *corev1.PodSpec
}

// containerGatherer is what leads to the evidence of one container.
type containerGatherer struct {
	// run is the newest run that the lines tell. Without run numbers the second begin of
	// a main process, and each line after an end, are the only signs of another instance.
	run          int32
	begun, ended bool
	// wrote is the run + 1 of which the first line was taken as a sign of its start.
	wrote int32
	// created is when the newest instance was created, by its Event; zero once it was started.
	// startsTold is how many starts Events have told of.
	created    time.Time
	startsTold int32
	// Of each probe: failedLines counts its lines of a failure, failedAt is when these were
	// written, and failedEvents are the Events of its failures.
	failedLines  [3]int32
	failedAt     [3][]time.Time
	failedEvents [3]failures
	// patched is how often acts changed its definition, and redefined how often updates
	// show that somebody did.
	patched, redefined int32
	resizes
	// image is the one that it was last known to have.
	image string
}

// NewGatherer is a gatherer that has read nothing. logOnly: there is only a log.
func NewGatherer(p *podspec.Pod, logOnly bool) *gatherer {
	n := len(p.Containers)
	g := &gatherer{
		p: p, logOnly: logOnly, c: make([]containerGatherer, n),
		ev: Evidence{Containers: make([]ContainerEvidence, n), EndTimeUnknown: logOnly, Deadline: p.Deadline},
	}
	for c := range p.Containers {
		for k, a := range Actors {
			g.ev.Containers[c].told[k] = p.Containers[c].Writing(a) == podspec.Writes
			g.ev.Containers[c].toldEach[k] = p.Containers[c].WritesEachRun(a)
		}
	}
	return g
}

// Gather reads through the whole trace for what it shows to have happened.
func Gather(p *podspec.Pod, obs []Observation, logOnly bool) Evidence {
	g := NewGatherer(p, logOnly)
	for n := range obs {
		g.Take(&obs[n], n)
	}
	return g.Evidence()
}

// Take reads observation n.
func (g *gatherer) Take(o *Observation, n int) {
	switch e := o.Entry; {
	case o.IsLog:
		if ahead := o.Log.Time.Sub(e.At); !g.logOnly && (!g.anyLine || ahead > g.ev.ClockAhead) {
			g.ev.ClockAhead, g.anyLine = ahead, true
		}
		g.lastLine, g.resumed = o.Log.Time, g.resumed || g.ev.LogGap
		g.line(o.Container, &o.Log, n)
	case e.Pod != nil:
		g.update(e, n)
	case e.Event != nil:
		g.event(e.Event, n)
	case e.Did != nil:
		g.act(e, n)
	case e.Gap != nil:
		g.ev.LogGap = g.ev.LogGap || e.Gap.Channel == "log"
		g.ev.EventGap = g.ev.EventGap || e.Gap.Channel == "events"
		g.ev.UpdateGap = g.ev.UpdateGap || e.Gap.Channel == "watch"
	}
}

// Evidence returns what was gathered, with what only the whole trace tells.
func (g *gatherer) Evidence() Evidence {
	ev := &g.ev
	if g.deleted && len(ev.Ends) == 0 {
		ev.EndTimeUnknown = true
	}
	if ev.LogGap && !g.resumed {
		ev.LogCut = g.lastLine
	}
	if ev.Began.IsZero() && !g.applied.IsZero() {
		ev.Began, ev.BeganObs = g.applied.Add(-time.Second), g.appliedObs // the two clocks differ
	}
	ev.MayDropEvents = g.events >= eventBurst
	ev.NodeRestarted = ev.NodeRestarted || ev.NewSandbox && len(ev.SandboxStops) == 0
	for c := range g.p.Containers {
		of, spec := &ev.Containers[c], &g.p.Containers[c]
		of.Changes = max(g.c[c].patched, g.c[c].redefined)
		of.Resized, of.Resizes = g.c[c].resized()
		of.AskedRestartAll = of.AskedRestartAll || g.removedAll && slices.ContainsFunc(spec.Rules, podspec.RestartsAll)
		if from, ok := g.failedSilently(c); ok {
			of.SilentFailure, of.SilentFrom = true, from
		}
		if g.takesPodWithIt(c) {
			ev.NewSandbox = true
		}
	}
	return g.ev
}

// takesPodWithIt reports whether container c may have taken the Pod with it when a
// probe failed: its rules start it again, its policy after a failed probe does not.
// Where nothing else is left to run, the next sync makes a new sandbox; in a Pod
// in which nothing else is started again only if all containers are to be.
func (g *gatherer) takesPodWithIt(c int) bool {
	spec := &g.p.Containers[c]
	if !g.p.IsRegular(c) || spec.Policy != corev1.RestartPolicyNever {
		return false
	}
	again := len(spec.Rules) > 0 && g.p.Policy != corev1.RestartPolicyNever || slices.ContainsFunc(spec.Rules, podspec.RestartsAll)
	return again && g.mayHaveFailedProbe(c)
}

// mayHaveFailedProbe reports whether a liveness or startup probe of container c may
// have failed. A probe over the network that nobody answers leaves no line.
func (g *gatherer) mayHaveFailedProbe(c int) bool {
	lines, spec := &g.c[c].failedLines, &g.p.Containers[c]
	if g.ev.Containers[c].ProbeFailed || lines[RowOf(trace.LivenessProbe)]+lines[RowOf(trace.StartupProbe)] > 0 {
		return true
	}
	return (spec.Liveness.Network || spec.Startup.Network) && g.p.Policy == corev1.RestartPolicyNever
}

// failedSilently reports whether Events tell of a probe failure of container c that has
// no line, and from when on.
func (g *gatherer) failedSilently(c int) (from time.Time, ok bool) {
	for _, a := range []trace.Actor{trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe} {
		timeout := time.Duration(g.p.Containers[c].Probe(a).Timeout) * time.Second
		row := RowOf(a)
		t, silent := g.c[c].failedEvents[row].without(g.c[c].failedAt[row], timeout)
		if g.ev.Containers[c].silent[row] = silent; silent && (!ok || t.Before(from)) {
			from, ok = t, true
		}
	}
	return from, ok
}
