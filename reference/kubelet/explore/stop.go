package explore

import "github.com/podorder/podorder/reference/kubelet"

// killing kills what probes have condemned.
func (x *explorer) killing(s state, next func(state)) {
	left, active := false, false
	for c := range x.all {
		left = left || s.victims[c] || s.kill[c] != none && s.kill[c] != stoppedNow
		active = active || s.kill[c] != none && s.kill[c] != stoppedNow
	}
	if !left {
		s.at, s.kill = starting, [most]step{}
		next(s)
		return
	}
	for c := range x.all {
		if s.victims[c] && (!active || x.v.Has(kubelet.ParallelKills)) {
			to := s
			to.victims[c], to.kill[c] = false, called
			next(to)
		}
		x.kill(s, c, false, x.o.KillGraceEnds, next)
	}
}

// killPod kills all at once, sidecars in their order.
func (x *explorer) killPod(s state, next func(state)) {
	grace, left := x.o.KillGraceEnds, false
	if s.at == terminating {
		grace = x.o.GraceEnds
	}
	for c := range x.all {
		left = left || s.kill[c] != none && s.kill[c] != stoppedNow
		x.kill(s, c, true, grace, next)
	}
	switch {
	case left:
	case s.at == natural:
		next(s.ends())
	default:
		s = s.ends()
		s.at = done
		next(s)
	}
}

// kill is the next step of one kill.
func (x *explorer) kill(s state, c int, ordered, graceEnds bool, next func(state)) {
	i := &s.is[c]
	switch s.kill[c] {
	case called:
		s.kill[c] = waits
		if x.all[c].PreStop != kubelet.None && i.alive() {
			s.kill[c], i.pre = inPreStop, silent
		}
		next(s)
	case inPreStop:
		switch {
		case i.pre == ended || i.pre == failing:
			s.kill[c], i.pre = waits, absent
			next(s)
		case graceEnds: // it is abandoned, not stopped
			s.kill[c] = waits
			next(s)
		}
	case waits:
		if ordered && !graceEnds && !x.turn(s, c) {
			return
		}
		if i.alive() {
			s.kill[c], i.term = termed, true
		} else {
			s.kill[c], i.pre = stoppedNow, absent
		}
		next(s)
	case termed:
		if !i.alive() {
			s.kill[c], i.pre = stoppedNow, absent
			next(s)
		}
	}
}

// turn reports whether a container may be stopped: a sidecar after all
// regular containers and the next later sidecar.
func (x *explorer) turn(s state, c int) bool {
	if !x.isSidecar(c) {
		return true
	}
	later := false
	for d := c + 1; d < len(x.all); d++ {
		if x.isRegular(d) || x.isSidecar(d) && !later {
			if s.kill[d] != none && s.kill[d] != stoppedNow {
				return false
			}
			later = later || x.isSidecar(d)
		}
	}
	return true
}
