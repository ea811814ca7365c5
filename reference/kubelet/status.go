package kubelet

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

func equal(a, b corev1.PodStatus) bool { return equality.Semantic.DeepEqual(a, b) }

func terminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

func (k *kubelet) phaseIsTerminal() bool { return k.cached != nil && terminal(k.cached.Phase) }

// fails keeps why the last start of a container failed, R34; "" is a success.
func (k *kubelet) fails(c int, reason string) {
	if reason == "" {
		delete(k.reasons, c)
	} else {
		k.reasons[c] = reason
	}
}

// find is the status of a container in a Pod's status.
func (n *node) find(s *corev1.PodStatus, c int) *corev1.ContainerStatus {
	list := s.ContainerStatuses
	if !n.isRegular(c) {
		list = s.InitContainerStatuses
	}
	for i := range list {
		if list[i].Name == n.all[c].Name {
			return &list[i]
		}
	}
	return nil
}

func (n *node) apiStatus(c int) *corev1.ContainerStatus {
	return n.find(n.api.pod.Status.DeepCopy(), c)
}

func (k *kubelet) cachedStatus(c int) *corev1.ContainerStatus {
	if k.cached == nil {
		return nil
	}
	return k.find(k.cached, c)
}

// previous is the status before: of this kubelet, else of the one before it.
func (k *kubelet) previous(c int) *corev1.ContainerStatus {
	if k.cached == nil {
		return k.lastStatus[c]
	}
	return k.cachedStatus(c)
}

// generate computes the Pod's status from what the runtime said, R28 (a), (b),
// and hands it to the status manager.
func (k *kubelet) generate(p *proc, v view) {
	var s corev1.PodStatus
	restarting := k.allRestart(v)
	for c := range k.all {
		cs := k.containerStatus(c, v, restarting)
		if k.isRegular(c) {
			s.ContainerStatuses = append(s.ContainerStatuses, cs)
		} else {
			s.InitContainerStatuses = append(s.InitContainerStatuses, cs)
		}
	}
	s.StartTime = k.api.pod.CreationTimestamp.DeepCopy()
	if v.ready {
		k.address = v.sandbox
		s.PodIP, s.PodIPs = "10.244.0.5", []corev1.PodIP{{IP: "10.244.0.5"}}
	}
	s.Phase = k.phase(&s, v)
	if k.over && k.evicted {
		s.Reason = "Evicted"
	}
	k.conditions(&s, v.ready)
	if k.couldRestartAll() {
		s.Conditions = append(s.Conditions, k.allContainersRestarting(&s, v, restarting))
	}
	p.sleep(k.upTo(10)) // R48: tokens are sent before the status is stored
	k.cached, k.dirty = &s, true
}

// containerStatus is the status of one container: what the runtime has of it, and what
// was shown before of one that it has no more (pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses).
func (k *kubelet) containerStatus(c int, v view, restarting bool) corev1.ContainerStatus {
	old := k.previous(c)
	cs := corev1.ContainerStatus{Name: k.all[c].Name, Image: image}
	cs.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"} // R30
	if len(k.pod.Init) > 0 {
		cs.State.Waiting.Reason = "PodInitializing"
	}
	switch {
	case old == nil:
	case old.State.Terminated != nil:
		cs = *old.DeepCopy()
	default:
		cs.RestartCount, cs.LastTerminationState = old.RestartCount, *old.LastTerminationState.DeepCopy()
	}
	i, started := v.newest[c], false
	if i == nil {
		k.missing(&cs, old, restarting)
	} else {
		cs = k.found(i, old)
		if before := v.before[c]; before != nil {
			cs.LastTerminationState = found(before)
		}
	}
	cs.Started = &started
	switch {
	case i != nil && i.running:
		started = k.isStarted(c, i)
		cs.Ready = started && !k.isInit(c) && k.isReady(c, i) // R36
		return cs
	case i == nil && k.isInit(c) && k.v.Has(LostInitInferred) && cs.State.Waiting != nil && slices.ContainsFunc(v.newest[len(k.pod.Init):], func(i *instance) bool { return i != nil }):
		// Its status was lost, and what it was for is done.
		cs.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	case k.reasons[c] != "" && k.comesBack(c, i): // R34
		if cs.State.Terminated != nil {
			cs.LastTerminationState = cs.State
		}
		cs.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: k.reasons[c]}}
	}
	if end := cs.State.Terminated; k.isInit(c) && end != nil && end.ExitCode == 0 {
		cs.Ready = true // R36
	}
	return cs
}

