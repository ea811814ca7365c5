package kubelet

import corev1 "k8s.io/api/core/v1"

// A Pod may have a deadline, activeDeadlineSeconds, counted from the startTime of its status.
// Each status that is computed after it has phase Failed, so the Pod is terminated like one
// that is finished: with its own grace period.

// deadlineExceeded is the reason in the status and in the Event.
const deadlineExceeded = "DeadlineExceeded"

// deadlineIsOver reports whether the Pod has been on its node for longer than it may.
func (k *kubelet) deadlineIsOver() bool { return k.pod.Deadline > 0 && k.now >= k.deadlineAt() }

// deadlineAt is when that is so. The startTime has whole seconds.
func (k *kubelet) deadlineAt() int {
	begun := k.api.pod.CreationTimestamp
	return int(begun.Sub(epoch).Milliseconds()) + 1000*k.pod.Deadline
}

// watchDeadline asks for a sync once a second when the deadline is over.
func (k *kubelet) watchDeadline(p *proc) {
	if k.pod.Deadline == 0 {
		return
	}
	p.await(func() bool { return k.podSeen })
	p.awaitUntil(k.deadlineAt(), func() bool { return false })
	for !k.finished {
		k.wake = true
		p.sleep(1000)
	}
}

// endAtDeadline makes the Pod a failed one, unless the API has a final phase already. The
// reason is given in any case (pkg/kubelet/kubelet_pods.go, generateAPIPodStatus).
//
// terminate/grace-period, terminate/deadline
func (k *kubelet) endAtDeadline(s *corev1.PodStatus) {
	if !k.deadlineIsOver() {
		return
	}
	k.event(-1, "Normal", deadlineExceeded, "Pod was active on the node longer than the specified deadline")
	s.Reason = deadlineExceeded
	if !terminal(k.api.pod.Status.Phase) {
		s.Phase = corev1.PodFailed
	}
}
