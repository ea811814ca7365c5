package rules

// Obligation is what a clause asks for: after one thing another follows, within a bound,
// unless the suspensions of the clause say otherwise. What does not come is refused at the
// first observation by which it should have.
type Obligation struct {
	// After is what obliges the kubelet, and Due what it has to do then; both are sentences
	// without a full stop ("an instance was started", "its postStart hook runs").
	After, Due string
	// Within says by when: another thing that the kubelet does only afterwards, or a time.
	Within string
	// Patience: nobody promises the time. It is how long a busy node is waited for.
	Patience bool
}

// obligations are the clauses that ask for something.
var obligations = map[Clause]Obligation{
	ProbedAfterRestart:  {"a container was started again", "one of its probes runs", "the initial delay and three periods", true},
	ReadinessDuringStop: {"a container is being stopped with its Pod", "its readiness probe runs again", "three periods", true},
	FirstProbe:          {"a container with a probe was shown, and its startup probe has succeeded if it has one", "the probe is run", "the initial delay and three periods", true},
	NextProbe:           {"a probe of a container was run", "it is run again", "three periods", true},
	FailureThenStop:     {"a liveness or startup probe failed failureThreshold times in a row", "its container is stopped", "15 s to the preStop hook; else to the end the grace period of the probe, four seconds and 15 s", true},
	StartedShown:        {"the startup probe of a container succeeded", "the container is shown as started", "three periods of the probe and 15 s", true},
	ReadyShown:          {"a container has started and its readiness probe, if any, succeeded successThreshold times in a row", "the container is shown as ready", "15 s", true},
	UnreadyShown:        {"the readiness probe of a container failed failureThreshold times in a row", "the container is shown as unready", "15 s", true},
	AllStopped:          {"a container has asked to restart all", "the others are stopped", "15 s, a grace period, and two seconds for each container of the Pod", true},
	ImageReplaced:       {"the image of a container that runs was changed", "the container is stopped", "15 s and a grace period for each container of the Pod", true},
	FinalPhase:          {"a status shows that nothing runs in the Pod and nothing will be started in it", "the Pod has phase Succeeded or Failed", "the grace period of the Pod and 34 s", true},
	EndShown:            {"a container has ended by itself", "a status shows it as ended, or its next instance", "30 s", true},
	DeletionStops:       {"the Pod was deleted, and the sync of that time has ended", "each of its containers has stopped", "the grace period and 34 s", true},
	KillComes:           {"a deletion stops a container", "a status shows it as ended, or the Pod is gone", "the longest grace period, 4 s for each container, and 30 s", true},
	StopShown:           {"a container is stopped for a probe, its postStart hook, another definition, or a restart of all", "a status shows it as ended, or its next instance", "the grace period, 4 s for each container, and 30 s", true},
	GraceEnds:           {"the stop of a container began", "the container has stopped", "the grace period and two seconds", true},
	NextStarts:          {"everything before a container is done", "it is started", "15 s", true},
	RestartComes:        {"a container has ended that is to be started again", "it is started again", "its back-off and 15 s", true},
	HookRan:             {"a container was started", "its postStart hook runs", "before the sync ends", false},
	HookBegins:          {"a container was started", "its postStart hook runs", "15 s", true},
	PreStopRan:          {"the stop of a container began", "its preStop hook runs", "before TERM", false},
	EphemeralComes:      {"an ephemeral container was added to a Pod that runs", "it is started", "15 s", true},
	ObjectGone:          {"a Pod was deleted and its containers have stopped", "its object goes", "45 s; with preStop hooks the grace period more", true},
	DeadlineFails:       {"activeDeadlineSeconds of a Pod are over", "a status shows it as failed", "the grace period and 30 s, and four seconds for each container", true},
	AllComeBack:         {"a container has asked to restart all, and the turn of another has come", "that is started", "30 s, a grace period, and two seconds for each container of the Pod; 45 s more if the kubelet was restarted", true},
	TermComes:           {"a Pod was deleted, and the sync of that time has ended", "a regular container gets TERM", "the grace period and 34 s", true},
	SidecarsTurn:        {"everything that a sidecar waits for has stopped", "the sidecar gets TERM", "15 s", true},
}
