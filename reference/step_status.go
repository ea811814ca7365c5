package reference

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
)

// onPod takes a Pod as the watch delivered it. Its status was published by
// then; it may be old, so it is never refused for showing too little.
func (m *model) onPod(s state, n int) ([]state, *denial) {
	e := m.obs[n].entry
	pod := e.Pod
	prev := cause{m.shownBefore[n], ruleForward}
	if len(pod.Status.ContainerStatuses) == 0 {
		for i := range s.c {
			if s.c[i].shown >= 0 {
				return nil, because(deny(ruleForward, prev), "status.containerStatuses has gone")
			}
		}
		if p := pod.Status.Phase; p != corev1.PodPending && p != "" && pod.Status.Reason == "" {
			return nil, because(deny(rulePhase), "status.phase is %s before any container state was shown", p)
		}
		return m.onDeleted([]state{s.clone()}, n), nil
	}
	if d := m.objectFits(pod); d != nil {
		return nil, d
	}
	states := []state{s.clone()}
	for _, cs := range pod.Status.ContainerStatuses {
		i, ok := m.p.index[cs.Name]
		if !ok {
			return nil, because(deny(ruleForward), "status.containerStatuses names %q, which the Pod does not have", cs.Name)
		}
		var next []state
		var first *denial
		for _, t := range states {
			after, d := m.onContainer(t, i, cs, n)
			if first == nil {
				first = d
			}
			next = append(next, after...)
		}
		if len(next) == 0 {
			return nil, first
		}
		states = next
	}
	if d := m.wholeSync(states, pod, n); d != nil {
		return nil, d
	}
	return m.onDeleted(states, n), nil
}

// rankOf orders the states that a container is shown in. An instance that has
// ended is shown as terminated, or as waiting with its end in lastState, and
// may go from one to the other and back (a deletion ends the waiting).
func rankOf(cs corev1.ContainerStatus) int {
	run := 3 * int(cs.RestartCount)
	switch {
	case cs.State.Running != nil:
		return run + 1
	case cs.State.Terminated != nil, cs.LastTerminationState.Terminated != nil:
		return run + 2
	}
	return run
}

// onContainer takes the shown state of container i.
func (m *model) onContainer(s state, i int, cs corev1.ContainerStatus, n int) ([]state, *denial) {
	name, rank, run := cs.Name, rankOf(cs), int(cs.RestartCount)
	if rank < s.c[i].shown {
		return nil, because(deny(ruleForward, cause{m.shownBefore[n], ruleForward}), "status of container %s goes back to %s", name, stateWord(cs))
	}
	if rank == 0 {
		s.c[i].shown = 0
		return []state{s}, nil
	}
	states := []state{s}
	if run > s.c[i].run {
		var d *denial
		if run == 0 {
			states = m.instanceDone(s, i, n, ruleBetweenSyncs)
		} else if states, d = m.start(s, i, run, n); d != nil {
			return nil, d
		}
	}
	var next []state
	for _, t := range states {
		if t.c[i].run < run {
			continue // its start failed in this branch, yet it is shown
		}
		if t.c[i].run > run {
			t.c[i].shown = rank
			next = append(next, t)
			continue
		}
		for _, u := range m.instanceDone(t, i, n, ruleBetweenSyncs) {
			u.c[i].shown = rank
			if rank%3 == 2 && !u.c[i].gone.known() {
				m.ended(&u, i, n)
			}
			next = append(next, u)
		}
	}
	if len(next) == 0 {
		return nil, because(deny(ruleBetweenSyncs), "container %s is shown as %s, but nothing can have started it", name, stateWord(cs))
	}
	if cs.Ready && m.p.containers[i].readiness && m.ev.logs[i][trace.ReadinessProbe] && !m.ev.logGap && next[0].c[i].run == run && next[0].c[i].ready == 0 {
		return nil, because(deny(ruleReadyAfterProbe), "status of container %s says ready, and no readiness probe of this instance has succeeded by then", name)
	}
	return next, nil
}