const (
	restartingAll = "RestartingAllContainers"
	statusUnknown = "ContainerStatusUnknown"
)

// madeUp is the end of a container of which nothing is left, R73.
func madeUp(reason string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason}
}

// missing amends the status of a container that the runtime does not have.
func (k *kubelet) missing(cs, old *corev1.ContainerStatus, restarting bool) {
	switch {
	case old == nil:
	case restarting && old.State.Waiting == nil:
		cs.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: restartingAll}}
		cs.LastTerminationState.Terminated = madeUp(restartingAll)
		cs.RestartCount = old.RestartCount + 1
	case old.State.Running != nil && cs.LastTerminationState.Terminated == nil:
		cs.LastTerminationState.Terminated = madeUp(statusUnknown)
		if !k.deleted {
			cs.RestartCount++
		}
	}
}

// found is the status of a container that the runtime has.
func (k *kubelet) found(i *instance, old *corev1.ContainerStatus) corev1.ContainerStatus {
	cs := corev1.ContainerStatus{Name: k.all[i.c].Name, Image: image, ContainerID: i.id, RestartCount: int32(i.run), State: found(i)}
	if old == nil || !k.v.Has(RestartAllContainers) {
		return cs
	}
	switch {
	case old.ContainerID != i.id && old.State.Terminated != nil:
		cs.LastTerminationState.Terminated = old.State.Terminated.DeepCopy()
	case old.LastTerminationState.Terminated != nil:
		cs.LastTerminationState.Terminated = old.LastTerminationState.Terminated.DeepCopy()
	}
	if i.running && old.State.Terminated != nil && int(old.RestartCount) >= i.run {
		cs.RestartCount = old.RestartCount + 1
	}
	cs.RestartCount = max(cs.RestartCount, old.RestartCount)
	return cs
}

func found(i *instance) corev1.ContainerState {
	if i.running {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: whole(i.startedAt)}}
	}
	return corev1.ContainerState{Terminated: exitOf(i)}
}

// allRestart tells whether RestartAllContainers is on its way: a status said so, or a
// container has exited with a code that asks for it (pkg/kubelet/container/helpers.go,
// ShouldAllContainersRestart).
func (k *kubelet) allRestart(v view) bool {
	if !k.v.Has(RestartAllContainers) {
		return false
	}
	if conditionIs(k.before(), corev1.AllContainersRestarting) {
		return true
	}
	for c := range k.all {
		i := v.newest[c]
		if i == nil || i.running {
			continue
		}
		old := k.previous(c)
		if k.asksForAll(c, i.exit) || old != nil && old.State.Terminated != nil && k.asksForAll(c, int(old.State.Terminated.ExitCode)) {
			return true
		}
	}
	return false
}

// asksForAll tells whether an exit with a code restarts all containers.
func (k *kubelet) asksForAll(c, code int) bool {
	for _, r := range k.all[c].Rules {
		if (code == r.Code) != r.Not { // the first match wins
			return r.All
		}
	}
	return false
}

// before is the status before: of this kubelet, else what the API said when it began.
func (k *kubelet) before() *corev1.PodStatus {
	if k.cached != nil {
		return k.cached
	}
	return k.began
}

// allContainersRestarting is the condition of that name (pkg/kubelet/status/generate.go,
// GenerateAllContainersRestartingCondition).
func (k *kubelet) allContainersRestarting(s *corev1.PodStatus, v view, restarting bool) corev1.PodCondition {
	is := corev1.PodCondition{Type: corev1.AllContainersRestarting, Status: corev1.ConditionFalse}
	switch {
	case s.Phase == corev1.PodSucceeded:
		is.Reason = "PodCompleted"
	case s.Phase == corev1.PodFailed:
		is.Reason = "PodFailed"
	case restarting && len(v.all) > 0:
		is.Status, is.Reason = corev1.ConditionTrue, "RestartAllContainersStarted"
	}
	return is
}

