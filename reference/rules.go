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
	ruleEventPossible   = "events/possible"
)

// rules is the table. A source names a file and function of k8s.io/kubernetes
// (v1.37.2) unless it is a page of the documentation.
var rules = []Rule{
	{
		Slug: ruleListedOrder, Level: Must, Basis: Implementation,
		Says:   "One sync starts the regular containers one after another, in the order in which the Pod lists them.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod)",
	},
	{
		Slug: ruleInstances, Level: Must, Basis: Implementation,
		Says:   "A container has one instance at a time: nothing of an instance is seen after it was shown as terminated or after the first line of the next one.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions)",
	},
	{
		Slug: ruleRestartSerial, Level: Must, Basis: Implementation,
		Says:   "A container is restarted by a later sync, which begins only when the sync before it has ended, hooks included.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: rulePolicy, Level: Must, Basis: Documented,
		Says:   "A regular container that exited is started again only if the restartPolicy of the Pod says so.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy",
	},
	{
		Slug: ruleBlocksNext, Level: Must, Basis: Implementation,
		Says:   "The next container is not started before the postStart hook of the one before it has ended.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	{
		Slug: ruleMainUnordered, Level: May, Basis: Documented,
		Says:   "The first lines of a container's main process and of its postStart hook come in either order.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
	},
	{
		Slug: ruleHookOnce, Level: Must, Basis: Implementation,
		Says:   "The kubelet runs the postStart hook at most once for each instance of a container.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	{
		Slug: ruleHookFailure, Level: Must, Basis: Documented,
		Says:   "FailedPostStartHook is recorded only for a container whose postStart hook did not succeed.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution",
	},
	{
		Slug: ruleAfterSync, Level: Must, Basis: Implementation,
		Says:   "No probe of an instance runs before the sync that started it has ended, with every postStart hook of that sync.",
		Source: "pkg/kubelet/prober/worker.go (doProbe), pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleStartupGates, Level: Must, Basis: Documented,
		Says:   "Readiness and liveness probes of an instance wait until its startup probe has succeeded.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ruleReadinessBunch, Level: May, Basis: Implementation,
		Says:   "Readiness probes may follow each other closely after a start, or begin a whole period late.",
		Source: "pkg/kubelet/prober/prober_manager.go (UpdatePodStatus)",
	},
	{
		Slug: ruleTermAfterSync, Level: Must, Basis: Implementation,
		Says:   "Termination begins only when the running sync has ended: a postStart hook ends first, and the containers behind it are still started.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop), pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleTermCause, Level: Must, Basis: Documented,
		Says:   "A container gets preStop or TERM only because the Pod ends, a liveness or startup probe failed, or its postStart hook failed.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: rulePreStopFirst, Level: Must, Basis: Documented,
		Says:   "A preStop hook completes before TERM is sent to its container, unless the grace period runs out first.",
		Source: "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#container-hooks",
	},
	{
		Slug: ruleNoStart, Level: Must, Basis: Implementation,
		Says:   "Once the termination of the Pod has begun, no container is started.",
		Source: "pkg/kubelet/pod_workers.go (podWorkerLoop)",
	},
	{
		Slug: ruleObjectLast, Level: Must, Basis: Documented,
		Says:   "The Pod object goes only after its containers have stopped, unless the deletion was forced.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
	},
	{
		Slug: ruleTogether, Level: Must, Basis: Implementation,
		Says:   "Containers that were running when the termination of the Pod began turn Terminated in one update, when all have stopped.",
		Source: "pkg/kubelet/kubelet.go (SyncTerminatingPod)",
	},
	{
		Slug: ruleBetweenSyncs, Level: Must, Basis: Implementation,
		Says:   "An instance is shown only after the sync that started it has ended, with every postStart hook of that sync.",
		Source: "pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleWholeSync, Level: Must, Basis: Implementation,
		Says:   "All containers that one sync started are shown in the same update.",
		Source: "pkg/kubelet/kubelet.go (SyncPod)",
	},
	{
		Slug: ruleForward, Level: Must, Basis: Implementation,
		Says:   "The shown state of a container only goes forward: waiting, running, terminated, then the next instance.",
		Source: "pkg/kubelet/status/status_manager.go (updateStatusInternal, checkContainerStateTransition)",
	},
	{
		Slug: rulePhase, Level: Must, Basis: Documented,
		Says:   "The phase follows from the shown container states: Pending while one has not been started, Running while one runs.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase",
	},
	{
		Slug: ruleConditions, Level: Must, Basis: Documented,
		Says:   "ContainersReady and Ready are True exactly when every shown container is ready; a Pod without init containers is Initialized.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions",
	},
	{
		Slug: ruleSandbox, Level: Must, Basis: Implementation,
		Says:   "PodReadyToStartContainers is absent before 1.29, turns True with the first running container before 1.36, and as soon as the sandbox exists from 1.36.",
		Source: "pkg/kubelet/kubelet.go (OnPodSandboxReady), pkg/kubelet/status/generate.go",
	},
	{
		Slug: ruleReady, Level: Must, Basis: Documented,
		Says:   "A container is ready only while it runs and has started; without a readiness probe it is ready as soon as that is shown.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ruleReadyAfterProbe, Level: Must, Basis: Documented,
		Says:   "A container with a readiness probe turns ready only after that probe succeeded for this instance.",
		Source: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#types-of-probe",
	},
	{
		Slug: ruleStarted, Level: Must, Basis: Implementation,
		Says:   "Without a startup probe a container is shown as started exactly while it is shown as running.",
		Source: "pkg/kubelet/prober/prober_manager.go (isContainerStarted)",
	},
	{
		Slug: ruleEventPossible, Level: Must, Basis: Implementation,
		Says:   "An Event names only something that the kubelet can have done by then; a missing Event proves nothing.",
		Source: "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer, killContainer)",
	},
}

// issues is the table of regressions that releases carry.
var issues = []Issue{
	{
		Rule: ruleStartupGates, Versions: ">=1.35 <1.38", Number: "kubernetes/kubernetes#141155",
		Says: "A container restarted within one sync inherits started from its old instance, so readiness and liveness probes may run before its startup probe.",
	},
}
