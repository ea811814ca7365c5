package record

import (
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// Evidence is what the whole trace shows to have happened at some time. The model
// admits a fault (a restart, a failed start, a deletion, a lost sandbox) only where
// the evidence holds it. [Gather] reads it off a trace.
type Evidence struct {
	// Containers is what is shown of each container.
	Containers []ContainerEvidence

	// Ends are the acts that end the Pod: a deletion, an eviction.
	Ends []Place
	// EndTimeUnknown: somebody ended the Pod, or may have, and nothing says when, nor with
	// which grace period.
	EndTimeUnknown bool
	// EndedFrom is when that was at the earliest; zero if that is not known. Period is the
	// grace period that it had; nil if it may be any. See [Assumptions].
	EndedFrom time.Time
	Period    *time.Duration
	// Deadline is the shortest activeDeadlineSeconds that the Pod ever had; 0 if it had none.
	// DeadlineSeen is the first sign that it has ended the Pod.
	Deadline     int64
	DeadlineSeen Place
	// Began is the earliest time at which the kubelet can have taken up the Pod, by the clock
	// of the node: the startTime of a status, which has whole seconds. Zero if nothing says so.
	// BeganObs is what says so.
	Began    time.Time
	BeganObs Place
	// GraceNeverEnds: no grace period runs out. It is set where possible orders are
	// asked for and time does not matter.
	GraceNeverEnds bool

	// NewSandbox: the sandbox of the Pod was replaced at least once.
	NewSandbox bool
	// SandboxStops are the acts that stop the sandbox.
	SandboxStops []Place
	// NodeRestarted: the node was restarted; or it may have been, since the sandbox was
	// replaced and no act explains that.
	NodeRestarted bool
	// Restarts are the acts that stop, start or restart the kubelet. RestartAnyTime: it may
	// have been restarted at any time.
	Restarts       []Place
	RestartAnyTime bool
	// DueTogether are the pairs of containers that one sync starts again.
	DueTogether []DuePair

	// SlowestStart is the longest time from the Created Event of an instance to its
	// Started Event: how long this node takes to begin a process.
	SlowestStart time.Duration
	// ClockAhead is how far the clock of the node is ahead of the clock of the recorder,
	// at least: a line is written before it arrives. It is usually negative.
	ClockAhead time.Duration
	// Unhurried: the node was not so busy that what a process does was seconds late.
	Unhurried bool
	// NodeStoodStill: the node may have stood still for any time, so nothing is late.
	NodeStoodStill bool

	// LogComplete: every process writes every line that it can, and the times of the lines are
	// made up.
	LogComplete bool
	// LogGap: lines may be missing or out of order. EventGap: the same of Events, and
	// UpdateGap: of updates of the Pod.
	LogGap, EventGap, UpdateGap bool
	// LogCut is the stamp of the last line where lines are missing only from the end, since
	// the recording was ended before the log; zero elsewhere. None older than that is missing.
	LogCut time.Time
	// NewestEvent is when the newest Event of the kubelet was made, in whole seconds,
	// and NewestEventObs is that Event. The kubelet sends its Events one after the other,
	// and they may be on their way for a long time.
	NewestEvent    time.Time
	NewestEventObs Place
	// MayDropEvents: there are so many Events that the kubelet may have dropped some.
	// None made by EventsWholeUntil was dropped.
	MayDropEvents    bool
	EventsWholeUntil time.Time
}

// ContainerEvidence is what the whole trace shows of one container.
type ContainerEvidence struct {
	// NewestRun is the highest run of which anything is seen.
	NewestRun int32
	// StartsPerEvent is how many starts one Event stands for, at most: Events of the same
	// text are merged and counted.
	StartsPerEvent int32
	// StartFailed: the container could not be created or started at least once.
	StartFailed bool
	// HookFailed, PreStopFailed and ProbeFailed: the postStart hook, the preStop hook, or
	// a liveness or startup probe failed at least once.
	HookFailed, PreStopFailed, ProbeFailed bool
	// HookFailedEvent is the first Event of a postStart hook that failed. OnlyInstance is
	// the update in which the Pod has reached its final phase and shows run 0 of this
	// container, so that there was no other.
	HookFailedEvent, OnlyInstance Place
	// AskedRestartAll: an exit code was shown for which one of its rules restarts all
	// containers; or it has such a rule, and a status shows that all were removed.
	AskedRestartAll bool
	// FirstLines has the first line of each actor; the zero Place where there is none.
	FirstLines [6]Place
	// logsBegin tells which actors log their begin and end.
	logsBegin [6]bool
	// hookRuns are the runs of which the postStart and the preStop hook have left a line.
	hookRuns [2][]int32
	// told are the actors of which the Pod tells that they write to the log.
	told [6]bool
	// toldEach are those that write in each run, and FirstSuccess has the first success that
	// each probe has logged.
	toldEach     [6]bool
	FirstSuccess [3]Place
	// LastAlive is the last line of the container or update that shows it running, and
	// LastAliveRun the run that it is of.
	LastAlive    Place
	LastAliveRun int32
	// EndNotShown: the last update, with which the Pod went from the API, still shows it
	// running. So no status shows how it ended.
	EndNotShown bool
	// Exits are the shown ends of its instances, by restart count. In a new sandbox the
	// count may begin again, so that one count has several ends
	// (pkg/kubelet/kuberuntime/kuberuntime_container.go, startContainer).
	Exits map[int32][]*corev1.ContainerStateTerminated
	// Starts are the instances of which a line or a status tells by when they were started.
	Starts []Start
	// Changed is the first observation by which its definition may have been changed at
	// the API, so that the kubelet replaces it. Changes is how often it was changed.
	Changed Place
	Changes int32
	// Resized and Resizes are the same of the resources for which its resizePolicy has it
	// restarted; see [Evidence.WithResizes].
	Resized Place
	Resizes int32
	// Images are the acts that changed its image.
	Images []Place
	// Added is the act that added it, an ephemeral container.
	Added Place
	// SilentFailure: Events tell of more probe failures than lines do. A probe that runs
	// out of time before its process writes anything leaves no line. The first of them came at
	// SilentFrom at the earliest; zero where nothing tells.
	SilentFailure bool
	SilentFrom    time.Time
	// silent are the probes that did, in the order of the rows.
	silent [3]bool
}

// DuePair is two containers that one update shows as ended, the first one for the
// first time. The sync that begins with that update starts both again, in this order.
type DuePair struct {
	First, Second int
	// Run is the run of Second that has ended.
	Run int32
	// Obs is the update.
	Obs Place
}

// Start is an instance, and by when it was surely started, by the clock of the node.
type Start struct {
	Run int32
	// ID is its container ID; empty where none is known.
	ID string
	By time.Time
	// Obs is what tells so: its first line, or a status that shows it.
	Obs Place
}

// Actors are the actors of a log, in the order of the rows of [ContainerEvidence].
var Actors = trace.Actors()

// actorIndex is the place of an actor in Actors.
func actorIndex(a trace.Actor) int { return a.Index() }

// Writes reports whether an actor of a container writes to the log when it runs: a line of it
// is seen, or the Pod tells ([podspec.Container.Writing]). One that writes may leave no line
// all the same: its command was not found, its container died first, or its time ran out.
func (ev *Evidence) Writes(c int, a trace.Actor) bool {
	return ev.LogComplete || ev.Containers[c].told[actorIndex(a)] || ev.Wrote(c, a)
}

// Wrote reports whether a line of an actor of a container is seen.
func (ev *Evidence) Wrote(c int, a trace.Actor) bool {
	return ev.Containers[c].FirstLines[actorIndex(a)].Known()
}

// ForgetTold leaves only the lines to tell who writes: where most of them are left out on
// purpose, a line that is missing means nothing.
func (ev *Evidence) ForgetTold() {
	for c := range ev.Containers {
		ev.Containers[c].told, ev.Containers[c].toldEach = [6]bool{}, [6]bool{}
	}
}

// FailedSilently reports whether Events tell of more failures of a probe of a container than lines
// do, or it was assumed that some probe of it has failed so.
func (ev *Evidence) FailedSilently(c int, a trace.Actor) bool {
	of := &ev.Containers[c]
	return of.silent[RowOf(a)] || of.SilentFailure && of.silent == [3]bool{}
}

// HookLogged reports whether a hook of an instance has left a line anywhere.
func (ev *Evidence) HookLogged(c int, run int32, a trace.Actor) bool {
	return slices.Contains(ev.Containers[c].hookRuns[hookIndex(a)], run)
}

// hookIndex is the place of a hook among the two.
func hookIndex(a trace.Actor) int {
	if a == trace.PreStop {
		return 1
	}
	return 0
}

// WritesEachRun reports whether a probe of a container writes in each of its runs, also in those
// that succeed: the Pod tells so, or a success is seen. A probe that writes only where it
// succeeds is not found out by this; Events tell of its failures, and a log alone does not.
func (ev *Evidence) WritesEachRun(c int, a trace.Actor, logAlone bool) bool {
	of := &ev.Containers[c]
	return ev.LogComplete || of.toldEach[actorIndex(a)] || !logAlone && of.FirstSuccess[RowOf(a)].Known()
}

// Marks reports whether an actor of a container logs its begin and end.
func (ev *Evidence) Marks(c int, a trace.Actor) bool {
	return ev.LogComplete || ev.Containers[c].logsBegin[actorIndex(a)]
}

// EventContainer finds the container that an Event is about; ok is false if it is about
// none of the Pod's.
func EventContainer(p *podspec.Pod, e *trace.Event) (c int, ok bool) {
	list, name, ok := strings.Cut(e.FieldPath, "{")
	if !ok {
		return 0, false
	}
	c, ok = p.Index[strings.TrimSuffix(name, "}")]
	if !ok {
		return 0, false
	}
	return c, listOf(p.Containers[c].Role) == list
}

// listOf is the field path of the list of the Pod that holds containers of a role.
func listOf(role podspec.Role) string {
	switch role {
	case podspec.Regular:
		return "spec.containers"
	case podspec.Ephemeral:
		return "spec.ephemeralContainers"
	}
	return "spec.initContainers"
}
