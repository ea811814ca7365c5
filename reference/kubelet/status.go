package kubelet

import corev1 "k8s.io/api/core/v1"

// generateStatus computes the status of the Pod from what the runtime said, and
// hands it to the status manager. A sync does so at its beginning, the termination
// at its beginning and end. Between those only probe results and, from 1.36 on,
// the sandbox change it.
//
// status/between-syncs, status/end-shown
func (k *kubelet) generateStatus(p *proc, v snapshot) {
	var s corev1.PodStatus
	restarting := k.allRestart(v)
	for c := range k.specs {
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
	if k.allStopped && k.evicted {
		s.Reason = "Evicted"
	}
	k.endAtDeadline(&s)
	k.conditions(&s, v.ready)
	if k.couldRestartAll() {
		s.Conditions = append(s.Conditions, k.allContainersRestarting(&s, v, restarting))
	}
	p.sleep(k.upTo(10)) // probes are triggered before the status is stored
	k.cached, k.dirty = &s, true
}

// previous is the status of a container before this one: of this kubelet, else what
// the API said when it began.
func (k *kubelet) previous(c int) *corev1.ContainerStatus {
	if k.cached == nil {
		return k.atStartStatus[c]
	}
	return k.find(k.cached, c)
}

// previousStatus is the same of the Pod.
func (k *kubelet) previousStatus() *corev1.PodStatus {
	if k.cached != nil {
		return k.cached
	}
	return k.atStart
}

// find is the status of a container in a Pod's status.
func (n *node) find(s *corev1.PodStatus, c int) *corev1.ContainerStatus {
	list := s.ContainerStatuses
	if !n.isRegular(c) {
		list = s.InitContainerStatuses
	}
	for i := range list {
		if list[i].Name == n.specs[c].Name {
			return &list[i]
		}
	}
	return nil
}

// amend changes the cached status in place.
func (k *kubelet) amend(f func(s *corev1.PodStatus)) {
	s := k.cached.DeepCopy()
	f(s)
	k.cached, k.dirty = s, true
}

// sandboxReady publishes that the sandbox is there.
//
// status/ready-to-start
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
	if k.cached == nil {
		return -1
	}
	for c := range k.specs {
		if cs := k.find(k.cached, c); cs != nil && cs.ContainerID == id {
			return c
		}
	}
	return -1
}

// setReady publishes a change of readiness.
//
// status/ready-after-probe
func (k *kubelet) setReady(id string, ready bool) {
	c := k.byContainerID(id)
	if c < 0 || k.find(k.cached, c).Ready == ready || ready && k.find(k.cached, c).State.Running == nil {
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
// next status.
//
// status/started
func (k *kubelet) setStarted(id string, started bool) {
	c := k.byContainerID(id)
	if c < 0 || *k.find(k.cached, c).Started == started || started && k.find(k.cached, c).State.Running == nil {
		return
	}
	k.amend(func(s *corev1.PodStatus) { k.find(s, c).Started = &started })
}

// publish sends the newest status to the API, late and in order; what comes
// meanwhile is merged, so that not every status is seen. A terminal phase may be
// held back until everything has stopped.
//
// status/forward
func (k *kubelet) publish(p *proc) {
	for {
		p.await(func() bool { return k.dirty })
		p.sleep(k.upTo(150))
		k.dirty = false
		s := k.cached.DeepCopy()
		if old := k.api.pod.Status.Phase; terminal(s.Phase) && !terminal(old) && (k.pod.May.LatePhase && (!k.allStopped || !k.terminated && k.oneIn(2)) || k.deadlineIsOver() && !k.allStopped) {
			s.Phase, s.Reason = old, ""
		}
		k.api.patchStatus(*s)
	}
}

func terminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

func (k *kubelet) phaseIsTerminal() bool { return k.cached != nil && terminal(k.cached.Phase) }