// fillIn fills in what is not known of a Pod that is through
// (pkg/kubelet/status/status_manager.go, TerminatePod).
func (k *kubelet) fillIn() {
	k.amend(func(s *corev1.PodStatus) {
		known := func(cs *corev1.ContainerStatus) bool {
			return cs.State.Waiting == nil || cs.LastTerminationState.Terminated != nil
		}
		api, inits := &k.api.pod.Status, s.InitContainerStatuses
		initialised := len(inits) == 0
		for i := range api.ContainerStatuses {
			initialised = initialised || known(&api.ContainerStatuses[i])
		}
		if n := len(api.InitContainerStatuses); n > 0 {
			cs := &api.InitContainerStatuses[n-1]
			if k.isSidecar(n - 1) {
				initialised = initialised || cs.State.Running != nil && cs.Started != nil && *cs.Started
			} else {
				last, end := cs.LastTerminationState.Terminated, cs.State.Terminated
				initialised = initialised || last != nil && last.ExitCode == 0 || end != nil && end.ExitCode == 0
			}
		}
		fill := func(cs *corev1.ContainerStatus) {
			if cs.State.Terminated == nil {
				cs.State = corev1.ContainerState{Terminated: madeUp(statusUnknown)}
			}
		}
		if initialised {
			for i := range s.ContainerStatuses {
				fill(&s.ContainerStatuses[i])
			}
		}
		last := 0
		for i := range inits {
			if known(&inits[i]) {
				last = i
			}
		}
		for i := range inits {
			if i <= last {
				fill(&inits[i])
			}
		}
		if !terminal(s.Phase) {
			s.Phase = corev1.PodFailed
		}
	})
}

func exitOf(i *instance) *corev1.ContainerStateTerminated {
	t := &corev1.ContainerStateTerminated{ExitCode: int32(i.exit), Reason: "Completed", StartedAt: whole(i.startedAt), FinishedAt: whole(i.finished), ContainerID: i.id}
	if i.exit != 0 {
		t.Reason = "Error"
	}
	if i.oom {
		t.Reason = "OOMKilled"
	}
	if i.never { // the runtime gives the beginning of its epoch
		t.Reason, t.StartedAt = "StartError", metav1.Unix(0, 0)
	}
	return t
}

// comesBack tells whether a container that does not run is going to be started again,
// R69: never once the Pod is terminating. i is nil where there is none.
func (k *kubelet) comesBack(c int, i *instance) bool {
	switch {
	case k.terminating:
		return false
	case i == nil:
		return true
	case k.isInit(c) && i.exit == 0:
		return false
	}
	return k.restarts(c, i.exit)
}

// isStarted is R35.
func (k *kubelet) isStarted(c int, i *instance) bool {
	if r, known := k.startup[i.id]; known {
		return r == success
	}
	if k.all[c].Startup == nil {
		return true
	}
	old := k.previous(c)
	if old == nil || old.Started == nil || !*old.Started {
		return false
	}
	if k.pod.Faults.StartedInherited {
		return true
	}
	// After a restart of the kubelet the first status comes before the workers.
	return old.ContainerID == i.id && (k.workers[workerKey{c, trace.StartupProbe}] == nil || k.v.Has(KeptOverRestart))
}

// isReady is R36. Whoever has a readiness probe and is not ready is probed at
// once, R48.
func (k *kubelet) isReady(c int, i *instance) bool {
	if k.all[c].Readiness == nil {
		return true
	}
	r, known := k.readiness[i.id]
	if r == success {
		return true
	}
	if b := k.workers[workerKey{c, trace.ReadinessProbe}]; b != nil {
		b.trigger = true
		// In a Pod that was ready what outlived the kubelet before stays so until it is probed
		// (pkg/kubelet/prober/prober_manager.go, setReadyStateOnKubeletRestart).
		st := corev1.ContainerStatus{ContainerID: i.id, State: found(i)}
		return !known && k.wasThere(c, &st) && conditionIs(k.before(), corev1.PodReady)
	}
	old := k.previous(c)
	return !known && old != nil && old.ContainerID == i.id && old.Ready
}

