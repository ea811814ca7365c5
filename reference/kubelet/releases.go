package kubelet

import (
	"fmt"
	"slices"

	"github.com/podorder/podorder/reference/trace"
)

// Change names one thing that kubelets do since some release and did not do
// before. [Changes] says what, since when, and where it stands in the source.
type Change uint8

// The changes, in the order of the releases that brought them.
const (
	Sidecars Change = iota
	ReadyToStartCondition
	SleepHook
	CreatedWithColon
	ZeroGraceIsOne
	PendingAgain
	SidecarImageChange
	TriggerRestartsTicker
	StartupProbeStops
	SleepZero
	SandboxTells
	RestartRules
	AimedRetry
	KeptOverRestart
	EventsWithoutNames
	RelistOnDemand
	SandboxShownAtOnce
	RestartAllContainers
	LostInitInferred
	InitPerSandbox
	SandboxReason
	SidecarProbesStop
	ParallelKills
	EvictedStaysFailed
	changes // how many there are
)

// Difference is one row of the table of changes.
type Difference struct {
	Change   Change
	Versions string // the kubelets that do it, as [trace.ParseRange] reads it
	Says     string // what they do
	Before   string // what those before do
	Source   string // file and function of k8s.io/kubernetes
}

// String tells the row in a few sentences.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s Before: %s (%s)", d.Versions, d.Says, d.Before, d.Source)
}

// Changes returns the table of what differs between the releases, oldest first.
// What it does not name is the same in all of them.
func Changes() []Difference {
	table := slices.Clone(differences[:])
	for c := range table {
		table[c].Change = Change(c)
	}
	return table
}