// ended takes the newest instance of container i as over. One that was stopped
// with its whole Pod is shown as terminated only when all of them are.
func (m *model) ended(s *state, i, n int) {
	s.c[i].gone = at(n, ruleInstances)
	if s.c[i].kill != byEnding {
		return
	}
	for j := range s.c {
		if !s.c[j].gone.known() {
			s.c[j].gone = at(n, ruleTogether)
		}
	}
}

// wholeSync checks what the object says of the containers beside each other.
func (m *model) wholeSync(states []state, pod *corev1.Pod, n int) *denial {
	s := states[0]
	var shown, stopped string
	for _, cs := range pod.Status.ContainerStatuses {
		if rankOf(cs) > 0 {
			shown = cs.Name
		}
		if c := s.c[m.p.index[cs.Name]]; cs.State.Terminated != nil && c.kill == byEnding && c.run == int(cs.RestartCount) {
			stopped = cs.Name
		}
	}
	for _, cs := range pod.Status.ContainerStatuses {
		i := m.p.index[cs.Name]
		if shown != "" && rankOf(cs) == 0 && !m.ev.startFailed[i] {
			return because(deny(ruleWholeSync), "container %s is shown and container %s, started by the same sync, is still waiting", shown, cs.Name)
		}
		if stopped != "" && cs.State.Running != nil {
			return because(deny(ruleTogether, s.ending), "container %s is shown as terminated while container %s is shown as running", stopped, cs.Name)
		}
	}
	return nil
}

// onDeleted takes the removal of the object, where n is one.
func (m *model) onDeleted(states []state, n int) []state {
	if m.obs[n].entry.Type != trace.Deleted || m.forced() {
		return states
	}
	for _, s := range states {
		for i := range s.c {
			if !s.c[i].gone.known() {
				s.c[i].gone = at(n, ruleObjectLast)
			}
		}
	}
	return states
}

// forced reports whether the Pod may have been removed without waiting for its
// node. The API shows a grace period of 0 in the last object of every
// deletion, so that the act decides; without one it may be.
func (m *model) forced() bool {
	if m.deleteAt >= len(m.obs) {
		return true
	}
	for _, o := range m.obs[m.deleteAt:] {
		if o.entry.Did == nil || o.entry.Did.Name != trace.ActDelete {
			continue
		}
		p, err := o.entry.Did.Delete()
		if err != nil || p.GracePeriodSeconds != nil && *p.GracePeriodSeconds == 0 || p.GracePeriodSeconds == nil && m.p.grace == 0 {
			return true
		}
	}
	return false
}

// objectFits checks what a single object must satisfy by itself.
func (m *model) objectFits(pod *corev1.Pod) *denial {
	st := &pod.Status
	ready, running, up := true, false, 0
	for _, cs := range st.ContainerStatuses {
		i, known := m.p.index[cs.Name]
		if !known {
			continue
		}
		spec := m.p.containers[i]
		runs := cs.State.Running != nil
		started := cs.Started != nil && *cs.Started
		ready = ready && cs.Ready
		running = running || runs
		if rankOf(cs) > 0 {
			up++
		}
		switch {
		case started && !runs:
			return because(deny(ruleStarted), "status of container %s says started while it is %s", cs.Name, stateWord(cs))
		case !spec.startup && runs && !started:
			return because(deny(ruleStarted), "status of container %s says running and not started, and it has no startup probe", cs.Name)
		case cs.Ready && !(runs && started):
			return because(deny(ruleReady), "status of container %s says ready while it is %s, started %t", cs.Name, stateWord(cs), started)
		case !spec.readiness && runs && started && !cs.Ready:
			return because(deny(ruleReady), "status of container %s says not ready while it runs, and it has no readiness probe", cs.Name)
		}
	}
	if len(st.ContainerStatuses) < len(m.p.containers) {
		ready = false
	}
	if want := m.phases(pod); !strings.Contains(want, "|"+string(st.Phase)+"|") {
		return because(deny(rulePhase), "status.phase is %s; the container states allow %s", st.Phase, strings.ReplaceAll(strings.Trim(want, "|"), "|", " or "))
	}
	return m.conditionsFit(pod, ready, running, up)
}

