package rules

// The slugs of the rules. Code cites the constant, cases cite the slug.
const (
	ListedOrder     = "start/listed-order"
	Instances       = "start/one-instance-at-a-time"
	RestartSerial   = "start/restart-after-sync"
	Policy          = "restart/policy"
	BlocksNext      = "hooks/poststart-blocks-next"
	MainUnordered   = "hooks/poststart-races-main"
	HookOnce        = "hooks/poststart-once"
	HookFailure     = "hooks/poststart-failure"
	AfterSync       = "probes/after-sync"
	StartupGates    = "probes/startup-gates"
	ReadinessBunch  = "probes/readiness-bunch"
	TermAfterSync   = "terminate/after-sync"
	TermCause       = "terminate/cause"
	PreStopFirst    = "terminate/prestop-before-term"
	NoStart         = "terminate/no-start-after"
	ObjectLast      = "terminate/object-goes-last"
	Together        = "terminate/shown-together"
	BetweenSyncs    = "status/between-syncs"
	WholeSync       = "status/whole-sync-at-once"
	OneSnapshot     = "status/one-snapshot"
	Forward         = "status/forward"
	Phase           = "status/phase"
	PhaseFinal      = "status/final-phase"
	ShowsEnd        = "status/end-shown"
	Conditions      = "status/conditions"
	Sandbox         = "status/ready-to-start"
	Ready           = "status/ready"
	ReadyAfterProbe = "status/ready-after-probe"
	Started         = "status/started"
	KeptOver        = "status/kept-over-restart"
	EventPossible   = "events/possible"

	InitSerial       = "init/serial"
	InitFirst        = "init/before-regular"
	InitFailure      = "init/failure-blocks"
	InitOnce         = "init/not-again"
	SidecarStarted   = "sidecar/started-before-next"
	SidecarHook      = "sidecar/hook-failure-holds"
	SidecarsLast     = "sidecar/stops-last"
	SidecarsReverse  = "sidecar/reverse-order"
	Backoff          = "restart/backoff"
	ExitRules        = "restart/container-rules"
	KillAfterSync    = "restart/kill-after-sync"
	KillsSerial      = "restart/kills-serial"
	EphemeralOnce    = "restart/ephemeral-never"
	HooksSerial      = "hooks/one-at-a-time"
	InitialDelay     = "probes/initial-delay"
	ProbesStop       = "probes/during-termination"
	SuccessThreshold = "probes/success-threshold"
	SidecarReadiness = "sidecar/readiness-holds-nothing"
	StopConcurrent   = "terminate/stop-concurrent"
	ErrorGoesOn      = "start/error-does-not-stop-next"
	ReadinessGoesOn  = "probes/readiness-until-stopped"
	ProbedAgain      = "probes/after-restart"
	SidecarPrompt    = "sidecar/stops-in-turn"
	StartupStops     = "probes/startup-stops"
	RestartAll       = "restart/all-containers"
	Grace            = "terminate/grace-period"
	ImageChanged     = "restart/image-changed"
	KillAfterTerm    = "terminate/kill-after-term"

	ProbesRun         = "probes/run-periodically"
	FailureStops      = "probes/failure-stops"
	HeldAfterFailure  = "probes/held-after-failure"
	StartedAfterProbe = "status/started-after-probe"
	FollowsProbes     = "status/follows-probes"
	StartsWhenDue     = "start/when-due"
	RestartsWhenDue   = "restart/when-due"
	HookRuns          = "hooks/poststart-runs"
	PreStopRuns       = "hooks/prestop-runs"
	EphemeralStarts   = "start/ephemeral-when-added"
	ObjectGoes        = "terminate/object-goes"
	Deadline          = "terminate/deadline"
	BackToLife        = "restart/all-come-back"
	FinalBeforeGone   = "status/final-before-gone"
)

