package record

import (
	"fmt"
	"strings"

	"github.com/podorder/podorder/reference/trace"
	corev1 "k8s.io/api/core/v1"
)

// RankOf orders the states that a container is shown in. An instance that has
// ended is shown as terminated, or as waiting with its end in lastState, and
// may go from one to the other and back (a deletion ends the waiting).
func RankOf(cs *corev1.ContainerStatus) int {
	run := 3 * int(cs.RestartCount)
	switch {
	case cs.State.Running != nil:
		return run + 1
	case IsEnd(cs.State.Terminated), IsEnd(cs.LastTerminationState.Terminated):
		return run + 2
	}
	return run
}

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
