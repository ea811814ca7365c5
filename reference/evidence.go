package reference

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// gather reads through the whole trace for what it shows to have happened.
func gather(p plan, obs []observation, logOnly bool) evidence {
	ev := evidence{
		runs:           make([]int, len(p.containers)),
		startFailed:    make([]bool, len(p.containers)),
		hookFailed:     make([]bool, len(p.containers)),
		probeFailed:    make([]bool, len(p.containers)),
		logs:           make([]map[trace.Actor]bool, len(p.containers)),
		deletedAnyTime: logOnly,
	}
	for i := range ev.logs {
		ev.logs[i] = map[trace.Actor]bool{}
	}
	acted, deleted := false, false
	// Without run numbers, the second begin of a main process and each line
	// behind an end are the only signs of another instance.
	counted := make([]int, len(p.containers))
	begun := make([]bool, len(p.containers))
	ended := make([]bool, len(p.containers))
	for _, o := range obs {
		switch e := o.entry; {
		case e.Log != nil:
			ev.logs[o.c][o.log.Actor] = true
			if o.log.Run != trace.NoRun {
				counted[o.c] = o.log.Run
			} else if o.log.Actor == trace.Main {
				if begun[o.c] && (ended[o.c] || o.log.Mark.Kind == trace.Begin) {
					counted[o.c]++
				}
				begun[o.c], ended[o.c] = true, o.log.Mark.Kind == trace.End
			}
			if o.log.Actor == trace.PostStart && o.log.Mark.Kind == trace.End && o.log.Mark.N > 0 {
				ev.hookFailed[o.c] = true
			}
			ev.runs[o.c] = max(ev.runs[o.c], counted[o.c])
		case e.Pod != nil:
			deleted = deleted || e.Pod.DeletionTimestamp != nil || e.Type == trace.Deleted
			for i := range e.Pod.Status.ContainerStatuses {
				ev.see(p, &e.Pod.Status.ContainerStatuses[i])
			}
		case e.Event != nil:
			if c, ok := eventContainer(p, e.Event); ok {
				ev.hear(c, e.Event)
			}
		case e.Did != nil:
			acted = acted || e.Did.Name == trace.ActDelete
		case e.Gap != nil:
			ev.logGap = ev.logGap || e.Gap.Channel == "log"
			ev.eventGap = ev.eventGap || e.Gap.Channel == "events"
		}
	}
	if deleted && !acted {
		ev.deletedAnyTime = true
	}
	return ev
}

func (ev *evidence) see(p plan, s *corev1.ContainerStatus) {
	c, ok := p.index[s.Name]
	if !ok {
		return
	}
	ev.runs[c] = max(ev.runs[c], int(s.RestartCount))
	if w := s.State.Waiting; w != nil {
		ev.startFailed[c] = ev.startFailed[c] || isStartError(w.Reason)
		ev.hookFailed[c] = ev.hookFailed[c] || w.Reason == "PostStartHookError"
	}
	// A dead instance may be replaced before the trace ends.
	if s.State.Terminated != nil || s.LastTerminationState.Terminated != nil && s.State.Waiting != nil {
		ev.runs[c] = max(ev.runs[c], int(s.RestartCount)+1)
	}
}

func (ev *evidence) hear(c int, e *trace.Event) {
	switch e.Reason {
	case "Failed":
		ev.startFailed[c] = true
	case "BackOff":
		if !strings.HasPrefix(e.Message, "Back-off restarting") {
			ev.startFailed[c] = true
		}
	case "FailedPostStartHook":
		ev.hookFailed[c] = true
	case "Unhealthy":
		if !strings.HasPrefix(e.Message, "Readiness") {
			ev.probeFailed[c] = true
		}
	}
}

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

// eventContainer finds the regular container that an event speaks of.
func eventContainer(p plan, e *trace.Event) (int, bool) {
	name, ok := strings.CutPrefix(e.FieldPath, "spec.containers{")
	if !ok {
		return 0, false
	}
	c, ok := p.index[strings.TrimSuffix(name, "}")]
	return c, ok
}
