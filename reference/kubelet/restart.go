package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// restarts reports whether a container is started again after an exit: a sidecar
// always; else the first of its rules that matches decides, then its own policy,
// then that of the Pod.
//
// restart/policy, restart/container-rules
func (k *kubelet) restarts(c, code int) bool {
	if k.isSidecar(c) {
		return true
	}
	if k.has(RestartRules) {
		if slices.ContainsFunc(k.specs[c].Rules, func(r Rule) bool { return r.matches(code) }) {
			return true
		}
	}
	switch k.policy(c) {
	case corev1.RestartPolicyAlways:
		return true
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return false
}

func (r Rule) matches(code int) bool { return (code == r.Code) != r.Not }

// policy is the container's own, else the Pod's.
func (k *kubelet) policy(c int) corev1.RestartPolicy {
	policy := k.pod.Policy
	if own := k.specs[c].Policy; own != nil && k.has(RestartRules) {
		policy = *own
	}
	return policy
}

// restartsAfterKill reports whether a container that is killed for a probe is
// started again: the restart rules are not looked at.
func (k *kubelet) restartsAfterKill(c int) bool {
	return k.isSidecar(c) || k.policy(c) != corev1.RestartPolicyNever
}

// comesBack reports whether a container that does not run is going to be started
// again: never once the Pod is terminating. i is nil where there is none.
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

// backoff is an entry of a list of back-offs, of restarts or of image pulls. The
// first restart of a container makes one, and does not wait. Each further one
// waits for the delay of the entry, counted from the end of the instance before
// it, and doubles it: 10 s, 20 s, 40 s and so on, up to five minutes.
//
// restart/backoff
type backoff struct{ delay, last int }

// backoffKey is what an entry for restarts is found by: the container as it is
// defined. With another image it starts from none.
type backoffKey struct{ c, image int }

// In milliseconds.
const (
	firstDelay = 10_000
	mostDelay  = 300_000
	forgotten  = 600_000 // since the last attempt
)

// blocks reports whether an attempt has to wait, and for how long; since is when
// the last one failed.
func (b *backoff) blocks(now, since int) (left int, waits bool) {
	if b == nil || since-b.last > forgotten || now-since >= b.delay {
		return 0, false
	}
	return b.delay - (now - since), true
}

// next makes the entry after another attempt.
func (b *backoff) next(now, since int) *backoff {
	if b == nil || since-b.last > forgotten {
		return &backoff{firstDelay, now}
	}
	return &backoff{min(2*b.delay, mostDelay), now}
}
