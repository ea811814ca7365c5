package explore

import "github.com/podorder/podorder/reference/kubelet"

// probeWorkers is what they do without a line.
func (x *explorer) probeWorkers(s state, next func(state)) {
	for c, spec := range x.all {
		i := s.is[c]
		for k, p := range []*kubelet.Probe{spec.Startup, spec.Readiness, spec.Liveness} {
			if p == nil {
				continue
			}
			to := s
			switch {
			case i.probes[k] == ended || i.probes[k] == failing: // the result is stored
				to.is[c].probes[k] = gone
				if i.probes[k] == failing {
					to.is[c].probes[k] = bad
				}
				next(to)
			case i.probes[k] == absent && i.alive() && int(i.run) < x.o.Runs && s.shown[c] == i.run && x.mayProbe(s, c, k):
				to.is[c].probes[k] = silent
				next(to)
			}
		}
	}
}

// mayProbe reports whether a probe may run: the startup probe holds the others back, and
// only readiness probes outlast the beginning of the termination, and those of sidecars
// up to 1.37.
func (x *explorer) mayProbe(s state, c, k int) bool {
	if s.at == terminating && k != 1 && (x.isRegular(c) || x.v.Has(kubelet.SidecarProbesStop)) {
		return false
	}
	return k == 0 || x.started(s, c)
}

// started reports whether the newest instance has had its startup probe's
// success.
func (x *explorer) started(s state, c int) bool {
	p := x.all[c].Startup
	return p == nil || s.is[c].probes[0] == gone && p.WithDefaults().Successes == 1
}

// condemned reports whether a probe wants the newest instance killed.
func (x *explorer) condemned(s state, c int) bool {
	live, start := x.all[c].Liveness, x.all[c].Startup
	return s.is[c].probes[2] == bad && live.WithDefaults().Failures == 1 || s.is[c].probes[0] == bad && start.WithDefaults().Failures == 1
}