// hasStarted tells whether any regular container has ever been started.
func hasStarted(s *corev1.PodStatus) bool {
	for _, cs := range s.ContainerStatuses {
		if cs.State.Running != nil || cs.State.Terminated != nil {
			return true
		}
	}
	return false
}

// phase is R38, and R85 at the end.
func (k *kubelet) phase(s *corev1.PodStatus, v view) corev1.PodPhase {
	if was := k.api.pod.Status.Phase; terminal(was) { // it stays
		return was
	}
	running, waiting, stopped, succeeded, comes := 0, 0, 0, 0, false
	for c := len(k.pod.Init); c < len(k.all); c++ {
		cs := k.find(s, c)
		exit := cs.State.Terminated
		switch {
		case cs.State.Running != nil:
			running++
		case exit != nil:
			stopped++
			if exit.ExitCode == 0 {
				succeeded++
			}
		case cs.LastTerminationState.Terminated != nil:
			stopped++
			exit = cs.LastTerminationState.Terminated
		default:
			waiting++
		}
		comes = comes || exit != nil && k.startsAgain(c, exit)
	}
	// lost: the end has come while the Pod began anew in another sandbox.
	unfinished, lost := false, false
	for c := range k.pod.Init {
		cs := k.find(s, c)
		last := cs.LastTerminationState.Terminated
		switch {
		case k.isInit(c):
			exit := cs.State.Terminated
			if exit == nil && cs.State.Waiting != nil {
				exit = last
			}
			if exit != nil && exit.ExitCode != 0 && !k.startsAgain(c, exit) {
				return corev1.PodFailed // R62
			}
			if (exit == nil || exit.ExitCode != 0) && (k.v.Has(PendingAgain) || !hasStarted(s)) {
				unfinished = true
			}
			lost = lost || exit == nil && k.v.Has(PendingAgain)
		case cs.State.Running != nil:
			running++
			unfinished = unfinished || !k.hadStarted(c, cs) && !k.hasInitialised(s, v)
		case cs.State.Waiting != nil && last == nil:
			waiting++ // even where regular containers have started, unlike an init container that has not ended
			lost = true
		}
	}
	if k.over { // R38, R85
		if lost || succeeded < len(k.pod.Containers) || k.evicted && k.v.Has(EvictedStaysFailed) {
			return corev1.PodFailed
		}
		return corev1.PodSucceeded
	}
	switch {
	case unfinished || waiting > 0:
		return corev1.PodPending
	case running > 0 || comes:
		return corev1.PodRunning
	case succeeded == stopped:
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// hasInitialised tells whether a regular container has been started, for a sidecar that
// counts as not started yet: one that is shown so, and from 1.33 one of the sandbox.
func (k *kubelet) hasInitialised(s *corev1.PodStatus, v view) bool {
	if !k.v.Has(SandboxTells) {
		return hasStarted(s)
	}
	return v.ready && slices.ContainsFunc(v.all, func(i *instance) bool { return k.isRegular(i.c) && i.sandbox == v.sandbox })
}

// startsAgain tells whether a container is started again after an end that is shown.
func (k *kubelet) startsAgain(c int, end *corev1.ContainerStateTerminated) bool {
	return end.Reason == restartingAll || k.restarts(c, int(end.ExitCode))
}

// hadStarted tells whether the phase counts a sidecar that runs as started: what was
// shown before counts, and up to 1.34 nothing does
// (pkg/kubelet/kubelet_pods.go, getPhase, which comes before the probes are asked).
func (k *kubelet) hadStarted(c int, cs *corev1.ContainerStatus) bool {
	old := k.previous(c)
	return k.v.Has(KeptOverRestart) && old != nil && old.ContainerID == cs.ContainerID && old.Started != nil && *old.Started
}

// conditions is R37 and R39.
func (k *kubelet) conditions(s *corev1.PodStatus, sandbox bool) {
	initialised, were := true, conditionIs(k.before(), corev1.PodInitialized)
	for c := range k.pod.Init {
		cs := k.find(s, c)
		initialised = initialised && (k.isInit(c) && cs.Ready || k.isSidecar(c) && *cs.Started)
	}
	initialised = initialised || hasStarted(s) || were && k.v.Has(RestartAllContainers)
	initial := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	switch {
	case s.Phase == corev1.PodSucceeded:
		initial.Reason = "PodCompleted"
	case !initialised:
		initial.Status, initial.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
	}
	if k.v.Has(ReadyToStartCondition) {
		s.Conditions = append(s.Conditions, k.readyToStart(sandbox))
	}
	s.Conditions = append(s.Conditions, initial)
	s.Conditions = append(s.Conditions, k.readyConditions(s)...)
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
}

// readyConditions are Ready and ContainersReady.
func (k *kubelet) readyConditions(s *corev1.PodStatus) []corev1.PodCondition {
	var unready []string
	for c := range k.all {
		if cs := k.find(s, c); !k.isInit(c) && !cs.Ready {
			unready = append(unready, cs.Name)
		}
	}
	ready := corev1.PodCondition{Status: corev1.ConditionTrue}
	switch {
	case s.Phase == corev1.PodSucceeded:
		ready.Status, ready.Reason = corev1.ConditionFalse, "PodCompleted"
	case s.Phase == corev1.PodFailed:
		ready.Status, ready.Reason = corev1.ConditionFalse, "PodFailed"
	case len(unready) > 0:
		ready.Status, ready.Reason = corev1.ConditionFalse, "ContainersNotReady"
		ready.Message = "containers with unready status: [" + strings.Join(unready, " ") + "]"
	}
	containers := ready
	ready.Type, containers.Type = corev1.PodReady, corev1.ContainersReady
	return []corev1.PodCondition{ready, containers}
}

func (k *kubelet) readyToStart(sandbox bool) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}
	switch {
	case sandbox:
		c.Status = corev1.ConditionTrue
	case k.v.Has(SandboxReason):
		c.Reason = "PodSandboxNotReady"
	}
	return c
}

