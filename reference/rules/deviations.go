package rules

// deviationTable has the deviations. Each range was read from the sources of the patches; where
// it begins or ends in the middle of a minor, a comment says what tells them apart.
var deviationTable = [deviations]deviation{
	// From 1.38 on what is taken over has to be of the same container ID
	// (pkg/kubelet/prober/prober_manager.go, canInheritProbeState).
	StartedInherited: {
		name: "started-inherited", issues: []string{"kubernetes/kubernetes#141155"},
		versions: ">=1.35 <1.38", without: GateRestartForgets,
		breaks: []string{StartupGates, StartedAfterProbe, Ready},
		when:   "A container with a startup probe had started, and was stopped and started again in one sync, so that no status showed its end.",
		says:   "The new instance is shown as started, and its readiness and liveness probes may run, until its startup probe is due; then that is taken back, and with the next sync that it is ready.",
		source: "pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses), pkg/kubelet/prober/prober_manager.go (isContainerStarted)",
	},
	ShownBeforeWorkers: {
		name: "shown-before-workers", issues: []string{"kubernetes/kubernetes#142305"},
		breaks: []string{StartupGates, StartedAfterProbe, ReadyAfterProbe, SuccessThreshold},
		when:   "The kubelet was restarted while a container ran whose startup or readiness probe had not succeeded. From 1.35 on the container is shown as ready only if it was started less than ten seconds before the kubelet.",
		says:   "The first status of the new kubelet is made before it has probe workers, so it shows the container as started and ready; its readiness and liveness probes may run until its startup probe takes that back.",
		source: "pkg/kubelet/kubelet.go (SyncPod), pkg/kubelet/prober/prober_manager.go (UpdatePodStatus)",
	},
	ReadyAsPodEnds: {
		name:   "ready-as-pod-ends",
		breaks: []string{StartedAfterProbe, ReadyAfterProbe, SuccessThreshold},
		when:   "The kubelet has decided that the Pod has failed, because an init container failed for good or its deadline passed, and a container still runs.",
		says:   "The probe workers end with that decision and take their results along, so the container is shown as started and ready while it is stopped.",
		source: "pkg/kubelet/prober/worker.go (doProbe, run), pkg/kubelet/prober/prober_manager.go (UpdatePodStatus)",
	},
	// v1.36.0 to v1.36.2 make a new context for every sync, and a deletion cancels that of the
	// last one alone (pkg/kubelet/pod_workers.go, startPodSync). From v1.37.0 on workers are
	// detached from it (pkg/kubelet/prober/prober_manager.go, AddPod).
	ProbesCancelled: {
		name: "probes-cancelled", issues: []string{"kubernetes/kubernetes#140881"},
		versions: "1.35 or >=1.36.3 <1.37",
		breaks:   []string{ReadinessGoesOn},
		when:     "The Pod was deleted or evicted, and a readiness probe of a container that still runs is a process.",
		says:     "Its worker has a context that the deletion has cancelled, so the probe is not run any more and ready stays as it was.",
		source:   "pkg/kubelet/prober/prober_manager.go (AddPod), pkg/kubelet/pod_workers.go (startPodSync)",
		always:   true,
	},
	// Corrected in pkg/kubelet/prober/worker.go (doProbe); 1.32 never was.
	SidecarUnprobed: {
		name: "sidecar-unprobed", issues: []string{"kubernetes/kubernetes#132826"},
		versions: ">=1.29 <1.33.6 or >=1.34 <1.34.2",
		breaks:   []string{ProbedAgain, StartupGates, StartedAfterProbe, Ready, ReadyAfterProbe, SuccessThreshold},
		when:     "A sidecar of a Pod with restartPolicy Never has ended and was started again.",
		says:     "Its probe workers have ended with the instance before. It is not probed, and is shown as started and ready, until a later sync makes new ones, which no sync does while a container listed before it has a probe worker.",
		source:   "pkg/kubelet/prober/worker.go (doProbe), pkg/kubelet/prober/prober_manager.go (AddPod)",
	},
	// v1.29.8 and v1.30.4 take what does not run for stopped.
	DeadSidecarAwaited: {
		name: "dead-sidecar-awaited", issues: []string{"kubernetes/kubernetes#125880"},
		versions: ">=1.29 <1.29.8 or >=1.30 <1.30.4",
		breaks:   []string{SidecarPrompt},
		when:     "A Pod is stopped, and a sidecar listed after another one does not run then: it has ended, or was never started.",
		says:     "The sidecars listed before it get TERM only when the grace period has run out.",
		source:   "pkg/kubelet/kuberuntime/kuberuntime_termination_order.go (newTerminationOrdering)",
		always:   true,
	},
	// v1.37 looks at the current sandbox alone (pkg/kubelet/container/helpers.go,
	// HasAnyActiveRegularContainerStarted).
	InitSkipped: {
		name: "init-skipped", issues: []string{"kubernetes/kubernetes#137710", "kubernetes/kubernetes#140309", "kubernetes/kubernetes#124002"},
		versions: "<1.37",
		breaks:   []string{InitSerial, InitFirst, InitFailure, SidecarStarted, SidecarHook},
		when:     "The Pod has a new sandbox, in which its first init container or sidecar has been started again, and a container of the old one is left: a regular one that never ran, or an init container that was not removed.",
		says:     "The Pod is taken for initialised, so init containers that had exited with 0 in the old sandbox are skipped or not waited for, and sidecars that had started there are started again, with their hooks, and not waited for.",
		source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions)",
	},
	NeverPodStuck: {
		name: "never-pod-stuck", issues: []string{"kubernetes/kubernetes#118321", "kubernetes/kubernetes#77544", "kubernetes/kubernetes#141948"},
		breaks: []string{PhaseFinal},
		when:   "A Pod with restartPolicy Never has lost its sandbox, and a container of it has not come to its end: it was never created, or was to be started again.",
		says:   "Nothing runs any more and nothing is started, yet the phase stays Running or Pending until the Pod is deleted.",
		source: "pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions), pkg/kubelet/kubelet_pods.go (getPhase)",
	}, // From 1.36 on an init container that the runtime does not know has succeeded where a regular
	// one was created.
	StaticInitForgotten: {
		name: "static-init-forgotten", issues: []string{"kubernetes/kubernetes#108537"},
		versions: "<1.36",
		breaks:   []string{Forward, OneSnapshot},
		when:     "The kubelet of a static Pod was restarted, and an init container that had succeeded is not in the container runtime any more.",
		says:     "The init container is shown as waiting until the Pod ends, and then with an end that is made up; the Pod as Pending or Running.",
		source:   "pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses)",
	},
}
