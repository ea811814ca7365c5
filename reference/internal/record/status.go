package record

import (
	"fmt"
	"strings"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// Shown is how far a status shows a container: the number that it gives the newest
// instance, and what has become of that.
type Shown struct {
	Run   int32
	State ShownState
}

// ShownState is what a status shows of an instance.
type ShownState uint8

// The states, in the order in which an instance goes through them.
const (
	Waiting ShownState = iota // it was not started yet
	Running
	Ended
)

// ShownOf is what a status shows. An instance that has ended is shown as terminated, or
// as waiting with its end in lastState, and may go from one to the other and back (a
// deletion ends the waiting).
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

// Before reports whether a status that shows s comes before one that shows t.
func (s Shown) Before(t Shown) bool {
	return s.Run < t.Run || s.Run == t.Run && s.State < t.State
}

// Started reports whether the container was ever started, as far as that shows.
func (s Shown) Started() bool { return s.Run > 0 || s.Run == 0 && s.State != Waiting }

// IsEnd reports whether a shown end is that of an instance. The kubelet makes one up
// for a container that RestartAllContainers has removed
// (pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses), and where a Pod is
// through for each that is not shown as terminated, be it that it never was started
// (pkg/kubelet/status/status_manager.go, TerminatePod).
func IsEnd(end *corev1.ContainerStateTerminated) bool {
	return end != nil && end.Reason != RestartingAll && end.Reason != statusUnknown
}

// IsFinal reports whether a Pod stays in the phase
// (pkg/kubelet/kubelet_pods.go, generateAPIPodStatus).
func IsFinal(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

// RestartingAll is the reason of the end that a status makes up for a container that
// RestartAllContainers removed (pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses).
const RestartingAll = "RestartingAllContainers"

// statusUnknown is that of the end of one of which nothing is known.
const statusUnknown = "ContainerStatusUnknown"

// isStartError tells the waiting reasons of a start that failed before the main
// process ran (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime).
func isStartError(reason string) bool {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError", "PreCreateHookError", "PreStartHookError", "RunContainerError":
		return true
	}
	return false
}

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