func conditionIs(s *corev1.PodStatus, kind corev1.PodConditionType) bool {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// amend changes the cached status in place, R28 (c), (d).
func (k *kubelet) amend(f func(s *corev1.PodStatus)) {
	s := k.cached.DeepCopy()
	f(s)
	k.cached, k.dirty = s, true
}

// sandboxReady is the callback of R39.
func (k *kubelet) sandboxReady() {
	k.amend(func(s *corev1.PodStatus) {
		for i := range s.Conditions {
			if s.Conditions[i].Type == corev1.PodReadyToStartContainers {
				s.Conditions[i] = k.readyToStart(true)
			}
		}
	})
}

// byContainerID is the container of the cached status that has the ID, -1 if
// there is none.
func (k *kubelet) byContainerID(id string) int {
	for c := range k.all {
		if cs := k.cachedStatus(c); cs != nil && cs.ContainerID == id {
			return c
		}
	}
	return -1
}

// setReady publishes a change of readiness, R51.
func (k *kubelet) setReady(id string, ready bool) {
	c := k.byContainerID(id)
	if c < 0 || k.cachedStatus(c).Ready == ready || ready && k.cachedStatus(c).State.Running == nil {
		return
	}
	k.amend(func(s *corev1.PodStatus) {
		k.find(s, c).Ready = ready
		for i, old := range s.Conditions {
			for _, now := range k.readyConditions(s) {
				if old.Type == now.Type {
					s.Conditions[i] = now
				}
			}
		}
	})
}

// setStarted publishes the verdict of a startup probe; ready follows with the
// next status, R51.
func (k *kubelet) setStarted(id string, started bool) {
	c := k.byContainerID(id)
	if c < 0 || *k.cachedStatus(c).Started == started || started && k.cachedStatus(c).State.Running == nil {
		return
	}
	k.amend(func(s *corev1.PodStatus) { k.find(s, c).Started = &started })
}

// publish sends the newest status to the API, late; what comes meanwhile is
// merged, R29. A terminal phase is held back until everything has stopped, R84.
func (k *kubelet) publish(p *proc) {
	for {
		p.await(func() bool { return k.dirty })
		p.sleep(k.upTo(150))
		k.dirty = false
		s := k.cached.DeepCopy()
		if old := k.api.pod.Status.Phase; k.pod.May.LatePhase && terminal(s.Phase) && !terminal(old) && (!k.over || !k.terminated && k.oneIn(2)) {
			s.Phase = old
		}
		k.api.patchStatus(*s)
	}
}
