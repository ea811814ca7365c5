package reference

// The slugs of the rules. Code cites the constant, cases cite the slug.
const (
	ruleListedOrder     = "start/listed-order"
	ruleInstances       = "start/one-instance-at-a-time"
	ruleRestartSerial   = "start/restart-after-sync"
	rulePolicy          = "restart/policy"
	ruleBlocksNext      = "hooks/poststart-blocks-next"
	ruleMainUnordered   = "hooks/poststart-races-main"
	ruleHookOnce        = "hooks/poststart-once"
	ruleHookFailure     = "hooks/poststart-failure"
	ruleAfterSync       = "probes/after-sync"
	ruleStartupGates    = "probes/startup-gates"
	ruleReadinessBunch  = "probes/readiness-bunch"
	ruleTermAfterSync   = "terminate/after-sync"
	ruleTermCause       = "terminate/cause"
	rulePreStopFirst    = "terminate/prestop-before-term"
	ruleNoStart         = "terminate/no-start-after"
	ruleObjectLast      = "terminate/object-goes-last"
	ruleTogether        = "terminate/shown-together"
	ruleBetweenSyncs    = "status/between-syncs"
	ruleWholeSync       = "status/whole-sync-at-once"
	ruleForward         = "status/forward"
	rulePhase           = "status/phase"
	ruleConditions      = "status/conditions"
	ruleSandbox         = "status/ready-to-start"
	ruleReady           = "status/ready"
	ruleReadyAfterProbe = "status/ready-after-probe"
	ruleStarted         = "status/started"
	ruleKeptOver        = "status/kept-over-restart"
	ruleEventPossible   = "events/possible"

	ruleInitSerial       = "init/serial"
	ruleInitFirst        = "init/before-regular"
	ruleInitFailure      = "init/failure-blocks"
	ruleInitOnce         = "init/not-again"
	ruleSidecarStarted   = "sidecar/started-before-next"
	ruleSidecarHook      = "sidecar/hook-failure-holds"
	ruleSidecarsLast     = "sidecar/stops-last"
	ruleSidecarsReverse  = "sidecar/reverse-order"
	ruleBackoff          = "restart/backoff"
	ruleExitRules        = "restart/container-rules"
	ruleKillAfterSync    = "restart/kill-after-sync"
	ruleKillsSerial      = "restart/kills-serial"
	ruleEphemeralOnce    = "restart/ephemeral-never"
	ruleHooksSerial      = "hooks/one-at-a-time"
	ruleInitialDelay     = "probes/initial-delay"
	ruleProbesStop       = "probes/during-termination"
	ruleSuccessThreshold = "probes/success-threshold"
	ruleSidecarReadiness = "sidecar/readiness-holds-nothing"
	ruleStopConcurrent   = "terminate/stop-concurrent"
	ruleErrorGoesOn      = "start/error-does-not-stop-next"
	ruleReadinessGoesOn  = "probes/readiness-until-stopped"
	ruleProbedAgain      = "probes/after-restart"
	ruleSidecarPrompt    = "sidecar/stops-in-turn"
	ruleStartupStops     = "probes/startup-stops"
	ruleRestartAll       = "restart/all-containers"
	ruleGrace            = "terminate/grace-period"
	ruleKillAfterTerm    = "terminate/kill-after-term"
)

