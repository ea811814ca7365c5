package record

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// Evidence is what the whole trace shows to have happened at some time.
// Faults are admitted only where the trace shows them: a restart, a start that
// failed, a deletion, a sandbox that was lost.
type Evidence struct {
	// c is what is shown of each container.
	Containers []ContainerEvidence
	// endsAnyTime: someone ends the Pod, and nothing says when.
	EndTimeUnknown bool
	// ample: no grace period runs out.
	GraceNeverEnds bool
	// slowest is the longest time from the Created Event of an instance to its Started
	// Event, by the clock of the kubelet: how long the node takes to begin a process.
	SlowestStart time.Duration
	// ahead is by how much the clock of the node is ahead of that of the recorder, at least: a
	// line is written before it arrives. It is below 0 as a rule.
	ClockAhead time.Duration
	// untimed: the node may have stood still, and nothing is late.
	NodeStoodStill bool
	// complete: every process writes every line that it can.
	LogComplete bool
	// logGap and eventGap: lines, or Events, may be missing or out of order.
	LogGap, EventGap bool
	// newSandbox: the sandbox of the Pod was replaced at least once.
	NewSandbox bool
	// nodeRestarted: so was the node, or it may have been, as nothing else explains that.
	NodeRestarted bool
	// sandboxes are the observations (index + 1) that stop the sandbox.
	SandboxStops []Place
	// toldUntil is when the newest Event of the kubelet was made, in whole seconds: it
	// sends them one after the other, and they may be a long time on their way.
	NewestEvent time.Time
	// toldAt is that Event (index + 1).
	NewestEventObs Place
	// crowded: there are so many Events that the kubelet may have dropped some; but none
	// was by the time of heardUntil.
	MayDropEvents    bool
	EventsWholeUntil time.Time
	// due are the pairs of containers of which an update shows that both have
	// ended, the one listed first for the first time: the sync that begins with
	// it starts both again.
	DueTogether []DuePair
	// restarts are the observations (index + 1) in which the kubelet was
	// stopped or restarted.
	Restarts []Place
	// ends are the observations (index + 1) that end the Pod: a deletion, an
	// eviction.
	Ends []Place
}

// ContainerEvidence is what the whole trace shows of one container.
type ContainerEvidence struct {
	// runs is the highest run of which anything is seen.
	NewestRun int32
	// starts is how many starts one Event tells of.
	StartsPerEvent int32
	// startFailed: it could not be created or started at least once.
	StartFailed bool
	// hookFailed, preStopFailed and probeFailed: the postStart or the preStop
	// hook, or a liveness or startup probe, failed at least once.
	HookFailed, PreStopFailed, ProbeFailed bool
	// hookEvent is the first Event (index + 1) of a postStart hook that failed, and only the
	// update (index + 1) with which the Pod has come to its end and shows this one instance;
	// 0 if there is none.
	HookFailedEvent, OnlyInstance Place
	// askedAll: it was shown with an exit code for which one of its rules
	// restarts all containers, or it has such a rule, and a status shows that
	// all were removed.
	AskedRestartAll bool
	// logs has the first line of each actor, as an observation + 1; 0 where it
	// does not write to the log at all.
	FirstLines [6]Place
	// marked tells which actors log their begin and end.
	marked [6]bool
	// alive is the last observation (index + 1) that shows it running: a line or an
	// update.
	LastAlive Place
	// unseenEnd: it was running by the last update, with which the Pod was gone from the
	// API. How it ended then no status shows.
	EndNotShown bool
	// exits are the ends of its instances that were shown, by the number that the
	// status gave them: in a new sandbox they may be counted anew
	// (pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer).
	Exits map[int32][]*corev1.ContainerStateTerminated
	// changed is the first observation (index + 1) by which its definition may have
	// been changed at the API, so that the kubelet replaces it, and changes how
	// often it was; 0 if never.
	Changed Place
	Changes int32
	// unlogged: a probe has failed more often than lines tell, as Events do. One that
	// runs out of time before its process has written anything leaves no line.
	SilentFailure bool
}

// DuePair is one: run is that of the second which has ended, and obs the update
// (index + 1).
type DuePair struct {
	First, Second int
	Run           int32
	Obs           Place
}

// eventBurst is how many Events a kubelet records of one Pod before it may drop
// one, which is 25, less some that may have been merged on their way. From then on it
// records one more in each eventRefill (k8s.io/client-go/tools/record/events_cache.go).
const (
	eventBurst  = 20
	eventRefill = 300 * time.Second
)

