package rules

import (
	"slices"
	"strings"
)

// Clause is a part of a rule: one thing that is refused by it, or concluded from it, and
// the faults that suspend just that. A rule without clauses, and what of a rule has none,
// is suspended by nothing.
type Clause uint8

// The clauses, by the rule that they are of.
const (
	OneBegin Clause = iota
	RestartsInTurn
	FirstStartsInOrder
	HookWithoutEnd
	SleepingHook
	SleepingHookBlocks
	KillAwaited
	NoProbeAfterHookFailed
	GateClosed
	NoStartupProbeAgain
	ProbedAfterRestart
	ReadinessDuringStop
	FailuresBeforeKill
	AnsweredGoesOn
	RunningPreStop
	PreStopBeforeTERM
	SleepingPreStop
	KilledLate
	GraceEnds
	SidecarsTurn
	ObjectAfterStop
	EndsShownTogether
	StartsShownTogether
	SnapshotByStamps
	SnapshotByOrder
	StateForward
	InitReady
	ReadyNeedsSuccess
	UnreadyNeedsFailures
	KeptByNewKubelet
	UnreadyByNewKubelet
	NotInitializedAgain
	InitializedNotYet
	SandboxBeforeContainers
	SandboxWhileRunning
	InitEndLogged
	SidecarStartLogged
	SidecarNeverStarted
	BackoffHolds
	FirstProbe
	NextProbe
	FailureThenStop
	NoProbeAfterFailure
	StartedNeedsSuccess
	FinalPhase
	EndShown
	DeletionStops
	KillComes
	StopShown
	StartedShown
	ReadyShown
	UnreadyShown
	NextStarts
	RestartComes
	HookRan
	HookBegins
	PreStopRan
	ImageReplaced
	AllStopped
	EphemeralComes
	ObjectGone
	DeadlineFails
	AllComeBack
	FinalWhenGone
	TermComes
	clauses
)