// rules is the table. A source names a file and function of k8s.io/kubernetes
// (v1.37.2) unless it is a page of the documentation.
var rules = []Rule{
	{
		Slug: ruleListedOrder, Level: Must, Basis: Implementation, From: "R7 R8 R12 R70",
		Says:   "One sync starts the containers that are due, also those that are due again, one after another in the order in which the Pod lists them.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
	},
	{
		Slug: ruleInstances, Level: Must, Basis: Implementation, From: "R12 R72",
		Says:   "A container has one instance at a time: nothing of an instance is seen after it was shown as terminated or after the first line of the next one.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions)",
	},
	{
		Slug: ruleRestartSerial, Level: Must, Basis: Implementation, From: "R1 R2 R3 R14 R70",
		Says:   "A container is restarted by a later sync, which begins only when the sync before it has ended, hooks included.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: rulePolicy, Level: Must, Basis: Documented, From: "R63 R69",
		Says:   "A regular container that exited is started again only if the restartPolicy of the Pod says so.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy",
	},
	{
		Slug: ruleBlocksNext, Level: Must, Basis: Implementation, From: "R5 R8 R15 R16 R18 R24 R25",
		Says:   "The next container is not started before the postStart hook of the one before it has ended.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	{
		Slug: ruleMainUnordered, Level: May, Basis: Documented, From: "R22",
		Says:   "The first lines of a container's main process and of its postStart hook come in either order.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
	},
	{
		Slug: ruleHookOnce, Level: Must, Basis: Implementation, From: "R26",
		Says:   "The kubelet runs the postStart hook at most once for each instance of a container.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	{
		Slug: ruleHookFailure, Level: Must, Basis: Documented, From: "R19 R20 R21 R23",
		Says:   "FailedPostStartHook is recorded only for a container whose postStart hook did not succeed.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution",
	},
	{
		Slug: ruleAfterSync, Level: Must, Basis: Implementation, From: "R43 R44 R47",
		Says:   "No probe of an instance runs before the sync that started it has ended, with every postStart hook of that sync.",
		Source: "pkg/kubelet/prober/worker.go (doProbe), pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleStartupGates, Level: Must, Basis: Documented, From: "R45 R56",
		Says:   "Readiness and liveness probes of an instance wait until its startup probe has succeeded.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ruleReadinessBunch, Level: May, Basis: Implementation, From: "R48 R49",
		Says:   "Readiness probes may follow each other closely after a start, or begin a whole period late.",
		Source: "pkg/kubelet/prober/prober_manager.go (UpdatePodStatus)",
	},
	{
		Slug: ruleTermAfterSync, Level: Must, Basis: Implementation, From: "R1 R5 R24 R25 R75 R87",
		Says:   "Termination begins only when the running sync has ended: a postStart hook ends first, and the containers behind it are still started.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop), pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleTermCause, Level: Must, Basis: Documented, From: "R13 R21 R50 R52 R83",
		Says:   "A container gets preStop or TERM only because the Pod ends, a liveness or startup probe failed failureThreshold times in a row, or its postStart hook failed; instead of TERM it gets the stop signal that it asks for.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: rulePreStopFirst, Level: Must, Basis: Documented, From: "R76 R77 R78",
		Says:   "A preStop hook completes before TERM is sent to its container, unless the grace period runs out first.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
	},
	{
		Slug: ruleNoStart, Level: Must, Basis: Implementation, From: "R25 R75",
		Says:   "Once the termination of the Pod has begun, no container is started.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: ruleObjectLast, Level: Must, Basis: Documented, From: "R84",
		Says:   "The Pod object goes only after its containers have stopped, unless the deletion was forced.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: ruleTogether, Level: Must, Basis: Implementation, From: "R84",
		Says:   "Containers that were running when the termination of the Pod began turn Terminated in one update, when all have stopped.",
		Source: "pkg/kubelet/kubelet.go (SyncTerminatingPod)",
	},
	{
		Slug: ruleBetweenSyncs, Level: Must, Basis: Implementation, From: "R6 R28 R31 R33",
		Says:   "An instance is shown only after the sync that started it has ended, with every postStart hook of that sync.",
		Source: "pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleWholeSync, Level: Must, Basis: Implementation, From: "R31 R32 R33",
		Says:   "All containers that one sync started are shown in the same update.",
		Source: "pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleForward, Level: Must, Basis: Implementation, From: "R29 R41",
		Says:   "The shown state of a container only goes forward: waiting, running, terminated, then the next instance.",
		Source: "pkg/kubelet/status/status_manager.go (updateStatusInternal, checkContainerStateTransition)",
	},
	{
		Slug: rulePhase, Level: Must, Basis: Documented, From: "R30 R34 R38 R62 R74 R85",
		Says:   "The phase follows from the shown container states: Pending while one has not been started, Running while one runs. Succeeded and Failed are final.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase",
	},
	{
		Slug: ruleConditions, Level: Must, Basis: Documented, From: "R30 R37",
		Says:   "ContainersReady and Ready are True exactly when every shown container is ready, Ready only once its readiness gates are set as well; a Pod without init containers is Initialized.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions",
	},
	{
		Slug: ruleSandbox, Level: Must, Basis: Implementation, From: "R39",
		Says:   "PodReadyToStartContainers is absent before 1.29, turns True with the first running container before 1.36, and as soon as the sandbox exists from 1.36.",
		Source: "pkg/kubelet/kubelet.go (OnPodSandboxReady), pkg/kubelet/status/generate.go",
	},
	{
		Slug: ruleReady, Level: Must, Basis: Documented, From: "R36 R57",
		Says:   "A container is ready only while it runs and has started; without a readiness probe it is ready as soon as that is shown.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ruleReadyAfterProbe, Level: Must, Basis: Documented, From: "R36 R51",
		Says:   "A container with a readiness probe turns ready only after that probe succeeded for this instance.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ruleStarted, Level: Must, Basis: Implementation, From: "R35 R57",
		Says:   "Without a startup probe a container is shown as started exactly while it is shown as running.",
		Source: "pkg/kubelet/prober/prober_manager.go (isContainerStarted)",
	},
	{
		Slug: ruleKeptOver, Level: Must, Basis: Implementation, From: "R57",
		Says:     "A container that ran for more than 10 s before its kubelet was started again stays started, and stays ready, in a Pod that is, until a readiness probe fails.",
		Source:   "pkg/kubelet/prober/prober_manager.go (isContainerStarted, setReadyStateOnKubeletRestart)",
		Versions: ">=1.35",
	},
	{
		Slug: ruleEventPossible, Level: Must, Basis: Implementation, From: "R9 R15 R80",
		Says:   "An Event names only something that the kubelet can have done by then; a missing Event proves nothing.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer, killContainer)",
	},
	{
		Slug: ruleInitSerial, Level: Must, Basis: Documented, From: "R59",
		Says:   "Init containers run one at a time, in the order in which the Pod lists them: the next one starts only after the one before it exited with 0.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	{
		Slug: ruleInitFirst, Level: Must, Basis: Documented, From: "R61 R65",
		Says:   "A regular container starts only after every init container has exited with 0.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	{
		Slug: ruleInitFailure, Level: Must, Basis: Documented, From: "R10 R62",
		Says:   "While an init container has not exited with 0, nothing behind it starts.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	{
		Slug: ruleInitOnce, Level: Must, Basis: Implementation, From: "R62 R64",
		Says:   "An init container that exited with 0 is not run again in the same sandbox.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions)",
	},
	{
		Slug: ruleSidecarStarted, Level: Must, Basis: Documented, From: "R60 R61",
		Says:     "What is listed behind a sidecar starts only after the sidecar runs, its postStart hook has ended and its startup probe, if any, has succeeded.",
		Source:   "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
		Versions: ">=1.29",
	},
	{
		Slug: ruleSidecarHook, Level: Must, Basis: Implementation, From: "R10 R60",
		Says:     "A sidecar whose postStart hook failed holds back everything behind it until it is restarted and the hook succeeds.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions)",
		Versions: ">=1.29",
	},
	{
		Slug: ruleSidecarsLast, Level: Must, Basis: Documented, From: "R74 R81",
		Says:     "A sidecar gets TERM only after every regular container has stopped, unless the grace period runs out first.",
		Source:   "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
		Versions: ">=1.29",
	},
	{
		Slug: ruleSidecarsReverse, Level: Must, Basis: Documented, From: "R81",
		Says:     "Sidecars get TERM in the reverse of the listed order, each after those behind it have stopped, unless the grace period runs out first.",
		Source:   "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
		Versions: ">=1.29",
	},
	{
		Slug: ruleBackoff, Level: Must, Basis: Documented, From: "R11 R66 R67 R68",
		Says:   "Behind the first one, a restart comes no sooner than 10, 20, 40, … 300 s after the exit before it.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (doBackOff)",
	},
	{
		Slug: ruleExitRules, Level: Must, Basis: Documented, From: "R71",
		Says:     "The first restart rule that matches the exit code decides whether a container is started again, then the policy of the container, then that of the Pod.",
		Source:   "pkg/api/v1/pod/util.go (ContainerShouldRestart)",
		Versions: ">=1.35",
	},
	{
		Slug: ruleKillAfterSync, Level: Must, Basis: Implementation, From: "R1 R24",
		Says:   "A container is stopped because of a probe only when no sync runs: a postStart hook of another container ends first.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: ruleKillsSerial, Level: Must, Basis: Implementation, From: "R13",
		Says:     "The containers that one sync stops are stopped one after the other.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
		Versions: "<1.38",
	},
	{
		Slug: ruleEphemeralOnce, Level: Must, Basis: Documented, From: "R27",
		Says:   "An ephemeral container is never started again.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/",
	},
	{
		Slug: ruleHooksSerial, Level: Must, Basis: Implementation, From: "R1 R16",
		Says:   "Within one Pod two postStart hooks never overlap.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: ruleInitialDelay, Level: Must, Basis: Documented, From: "R46",
		Says:   "A probe waits for initialDelaySeconds since the start of its container, and comes at most a second too early.",
		Source: "pkg/kubelet/prober/worker.go (doProbe)",
	},
	{
		Slug: ruleProbesStop, Level: Must, Basis: Implementation, From: "R55",
		Says:   "Startup and liveness probes of regular containers, from 1.38 those of sidecars too, end when the termination of the Pod begins; what is in flight may come to its end.",
		Source: "pkg/kubelet/prober/prober_manager.go (StopLivenessAndStartup)",
	},
	{
		Slug: ruleSuccessThreshold, Level: Must, Basis: Documented, From: "R50",
		Says:   "A container turns ready only after successThreshold successes of its readiness probe in a row, and unready only after failureThreshold failures.",
		Source: "pkg/kubelet/prober/worker.go (doProbe)",
	},
	{
		Slug: ruleGrace, Level: Must, Basis: Documented, From: "R76 R78 R79 R82",
		Says:   "A container that does not stop is killed when the grace period has run out, two seconds later at most.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)",
	},
	{
		Slug: ruleKillAfterTerm, Level: Must, Basis: Implementation, From: "R78",
		Says:   "A container gets two seconds between TERM and KILL, however short the grace period is.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)",
	},
	{
		Slug: ruleStartupStops, Level: Must, Basis: Implementation, From: "R53",
		Says:     "The startup probe of an instance is not run again once the kubelet has taken its success in, which the first readiness or liveness probe shows.",
		Source:   "pkg/kubelet/prober/worker.go (doProbe)",
		Versions: ">=1.32",
	},
	{
		Slug: ruleRestartAll, Level: Must, Basis: Documented, From: "R73",
		Says:     "RestartAllContainers stops the other containers without their preStop hooks.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
		Versions: ">=1.36",
	},
	{
		Slug: ruleReadinessGoesOn, Level: Must, Basis: Documented, From: "R55",
		Says:   "While the Pod is terminated, the readiness probe of a container goes on until the container has stopped.",
		Source: "pkg/kubelet/kubelet.go (SyncTerminatingPod)",
	},
	{
		Slug: ruleProbedAgain, Level: Must, Basis: Implementation, From: "R43 R56",
		Says:   "A container that was started again is probed like its instance before.",
		Source: "pkg/kubelet/prober/worker.go (doProbe)",
	},
	{
		Slug: ruleSidecarPrompt, Level: Must, Basis: Implementation, From: "R81",
		Says:     "A sidecar gets TERM as soon as everything that it waits for has stopped; what does not run counts as stopped.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_termination_order.go (newTerminationOrdering)",
		Versions: ">=1.29",
	},
	{
		Slug: ruleSidecarReadiness, Level: May, Basis: Documented, From: "R60",
		Says:   "What is listed behind a sidecar may start before the readiness or liveness probe of the sidecar has succeeded.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
	},
	{
		Slug: ruleStopConcurrent, Level: May, Basis: Documented, From: "R76 R81",
		Says:   "The containers of a Pod that ends are stopped at the same time: preStop hooks, TERM and exits of different regular containers, and preStop hooks of sidecars, come in any order.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: ruleErrorGoesOn, Level: May, Basis: Implementation, From: "R9 R14 R21",
		Says:   "A regular container that could not be started, or whose postStart hook failed, does not keep the next one from starting, and may be started after it.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
	},
}

