package explore

// worker is the next step of the Pod's worker.
func (x *explorer) worker(s state, next func(state)) {
	switch s.at {
	case idle:
		x.idle(s, next)
	case killing:
		x.killing(s, next)
	case natural, terminating:
		x.killPod(s, next)
	case leaving:
		s.at = terminating // the workers of liveness and startup probes stop
		next(s)
	case starting:
		x.starting(s, next)
	}
}

// idle is the worker between two calls: it waits for a snapshot.
func (x *explorer) idle(s state, next func(state)) {
	relisted := s
	for c, i := range s.is {
		relisted.seen[c] = seen{i.run, i.alive(), i.main == gone && i.failed, i.again}
	}
	relisted.fresh = true
	next(relisted)
	if !s.fresh {
		return
	}
	if s.finished || x.o.Deletion {
		to := x.published(s)
		to.at = leaving
		to.all(x, func(c int) {
			if s.seen[c].running {
				to.kill[c] = called
			}
		})
		next(to.forget())
	}
	if !s.finished {
		next(x.sync(s))
	}
}

// published is the generation at the beginning of a call.
func (x *explorer) published(s state) state {
	for c := range x.all {
		s.shown[c] = -1
		if s.seen[c].running {
			s.shown[c] = s.seen[c].run
		}
	}
	return s
}

// sync begins a sync: the status, then the plan.
func (x *explorer) sync(s state) state {
	s = x.published(s)
	if x.over(s) {
		s.finished = true
		return s.ends()
	}
	killPod := x.plan(&s)
	for c := range x.all {
		s.had[c] = s.starts[c] && (s.seen[c].again || s.seen[c].run >= 0 && !s.seen[c].running)
	}
	switch {
	case killPod:
		s.at = natural
		s.victims, s.starts, s.had = [most]bool{}, [most]bool{}, [most]bool{}
		for c := range x.all {
			if s.seen[c].running {
				s.kill[c] = called
			}
		}
	case s.victims != [most]bool{}:
		s.at = killing
	default:
		s.at = starting
	}
	return s.forget()
}