// clauseTable has the clauses. What it says is what is enforced: the model asks it, in one
// place, before it refuses or concludes.
var clauseTable = [clauses]struct {
	name   string
	rule   string
	says   string
	unless []Suspension
}{
	OneBegin:                {"one-begin", Instances, "a main process logs one begin", ever(LogGap)},
	RestartsInTurn:          {"restarts-in-turn", ListedOrder, "containers that are due in one sync are started again in their order", ever(FailedStart, Redefined, KubeletRestart, BegunAnew)},
	FirstStartsInOrder:      {"first-starts-in-order", ListedOrder, "the Events of the first starts come in the order of the containers", slices.Concat(ever(EventGap, FailedStart, BegunAnew), before(KubeletRestart))},
	HookWithoutEnd:          {"hook-without-end", BlocksNext, "a postStart hook that has returned without logging its end has died with its container", slices.Concat(ever(LogGap), since(KubeletRestart))},
	SleepingHook:            {"sleeping-hook", BlocksNext, "a postStart hook that sleeps takes its full time", before(KubeletRestart)},
	SleepingHookBlocks:      {"sleeping-hook-blocks", BlocksNext, "what is listed after a container whose postStart hook sleeps starts after that time", ever(BegunAnew, FailedStart)},
	KillAwaited:             {"kill-awaited", HooksSerial, "a sync waits for what it stops before it starts anything", since(KubeletRestart)},
	NoProbeAfterHookFailed:  {"no-probe-after-hook-failed", AfterSync, "a container that is stopped because of its postStart hook is not probed", since(KubeletRestart)},
	GateClosed:              {"gate-closed", StartupGates, "the startup probe of this instance has logged a success", ever(LogGap)},
	NoStartupProbeAgain:     {"no-startup-probe-again", StartupStops, "the startup probe is not run again", since(KubeletRestart)},
	ProbedAfterRestart:      {"probed-after-restart", ProbedAgain, "the first probe comes within its delay and three periods", slices.Concat(ever(LogGap, KubeletRestart, EndedByOthers, StoodStill), before(SilentFailure))},
	ReadinessDuringStop:     {"readiness-during-stop", ReadinessGoesOn, "the next readiness probe comes within three periods", ever(LogGap, KubeletRestart, ForcedDeletion, SilentFailure, StoodStill)},
	FailuresBeforeKill:      {"failures-before-kill", TermCause, "a container is stopped for a probe after failureThreshold failures in a row", slices.Concat(ever(LogGap, EventGap, Redefined), before(SilentFailure, LostEvents))},
	AnsweredGoesOn:          {"answered-goes-on", TermCause, "a container is not stopped for a probe over the network that it has just answered", ever(Redefined, StoodStill)},
	RunningPreStop:          {"running-prestop", PreStopFirst, "no TERM comes while the preStop hook runs", ever(LogGap)},
	PreStopBeforeTERM:       {"prestop-before-term", PreStopFirst, "no line of the preStop hook comes after TERM", since(KubeletRestart)},
	SleepingPreStop:         {"sleeping-prestop", PreStopFirst, "a preStop hook that sleeps takes its full time", before(KubeletRestart)},
	KilledLate:              {"killed-late", Grace, "a container is not killed before its grace period is over", ever(LogGap, KubeletRestart)},
	GraceEnds:               {"grace-ends", Grace, "a container does not outlive its grace period", slices.Concat(ever(StoodStill), since(KubeletRestart))},
	SidecarsTurn:            {"sidecars-turn", SidecarPrompt, "TERM follows when everything that the sidecar waits for has stopped", ever(LogGap, LogAlone, KubeletRestart, StoodStill)},
	ObjectAfterStop:         {"object-after-stop", ObjectLast, "all containers have stopped when the object goes", ever(ForcedDeletion)},
	EndsShownTogether:       {"ends-shown-together", Together, "containers that are stopped with their Pod are shown as terminated in one update", slices.Concat(ever(BegunAnew), before(KubeletRestart))},
	StartsShownTogether:     {"starts-shown-together", WholeSync, "containers that one sync started are shown in one update", slices.Concat(ever(BegunAnew, FailedStart), before(KubeletRestart, LostEvents))},
	SnapshotByStamps:        {"snapshot-by-stamps", OneSnapshot, "an update that shows a container shows every instance that was started before it, as times tell", ever(BegunAnew)},
	SnapshotByOrder:         {"snapshot-by-order", OneSnapshot, "an update that shows a container shows every instance that was started before it, as the order of lines tells", slices.Concat(ever(LogGap), before(KubeletRestart))},
	StateForward:            {"state-forward", Forward, "a container is not shown as less far than before", ever(BegunAnew)},
	InitReady:               {"init-ready", Ready, "an init container is ready only when it has exited with 0", ever(BegunAnew)},
	ReadyNeedsSuccess:       {"ready-needs-success", ReadyAfterProbe, "a container is shown as ready after its readiness probe has logged a success", ever(LogGap)},
	UnreadyNeedsFailures:    {"unready-needs-failures", SuccessThreshold, "a container that was ready is shown as unready after failureThreshold failures", slices.Concat(ever(LogGap, EventGap, Redefined, KubeletRestart), before(SilentFailure, LostEvents))},
	KeptByNewKubelet:        {"kept-by-new-kubelet", KeptOver, "a restarted kubelet shows a container as the one before it did", ever(LogGap, EventGap)},
	UnreadyByNewKubelet:     {"unready-by-new-kubelet", KeptOver, "a restarted kubelet shows a container that was not ready as ready only after its readiness probe has succeeded", ever(LogGap)},
	NotInitializedAgain:     {"not-initialized-again", Conditions, "condition Initialized follows from the init containers", ever(BegunAnew)},
	InitializedNotYet:       {"initialized-not-yet", Conditions, "a Pod is not Initialized before its init containers are", before(KubeletRestart)},
	SandboxBeforeContainers: {"sandbox-before-containers", Sandbox, "before 1.36 PodReadyToStartContainers comes with the first container", slices.Concat(ever(FailedStart), before(KubeletRestart, LostEvents))},
	SandboxWhileRunning:     {"sandbox-while-running", Sandbox, "PodReadyToStartContainers is True while a container runs", ever(NewSandbox)},
	InitEndLogged:           {"init-end-logged", InitSerial, "an init container has logged its end before the next one starts", ever(LogGap)},
	SidecarStartLogged:      {"sidecar-start-logged", SidecarStarted, "a sidecar has logged that its hook ended and its startup probe succeeded", ever(LogGap)},
	SidecarNeverStarted:     {"sidecar-never-started", SidecarHook, "a sidecar whose only postStart hook failed was never started", ever(EventGap, FailedStart, BegunAnew, KubeletRestart)},
	FirstProbe:              {"first-probe", ProbesRun, "a probe is run within its delay and three periods once its container is shown, and the gate is open", slices.Concat(ever(LogGap, FailedStart, BegunAnew, EndedByOthers, StoodStill), since(KubeletRestart), before(SilentFailure))},
	NextProbe:               {"next-probe", ProbesRun, "the next run of a probe comes within three periods", slices.Concat(ever(LogGap, BegunAnew, EndedByOthers, StoodStill), since(KubeletRestart), before(SilentFailure))},
	FailureThenStop:         {"failure-then-stop", FailureStops, "a container is stopped once a probe has failed failureThreshold times in a row", slices.Concat(ever(LogGap, BegunAnew, EndedByOthers, StoodStill), since(KubeletRestart))},
	NoProbeAfterFailure:     {"no-probe-after-failure", HeldAfterFailure, "no probe follows the failure that has its container stopped", slices.Concat(ever(LogGap, BegunAnew), since(KubeletRestart))},
	StartedNeedsSuccess:     {"started-needs-success", StartedAfterProbe, "a container is shown as started after its startup probe has logged a success", ever(LogGap)},
	DeletionStops:           {"deletion-stops", Grace, "a deletion stops every container within the grace period", slices.Concat(ever(LogGap, ForcedDeletion, StoodStill), since(KubeletRestart))},
	KillComes:               {"kill-comes", Grace, "a container that a deletion stops is shown as ended after the grace period", slices.Concat(ever(UpdateGap, FailedStart, EndedByOthers, ForcedDeletion, StoodStill), since(KubeletRestart))},
	StopShown:               {"stop-shown", Grace, "a container that is stopped while the Pod goes on is shown as ended, or its next instance is, after the grace period", slices.Concat(ever(LogGap, UpdateGap, NewSandbox, FailedStart, EndedByOthers, StoodStill), since(KubeletRestart))},
	EndShown:                {"end-shown", ShowsEnd, "a container that has ended is shown so", slices.Concat(ever(LogGap, UpdateGap, FailedStart, BegunAnew, EndedByOthers, StoodStill), since(KubeletRestart))},
	FinalPhase:              {"final-phase", PhaseFinal, "a Pod in which nothing runs, and nothing will, gets its final phase", slices.Concat(ever(UpdateGap, StoodStill), since(KubeletRestart))},
	StartedShown:            {"started-shown", FollowsProbes, "a container is shown as started once its startup probe has succeeded", slices.Concat(ever(LogGap, UpdateGap, FailedStart, BegunAnew, EndedByOthers, StoodStill), since(KubeletRestart), before(SilentFailure))},
	ReadyShown:              {"ready-shown", FollowsProbes, "a container is shown as ready once it has started and its readiness probe, if any, has succeeded successThreshold times", slices.Concat(ever(LogGap, UpdateGap, FailedStart, BegunAnew, EndedByOthers, StoodStill), since(KubeletRestart), before(SilentFailure))},
	UnreadyShown:            {"unready-shown", FollowsProbes, "a container is shown as unready once its readiness probe has failed failureThreshold times", slices.Concat(ever(LogGap, UpdateGap, FailedStart, BegunAnew, EndedByOthers, StoodStill), since(KubeletRestart))},
	NextStarts:              {"next-starts", StartsWhenDue, "a container whose turn has come is started", ever(LogGap, KubeletRestart, BegunAnew, FailedStart, EndedByOthers, StoodStill)},
	RestartComes:            {"restart-comes", RestartsWhenDue, "a container that is to be started again is, after its back-off", ever(LogGap, FailedStart, EndedByOthers, StoodStill)},
	HookRan:                 {"hook-ran", HookRuns, "a postStart hook that must have returned has written to the log", slices.Concat(ever(LogGap), before(KubeletRestart))},
	HookBegins:              {"hook-begins", HookRuns, "a postStart hook that logs its begin does so soon after its container has begun", slices.Concat(ever(LogGap, StoodStill), before(KubeletRestart))},
	PreStopRan:              {"prestop-ran", PreStopRuns, "a preStop hook that writes to the log has done so before TERM comes", slices.Concat(ever(LogGap, FailedPreStop), before(KubeletRestart))},
	AllStopped:              {"all-stopped", RestartAll, "what runs when a container asks to restart all is stopped", ever(LogGap, KubeletRestart, StoodStill)},
	ImageReplaced:           {"image-replaced", ImageChanged, "a container whose image was changed is stopped", ever(LogGap, KubeletRestart, BegunAnew, StoodStill)},
	EphemeralComes:          {"ephemeral-comes", EphemeralStarts, "an ephemeral container that was added is started", ever(LogGap, KubeletRestart, BegunAnew, FailedStart, EndedByOthers, StoodStill)},
	ObjectGone:              {"object-gone", ObjectGoes, "the object of a deleted Pod goes when everything has stopped", ever(LogGap, UpdateGap, ForcedDeletion, StoodStill)},
	DeadlineFails:           {"deadline-fails", Deadline, "a Pod that has run out of its deadline is shown as failed", ever(UpdateGap, KubeletRestart, StoodStill)},
	AllComeBack:             {"all-come-back", BackToLife, "a container that was stopped to be restarted with all others is started", ever(LogGap, FailedStart, StoodStill)},
	FinalWhenGone:           {"final-when-gone", FinalBeforeGone, "the last update of a Pod that was Pending shows a final phase", ever(UpdateGap, KubeletRestart, ForcedDeletion, EndedByOthers)},
	TermComes:               {"term-comes", Grace, "a regular container that a deletion stops gets TERM by the end of the grace period", slices.Concat(ever(LogGap, ForcedDeletion, EndedByOthers, StoodStill), since(KubeletRestart))},
	BackoffHolds:            {"backoff-holds", Backoff, "a restart waits for the back-off of all that came before it", slices.Concat(ever(Redefined, BegunAnew, StoodStill), before(KubeletRestart))},
}

