package explore

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/kubelet"
)

// restarts is R69.
func (x *explorer) restarts(c int, failed bool) bool {
	return x.isSidecar(c) || x.pod.Policy == corev1.RestartPolicyAlways || x.pod.Policy == corev1.RestartPolicyOnFailure && failed
}

// over tells whether the phase computed from the snapshot is terminal, R38, R62.
func (x *explorer) over(s state) bool {
	for c := range x.pod.Init {
		if i := s.seen[c]; !x.isSidecar(c) && i.run >= 0 && !i.running && i.failed && !x.restarts(c, true) {
			return true // though a sidecar before it may still run
		}
	}
	for c := range x.all {
		i := s.seen[c]
		if x.isRegular(c) && (i.run < 0 || i.running || x.restarts(c, i.failed)) || x.isSidecar(c) && i.running {
			return false
		}
	}
	return true
}

// plan sets what a sync kills and starts, R59 to R63, R12, R52. It returns true
// where nothing is left to run, R74.
func (x *explorer) plan(s *state) (killPod bool) {
	initialised := len(x.pod.Init) == 0
	for c := len(x.pod.Init); c < len(x.all); c++ { // R64
		initialised = initialised || s.seen[c].running || x.v.Has(kubelet.InitPerSandbox) && s.seen[c].run >= 0
	}
	frontier := -1
	for c := range x.pod.Init {
		if s.seen[c].run >= 0 {
			frontier = c
		}
	}
	release := !initialised && frontier < 0 // the entry behind the frontier may come
	for c := range x.pod.Init {
		i := s.seen[c]
		switch {
		case x.isSidecar(c) && i.run < 0:
			s.starts[c] = initialised
		case x.isSidecar(c) && !i.running:
			s.starts[c] = true // R63
		case x.isSidecar(c):
			if x.condemned(*s, c) {
				s.victims[c], s.starts[c] = true, true
			}
			if c == frontier && x.started(*s, c) && s.is[c].probes[0] != bad {
				release = release || !initialised // R60
			}
		case c == frontier && !initialised && i.run >= 0 && !i.running:
			if i.failed {
				s.starts[c] = true // R62; policy Never is over
			} else {
				release = true // R59
			}
		}
	}
	if release {
		if frontier+1 < len(x.pod.Init) {
			s.starts[frontier+1] = true
			return false
		}
		initialised = true // R61
	}
	if !initialised {
		return false
	}
	left := false
	for c := len(x.pod.Init); c < len(x.all); c++ {
		i := s.seen[c]
		switch {
		case i.run < 0, !i.running && x.restarts(c, i.failed):
			s.starts[c] = true
		case i.running && x.condemned(*s, c):
			s.victims[c], s.starts[c] = true, x.pod.Policy != corev1.RestartPolicyNever
		case i.running:
			left = true
		}
		left = left || s.starts[c]
	}
	return !left
}