// table has every rule. A source names a file and function of k8s.io/kubernetes
// (v1.37.2) unless it is a page of the documentation.
var table = []Rule{
	{
		Slug: ListedOrder, Level: Must, Basis: Implementation, Log: true,
		Says:   "One sync starts the containers that are due, restarts included, one after another in the order in which the Pod lists them.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
	},
	{
		Slug: Instances, Level: Must, Basis: Implementation, Log: true,
		Says:   "A container has one instance at a time: nothing of an instance is seen after it was shown as terminated or after the first line of the next one.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions)",
	},
	{
		Slug: RestartSerial, Level: Must, Basis: Implementation, Log: true,
		Says:   "A container is restarted by a later sync, which begins only when the sync before it has ended, hooks included.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: Policy, Level: Must, Basis: Documented, Log: true,
		Says:   "A regular container that exited is started again only if the restartPolicy of the Pod says so.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy",
	},
	{
		Slug: BlocksNext, Level: Must, Basis: Implementation, Log: true,
		Says:   "The next container is not started before the postStart hook of the one before it has ended.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	{
		Slug: MainUnordered, Level: May, Basis: Documented,
		Says:   "The first lines of a container's main process and of its postStart hook may come in either order.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
	},
	{
		Slug: HookOnce, Level: Must, Basis: Implementation, Log: true,
		Says:   "The kubelet runs the postStart hook at most once for each instance of a container.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	{
		Slug: HookFailure, Level: Must, Basis: Documented,
		Says:   "FailedPostStartHook is recorded only for a container whose postStart hook did not succeed.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution",
	},
	{
		Slug: StartsWhenDue, Level: Must, Basis: Documented,
		Says:   "What is listed next is started when its turn has come: an init container before it has exited with 0, a sidecar has started, the start of a regular container is over.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
		Bounds: []Bound{patience},
	},
	{
		Slug: RestartsWhenDue, Level: Must, Basis: Documented,
		Says:   "A container that has ended, and that its policy or rules have started again, is, as soon as its back-off is over; the first time at once.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy",
		Bounds: []Bound{retryAfter, aimsBeside, patience},
	},
	{
		Slug: EphemeralStarts, Level: Must, Basis: Documented,
		Says:   "An ephemeral container that is added to a Pod is started.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/",
		Bounds: []Bound{patience},
	},
	{
		Slug: HookRuns, Level: Must, Basis: Documented, Log: true,
		Says:   "The postStart hook of a container runs for each of its instances, right after it was started.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
		Bounds: []Bound{patience},
	},
	{
		Slug: PreStopRuns, Level: Must, Basis: Documented, Log: true,
		Says:   "The preStop hook of a container runs before TERM is sent to it, whatever it is stopped for, if the stop leaves it time. A container that has ended is not stopped.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
		Bounds: []Bound{patience},
	},
	{
		Slug: AfterSync, Level: Must, Basis: Implementation, Log: true,
		Says:   "No probe of an instance runs before the sync that started it has ended, with every postStart hook of that sync.",
		Source: "pkg/kubelet/prober/worker.go (doProbe), pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: StartupGates, Level: Must, Basis: Documented, Log: true,
		Says:   "Readiness and liveness probes of an instance wait until its startup probe has succeeded.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ReadinessBunch, Level: May, Basis: Implementation,
		Says:   "Readiness probes may follow each other closely after a start, or start a whole period late.",
		Source: "pkg/kubelet/prober/prober_manager.go (UpdatePodStatus)",
	},
	{
		Slug: TermAfterSync, Level: Must, Basis: Implementation, Log: true,
		Says:   "Termination begins only when the running sync has ended: a postStart hook ends first, and the containers after it are still started.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop), pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: TermCause, Level: Must, Basis: Documented, Log: true,
		Says:   "A container gets its preStop hook or TERM only because the Pod ends, a liveness or startup probe failed failureThreshold times in a row, or its postStart hook failed. If it asks for another stop signal, it gets that one instead of TERM.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: PreStopFirst, Level: Must, Basis: Documented, Log: true,
		Says:   "A preStop hook completes before TERM is sent to its container, unless the grace period runs out first.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
	},
	{
		Slug: NoStart, Level: Must, Basis: Implementation, Log: true,
		Says:   "Once the termination of the Pod has begun, no container is started.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: ObjectLast, Level: Must, Basis: Documented,
		Says:   "The Pod object goes only after its containers have stopped, unless the deletion was forced.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: ObjectGoes, Level: Must, Basis: Documented,
		Says:   "A Pod that was deleted goes from the API once its containers have stopped: the kubelet waits for nothing else than its volumes.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
		Bounds: []Bound{patience, minimumGrace, kubeletIsBack},
	},
	{
		Slug: Deadline, Level: Must, Basis: Documented,
		Says:   "A Pod whose activeDeadlineSeconds are over has failed.",
		Source: "https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#lifecycle",
		Bounds: []Bound{patience, minimumGrace},
	},
	{
		Slug: Together, Level: Must, Basis: Implementation,
		Says:   "Containers that were running when the termination of the Pod began are shown as terminated in one update, when all have stopped.",
		Source: "pkg/kubelet/kubelet.go (SyncTerminatingPod)",
	},
	{
		Slug: BetweenSyncs, Level: Must, Basis: Implementation,
		Says:   "An instance is shown only after the sync that started it has ended, with every postStart hook of that sync.",
		Source: "pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: WholeSync, Level: Must, Basis: Implementation,
		Says:   "All containers that one sync started are shown in the same update.",
		Source: "pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: Forward, Level: Must, Basis: Implementation,
		Says:   "The shown state of a container only goes forward: waiting, running, terminated, then the next instance.",
		Source: "pkg/kubelet/status/status_manager.go (updateStatusInternal, checkContainerStateTransition)",
	},
	{
		Slug: Phase, Level: Must, Basis: Documented,
		Says:   "The phase follows from the shown container states: Pending while one has not been started, Running while one runs. Succeeded and Failed are final.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase",
	},
	{
		// The pod cache has the containers of a Pod as they were listed at one time, after the sync before had
		// ended, and as they were inspected then, one after another (pkg/kubelet/pod_workers.go, podWorkerLoop;
		// pkg/kubelet/kuberuntime/kuberuntime_manager.go, GetPodStatus). Nothing is started meanwhile, so starts
		// are of one time. A container may end between two inspections, so ends are not; nor are ready and
		// started, which the probe workers amend later (pkg/kubelet/status/status_manager.go,
		// SetContainerReadiness). What the runtime has no more is shown as it was before, with its restart
		// count. The evented PLEG, which is off by default, gets all containers in one answer.
		Slug: OneSnapshot, Level: Must, Basis: Implementation,
		Says:   "An update shows all containers as they were at one time between two syncs: it may be old, but where it shows an instance, it shows what was started before that as well.",
		Source: "pkg/kubelet/kubelet.go (SyncPod), pkg/kubelet/kubelet_pods.go (generateAPIPodStatus), pkg/kubelet/pleg/generic.go (updateCache)",
	},
	{
		Slug: ShowsEnd, Level: Must, Basis: Documented,
		Says:   "A container that has ended is shown as ended, or its next instance is.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-states",
		Bounds: []Bound{patience},
	},
	{
		Slug: PhaseFinal, Level: Must, Basis: Documented,
		Says:   "A Pod in which nothing runs, and in which nothing will be started, gets phase Succeeded or Failed.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase",
		Bounds: []Bound{patience, minimumGrace},
	},
	{
		Slug: FinalBeforeGone, Level: Must, Basis: Documented,
		Says:   "A Pod that is deleted while it is Pending gets phase Succeeded or Failed before its kubelet removes it from the API.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase",
	},
	{
		Slug: Conditions, Level: Must, Basis: Documented,
		Says:   "ContainersReady and Ready are True exactly when every shown container is ready, Ready only once its readiness gates are set as well; a Pod without init containers is Initialized.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions",
	},
	{
		Slug: Sandbox, Level: Must, Basis: Implementation,
		Says:   "PodReadyToStartContainers is absent before 1.29, turns True with the first running container before 1.36, and as soon as the sandbox exists from 1.36.",
		Source: "pkg/kubelet/kubelet.go (OnPodSandboxReady), pkg/kubelet/status/generate.go",
	},
	{
		Slug: Ready, Level: Must, Basis: Documented,
		Says:   "A container is ready only while it runs and has started; without a readiness probe it is ready as soon as that is shown.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ReadyAfterProbe, Level: Must, Basis: Documented,
		Says:   "A container with a readiness probe turns ready only after that probe succeeded for this instance.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: Started, Level: Must, Basis: Implementation,
		Says:   "Without a startup probe a container is shown as started exactly while it is shown as running.",
		Source: "pkg/kubelet/prober/prober_manager.go (isContainerStarted)",
	},
	{
		Slug: KeptOver, Level: Must, Basis: Implementation,
		Says:     "When the kubelet restarts, a container that has run for more than 10 s stays started. In a Pod that is ready, and not static, it also stays ready, until a readiness probe fails; one with a readiness probe that is not ready stays so until that succeeds.",
		Source:   "pkg/kubelet/prober/prober_manager.go (isContainerStarted, setReadyStateOnKubeletRestart)",
		Versions: ">=1.35", Without: GateRestartForgets,
		Bounds: []Bound{outlives, prompt},
	},
	{
		Slug: EventPossible, Level: Must, Basis: Implementation,
		Says:   "An Event names only something that the kubelet can have done by then; a missing Event proves nothing.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer, killContainer)",
	},
	{
		Slug: InitSerial, Level: Must, Basis: Documented, Log: true,
		Says:   "Init containers run one at a time, in the order in which the Pod lists them: the next one starts only after the one before it exited with 0.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	{
		Slug: InitFirst, Level: Must, Basis: Documented, Log: true,
		Says:   "A regular container starts only after every init container has exited with 0.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	{
		Slug: InitFailure, Level: Must, Basis: Documented, Log: true,
		Says:   "While an init container has not exited with 0, nothing after it starts.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/init-containers/",
	},
	{
		Slug: InitOnce, Level: Must, Basis: Implementation, Log: true,
		Says:   "An init container that exited with 0 is not run again in the same sandbox.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions)",
	},
	{
		Slug: SidecarStarted, Level: Must, Basis: Documented, Log: true,
		Says:   "What is listed after a sidecar starts only after the sidecar runs, its postStart hook has ended and its startup probe, if any, has succeeded.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
		Gate:   GateSidecars,
	},
	{
		Slug: SidecarHook, Level: Must, Basis: Implementation, Log: true,
		Says:   "A sidecar whose postStart hook failed holds back everything after it until it is restarted and the hook succeeds.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions)",
		Gate:   GateSidecars,
	},
	{
		Slug: SidecarsLast, Level: Must, Basis: Documented, Log: true,
		Says:   "A sidecar gets TERM only after every regular container has stopped, unless the grace period runs out first.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
		Gate:   GateSidecars,
	},
	{
		Slug: SidecarsReverse, Level: Must, Basis: Documented, Log: true,
		Says:   "Sidecars get TERM in the reverse of the listed order. Each waits until those listed after it have stopped, unless the grace period runs out first.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
		Gate:   GateSidecars,
	},
	{
		Slug: Backoff, Level: Must, Basis: Documented, Log: true,
		Says:   "After the first restart, each waits at least 10, 20, 40, … 300 s after the exit before it.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (doBackOff)",
		Bounds: []Bound{backoffStart, backoffMax, backoffForget},
	},
	{
		Slug: ExitRules, Level: Must, Basis: Documented, Log: true,
		Says:   "The first restart rule that matches the exit code decides whether a container is started again, then the policy of the container, then that of the Pod.",
		Source: "pkg/api/v1/pod/util.go (ContainerShouldRestart)",
		Gate:   GateRestartRules,
	},
	{
		Slug: KillAfterSync, Level: Must, Basis: Implementation,
		Says:   "A container is stopped because of a probe only while no sync runs, so a postStart hook of another container ends first.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: KillsSerial, Level: Must, Basis: Implementation,
		Says:     "The containers that one sync stops are stopped one after the other.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
		Versions: "<1.38",
	},
	{
		Slug: ImageChanged, Level: Must, Basis: Implementation,
		Says:   "A container that runs is stopped when its image is changed, whatever the restartPolicy: a regular one always, from 1.32 a sidecar that has started.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions)",
		Bounds: []Bound{minimumGrace, patience},
	},
	{
		Slug: EphemeralOnce, Level: Must, Basis: Documented, Log: true,
		Says:   "An ephemeral container is never started again.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/",
	},
	{
		Slug: HooksSerial, Level: Must, Basis: Implementation, Log: true,
		Says:   "Within one Pod two postStart hooks never overlap.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: InitialDelay, Level: Must, Basis: Documented, Log: true,
		Says:   "A probe waits for initialDelaySeconds after its container has started. It may come up to one second early.",
		Source: "pkg/kubelet/prober/worker.go (doProbe)",
	},
	{
		Slug: ProbesStop, Level: Must, Basis: Implementation, Log: true,
		Says:   "Startup and liveness probes of regular containers, from 1.38 those of sidecars too, end when the termination of the Pod begins. A probe that is already running may finish.",
		Source: "pkg/kubelet/prober/prober_manager.go (StopLivenessAndStartup)",
		Bounds: []Bound{lastProbes, prompt},
	},
	{
		Slug: SuccessThreshold, Level: Must, Basis: Documented,
		Says:   "A container turns ready only after successThreshold successes of its readiness probe in a row, and unready only after failureThreshold failures.",
		Source: "pkg/kubelet/prober/worker.go (doProbe)",
		Bounds: []Bound{overtaken},
	},
	{
		Slug: Grace, Level: Must, Basis: Documented, Log: true,
		Says:   "A container that does not stop is killed when the grace period has run out, or at most two seconds later.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)",
		Bounds: []Bound{minimumGrace, patience},
	},
	{
		Slug: KillAfterTerm, Level: Must, Basis: Implementation,
		Says:   "A container gets two seconds between TERM and KILL, however short the grace period is.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer)",
		Bounds: []Bound{minimumGrace},
	},
	{
		Slug: StartupStops, Level: Must, Basis: Implementation, Log: true,
		Says:     "The startup probe of an instance is not run again once the kubelet has noted its success, as the first readiness or liveness probe shows.",
		Source:   "pkg/kubelet/prober/worker.go (doProbe)",
		Versions: ">=1.32",
	},
	{
		Slug: RestartAll, Level: Must, Basis: Documented,
		Says:   "RestartAllContainers stops the other containers one after the other, without their preStop hooks and with two seconds for each: regular containers in the listed order, then init containers and sidecars.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
		Gate:   GateRestartAll,
	},
	{
		Slug: BackToLife, Level: Must, Basis: Documented,
		Says:   "After RestartAllContainers has stopped the containers, each is started again when its turn has come, also by a kubelet that was restarted meanwhile.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
		Gate:   GateRestartAll,
		Bounds: []Bound{patience, minimumGrace, kubeletIsBack},
	},
	{
		Slug: ReadinessGoesOn, Level: Must, Basis: Documented,
		Says:   "While the Pod is terminated, the readiness probe of a container goes on until the container has stopped.",
		Source: "pkg/kubelet/kubelet.go (SyncTerminatingPod)",
		Bounds: []Bound{prompt},
	},
	{
		Slug: ProbedAgain, Level: Must, Basis: Implementation,
		Says:   "A restarted container is probed like the instance before it.",
		Source: "pkg/kubelet/prober/worker.go (doProbe)",
		Bounds: []Bound{prompt},
	},
	{
		Slug: ProbesRun, Level: Must, Basis: Documented,
		Says:   "Each probe of a container that runs is run once a period: the startup probe until it has succeeded, the others from then on.",
		Source: "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/#configure-probes",
		Bounds: []Bound{prompt},
	},
	{
		Slug: FailureStops, Level: Must, Basis: Documented,
		Says:   "A container is stopped when its liveness or startup probe has failed failureThreshold times in a row.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
		Bounds: []Bound{minimumGrace, patience},
	},
	{
		Slug: HeldAfterFailure, Level: Must, Basis: Implementation, Log: true,
		Says:   "When a liveness or startup probe has failed failureThreshold times in a row, it is not run again in the same instance.",
		Source: "pkg/kubelet/prober/worker.go (doProbe)",
	},
	{
		Slug: StartedAfterProbe, Level: Must, Basis: Documented,
		Says:   "A container with a startup probe is shown as started only after that probe succeeded for this instance.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: FollowsProbes, Level: Must, Basis: Documented,
		Says:   "What its probes have found is shown: a container is started once its startup probe has succeeded, ready after successThreshold successes of its readiness probe or, without one, as soon as it is started, and unready after failureThreshold failures.",
		Source: "pkg/kubelet/status/status_manager.go (SetContainerReadiness, SetContainerStartup)",
		Bounds: []Bound{patience},
	},
	{
		Slug: SidecarPrompt, Level: Must, Basis: Implementation,
		Says:   "A sidecar gets TERM as soon as everything that it waits for has stopped. A container that does not run counts as stopped.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_termination_order.go (newTerminationOrdering)",
		Gate:   GateSidecars,
		Bounds: []Bound{patience},
	},
	{
		Slug: SidecarReadiness, Level: May, Basis: Documented,
		Says:   "What is listed after a sidecar may start before the readiness or liveness probe of the sidecar has succeeded.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
	},
	{
		Slug: StopConcurrent, Level: May, Basis: Documented,
		Says:   "The containers of a Pod that ends are stopped at the same time: preStop hooks, TERM and exits of different regular containers, and preStop hooks of sidecars, come in any order.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: ErrorGoesOn, Level: May, Basis: Implementation,
		Says:   "A regular container that could not be started, or whose postStart hook failed, does not keep the next one from starting, and may itself be started after it.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
	},
}
