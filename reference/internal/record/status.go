package record

import (
	"fmt"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// Shown is how far a status shows a container: the run of its newest instance, by the
// restart count, and the state of that instance.
type Shown struct {
	Run   int32
	State ShownState
}

// ShownState is what a status shows of an instance.
type ShownState uint8

// The states, in the order in which an instance goes through them.
const (
	Waiting ShownState = iota // not started yet
	Running
	Ended
)

// ShownOf is what a status shows. An instance that has ended is shown as terminated, or as
// waiting with its end in lastState. It may go from one to the other and back: a deletion
// ends the waiting.
func ShownOf(cs *corev1.ContainerStatus) Shown {
	s := Shown{Run: cs.RestartCount}
	switch {
	case cs.State.Running != nil:
		s.State = Running
	case IsEnd(cs.State.Terminated), IsEnd(cs.LastTerminationState.Terminated):
		s.State = Ended
	}
	return s
}

// StartShown is when the instance that a status shows was started, in whole seconds of the clock of
// the node; zero, or the beginning of the epoch, where that is not shown.
func StartShown(cs *corev1.ContainerStatus) time.Time {
	switch {
	case cs.State.Running != nil:
		return cs.State.Running.StartedAt.Time
	case IsEnd(cs.State.Terminated):
		return cs.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// Before reports whether a status that shows s comes before one that shows t.
func (s Shown) Before(t Shown) bool {
	return s.Run < t.Run || s.Run == t.Run && s.State < t.State
}

// Started reports whether the container is shown to have been started at some time.
func (s Shown) Started() bool { return s.Run > 0 || s.Run == 0 && s.State != Waiting }

// IsEnd reports whether a shown end is the end of an instance. The kubelet makes up an end
// for a container that RestartAllContainers removed (pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses). When a Pod is finished it also makes one up for each
// container that is not shown as terminated, even if that was never started
// (pkg/kubelet/status/status_manager.go, TerminatePod).
func IsEnd(end *corev1.ContainerStateTerminated) bool {
	return end != nil && end.Reason != RestartingAll && end.Reason != statusUnknown
}

// IsFinal reports whether a Pod stays in the phase for good
// (pkg/kubelet/kubelet_pods.go, generateAPIPodStatus).
func IsFinal(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

// RestartingAll is the reason in the end that the kubelet makes up for a container that
// RestartAllContainers removed (pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses).
const RestartingAll = "RestartingAllContainers"

// statusUnknown is the reason in the end of a container of which nothing is known.
const statusUnknown = "ContainerStatusUnknown"

// IsStartError reports whether a reason of the waiting state says that a start failed before
// the main process ran (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime).
func IsStartError(reason string) bool {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError", "PreCreateHookError", "PreStartHookError", "RunContainerError":
		return true
	}
	return false
}

// StateWord names the state of a container in a sentence.
func StateWord(cs *corev1.ContainerStatus) string {
	switch {
	case cs.State.Running != nil:
		return "running"
	case cs.State.Terminated != nil:
		return fmt.Sprintf("terminated (exit code %d)", cs.State.Terminated.ExitCode)
	case cs.State.Waiting != nil && cs.State.Waiting.Reason != "":
		return "waiting (" + cs.State.Waiting.Reason + ")"
	}
	return "waiting"
}

// describePod names an update in an explanation.
func describePod(e *trace.Entry) string {
	var b strings.Builder
	b.WriteString("pod " + e.Type)
	if e.Pod.Status.Phase != "" {
		fmt.Fprintf(&b, " %s", e.Pod.Status.Phase)
	}
	if e.Pod.DeletionTimestamp != nil {
		b.WriteString(" (being deleted)")
	}
	for _, list := range [][]corev1.ContainerStatus{e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses, e.Pod.Status.EphemeralContainerStatuses} {
		for i := range list {
			cs := &list[i]
			fmt.Fprintf(&b, "; %s#%d %s ready=%t", cs.Name, cs.RestartCount, StateWord(cs), cs.Ready)
		}
	}
	return b.String()
}