// number is the place of an actor in evidence.logs.
func number(a trace.Actor) int { return slices.Index(Actors, a) }

var Actors = trace.Actors()

// Writes reports whether an actor of a container writes to the log at all.
func (ev *Evidence) Writes(c int, a trace.Actor) bool {
	return ev.LogComplete || ev.Containers[c].FirstLines[number(a)] != 0
}

// Marks reports whether an actor of a container logs its begin and end.
func (ev *Evidence) Marks(c int, a trace.Actor) bool {
	return ev.LogComplete || ev.Containers[c].marked[number(a)]
}

// gatherer reads through a trace for its evidence, one observation at a time.
type gatherer struct {
	p       *podspec.Pod
	ev      Evidence
	c       []containerGatherer
	logOnly bool
	deleted bool
	lines   bool // there is one
	// events counts the Events of any kind, and firstEvent is when the first of the
	// kubelet was made.
	events     int
	firstEvent time.Time
	// removedAll: a status shows that RestartAllContainers has removed a container.
	removedAll bool
	// spec is that of the latest update.
	spec *corev1.PodSpec
}

// containerGatherer is what leads to the evidence of one container.
type containerGatherer struct {
	// Without run numbers, the second begin of a main process and each line
	// after an end are the only signs of another instance.
	counted      int32
	begun, ended bool
	// created is when the newest instance was, by its Event.
	created time.Time
	// failing counts the lines of failed probes, and wrote tells when they were
	// written; told are the Events of the same.
	failing [3]int32
	wrote   [3][]time.Time
	told    [3]failures
	// patched and redefined count how often acts changed its definition, and how
	// often updates show that somebody did.
	patched, redefined int32
}

func NewGatherer(p *podspec.Pod, logOnly bool) *gatherer {
	n := len(p.Containers)
	return &gatherer{
		p: p, logOnly: logOnly, c: make([]containerGatherer, n),
		ev: Evidence{Containers: make([]ContainerEvidence, n), EndTimeUnknown: logOnly},
	}
}

// Gather reads through the whole trace for what it shows to have happened.
func Gather(p *podspec.Pod, obs []Observation, logOnly bool) Evidence {
	g := NewGatherer(p, logOnly)
	for n := range obs {
		g.Take(&obs[n], n)
	}
	return g.Evidence()
}

// Evidence returns what was gathered.
func (g *gatherer) Evidence() Evidence {
	if g.deleted && len(g.ev.Ends) == 0 {
		g.ev.EndTimeUnknown = true
	}
	g.ev.MayDropEvents = g.events >= eventBurst
	g.ev.NodeRestarted = g.ev.NodeRestarted || g.ev.NewSandbox && len(g.ev.SandboxStops) == 0
	for c := range g.p.Containers {
		ev, of, spec := &g.ev.Containers[c], &g.c[c], &g.p.Containers[c]
		ev.Changes = max(of.patched, of.redefined)
		ev.AskedRestartAll = ev.AskedRestartAll || g.removedAll && slices.ContainsFunc(spec.Rules, podspec.RestartsAll)
		// One that its rules start again, and a probe does not, takes the Pod with
		// it where nothing else is left to run: the next sync makes a new sandbox, in a
		// Pod in which nothing else is started again only if all are to be.
		failed := ev.ProbeFailed || of.failing[RowOf(trace.LivenessProbe)]+of.failing[RowOf(trace.StartupProbe)] > 0
		unanswered := spec.Liveness.Network || spec.Startup.Network // leaves no line
		failed = failed || unanswered && g.p.Policy == corev1.RestartPolicyNever
		again := len(spec.Rules) > 0 && g.p.Policy != corev1.RestartPolicyNever || slices.ContainsFunc(spec.Rules, podspec.RestartsAll)
		if g.p.IsRegular(c) && failed && again && spec.Policy == corev1.RestartPolicyNever {
			g.ev.NewSandbox = true
		}
		for _, a := range []trace.Actor{trace.StartupProbe, trace.ReadinessProbe, trace.LivenessProbe} {
			timeout := time.Duration(spec.Probe(a).Timeout) * time.Second
			ev.SilentFailure = ev.SilentFailure || of.told[RowOf(a)].without(of.wrote[RowOf(a)], timeout)
		}
	}
	return g.ev
}