// issues is the table of regressions that releases carry.
var issues = []Issue{
	{
		Rule: ruleStartupGates, Versions: ">=1.35 <1.38", Number: "kubernetes/kubernetes#141155",
		Says: "A container restarted within one sync inherits started from its old instance, so readiness and liveness probes may run before its startup probe.",
	},
	{
		Rule: ruleReady, Versions: ">=1.35 <1.38", Number: "kubernetes/kubernetes#141155",
		Says: "A container restarted within one sync inherits started from its old instance, and is shown as ready while its startup probe takes that back.",
	},
	{
		// v1.36.0 to v1.36.2 make a new context for every sync, and a deletion cancels that of the
		// last one alone (pkg/kubelet/pod_workers.go, startPodSync). From v1.37.0 workers are
		// detached from it (pkg/kubelet/prober/prober_manager.go, AddPod).
		Rule: ruleReadinessGoesOn, Versions: "1.35 or >=1.36.3 <1.37", Number: "kubernetes/kubernetes#140881", Always: true,
		Says: "Probe workers inherit a context that the deletion cancels, so exec readiness probes are not run any more and Ready stays as it was.",
	},
	{
		// Corrected in pkg/kubelet/prober/worker.go (doProbe); 1.32 never was.
		Rule: ruleProbedAgain, Versions: ">=1.29 <1.33.6 or >=1.34 <1.34.2", Number: "kubernetes/kubernetes#132826",
		Says: "The probe workers of a sidecar in a Pod with restartPolicy Never end with its first instance, so a restarted sidecar is not probed until a later sync makes new ones.",
	},
	{
		Rule: ruleReady, Versions: ">=1.29 <1.33.6 or >=1.34 <1.34.2", Number: "kubernetes/kubernetes#132826",
		Says: "A restarted sidecar whose probe workers have ended counts as started and ready, and is shown as ready while a new worker takes that back.",
	},
	{
		// Corrected in pkg/kubelet/kuberuntime/kuberuntime_termination_order.go (newTerminationOrdering).
		Rule: ruleSidecarPrompt, Versions: ">=1.29 <1.29.8 or >=1.30 <1.30.4", Number: "kubernetes/kubernetes#125880", Always: true,
		Says: "A sidecar that does not run is waited for, so those before it wait out the grace period.",
	},
}
