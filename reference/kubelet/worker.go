package kubelet

// work is the worker of the Pod. Everything that the kubelet does to the
// containers of one Pod it does here, one call after another: a sync, or the
// end of the Pod. A call that is under way is never interrupted. What is heard
// meanwhile, be it a deletion, a failed probe or a container that has ended, is
// merged into one request for the next call.
//
// So while a postStart hook runs, which is in the midst of a sync, no container
// is started, restarted, or stopped for a probe, and the Pod is not terminated.
//
// hooks/one-at-a-time, restart/kill-after-sync, terminate/after-sync
func (k *kubelet) work(p *proc) {
	p.await(func() bool { return k.podSeen })
	k.finished = terminal(k.api.pod.Status.Phase)
	last := -1 // when the call before ended
	for {
		p.awaitUntil(k.requeue, func() bool { return k.wake })
		k.wake = false
		// Which call it is, is settled now. Then the worker waits for a snapshot
		// of the runtime that is newer than the end of the last call.
		//
		// start/restart-after-sync
		ends := k.deleted || k.evicted || k.finished
		k.images = k.heard
		p.await(func() bool { return k.snapshot != nil && k.snapshot.at > last })
		if ends {
			// There is no sync any more from here on.
			//
			// terminate/no-start-after
			k.terminatePod(p)
			last = k.now
			p.await(func() bool { return k.snapshot.at > last })
			k.terminatedPod(p)
			return
		}
		err := k.sync(p, *k.snapshot)
		last = k.now
		k.requeueAfter(err)
	}
}

// requeueAfter says when the worker runs again by itself: after a minute, or,
// where the sync met an error, sooner.
func (k *kubelet) requeueAfter(err *syncError) {
	jitter := func(ms int) int { return ms + k.upTo(ms/2) }
	delay := 0
	switch {
	case err == nil:
		delay = jitter(60000)
	case err.backoff >= 0 && k.has(AimedRetry):
		delay = jitter(min(max(err.backoff, 0), 60000))
	default:
		delay = jitter(10000)
	}
	k.requeue = k.now + delay + k.upTo(1000) // the queue is polled once a second
	if k.finished {
		k.wake = true
	}
}

// syncError is why a sync failed; backoff is the time left of the earliest
// crash-loop back-off among its errors, -1 if there is none.
type syncError struct{ backoff int }

func (e *syncError) and(f *syncError) *syncError {
	switch {
	case e == nil:
		return f
	case f == nil || f.backoff < 0:
		return e
	case e.backoff < 0:
		return f
	}
	return &syncError{min(e.backoff, f.backoff)}
}

// relist is the Pod Lifecycle Event Generator (PLEG), by which the kubelet
// learns that a container has started or ended: a pass over the runtime, one
// second after the last one, or for this Pod alone where that is asked for. A
// change wakes the worker.
func (k *kubelet) relist(p *proc) {
	next := k.now + k.upTo(1000)
	for {
		alone := p.awaitUntil(next, func() bool { return k.relistNow })
		k.relistNow = false
		p.sleep(1)
		list := k.look()
		v := k.inspect(p, list)
		p.sleep(k.upTo(30))
		if k.listed == nil || k.listed.differs(list) {
			k.wake = true
		}
		k.listed, k.snapshot = &list, &v
		if !alone {
			next = k.now + 1000
		}
	}
}

// differs reports whether a relist has something to say: anything but a container
// that was removed.
func (v snapshot) differs(w snapshot) bool {
	if v.sandbox != w.sandbox || v.ready != w.ready {
		return true
	}
	for c := range w.newest {
		a, b := v.newest[c], w.newest[c]
		if b != nil && (a == nil || a.id != b.id || a.running != b.running) {
			return true
		}
	}
	return false
}