func (g *gatherer) Take(o *Observation, n int) {
	ev := &g.ev
	switch e := o.Entry; {
	case o.IsLog:
		if ahead := o.Log.Time.Sub(e.At); !g.logOnly && (!g.lines || ahead > ev.ClockAhead) {
			ev.ClockAhead, g.lines = ahead, true
		}
		g.line(o.Container, &o.Log, n)
	case e.Pod != nil:
		g.deleted = g.deleted || e.Pod.DeletionTimestamp != nil || e.Type == trace.Deleted
		ev.EndTimeUnknown = ev.EndTimeUnknown || e.Pod.Status.Reason != ""
		for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses, e.Pod.Status.EphemeralContainerStatuses} {
			for i := range list {
				g.status(&list[i], e, n)
			}
		}
		g.pairs(&e.Pod.Status, PlaceOf(n))
		g.compare(&e.Pod.Spec)
	case e.Event != nil:
		g.events++
		if e.Event.Reason != "Scheduled" {
			g.told(e.Event.LastTimestamp.Time, n)
		}
		switch e.Event.Reason {
		case "SandboxChanged":
			ev.NewSandbox = true
		case "Evicted", "Preempting", "Preempted", "DeadlineExceeded":
			ev.EndTimeUnknown = true
		}
		if c, ok := EventContainer(g.p, e.Event); ok {
			g.event(c, e.Event, n)
		}
	case e.Did != nil:
		g.act(e.Did, n)
	case e.Gap != nil:
		ev.LogGap = ev.LogGap || e.Gap.Channel == "log"
		ev.EventGap = ev.EventGap || e.Gap.Channel == "events"
	}
}

// told takes the time of an Event of the kubelet. Where two more were recorded since, and
// not over so long a time that the kubelet may record two beyond its burst, none had
// been dropped by then.
func (g *gatherer) told(at time.Time, n int) {
	ev := &g.ev
	if g.firstEvent.IsZero() {
		g.firstEvent = at
	}
	if until := ev.NewestEvent; until.Sub(g.firstEvent) < eventRefill && !at.Before(until) {
		ev.EventsWholeUntil = until
	}
	if at.After(ev.NewestEvent) {
		ev.NewestEvent, ev.NewestEventObs = at, PlaceOf(n)
	}
}

func (g *gatherer) line(c int, l *trace.Line, n int) {
	ev, of := &g.ev.Containers[c], &g.c[c]
	ev.LastAlive = PlaceOf(n)
	if first := &ev.FirstLines[number(l.Actor)]; *first == 0 {
		*first = PlaceOf(n)
	}
	if l.Mark.Kind == trace.Begin {
		ev.marked[number(l.Actor)] = true
	}
	if l.Run != trace.NoRun {
		of.counted = int32(l.Run)
	} else if l.Actor == trace.Main {
		if of.begun && (of.ended || l.Mark.Kind == trace.Begin) {
			of.counted++
		}
		of.begun, of.ended = true, l.Mark.Kind == trace.End
	}
	if l.Actor == trace.PostStart && l.Mark.Kind == trace.End && l.Mark.N > 0 {
		ev.HookFailed = true
	}
	if l.Actor.IsProbe() && (l.Mark.Kind != trace.End || l.Mark.N != 0) {
		of.failing[RowOf(l.Actor)]++
		if !g.logOnly {
			wrote := &of.wrote[RowOf(l.Actor)]
			*wrote = append(*wrote, l.Time)
		}
	}
	ev.NewestRun = max(ev.NewestRun, of.counted)
}

func (g *gatherer) act(a *trace.Act, n int) {
	ev, at := &g.ev, PlaceOf(n)
	switch what := a.Name + " " + a.Target(); what {
	case "restart kubelet", "stop kubelet", "start kubelet":
		ev.Restarts = append(ev.Restarts, at)
	case "restart node":
		ev.Restarts = append(ev.Restarts, at)
		ev.NewSandbox, ev.SandboxStops = true, append(ev.SandboxStops, at)
		ev.NodeRestarted = true
	case "stop sandbox":
		ev.NewSandbox, ev.SandboxStops = true, append(ev.SandboxStops, at)
	default:
		switch a.Name {
		case trace.ActDelete, trace.ActEvict:
			ev.Ends = append(ev.Ends, at)
		case trace.ActPatch:
			g.patch(a, at)
		}
	}
}

