package explore

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/kubelet"
)

// restarts reports whether a container is started again after it has ended.
func (x *explorer) restarts(c int, failed bool) bool {
	return x.isSidecar(c) || x.pod.Policy == corev1.RestartPolicyAlways || x.pod.Policy == corev1.RestartPolicyOnFailure && failed
}

// over reports whether the phase computed from the snapshot is terminal.
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

// plan sets what a sync kills and starts. It returns true where nothing is left
// to run.
func (x *explorer) plan(s *state) (killPod bool) {
	initialized := len(x.pod.Init) == 0
	for c := len(x.pod.Init); c < len(x.all); c++ {
		initialized = initialized || s.seen[c].running || x.v.Has(kubelet.InitPerSandbox) && s.seen[c].run >= 0
	}
	frontier := -1
	for c := range x.pod.Init {
		if s.seen[c].run >= 0 {
			frontier = c
		}
	}
	release := !initialized && frontier < 0 // the entry after the frontier may start
	for c := range x.pod.Init {
		i := s.seen[c]
		switch {
		case x.isSidecar(c) && i.run < 0:
			s.starts[c] = initialized
		case x.isSidecar(c) && !i.running:
			s.starts[c] = true // a sidecar is always started again
		case x.isSidecar(c):
			if x.condemned(*s, c) {
				s.victims[c], s.starts[c] = true, true
			}
			if c == frontier && x.started(*s, c) && s.is[c].probes[0] != bad {
				release = release || !initialized
			}
		case c == frontier && !initialized && i.run >= 0 && !i.running:
			if i.failed {
				s.starts[c] = true // with policy Never the Pod is finished by now
			} else {
				release = true
			}
		}
	}
	if release {
		if frontier+1 < len(x.pod.Init) {
			s.starts[frontier+1] = true
			return false
		}
		initialized = true
	}
	if !initialized {
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
