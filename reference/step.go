package reference

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// model is everything that does not change while a trace is read.
type model struct {
	k   Kubelet
	p   *plan
	src source
	ev  evidence
	// logOnly: nothing but the log was recorded.
	logOnly bool
}

// reading is how far a trace has been read: what the observations so far have shown.
type reading struct {
	*model
	h []history
	// shownAt is the latest update, as an observation + 1, and phase the one
	// that it showed.
	shownAt int32
	phase   corev1.PodPhase
	// ready: the latest update showed the Pod as ready.
	ready bool
	// initialized: an update showed the Pod as initialized.
	initialized bool
	// now is the observation that is being taken, and n its index.
	now *observation
	n   int
	// next: a line without a number is of the instance after the one that it
	// seems to be of.
	next bool
	// one is a buffer, so that a line which changes nothing costs no memory.
	one [1]state
}

// ob returns observation n.
func (r *reading) ob(n int) *observation {
	if n == r.n && r.now != nil {
		return r.now
	}
	return r.src.at(n)
}

// same returns the state alone, in a buffer that the next call uses again.
func (r *reading) same(s state) []state {
	r.one[0] = s
	return r.one[:]
}

func newReading(m *model) reading { return reading{model: m, h: newHistory(m.p)} }

// at names observation n as the cause of a fact under a rule.
func at(n int, rule string) cause { return cause{int32(n) + 1, rule} }

// step returns the states that may follow s once observation n has been made,
// with no more hidden steps taken than it forces. None means that s does not
// admit it, for the reason given.
func (r *reading) step(s state, n int) ([]state, *denial) {
	o := r.ob(n)
	switch e := o.entry; {
	case o.isLog:
		return r.onLine(s, n)
	case e.Pod != nil:
		return r.onPod(s, n)
	case e.Event != nil:
		return r.onEvent(s, n)
	}
	return r.same(s), nil
}

// mayExit reports whether the kubelet may go by such an exit code of instance x of
// container i: the one that it was shown to have ended with, else the one that it
// logged. A process that is being stopped may be killed between its last line and
// its exit.
func (r *reading) mayExit(i int, x *seen, such func(code int32) bool) bool {
	all := r.ev.c[i].exits[x.run]
	last := x.mainEnd
	if last == 0 {
		last = x.last
	}
	if !r.ev.newSandbox || last == 0 {
		if len(all) > 0 {
			return such(all[len(all)-1].ExitCode)
		}
		return such(x.mainCode)
	}
	// In a new sandbox another instance may have that number, and several may have been
	// shown with in one second.
	at, shown := r.written(int(last)-1), false
	for _, all := range r.ev.c[i].exits {
		for _, end := range all {
			if at.Before(end.StartedAt.Time) || at.After(end.FinishedAt.Add(time.Second+stampSlack)) {
				continue
			}
			if shown = true; such(end.ExitCode) {
				return true
			}
		}
	}
	return !shown && such(x.mainCode)
}

// failed reports whether an exit code is that of a failure.
func failed(code int32) bool { return code != 0 }

// seenOf is what the lines have shown of the newest instance of container i in
// state s.
func (r *reading) seenOf(s *state, i int) *seen { return r.h[i].at(s.c[i].run) }

func firstOf(a, b *denial) *denial {
	if a != nil {
		return a
	}
	return b
}

// stopping is for how long a kubelet that is told to stop may go on. This is
// patience.
const stopping = 5 * time.Second

// cutOff reports whether the kubelet was restarted between two observations:
// the hook that it ran has died then, without an end.
func (r *reading) cutOff(from int32, n int) bool {
	return slices.ContainsFunc(r.ev.restarts, func(x int32) bool {
		if x > from || int(x) > n+1 {
			return int(x) <= n+1
		}
		return r.ob(int(from) - 1).at().Before(r.ob(int(x) - 1).entry.At.Add(stopping))
	})
}

// kubeletRestarted reports whether the kubelet was restarted by observation n.
func (r *reading) kubeletRestarted(n int) bool { return r.cutOff(0, n) }

// killedAtLast reports whether instance x of container i may have been killed between
// its last line and its exit, because its postStart hook had died without a line: no
// status shows its exit code.
func (r *reading) killedAtLast(i int, x *seen) bool {
	return r.p.containers[i].postStart && x.hookEnd == 0 && (r.logOnly || r.ev.c[i].hookFailed) && len(r.ev.c[i].exits[x.run]) == 0
}