// Clauses returns the clauses of all rules.
func Clauses() []Clause {
	all := make([]Clause, clauses)
	for i := range all {
		all[i] = Clause(i)
	}
	return all
}

// Due is what the clause obliges the kubelet to do; ok is false for a clause that asks for nothing.
func (c Clause) Due() (o Obligation, ok bool) {
	o, ok = obligations[c]
	return o, ok
}

// Name names the clause in a few words with hyphens, as the file of its scripts is called.
func (c Clause) Name() string { return clauseTable[c].name }

// Rule is the slug of the rule that the clause is a part of.
func (c Clause) Rule() string { return clauseTable[c].rule }

// String is the clause in a sentence without a full stop.
func (c Clause) String() string { return clauseTable[c].says }

// Unless are the faults that suspend the clause.
func (c Clause) Unless() []Suspension { return clauseTable[c].unless }

// Unless are the faults that suspend a rule, or a part of it.
func (r Rule) Unless() []Suspension {
	var all []Suspension
	for _, c := range Clauses() {
		for _, s := range c.Unless() {
			if c.Rule() == r.Slug && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// UnlessText says what suspends the rule, or a part of it, as the rest of a sentence that
// begins with "unless". It names each fault once, and is empty where there is none.
func (r Rule) UnlessText() string {
	var words []string
	var of []Suspension
	for _, s := range r.Unless() {
		k := slices.IndexFunc(of, func(o Suspension) bool { return o.Fault == s.Fault })
		if k < 0 {
			of, words = append(of, s), append(words, s.String())
			continue
		}
		words[k] = s.Fault.String() // when it has to have befallen depends on the part
	}
	if n := len(words); n > 1 {
		words[n-1] = "or " + words[n-1]
	}
	if len(words) == 2 {
		return words[0] + " " + words[1]
	}
	return strings.Join(words, ", ")
}