// patch takes the content of a patch of the Pod, a strategic merge: it changes
// the definition of the containers that it names. One that cannot be read so may
// have changed any.
func (g *gatherer) patch(a *trace.Act, at Place) {
	type list []map[string]json.RawMessage
	var p struct {
		Spec struct{ InitContainers, Containers list }
	}
	names, readable := map[string]bool{}, json.Unmarshal(a.Param, &p) == nil && a.Target() == ""
	for _, of := range []list{p.Spec.InitContainers, p.Spec.Containers} {
		for _, c := range of {
			var name string
			readable = readable && json.Unmarshal(c["name"], &name) == nil
			names[name] = names[name] || len(c) > 1
		}
	}
	for c := range g.p.Containers {
		if !readable || names[g.p.Containers[c].Name] {
			g.c[c].patched++
			if g.ev.Containers[c].Changed == 0 {
				g.ev.Containers[c].Changed = at
			}
		}
	}
}

// compare finds the containers that are defined otherwise than in the update
// before. Up to 1.30 the kubelet replaces a container for any field of it, and
// later for its image alone, which is the one that the API lets change, beside
// resources (pkg/kubelet/container/helpers.go, HashContainer).
func (g *gatherer) compare(spec *corev1.PodSpec) {
	if old := g.spec; old != nil {
		differs := func(was, is []corev1.Container) {
			for i := range min(len(was), len(is)) {
				c, ok := g.p.Index[is[i].Name]
				if !ok || reflect.DeepEqual(was[i], is[i]) {
					continue
				}
				g.c[c].redefined++
				if g.c[c].patched == 0 {
					g.ev.Containers[c].Changed = 1 // nothing says when
				}
			}
		}
		differs(old.InitContainers, spec.InitContainers)
		differs(old.Containers, spec.Containers)
	}
	g.spec = spec
}

func (g *gatherer) status(s *corev1.ContainerStatus, e *trace.Entry, n int) {
	c, ok := g.p.Index[s.Name]
	if !ok {
		return
	}
	ev := &g.ev.Containers[c]
	ev.NewestRun = max(ev.NewestRun, s.RestartCount)
	if s.State.Running != nil {
		ev.LastAlive = PlaceOf(n)
	}
	ev.EndNotShown = s.State.Running != nil && e.Type == trace.Deleted
	if st := &e.Pod.Status; IsFinal(st.Phase) && st.Reason == "" && s.RestartCount == 0 && IsEnd(s.State.Terminated) {
		ev.OnlyInstance = PlaceOf(n)
	}
	if w := s.State.Waiting; w != nil {
		ev.StartFailed = ev.StartFailed || isStartError(w.Reason)
		ev.HookFailed = ev.HookFailed || w.Reason == "PostStartHookError"
	}
	for _, end := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if !IsEnd(end) {
			g.removedAll = g.removedAll || end != nil && end.Reason == RestartingAll
			continue
		}
		if g.p.Containers[c].RestartsAllFor(end.ExitCode) {
			ev.AskedRestartAll = true
		}
	}
	if run, end := endOf(s); end != nil {
		if last := s.LastTerminationState.Terminated; end == s.State.Terminated && IsEnd(last) {
			ev.exited(run-1, last)
		}
		ev.exited(run, end)
	}
	// A dead instance may be replaced before the trace ends.
	if IsEnd(s.State.Terminated) || IsEnd(s.LastTerminationState.Terminated) && s.State.Waiting != nil {
		ev.NewestRun = max(ev.NewestRun, s.RestartCount+1)
	}
}

// exited takes a shown end of an instance.
func (ev *ContainerEvidence) exited(run int32, end *corev1.ContainerStateTerminated) {
	if ev.Exits == nil {
		ev.Exits = map[int32][]*corev1.ContainerStateTerminated{}
	}
	if all := ev.Exits[run]; len(all) == 0 || !all[len(all)-1].FinishedAt.Equal(&end.FinishedAt) || all[len(all)-1].ExitCode != end.ExitCode {
		ev.Exits[run] = append(all, end)
	}
}