// phases returns the phases that the shown container states allow, each
// between bars (pkg/kubelet/kubelet_pods.go, getPhase).
func (m *model) phases(pod *corev1.Pod) string {
	waiting, running, stopped, failed := len(m.p.containers)-len(pod.Status.ContainerStatuses), 0, 0, 0
	for _, cs := range pod.Status.ContainerStatuses {
		end := cs.State.Terminated
		if cs.State.Waiting != nil {
			end = cs.LastTerminationState.Terminated
		}
		switch {
		case cs.State.Running != nil:
			running++
		case end != nil:
			stopped++
			if end.ExitCode != 0 {
				failed++
			}
		default:
			waiting++
		}
	}
	final := "|Succeeded|"
	if failed > 0 {
		final = "|Failed|"
	}
	switch {
	case pod.Status.Reason != "":
		// Eviction, preemption, node shutdown or a deadline set the phase.
		return "|Pending|Running|Succeeded|Failed|"
	case waiting > 0 && pod.DeletionTimestamp != nil && running == 0:
		return "|Pending|Failed|" // deleted before it was started
	case waiting > 0:
		return "|Pending|"
	case running > 0:
		return "|Running|"
	case pod.DeletionTimestamp != nil:
		return "|Running" + final
	case m.p.policy == corev1.RestartPolicyAlways, m.p.policy == corev1.RestartPolicyOnFailure && failed > 0:
		return "|Running|"
	}
	return final
}

func (m *model) conditionsFit(pod *corev1.Pod, ready, running bool, up int) *denial {
	final := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	var sandbox *corev1.PodCondition
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		is := c.Status == corev1.ConditionTrue
		switch c.Type {
		case corev1.ContainersReady:
			if is != (ready && !final) {
				return because(deny(ruleConditions), "condition ContainersReady is %s while the containers are ready: %t", c.Status, ready)
			}
		case corev1.PodReady:
			// Another than the kubelet may take Ready away (a lost node), and
			// then gives another reason.
			if is && (!ready || final) || !is && ready && !final && c.Reason == "ContainersNotReady" {
				return because(deny(ruleConditions), "condition Ready is %s while the containers are ready: %t", c.Status, ready)
			}
		case corev1.PodInitialized:
			if !is {
				return because(deny(ruleConditions), "condition Initialized is %s in a Pod without init containers", c.Status)
			}
		case corev1.PodReadyToStartContainers:
			sandbox = c
		}
	}
	return m.sandboxFits(pod, sandbox, running, up)
}

func (m *model) sandboxFits(pod *corev1.Pod, c *corev1.PodCondition, running bool, up int) *denial {
	is := c != nil && c.Status == corev1.ConditionTrue
	switch {
	case !m.k.hasSandboxCondition():
		if c != nil {
			return because(deny(ruleSandbox), "condition PodReadyToStartContainers is there; a kubelet %s has the gate off", m.k)
		}
	case is && !m.k.sandboxConditionEarly() && up == 0:
		return because(deny(ruleSandbox), "condition PodReadyToStartContainers is True before a container is shown; before 1.36 both come from the same sync")
	case !is && running && pod.DeletionTimestamp == nil:
		return because(deny(ruleSandbox), "condition PodReadyToStartContainers is not True while a container is shown as running")
	}
	return nil
}

func stateWord(cs corev1.ContainerStatus) string {
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
	for _, cs := range e.Pod.Status.ContainerStatuses {
		fmt.Fprintf(&b, "; %s#%d %s ready=%t", cs.Name, cs.RestartCount, stateWord(cs), cs.Ready)
	}
	return b.String()
}