var differences = [changes]Difference{
	Sidecars: {
		Versions: ">=1.29",
		Says:     "An init container with restartPolicy Always is a sidecar.",
		Before:   "The field is dropped.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions)",
	},
	ReadyToStartCondition: {
		Versions: ">=1.29",
		Says:     "The status has the condition PodReadyToStartContainers.",
		Before:   "It has none.",
		Source:   "pkg/kubelet/status/generate.go (GeneratePodReadyToStartContainersCondition)",
	},
	SleepHook: {
		Versions: ">=1.30",
		Says:     "A hook may sleep.",
		Before:   "There is no such hook.",
		Source:   "pkg/kubelet/lifecycle/handlers.go (runSleepHandler)",
	},
	CreatedWithColon: {
		Versions: ">=1.30",
		Says:     `The Event says "Created container: app".`,
		Before:   `It says "Created container app".`,
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	ZeroGraceIsOne: {
		Versions: ">=1.31",
		Says:     "An eviction or a forced deletion with a grace period of 0 gives one second.",
		Before:   "It gives the grace period of the Pod.",
		Source:   "pkg/kubelet/pod_workers.go (calculateEffectiveGracePeriod)",
	},
	PendingAgain: {
		Versions: ">=1.32",
		Says:     "A Pod whose init containers have to run again is Pending again.",
		Before:   "The phase stays Running once a regular container has been started.",
		Source:   "pkg/kubelet/kubelet_pods.go (getPhase)",
	},
	SidecarImageChange: {
		Versions: ">=1.32",
		Says:     "A running sidecar whose image was changed is restarted.",
		Before:   "It goes on with the old image until it ends.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (computeInitContainerActions)",
	},
	TriggerRestartsTicker: {
		Versions: ">=1.32",
		Says:     "A readiness probe that a new status has triggered puts off the next tick by a whole period.",
		Before:   "The ticks come as if there had been none.",
		Source:   "pkg/kubelet/prober/worker.go (run)",
	},
	StartupProbeStops: {
		Versions: ">=1.32",
		Says:     "A startup probe that has succeeded is not run again for its instance.",
		Before:   "One more run may come before the status says that the container has started.",
		Source:   "pkg/kubelet/prober/worker.go (doProbe)",
	},
	SleepZero: {
		Versions: ">=1.33",
		Says:     "A hook may sleep for 0 seconds.",
		Before:   "The API server refuses it.",
		Source:   "pkg/apis/core/validation/validation.go (validateSleepAction)",
	},
	SandboxTells: {
		Versions: ">=1.33",
		Says:     "For the phase a Pod is initialized where its sandbox has had a regular container.",
		Before:   "It is where the status shows that a regular container has been started.",
		Source:   "pkg/kubelet/kubelet_pods.go (getPhase)",
	},
	RestartRules: {
		Versions: ">=1.35",
		Says:     "A container may have a restartPolicy and restartPolicyRules of its own.",
		Before:   "The fields are dropped.",
		Source:   "pkg/api/v1/pod/util.go (ContainerShouldRestart)",
	},
	AimedRetry: {
		Versions: ">=1.35",
		Says:     "After a sync that met a crash-loop back-off the next one is due when the first back-off ends.",
		Before:   "It is due after 10 to 15 seconds.",
		Source:   "pkg/kubelet/pod_workers.go (completeWork), pkg/kubelet/container/sync_result.go (MinBackoffExpiration)",
	},
	KeptOverRestart: {
		Versions: ">=1.35",
		Says:     "A container that ran for more than 10 s before its kubelet was started again stays started and ready.",
		Before:   "It is not ready, and with a startup probe not started, until it is probed again.",
		Source:   "pkg/kubelet/prober/prober_manager.go (isContainerStarted, setReadyStateOnKubeletRestart)",
	},
	EventsWithoutNames: {
		Versions: ">=1.35",
		Says:     `The Events say "Container created" and "Container started"; only their fieldPath names the container.`,
		Before:   "Their messages name it.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer)",
	},
	RelistOnDemand: {
		Versions: ">=1.36",
		Says:     "A sync that did something and met no error asks for a relist of its Pod at once.",
		Before:   "The next sync waits for the relist of all Pods, which comes once a second.",
		Source:   "pkg/kubelet/kubelet.go (SyncPod), pkg/kubelet/pleg/generic.go (RequestRelist)",
	},
	SandboxShownAtOnce: {
		Versions: ">=1.36",
		Says:     "PodReadyToStartContainers turns True as soon as the sandbox is there.",
		Before:   "It does with the status of the next sync.",
		Source:   "pkg/kubelet/kubelet.go (OnPodSandboxReady)",
	},
	RestartAllContainers: {
		Versions: ">=1.36",
		Says:     "A restart rule may restart all containers of the Pod.",
		Before:   "There is no such action.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions, getContainersToReset)",
	},
	LostInitInferred: {
		Versions: ">=1.36",
		Says:     "An init container of which nothing is left counts as completed where a regular container is there.",
		Before:   "It is shown as waiting.",
		Source:   "pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses)",
	},
	InitPerSandbox: {
		Versions: ">=1.37",
		Says:     "Init containers are done where a regular container has been started in this very sandbox.",
		Before:   "They are where one runs.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (HasAnyRegularContainerCreated)",
	},
	SandboxReason: {
		Versions: ">=1.37",
		Says:     "PodReadyToStartContainers gives a reason where it is False.",
		Before:   "It gives none.",
		Source:   "pkg/kubelet/status/generate.go (GeneratePodReadyToStartContainersCondition)",
	},
	SidecarProbesStop: {
		Versions: ">=1.38",
		Says:     "The liveness and startup probes of sidecars stop with the termination of the Pod, as those of regular containers do.",
		Before:   "They go on until the sidecar has stopped.",
		Source:   "pkg/kubelet/prober/prober_manager.go (StopLivenessAndStartup)",
	},
	ParallelKills: {
		Versions: ">=1.38",
		Says:     "The containers that one sync stops are stopped at the same time.",
		Before:   "They are stopped one after the other.",
		Source:   "pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainers)",
	},
	EvictedStaysFailed: {
		Versions: ">=1.38",
		Says:     "An evicted Pod stays Failed, whatever its containers exit with.",
		Before:   "It is Succeeded where they all exit with 0.",
		Source:   "pkg/kubelet/kubelet.go (SyncTerminatingPod)",
	},
}

// Release is a version of the kubelet, with what it does differently.
type Release struct {
	trace.Release
	has [changes]bool
}

// ParseRelease reads a version such as "v1.37.2".
func ParseRelease(version string) (Release, error) {
	v, err := trace.ParseRelease(version)
	if err != nil {
		return Release{}, fmt.Errorf("the version of the kubelet: %w", err)
	}
	r := Release{Release: v}
	for c, d := range differences {
		versions, err := trace.ParseRange(d.Versions)
		if err != nil {
			return Release{}, fmt.Errorf("the table of changes, row %d: %w", c, err)
		}
		r.has[c] = versions.Has(v)
	}
	return r, nil
}

// MustParseRelease is [ParseRelease] for versions that a programmer writes down:
// it panics where there is an error.
func MustParseRelease(version string) Release {
	r, err := ParseRelease(version)
	if err != nil {
		panic(err)
	}
	return r
}

// Has reports whether the release has a change.
func (r Release) Has(c Change) bool { return r.has[c] }

// Versions lists the releases whose kubelets are known, one for each minor.
func Versions() []string {
	return []string{"v1.28.5", "v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"}
}