// pairs finds the containers that are due in one sync. Which exit is followed by
// a start is asked of the one listed first alone: whenever the other one is
// started, it was the turn of the first.
func (g *gatherer) pairs(st *corev1.PodStatus, obs Place) {
	type exit struct {
		c, run int32
		again  bool
	}
	var exits []exit
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for i := range list {
			cs := &list[i]
			c, ok := g.p.Index[cs.Name]
			if !ok || !IsEnd(cs.State.Terminated) || g.p.Containers[c].Role == podspec.InitContainer {
				continue
			}
			spec := &g.p.Containers[c]
			again := len(spec.Rules) == 0 && (spec.Policy == corev1.RestartPolicyAlways || spec.Policy == corev1.RestartPolicyOnFailure && cs.State.Terminated.ExitCode != 0)
			exits = append(exits, exit{int32(c), cs.RestartCount, again && cs.RestartCount == 0})
		}
	}
	for i, a := range exits {
		for _, b := range exits[i+1:] {
			if !a.again || a.c > b.c || slices.ContainsFunc(g.ev.DueTogether, func(d DuePair) bool {
				return d.First == int(a.c) && d.Second == int(b.c) && d.Run == b.run
			}) {
				continue
			}
			g.ev.DueTogether = append(g.ev.DueTogether, DuePair{int(a.c), int(b.c), b.run, obs})
		}
	}
}

// pace takes from the Events of a start how long it took.
func (g *gatherer) pace(c int, e *trace.Event) {
	switch e.Reason {
	case "Created":
		g.c[c].created = e.LastTimestamp.Time
	case "Started":
		if at := g.c[c].created; !at.IsZero() {
			g.ev.SlowestStart = max(g.ev.SlowestStart, e.LastTimestamp.Sub(at))
		}
	}
}

// failures are those of one probe of a container that Events tell of: how many with
// each message, and when each was.
type failures struct {
	counted map[string]int32
	at      []time.Time
}

func (f *failures) take(e *trace.Event) {
	if f.counted == nil {
		f.counted = map[string]int32{}
	}
	count := max(e.Count, 1)
	for range count - f.counted[e.Message] {
		f.at = append(f.at, e.LastTimestamp.Time)
	}
	f.counted[e.Message] = max(f.counted[e.Message], count)
}

// without reports whether one of the failures may have no line, of those that the
// probe, with a time-out, wrote where it failed: none was written in that time
// before the Event was made. Other lines may have no Event.
func (f *failures) without(lines []time.Time, timeout time.Duration) bool {
	slices.SortFunc(f.at, time.Time.Compare)
	for _, at := range f.at {
		for len(lines) > 0 && lines[0].Before(at.Add(-timeout)) {
			lines = lines[1:]
		}
		if len(lines) == 0 || lines[0].After(at.Add(time.Second+StampSlack)) {
			return true
		}
		lines = lines[1:]
	}
	return false
}

func (g *gatherer) event(c int, e *trace.Event, n int) {
	g.pace(c, e)
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
		if ev.HookFailedEvent == 0 {
			ev.HookFailedEvent = PlaceOf(n)
		}
	case "FailedPreStopHook":
		ev.PreStopFailed = true
	case "Killing":
		ev.HookFailed = ev.HookFailed || strings.Contains(e.Message, "FailedPostStartHook")
		ev.ProbeFailed = ev.ProbeFailed || strings.Contains(e.Message, "liveness probe") || strings.Contains(e.Message, "startup probe")
	case "Unhealthy":
		if !strings.HasPrefix(e.Message, "Readiness") && !thrownAway(e.Message) {
			ev.ProbeFailed = true
		}
		for word, a := range map[string]trace.Actor{"Liveness": trace.LivenessProbe, "Startup": trace.StartupProbe, "Readiness": trace.ReadinessProbe} {
			if !strings.Contains(e.Message, word+" probe failed") {
				continue
			}
			g.c[c].told[RowOf(a)].take(e)
		}
	}
}

// thrownAway tells an Event of a liveness or startup probe that could not be run, as
// in a container that is being stopped: what it would have said counts for nothing
// (pkg/kubelet/prober/worker.go, doProbe).
func thrownAway(message string) bool {
	return strings.HasPrefix(message, "Liveness probe errored") || strings.HasPrefix(message, "Startup probe errored")
}

// EventContainer finds the container that an event speaks of.
func EventContainer(p *podspec.Pod, e *trace.Event) (int, bool) {
	list, name, ok := strings.Cut(e.FieldPath, "{")
	if !ok {
		return 0, false
	}
	c, ok := p.Index[strings.TrimSuffix(name, "}")]
	if !ok {
		return 0, false
	}
	want := map[podspec.Role]string{podspec.Regular: "spec.containers", podspec.InitContainer: "spec.initContainers", podspec.Sidecar: "spec.initContainers", podspec.Ephemeral: "spec.ephemeralContainers"}
	return c, want[p.Containers[c].Role] == list
}
