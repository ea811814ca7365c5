package search_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/trace"
)

// What the watch shows of a container only goes on: its count of restarts never
// falls, a container ID that has ended does not run again, and a terminal phase
// stays.
func (s *story) statusGoesOn() error {
	count, over, final := map[string]int32{}, map[string]bool{}, ""
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		phase := string(e.Pod.Status.Phase)
		if final != "" && phase != final {
			return fmt.Errorf("line %d: phase %s after %s", n+2, phase, final)
		}
		if phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed) {
			final = phase
		}
		for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
			c := s.index[cs.Name]
			init := c < len(s.pod.Init)
			// In a new sandbox, up to 1.35, an init container or a sidecar of which no log
			// file is left is counted again.
			if again := init && !s.calm() && !kubelet.MustParseRelease(s.tr.Header.Kubelet).Has(kubelet.RestartAllContainers); cs.RestartCount < count[cs.Name] && !again {
				return fmt.Errorf("line %d: restart count %d of %s after %d", n+2, cs.RestartCount, cs.Name, count[cs.Name])
			}
			count[cs.Name] = cs.RestartCount
			if cs.State.Terminated != nil && cs.ContainerID != "" {
				over[cs.ContainerID] = true
			}
			if cs.State.Running != nil && over[cs.ContainerID] {
				return fmt.Errorf("line %d: %s runs again", n+2, cs.Name)
			}
			plain := init && !s.pod.Init[c].Sidecar
			// One that was removed, after RestartAllContainers or in a new sandbox, is shown as
			// ready for as long as what is shown is taken over from before.
			last := cs.LastTerminationState.Terminated
			removed := cs.State.Waiting != nil && last != nil && (last.Reason == "RestartingAllContainers" || last.ExitCode == 0)
			if plain && !removed && cs.Ready != (cs.State.Terminated != nil && cs.State.Terminated.ExitCode == 0) {
				return fmt.Errorf("line %d: init container %s has ready=%t", n+2, cs.Name, cs.Ready)
			}
			if cs.Ready && cs.State.Running == nil && !plain {
				return fmt.Errorf("line %d: %s is ready and does not run", n+2, cs.Name)
			}
		}
	}
	return nil
}

// Ready and ContainersReady are True only where all sidecars and regular
// containers are ready, and Initialized is not True before the init containers
// have ended, unless they had before.
func (s *story) conditionsFit() error {
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		ready, init := true, true
		for i, cs := range e.Pod.Status.InitContainerStatuses {
			if s.pod.Init[i].Sidecar {
				ready = ready && cs.Ready
				init = init && *cs.Started
			} else {
				init = init && cs.Ready
			}
		}
		for _, cs := range e.Pod.Status.ContainerStatuses {
			ready = ready && cs.Ready
			init = init || cs.State.Running != nil || cs.State.Terminated != nil
		}
		for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			if got := conditionIs(&e.Pod.Status, kind); got && !ready || !got && ready && len(e.Pod.Status.Conditions) > 0 && e.Pod.Status.Phase == corev1.PodRunning && !s.pod.May.LatePhase && s.pod.Deadline == 0 {
				return fmt.Errorf("line %d: %s is %t", n+2, kind, got)
			}
		}
		if conditionIs(&e.Pod.Status, corev1.PodInitialized) && !init && s.calm() && !s.resets() && !slices.ContainsFunc(s.pod.Init, func(c kubelet.Container) bool { return c.Sidecar }) {
			return fmt.Errorf("line %d: Initialized is True", n+2)
		}
	}
	return nil
}

// An instance is shown to run only when its postStart hook has ended, so that this
// writes nothing any more.
func (s *story) shownAfterHook() error {
	if !s.calm() || s.pod.May.Silent || s.resets() {
		return nil
	}
	last := map[string]time.Time{}
	for _, l := range s.lines {
		if l.Actor == trace.PostStart {
			last[fmt.Sprintf("%s#%d", l.Container, l.Run)] = l.Time
		}
	}
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
			c := s.pod.All()[s.index[cs.Name]]
			if cs.State.Running != nil && !c.NoStart && !c.NoCreate && last[fmt.Sprintf("%s#%d", cs.Name, cs.RestartCount)].After(e.At) {
				return fmt.Errorf("line %d: %s#%d is shown and its postStart hook goes on", n+2, cs.Name, cs.RestartCount)
			}
		}
	}
	return nil
}

// A container with a readiness probe that is run in it is shown as ready only when that has
// succeeded.
func (s *story) readyAfterProbe() error {
	if !s.calm() || s.pod.May.Silent || s.resets() {
		return nil
	}
	first := map[string]time.Time{}
	for _, l := range s.lines {
		id := fmt.Sprintf("%s#%d", l.Container, l.Run)
		if _, ok := first[id]; !ok && l.Actor == trace.ReadinessProbe && l.Mark.N == 0 {
			first[id] = l.Time
		}
	}
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		for _, cs := range append(e.Pod.Status.InitContainerStatuses, e.Pod.Status.ContainerStatuses...) {
			c := s.pod.All()[s.index[cs.Name]]
			if !cs.Ready || c.Readiness == nil || c.Readiness.HTTP || c.NoStart || c.NoCreate {
				continue
			}
			if at, ok := first[fmt.Sprintf("%s#%d", cs.Name, cs.RestartCount)]; !ok || at.After(e.At) {
				return fmt.Errorf("line %d: %s#%d is ready before a probe of it has succeeded", n+2, cs.Name, cs.RestartCount)
			}
		}
	}
	return nil
}

// conditionIs reports whether a condition is there and True.
func conditionIs(s *corev1.PodStatus, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
