package explore

import (
	"slices"

	"github.com/podorder/podorder/reference/kubelet"
)

// starting is the next step of the starts: one after the other.
func (x *explorer) starting(s state, next func(state)) {
	c := slices.Index(s.starts[:], true)
	if c < 0 {
		next(s.ends())
		return
	}
	i := &s.is[c]
	over := func(s state, err bool) {
		s.starts[c], s.had[c], s.part = false, false, create
		s.kill[c] = none
		if err && !x.isRegular(c) && !x.isSidecar(c) {
			s = s.ends()
		}
		next(s)
	}
	switch s.part {
	case create:
		if x.o.StartErrors || s.had[c] && s.entry[c] {
			over(s, true)
		}
		s.entry[c] = s.entry[c] || s.had[c]
		start := func(s state, run int8) {
			i := &s.is[c]
			*i = newest{run: run, again: i.run >= 0, main: silent}
			s.shown[c] = -1 // what the status shows is the one before
			s.part = callHook
			if x.all[c].PostStart == kubelet.None {
				over(s, false)
				return
			}
			next(s)
		}
		if x.o.Silent && i.run >= 0 && !i.wrote { // one that wrote nothing may have taken no number
			start(s, i.run)
		}
		start(s, min(i.run+1, int8(x.o.Runs)))
	case callHook: // after the main process has been started
		s.part = hookFailed
		if i.alive() {
			s.part, i.post = inHook, silent
		} else {
			s.kill[c] = called
		}
		next(s)
	case inHook:
		switch i.post {
		case ended:
			i.post = absent
			over(s, false)
		case failing:
			i.post = absent
			s.part, s.kill[c] = hookFailed, called
			next(s)
		}
	case hookFailed: // it is killed like any other
		if s.kill[c] == stoppedNow {
			over(s, false) // and what follows comes all the same
			return
		}
		x.kill(s, c, false, x.o.KillGraceEnds, next)
	}
}
