package reference

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/trace"
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

// reading is how far a trace has been read: the set of states in which the Pod
// may be, and what the observations so far have shown.
type reading struct {
	*model
	states []state
	h      []history
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
	// one and spare are buffers, so that a line which changes nothing costs no
	// memory.
	one   [1]state
	spare []state
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

func newReading(m *model) *reading {
	return &reading{model: m, states: []state{newState(m.p)}, h: newHistory(m.p)}
}

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

// exitCode is what the kubelet goes by: the code with which instance x of container i
// was shown to have ended, else the one that it logged. A process that is being
// stopped may be killed between its last line and its exit.
func (r *reading) exitCode(i int, x *seen) int32 {
	all := r.ev.exits[i][x.run]
	last := x.mainEnd
	if last == 0 {
		last = x.last
	}
	if !r.ev.newSandbox || last == 0 {
		if len(all) > 0 {
			return all[len(all)-1].ExitCode
		}
		return x.mainCode
	}
	// In a new sandbox another instance may have that number. What several may have been
	// shown with in one second is not known.
	at, code, found := r.written(int(last)-1), x.mainCode, false
	for _, all := range r.ev.exits[i] {
		for _, end := range all {
			if at.Before(end.StartedAt.Time) || at.After(end.FinishedAt.Add(time.Second+stampSlack)) {
				continue
			}
			if found && end.ExitCode != code {
				return x.mainCode
			}
			code, found = end.ExitCode, true
		}
	}
	return code
}

// seenOf is what the lines have shown of the newest instance of container i in
// state s.
func (r *reading) seenOf(s *state, i int) *seen { return r.h[i].at(s.c[i].run) }

// start is the hidden step to instance run of container i, forced by
// observation n. It returns every way to get there.
func (r *reading) start(s state, i int, run int32, n int) ([]state, *denial) {
	s = r.undone(s, n)
	c := &s.c[i]
	if s.ending.known() && (c.kill == byEnding || c.fresh && c.gone.known() || r.seenOf(&s, i).last >= s.ending.obs) {
		// Otherwise it was started before, and its first line came late.
		return nil, deny(ruleNoStart, s.ending)
	}
	if s.ending.known() && c.fresh && i < r.p.inits {
		// The one before it had to end before the Pod did.
		for j := range i {
			if x := r.seenOf(&s, j); r.p.containers[j].role == initContainer && (!s.c[j].done.known() || s.c[j].done.obs > s.ending.obs) && (x.mainEnd == 0 || x.mainEnd > s.ending.obs) {
				return nil, deny(ruleNoStart, s.ending)
			}
		}
	}
	var next []state
	var d *denial
	switch lost := r.leftSandbox(&s); {
	case lost.known() && (c.kill == bySandbox || r.seenOf(&s, i).last >= lost.obs):
		d = deny(ruleNoStart, lost)
	case c.fresh:
		next, d = r.unseenFirst(s.clone(), i, run, n)
	default:
		next, d = r.restart(s, i, run, n)
	}
	if r.mayBeginAnew(&s) {
		more, other := r.unseenFirst(r.beginAnew(s, n), i, run, n)
		next = append(next, more...)
		if d == nil {
			d = other
		}
	}
	if len(next) == 0 {
		return nil, d
	}
	if s.ending.known() {
		for a := range next {
			r.settle(&next[a], i, n, ruleTermAfterSync)
			r.hadStopped(&next[a], i)
		}
	}
	return next, nil
}

// hadStopped: a container that shows only after a sidecar before it got TERM
// with grace left had stopped by then.
func (r *reading) hadStopped(s *state, i int) {
	rule := ruleSidecarsReverse
	if i >= r.p.inits {
		rule = ruleSidecarsLast
	}
	for j := range min(i, r.p.inits) {
		x := r.seenOf(s, j)
		if c := &s.c[i]; r.p.containers[j].role == sidecar && r.waitsFor(s, j, i) && s.c[j].kill == byEnding && x.term != 0 && !c.gone.known() && r.graceLeft(s, j, int(x.term)-1) {
			c.gone = cause{x.term, rule}
		}
	}
}

// unseenFirst starts instance run of container i in a round in which none was
// started before. If it is not the next one, that was started, and the one that
// was seen is a restart of it. The state is the caller's own.
func (r *reading) unseenFirst(s state, i int, run int32, n int) ([]state, *denial) {
	// The runs that the kubelet counts go on where a new round begins; a log
	// that begins in the middle of a round may have any.
	first, again := s.c[i].run+1, s.clone()
	states, d := r.firstStart(s, i, min(first, run), n)
	if run <= first {
		return states, d
	}
	var next []state
	for _, t := range states {
		more, other := r.restart(t, i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	if s.anew {
		// Or those before it were of the round before, and left no line.
		more, other := r.firstStart(again, i, run, n)
		next, d = append(next, more...), firstOf(d, other)
	}
	return next, d
}

// firstStart starts container i for the first time in this round. The state is
// the caller's own.
func (r *reading) firstStart(s state, i int, run int32, n int) ([]state, *denial) {
	if c := &s.c[i]; c.gone.known() {
		return nil, deny(c.gone.rule, c.gone)
	}
	var next []state
	switch {
	case r.p.containers[i].role == ephemeral:
		after, _, _ := r.free(s, i, n)
		return []state{begun(after, i, run)}, nil
	case i < r.p.inits:
		states, d := r.initialize(s, i, n)
		for _, t := range states {
			next = append(next, begun(t, i, run))
		}
		return next, d
	}
	if !s.c[i].late && !s.synced.known() {
		states, d := r.reach(s.clone(), i, n)
		if d != nil {
			return nil, d
		}
		held := r.startedBehind(&s, n)
		for _, t := range states {
			if t = begun(t, i, run); !held {
				next = append(next, t)
				continue
			}
			after, other := r.endSync(t, n, ruleSidecarStarted)
			next, d = append(next, after...), firstOf(d, other)
		}
		if len(next) == 0 {
			return nil, d
		}
	}
	if s.c[i].late || r.mayBeLate(&s, i) || r.kubeletRestarted(n) {
		// The first start failed, was cut off, or had to wait; a later sync,
		// which begins when the first one has ended, starts it.
		t := s.clone()
		t.c[i].late = true
		states, d := r.endSync(t, n, ruleRestartSerial)
		if d != nil && len(next) == 0 {
			return nil, d
		}
		for _, t := range states {
			next = append(next, begun(t, i, run))
		}
	}
	if len(next) == 0 {
		return nil, deny(ruleListedOrder, s.synced)
	}
	return next, nil
}

// startedBehind reports whether a sidecar that has been started again, and not come
// to its start by observation n, lets a regular container show only now: that was
// started behind the instance before, so its sync had ended when the sidecar was
// started again. A sidecar behind which others had come to their start is started
// again by the sync that starts the regular containers, which waits for its hook
// alone.
func (r *reading) startedBehind(s *state, n int) bool {
	for j := range r.p.inits {
		c := &s.c[j]
		if r.p.containers[j].role != sidecar || c.fresh || c.done.known() || !r.neverKilled(j) {
			continue
		}
		x := r.seenOf(s, j)
		waits := j == r.p.inits-1 || r.p.containers[j].postStart && x.hookEnd == 0 && r.ev.marks(j, trace.PostStart)
		if now, d := r.sidecarStarted(c, x, j, n); waits && !now && d == nil {
			return true
		}
	}
	return false
}

// mayBeLate reports whether another sync than the first one of this round may
// start container i: its start failed, or its back-off goes on in a new sandbox.
func (r *reading) mayBeLate(s *state, i int) bool {
	return r.ev.startFailed[i] || s.anew && r.ev.newSandbox && r.ev.runs[i] >= 2
}

// begun has instance run of container i started, the first of this round.
func begun(s state, i int, run int32) state {
	c := &s.c[i]
	c.run, c.fresh, c.first = run, false, true
	return s
}

// initialize takes the Pod to where what is listed behind its first k init
// containers and sidecars may start: each of these has exited with 0, or has
// been started. The state is the caller's own.
func (r *reading) initialize(s state, k, n int) ([]state, *denial) {
	k = min(k, r.p.inits)
	for j := range k {
		c, x, spec := &s.c[j], r.seenOf(&s, j), &r.p.containers[j]
		if c.done.known() {
			continue
		}
		fresh := c.fresh
		if fresh {
			// It has run without a line so far, and, if it is no sidecar, ended.
			if c.gone.known() {
				return nil, deny(c.gone.rule, c.gone)
			}
			s, x = begun(s, j, c.run+1), &unseen
			c = &s.c[j]
		}
		if spec.role == sidecar {
			now, d := r.sidecarStarted(c, x, j, n)
			if d != nil {
				return nil, d
			}
			c.done = at(n, ruleSidecarStarted)
			if now {
				r.settle(&s, j, n, ruleSidecarStarted)
			}
			continue
		}
		rule := ruleInitSerial
		if k == r.p.inits {
			rule = ruleInitFirst
		}
		switch {
		case r.ev.logGap:
		case x.mainEnd != 0 && x.mainCode != 0:
			return nil, deny(ruleInitFailure, cause{x.mainEnd, ruleInitFailure})
		case x.mainEnd == 0 && x.mainBegin != 0:
			return nil, because(deny(rule, cause{x.mainBegin, rule}), "init container %s has begun and not ended", spec.name)
		case x.mainEnd == 0 && r.ev.marks(j, trace.Main):
			return nil, because(deny(rule), "init container %s writes the end of its main process, and has not done so", spec.name)
		case x.mainEnd != 0:
			rule = ruleInitOnce
		}
		c.done, c.gone = at(n, rule), at(n, rule)
		if x.mainEnd != 0 {
			c.gone = cause{x.mainEnd, ruleInitOnce}
		}
	}
	return []state{s}, nil
}

// sidecarStarted reports why sidecar j cannot have been started by now: its
// hook failed or still runs, or its startup probe has not succeeded. It tells
// whether the newest instance has been started; an earlier one of this round
// may have been, whatever has become of it.
func (r *reading) sidecarStarted(c *instance, x *seen, j, n int) (now bool, why *denial) {
	spec := &r.p.containers[j]
	if r.ev.logGap {
		return true, nil
	}
	var first *denial
	for k, x := range append([]seen{*x}, r.h[j].runs...) {
		switch {
		case k > 0 && (x.run > c.run || x.run <= c.before):
			continue // of later, or of another round
		case x.hookEnd != 0 && x.hookCode != 0 && !r.cutOff(x.hookEnd, n):
			first = firstOf(first, deny(ruleSidecarHook, cause{x.hookEnd, ruleSidecarHook}))
		case spec.postStart && x.hookEnd == 0 && (x.hookBegin != 0 || r.ev.marks(j, trace.PostStart)) && !r.cutOff(x.hookBegin, n):
			first = firstOf(first, because(deny(ruleSidecarStarted, cause{x.hookBegin, ruleSidecarStarted}), "the postStart hook of sidecar %s has not ended", spec.name))
		case spec.startup.declared && r.ev.writes(j, trace.StartupProbe) && x.started == 0:
			first = firstOf(first, because(deny(ruleSidecarStarted, cause{x.last, ruleSidecarStarted}), "no startup probe of sidecar %s has succeeded by then", spec.name))
		default:
			return k == 0, nil
		}
	}
	return false, first
}

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
		since := r.ob(int(from) - 1)
		at := since.entry.At
		if since.isLog {
			at = since.log.Time
		}
		return at.Before(r.ob(int(x) - 1).entry.At.Add(stopping))
	})
}

// kubeletRestarted reports whether the kubelet was restarted by observation n.
func (r *reading) kubeletRestarted(n int) bool { return r.cutOff(0, n) }

// settle forces that the postStart hook of the newest instance of container j
// has returned. One that logged its begin and no end died instead: with its
// container, or with the kubelet, or the container is stopped because of it.
func (r *reading) settle(s *state, j, n int, rule string) {
	c := &s.c[j]
	if c.kill == byHook && !c.gone.known() && !r.cutOff(c.killed.obs, n) {
		c.gone, c.dead = at(n, rule), true // the kill is part of the start, and waited for
	}
	if c.returned.known() || c.fresh {
		return
	}
	x := r.seenOf(s, j)
	c.returned = at(n, rule)
	failed := x.hookEnd != 0 && x.hookCode != 0 && !r.cutOff(x.hookEnd, n)
	if !r.p.containers[j].postStart || x.hookEnd != 0 && !failed || r.ev.logGap || r.cutOff(x.hookBegin, n) {
		return
	}
	if failed || x.hookBegin != 0 || r.ev.marks(j, trace.PostStart) {
		c.dead = true
		if !c.gone.known() {
			c.gone = at(n, rule)
		}
	}
}

// reach takes the start sync to where it starts container i: the Pod is
// initialized, and every regular container listed before it has been started
// and its postStart hook has returned, unless its start failed.
func (r *reading) reach(s state, i, n int) ([]state, *denial) {
	return r.pass(s, i, n, r.passRule)
}

// pass takes the start sync past the regular containers before container i;
// see reach. In one branch for each whose start may have failed, it is left to
// a later sync. The state is the caller's own.
func (r *reading) pass(s state, i, n int, rule func(int) string) ([]state, *denial) {
	states, d := r.initialize(s, r.p.inits, n)
	if d != nil {
		return nil, d
	}
	for j := r.p.inits; j < i; j++ {
		if c := &states[0].c[j]; c.late || !c.fresh && !c.first {
			continue
		}
		for a := range states {
			c := &states[a].c[j]
			if c.fresh && r.mayBeLate(&states[a], j) {
				t := states[a].clone()
				t.c[j].late = true
				states = append(states, t)
			}
			if c.fresh {
				states[a] = begun(states[a], j, c.run+1)
			}
			r.settle(&states[a], j, n, rule(j))
		}
	}
	return states, nil
}

// passRule is the rule by which a later start shows that container j is done
// with its own.
func (r *reading) passRule(j int) string {
	if r.p.containers[j].postStart {
		return ruleBlocksNext
	}
	return ruleListedOrder
}

// endSync takes the start sync to its end: every regular container has been
// started and every hook has returned, by the given rule; see pass.
func (r *reading) endSync(s state, n int, rule string) ([]state, *denial) {
	if s.synced.known() {
		return []state{s.clone()}, nil
	}
	states, d := r.pass(s.clone(), r.p.inits+r.p.regulars, n, func(int) string { return rule })
	for a := range states {
		states[a].synced = at(n, rule)
	}
	if d == nil && r.kubeletRestarted(n) {
		// Or the kubelet was stopped in the middle of it, and another sync
		// starts what was left.
		if more, _ := r.initialize(s.clone(), r.p.inits, n); more != nil {
			t := more[0]
			for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ {
				t.c[j].late = t.c[j].late || t.c[j].fresh
				r.settle(&t, j, n, rule)
			}
			t.synced = at(n, rule)
			states = append(states, t)
		}
	}
	return states, d
}

// restart is the hidden step to a later instance of container i within this
// round. The sync that does it begins after the sync that started the instance
// before.
func (r *reading) restart(s state, i int, run int32, n int) ([]state, *denial) {
	if d := r.mayRestart(&s, i, run, n); d != nil {
		return nil, d
	}
	states, d := r.instanceDone(s, i, n, ruleRestartSerial)
	if d != nil {
		return nil, d
	}
	again := func(t state, returned cause) state {
		prompt := r.diedStarting(&t, i)
		t.c[i] = instance{run: run, before: s.c[i].before, late: s.c[i].late, done: t.c[i].done, returned: returned, prompt: prompt && run == 1}
		return t
	}
	var next []state
	for _, t := range states {
		if r.shownRunning(&t, i) {
			r.startLeft(&t, i, n, ruleRestartSerial)
		}
		r.dueFirst(&t, i, n)
		after, before, by := r.free(t, i, n)
		for j := range i {
			if r.replacedFirst(&after, j, i) {
				r.startDue(&after, j, n, ruleListedOrder)
			}
		}
		if over, known := r.over(&after, i); known {
			d = firstOf(d, deny(ruleNoStart, over))
		} else {
			next = append(next, again(after, cause{}))
		}
		if before != nil {
			t := again(*before, by)
			if r.p.containers[i].postStart && r.ev.marks(i, trace.PostStart) && !r.ev.logGap && !r.cutOff(0, n) {
				t.c[i].gone = by // its hook has logged no end, so it died with it
			}
			next = append(next, t)
		}
	}
	if len(next) > 0 {
		return next, nil
	}
	return nil, d
}

// replacedFirst reports whether container j, listed before container i and killed
// since a probe had failed, has been started again before what has waited for that
// kill: the sync that kills it does so, the first time without a back-off.
func (r *reading) replacedFirst(s *state, j, i int) bool {
	c, spec := &s.c[j], &r.p.containers[j]
	return c.kill == byProbe && c.gone.known() && c.run == 0 && r.ev.runs[j] > 0 && r.foreseeable(j) && r.foreseeable(i) &&
		r.p.isRegular(j) && r.p.isRegular(i) && spec.policy == corev1.RestartPolicyAlways && len(spec.rules) == 0
}

// over is what shows that the Pod had come to its end before sidecar i could be
// started again: every regular container was dead when the sync that started it
// ended, before the instance of the sidecar was, and none is started again. The next
// sync stops what is left. Up to 1.36 it does so only if what init container or
// sidecar is listed last has run: where that is a sidecar that has exited, it, and
// those before it, are started again first.
func (r *reading) over(s *state, i int) (cause, bool) {
	if r.p.containers[i].role != sidecar || !r.foreseeable(i) {
		return cause{}, false
	}
	if !r.k.endsBeforeSidecars() && r.p.containers[r.p.inits-1].role == sidecar {
		return cause{}, false
	}
	var last cause
	for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ {
		c, x, spec := &s.c[j], r.seenOf(s, j), &r.p.containers[j]
		if !c.dead || !r.foreseeable(j) || spec.policy != corev1.RestartPolicyNever || len(spec.rules) > 0 {
			return cause{}, false
		}
		if x.first == 0 || x.first > r.seenOf(s, i).last {
			return cause{}, false // the sidecar may have been started again before that
		}
		if c.gone.obs > last.obs {
			last = c.gone
		}
	}
	return last, last.known()
}

// isDueFirst reports whether container j, listed before container i, was due in
// every sync that can have started the instance of i after the newest one: an
// update showed both as ended.
func (r *reading) isDueFirst(s *state, j, i, n int) bool {
	if !r.foreseeable(j) || !r.foreseeable(i) {
		return false
	}
	return j < i && r.p.isRegular(i) && (r.diedStarting(s, j) || s.c[j].prompt) || slices.ContainsFunc(r.ev.due, func(d duePair) bool {
		return d.first == j && d.second == i && d.run == s.c[i].run && int(d.obs) <= n
	})
}

// foreseeable reports whether it can be told which sync starts container j again:
// each that finds it exited and its back-off, if there is one, over.
func (r *reading) foreseeable(j int) bool {
	return !r.ev.startFailed[j] && r.ev.changed[j] == 0 && len(r.ev.restarts) == 0 && !r.roundsInTrace()
}

// diedStarting reports whether the first instance of regular container j was dead
// when the sync that started it ended: the next sync, which finds it so, starts the
// container again, and that first time without a back-off. Every restart of another
// regular container comes with that sync or a later one.
func (r *reading) diedStarting(s *state, j int) bool {
	c, spec := &s.c[j], &r.p.containers[j]
	// Of one that wrote nothing the number may be that of the next one.
	counted := r.seenOf(s, j).first != 0 || r.ev.complete
	return c.dead && c.first && !c.late && c.run == 0 && r.ev.runs[j] > 0 && counted &&
		r.p.isRegular(j) && spec.policy == corev1.RestartPolicyAlways && len(spec.rules) == 0
}

// dueFirst starts again what a restart of container i shows to have been
// started by then: a sync starts the containers in the order in which the Pod
// lists them, and waits for the postStart hook of each. Lines alone never show
// which containers were due in one sync: a process ends some time after its last
// line, so the sync that began then may have seen the one exit and not the
// other. Nor is anything demanded of a second restart, which has a back-off, or
// of first lines, which lag.
func (r *reading) dueFirst(s *state, i, n int) {
	for j := range i {
		if !r.isDueFirst(s, j, i, n) {
			continue
		}
		r.startDue(s, j, n, ruleListedOrder)
	}
}

// startDue has container j started again, if it has not been, and waits for its
// postStart hook.
func (r *reading) startDue(s *state, j, n int, rule string) {
	if c := &s.c[j]; c.run == 0 {
		*c = instance{run: 1, before: c.before, late: c.late, done: c.done, prompt: r.diedStarting(s, j)}
	}
	r.settle(s, j, n, rule)
}

// free forces the worker to be free for a start of container i: no postStart
// hook of another container runs, and none is being stopped by a sync. The
// second state, where there is one, has the start come before all that, unseen
// until now; a hook of container i was over by then, for the cause returned with
// it. The state is the caller's own.
func (r *reading) free(s state, i, n int) (after state, before *state, by cause) {
	early, possible := s.clone(), true
	last := r.h[i].newest().last
	for j := range s.c {
		c, x := &s.c[j], r.seenOf(&s, j)
		if j != i && (c.kill == byProbe || c.kill == byHook) && !c.gone.known() && !r.cutOff(c.killed.obs, n) {
			since := c.killed.obs
			if c.kill == byHook && x.first != 0 {
				since = x.first // that is a part of its start
			}
			by = cause{max(by.obs, c.killed.obs), ruleHooksSerial}
			possible = possible && last < since && !r.isDueFirst(&s, j, i, n)
		}
		since := r.hookSince(j, x)
		if j == i || since == 0 || c.fresh || c.returned.known() || c.gone.known() {
			continue
		}
		by = cause{max(by.obs, since), ruleHooksSerial}
		possible = possible && last < x.first && !r.isDueFirst(&s, j, i, n) && !r.awaited(&s, i, j)
		r.settle(&s, j, n, ruleBlocksNext)
	}
	r.killed(&s, i, n, ruleBlocksNext)
	if by.known() && possible {
		before = &early
	}
	return s, before, by
}

// awaited reports whether container j, which has been started for the first time
// in this round, waited for the instance of sidecar i that shows only now, if that
// was started before it: its startup probe would have shown it then. What is listed
// behind a sidecar waits for it only until it has begun itself
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, computeInitContainerActions).
func (r *reading) awaited(s *state, i, j int) bool {
	spec := &r.p.containers[i]
	return spec.role == sidecar && i == r.p.inits-1 && j > i && s.c[j].first && !s.c[j].late && spec.startup.declared && r.ev.writes(i, trace.StartupProbe) && !r.ev.logGap && r.neverKilled(i)
}

// neverKilled reports whether no probe that fails has sidecar i killed once it has
// come to its start: the sync that does so starts it again, and behind it what its
// start had held back.
func (r *reading) neverKilled(i int) bool {
	spec := &r.p.containers[i]
	return r.foreseeable(i) && !spec.liveness.declared && (!spec.startup.declared || !spec.startup.network && r.k.startupProbeStops())
}

// killed forces, where no kubelet was restarted meanwhile, that the containers other than i that a sync was stopping have
// stopped: a sync stops first and starts then, and waits for both.
func (r *reading) killed(s *state, i, n int, rule string) {
	for j := range s.c {
		if c := &s.c[j]; j != i && (c.kill == byProbe || c.kill == byHook) && !c.gone.known() && !r.cutOff(c.killed.obs, n) {
			c.gone, c.dead = at(n, rule), c.kill == byHook
		}
	}
}

// mayRestart says why container i cannot have been started again.
func (r *reading) mayRestart(s *state, i int, run int32, n int) *denial {
	c, spec, x := &s.c[i], &r.p.containers[i], r.seenOf(s, i)
	switch {
	case spec.role == ephemeral:
		return deny(ruleEphemeralOnce, cause{x.last, ruleEphemeralOnce})
	case spec.role == initContainer && c.done.known():
		return deny(ruleInitOnce, c.done)
	case spec.role == initContainer && c.run == run-1 && x.mainEnd != 0 && x.mainCode == 0:
		return deny(ruleInitOnce, cause{x.mainEnd, ruleInitOnce})
	case run > r.ev.runs[i]:
		return deny(ruleInstances, cause{max(x.mainEnd, x.last), ruleInstances})
	case c.run == run-1 && r.tooSoon(i, x, n):
		return because(deny(ruleBackoff, cause{x.last, ruleBackoff}), "container %s is started again %s after its last line; restart %d comes no sooner than %s behind the exit before it",
			spec.name, r.between(int(x.last)-1, n), run, r.backoff(run))
	}
	if spec.role == sidecar {
		return nil
	}
	exited := c.run == run-1 && x.mainEnd != 0
	code := r.exitCode(i, x)
	rule, ruled := ruleMatches(spec.rules, code)
	switch {
	case exited && ruled && rule.Action == corev1.ContainerRestartRuleActionRestart:
	case x.first == 0 && r.kubeletRestarted(n):
		// One that was created, and that its kubelet did not come to start, is made
		// anew whatever the policy says.
	case len(spec.rules) > 0 && !exited:
		// What the rules say depends on an exit code that was not seen.
	case r.replaced(s, i, run, n):
	case spec.policy == corev1.RestartPolicyNever:
		return deny(r.policyRule(spec), cause{max(x.mainEnd, x.term), rulePolicy})
	case spec.policy == corev1.RestartPolicyOnFailure && exited && code == 0 && c.kill == alive && x.failing == 0 && !r.ev.probeFailed[i] && !r.killedAtLast(i, x):
		// One that is being restarted because of a probe is started again
		// however it ended meanwhile.
		return deny(r.policyRule(spec), cause{x.mainEnd, rulePolicy})
	}
	return nil
}

// killedAtLast reports whether instance x of container i may have been killed between
// its last line and its exit, because its postStart hook had died without a line: no
// status shows its exit code.
func (r *reading) killedAtLast(i int, x *seen) bool {
	return r.p.containers[i].postStart && x.hookEnd == 0 && (r.logOnly || r.ev.hookFailed[i]) && len(r.ev.exits[i][x.run]) == 0
}

// replaced reports whether the kubelet may have started instance run of
// container i in the place of one whose definition had changed: it does so
// whatever the policy says, once for each change, with one that ran when the sync
// began (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *reading) replaced(s *state, i int, run int32, n int) bool {
	c, spec, x := &s.c[i], &r.p.containers[i], r.seenOf(s, i)
	if !r.p.isRegular(i) || !r.changedBy(i, n) {
		return false
	}
	// Each kubelet may have left one behind that it had created and not started.
	most := r.ev.changes[i] + int32(len(r.ev.restarts))
	if once := spec.policy == corev1.RestartPolicyNever && len(spec.rules) == 0 && r.p.gates[gateRestartAll] == ""; once && run > most && !r.ev.startFailed[i] {
		return false
	}
	if c.run != run-1 || x.mainEnd == 0 || c.kill != alive {
		return true
	}
	// It ended before anybody stopped it, and a sync may have learned of that
	// late.
	by := r.ob(int(r.ev.changed[i]) - 1).entry
	return by.Did == nil || by.At.Sub(r.written(int(x.mainEnd)-1)) < r.patient(patience)
}

// changedBy reports whether the definition of container i may have been changed
// by observation n.
func (r *reading) changedBy(i, n int) bool {
	c := r.ev.changed[i]
	return c != 0 && int(c) <= n+1
}

// redefined reports whether the kubelet may stop container i by observation n since
// its definition was changed.
func (r *reading) redefined(i, n int) bool {
	return r.changedBy(i, n) && (r.p.isRegular(i) || r.p.containers[i].role == sidecar && r.k.replacesSidecars())
}

// policyRule is the rule that a wrong restart breaks: where the container has a
// policy or rules of its own, theirs.
func (r *reading) policyRule(spec *spec) string {
	if len(spec.rules) > 0 || spec.policy != r.p.policy {
		return ruleExitRules
	}
	return rulePolicy
}

// ruleMatches finds the first restart rule that an exit code matches
// (pkg/api/v1/pod/util.go, ContainerShouldRestart).
func ruleMatches(rules []corev1.ContainerRestartRule, code int32) (corev1.ContainerRestartRule, bool) {
	for _, r := range rules {
		if r.ExitCodes == nil {
			continue
		}
		in := slices.Contains(r.ExitCodes.Values, code)
		if in == (r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return r, true
		}
	}
	return corev1.ContainerRestartRule{}, false
}

// instanceDone forces the end of the sync that started the newest instance of
// container i.
func (r *reading) instanceDone(s state, i, n int, rule string) ([]state, *denial) {
	if c := &s.c[i]; r.p.isRegular(i) && !c.late && (c.fresh || c.first) {
		return r.endSync(s, n, rule)
	}
	t := s.clone()
	r.settle(&t, i, n, rule)
	if c := &t.c[i]; c.run > 0 {
		r.startLeft(&t, i, n, rule)
	}
	return []state{t}, nil
}

// startLeft starts what the sync behind the first one has to start again, once
// that has surely ended, as regular container i shows.
func (r *reading) startLeft(s *state, i, n int, rule string) {
	for j := range r.p.containers {
		if r.isLeft(s, j, i) {
			r.startDue(s, j, n, rule)
		}
	}
}

// isLeft reports whether container j is one of these.
func (r *reading) isLeft(s *state, j, i int) bool {
	c := &s.c[j]
	starts := !c.returned.known() || c.kill == byHook && !c.gone.known()
	due := c.prompt && c.run == 1 && starts || r.diedStarting(s, j)
	return due && j != i && r.p.isRegular(i) && r.foreseeable(j) && r.foreseeable(i)
}

// leftBehind reports whether there is any.
func (r *reading) leftBehind(s *state, i int) bool {
	for j := range r.p.containers {
		if s.c[i].run > 0 && r.isLeft(s, j, i) {
			return true
		}
	}
	return false
}

// shownRunning reports whether a sync has begun with the newest instance of
// container i running: until then it is not probed by a process of its own.
func (r *reading) shownRunning(s *state, i int) bool {
	spec := &r.p.containers[i]
	return r.seenOf(s, i).probed != 0 && !spec.startup.network && !spec.readiness.network && !spec.liveness.network
}

// mayBeginAnew reports whether all containers may have been started anew since
// the last time: the sandbox was lost, or a container asked for it. Where the
// Pod has ended since, that was before, and nothing was seen of it.
func (r *reading) mayBeginAnew(s *state) bool {
	if !slices.ContainsFunc(s.c, func(c instance) bool { return !c.fresh }) {
		return false
	}
	for i := range s.c {
		if s.ending.known() && (s.c[i].kill == byEnding || r.seenOf(s, i).last >= s.ending.obs) {
			return false
		}
	}
	return r.ev.newSandbox && r.p.policy != corev1.RestartPolicyNever || r.asksForAll(s)
}

// sandboxLost reports whether the sandbox may have been replaced since the
// last time. Where nothing is started again it is not, and all is stopped; but what
// is stopped then may exit with a code for which it asks for all to be restarted
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func (r *reading) sandboxLost(s *state) bool {
	replaced := r.p.policy != corev1.RestartPolicyNever || r.p.gates[gateRestartAll] != ""
	return r.ev.newSandbox && replaced && !s.ending.known()
}

// leftSandbox is what shows that a sandbox which is lost for good has all containers
// stopped: none is started again in it.
func (r *reading) leftSandbox(s *state) cause {
	var first cause
	for j := range s.c {
		if c := &s.c[j]; c.kill == bySandbox && r.p.policy == corev1.RestartPolicyNever && (!first.known() || c.killed.obs < first.obs) {
			first = cause{c.killed.obs, ruleNoStart}
		}
	}
	return first
}

// asksForAll reports whether a container has exited with a code for which one
// of its rules restarts all containers.
func (r *reading) asksForAll(s *state) bool {
	_, asks := r.asked(s)
	return asks
}

// asked is the exit, or the last sign, of a container that asks for all to be
// restarted.
func (r *reading) asked(s *state) (cause, bool) {
	if _, ok := r.p.gates[gateRestartAll]; !ok {
		return cause{}, false
	}
	for i := range r.p.containers {
		spec, x := &r.p.containers[i], r.seenOf(s, i)
		if len(spec.rules) == 0 {
			continue
		}
		if r.ev.askedAll[i] && r.ev.runs[i] > s.c[i].run {
			// One that was started since and wrote nothing may have, as a status
			// shows that one did.
			return cause{x.last, ruleRestartAll}, true
		}
		if s.c[i].fresh {
			continue
		}
		rule, ok := ruleMatches(spec.rules, r.exitCode(i, x))
		// A main process that logs no end may have exited with any code; one
		// that died before it could has the code that a status shows.
		if x.mainEnd == 0 && (x.mainBegin == 0 || r.ev.askedAll[i] || r.logOnly) || x.mainEnd != 0 && ok && rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers {
			return cause{max(x.mainEnd, x.last), ruleRestartAll}, true
		}
	}
	return cause{}, false
}

// beginAnew is the hidden step to a new round: every instance has ended, and
// the Pod begins with its first init container.
func (r *reading) beginAnew(s state, n int) state {
	t := s.clone()
	t.anew = true
	t.synced = cause{}
	for i := range t.c {
		if r.p.containers[i].role != ephemeral {
			// One that was created and never ran is not counted by the log.
			run := r.h[i].newest().run
			t.c[i] = instance{run: run, before: -1, fresh: true}
			if r.p.containers[i].role == sidecar {
				t.c[i].before = run
			}
		}
	}
	return t
}

// stop is the hidden step to the kill of container i. It returns one state for
// each reason that the kubelet may have had by observation n.
func (r *reading) stop(s state, i, n int, why ...killing) ([]state, *denial) {
	if s.c[i].kill != alive {
		return []state{s.clone()}, nil
	}
	var next []state
	var first *denial
	for _, w := range why {
		states, d := r.stopFor(s, i, n, w)
		next, first = append(next, states...), firstOf(first, d)
	}
	if len(next) > 0 {
		return next, nil
	}
	if first == nil {
		first = deny(ruleTermCause)
		first.why = "nothing that was seen by then gives the kubelet a reason to stop container " + r.p.containers[i].name
	}
	return nil, first
}

func (r *reading) stopFor(s state, i, n int, w killing) ([]state, *denial) {
	spec, x := &r.p.containers[i], r.seenOf(&s, i)
	stopping := func(t state) state {
		t.c[i].kill, t.c[i].killed = w, at(n, ruleTermCause)
		return t
	}
	switch w {
	case byEnding:
		states, d := r.end(s, i, n)
		var next []state
		for _, t := range states {
			next = append(next, stopping(t))
		}
		return next, d
	case byProbe:
		if !r.redefined(i, n) && !r.probeFailed(&s, i) {
			return nil, nil
		}
		if d := r.tooFewFailures(i, x); d != nil {
			return nil, d
		}
		states, d := r.instanceDone(s, i, n, ruleAfterSync)
		var next []state
		// An Event may come late, and tell of a kill before what lines have shown.
		told, since := !r.ob(n).isLog, int32(n)+1
		if told {
			since = x.failing
		}
		for _, t := range states {
			r.quiet(&t, i, n, ruleKillAfterSync, since)
			if !r.k.killsInParallel() && !told {
				for j := range t.c {
					if c := &t.c[j]; j != i && c.kill == byProbe && !c.gone.known() && !r.cutOff(c.killed.obs, n) {
						c.gone = at(n, ruleKillsSerial)
					}
				}
			}
			next = append(next, stopping(t))
		}
		return next, d
	case byHook:
		// A hook that died, or that nobody answered, has left no end, and its
		// Event may be lost. What it writes behind this is refused.
		died := x.hookEnd == 0 && !s.c[i].returned.known()
		if !spec.postStart || !r.ev.hookFailed[i] && !died || x.hookEnd != 0 && x.hookCode == 0 && (r.ob(n).isLog || !r.hookDied(&s, i, n)) {
			return nil, nil
		}
		t := s.clone()
		r.settle(&t, i, n, ruleTermCause)
		t.c[i].gone = s.c[i].gone // it is being stopped, and has not ended yet
		return []state{stopping(t)}, nil
	case bySandbox, byRestartAll:
		if w == bySandbox && !r.sandboxLost(&s) || w == byRestartAll && !r.asksForAll(&s) {
			return nil, nil
		}
		t := s.clone()
		r.quiet(&t, -1, n, ruleKillAfterSync, int32(n)+1)
		return []state{stopping(t)}, nil
	}
	return nil, nil
}

// tooFewFailures says why no probe of container i can have failed for good: each
// that could stop it fails in the log, and has not done so failureThreshold
// times in a row. A log alone does not tell which probes ran out of time.
func (r *reading) tooFewFailures(i int, x *seen) *denial {
	if r.logOnly && !r.ev.complete || r.ev.logGap || r.ev.eventGap || r.ev.changed[i] != 0 || r.ev.unlogged[i] {
		return nil
	}
	spec := &r.p.containers[i]
	most := int32(0)
	for _, a := range []trace.Actor{trace.LivenessProbe, trace.StartupProbe} {
		p, row := spec.probe(a), x.failures[rowOf(a)]
		if p.declared && (p.network || !r.ev.writes(i, a) || row >= p.failures) {
			return nil
		}
		most = max(most, row)
	}
	return because(deny(ruleTermCause, cause{x.failing, ruleTermCause}), "a probe of container %s has failed %d times in a row by then, which is less than its failureThreshold", spec.name, most)
}

// hookDied reports whether the postStart hook of container i may have died with
// its container between its last line and its own exit: nothing shows that one
// behind observation n, or its preStop hook could not be run either.
func (r *reading) hookDied(s *state, i, n int) bool {
	c, x := &s.c[i], r.seenOf(s, i)
	if x.mainEnd == 0 {
		return int(r.ev.alive[i]) <= n+1 || r.ev.preStopFailed[i] && x.preStop == 0
	}
	return !c.returned.known() || c.returned.obs > x.mainEnd
}

// quiet forces that no postStart hook of a container other than i is running that
// had begun before an observation (index + 1).
func (r *reading) quiet(s *state, i, n int, rule string, since int32) {
	for j := range s.c {
		if first := r.hookSince(j, r.seenOf(s, j)); j != i && first != 0 && first < since {
			r.settle(s, j, n, rule)
		}
	}
}

// hookSince is the first line of an instance of container j that shows its postStart
// hook to run, or to be over. One that has written nothing runs all the same, from
// the start of its container on until it has returned.
func (r *reading) hookSince(j int, x *seen) int32 {
	if x.hookFirst == 0 && r.p.containers[j].postStart && r.ev.writes(j, trace.PostStart) {
		return x.first
	}
	return x.hookFirst
}

// lostForGood reports whether a sandbox was lost that is not replaced: the sync that
// finds it so stops all that is left of the Pod (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodActions).
func (r *reading) lostForGood() bool {
	return r.ev.newSandbox && r.p.policy == corev1.RestartPolicyNever
}

// lostBefore reports whether that may have been so before an observation (index + 1).
func (r *reading) lostBefore(obs int32) bool {
	return r.lostForGood() && (len(r.ev.sandboxes) == 0 || r.ev.sandboxes[0] <= obs)
}

// endAsked reports whether by observation n anything but its containers may have
// ended the Pod. Where nothing is started again, a lost sandbox does.
func (r *reading) endAsked(n int) bool {
	return r.ev.endsAnyTime || r.lostBefore(int32(n)+1) || slices.ContainsFunc(r.ev.ends, func(x int32) bool { return int(x) <= n+1 })
}

// undone is the state in which a new kubelet finds a Pod that the one before it
// was stopping because a probe had failed in the last container that ran: it
// knows of no failure, and the Pod goes on. If it has been deleted since, that may
// have come in the middle of a sync.
func (r *reading) undone(s state, n int) state {
	if !s.ending.known() || !r.cutOff(s.ending.obs, n) {
		return s
	}
	last := n
	for _, x := range r.ev.restarts {
		if int(x) <= n+1 {
			last = int(x) - 1
		}
	}
	if r.endAsked(last) {
		return s
	}
	s = s.clone()
	s.ending = cause{}
	for i := range s.c {
		if c := &s.c[i]; c.kill == byEnding {
			c.kill, c.killed = alive, cause{}
		}
	}
	return s
}

// end is the hidden step to the termination of the whole Pod, seen on
// container i.
func (r *reading) end(s state, i, n int) ([]state, *denial) {
	if s.ending.known() {
		return []state{s.clone()}, nil
	}
	asked := r.endAsked(n)
	if !asked && !r.finished(&s, i) {
		return nil, nil
	}
	s = s.clone()
	r.killed(&s, -1, n, ruleTermAfterSync)
	for j := range s.c {
		r.settle(&s, j, n, ruleTermAfterSync)
	}
	next, d := r.endSync(s, n, ruleTermAfterSync)
	if r.p.inits > 0 && !s.synced.known() && !slices.ContainsFunc(s.c[r.p.inits:], func(c instance) bool { return !c.fresh }) {
		// The Pod ends while it is being initialized: what was not started
		// never is.
		t := s.clone()
		for j := range t.c {
			// The next one may have been started, and not be seen yet.
			if c := &t.c[j]; c.fresh && j >= r.p.inits {
				c.gone = at(n, ruleNoStart)
			}
		}
		next, d = append(next, t), nil
	}
	for a := range next {
		t := &next[a]
		if !asked {
			// Nobody ended the Pod: the regular containers are through.
			for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ {
				if c := &t.c[j]; !c.gone.known() && !r.condemned(t, j) {
					c.gone = at(n, ruleSidecarsLast)
				}
			}
		}
		t.ending = at(n, ruleNoStart)
	}
	return next, d
}

// condemned reports whether a probe of container j may have failed for good: it
// is not started again, and where nothing else is left to run it is stopped with
// its whole Pod (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
// computePodActions).
func (r *reading) condemned(s *state, j int) bool {
	spec := &r.p.containers[j]
	return spec.policy == corev1.RestartPolicyNever && r.probeFailed(s, j)
}

// probeFailed reports whether a liveness or startup probe of container i may
// have failed by now. One over the network that nobody answers leaves no line;
// if its Event is lost as well, the end of the instance shows it.
func (r *reading) probeFailed(s *state, i int) bool {
	spec := &r.p.containers[i]
	if !spec.liveness.declared && !spec.startup.declared {
		return false
	}
	unanswered := (spec.liveness.network || spec.startup.network) && r.ev.runs[i] > s.c[i].run
	return unanswered || r.seenOf(s, i).failing != 0 || r.ev.probeFailed[i]
}

// finished reports whether the Pod may have come to its end by itself, so that
// the kubelet stops container i, which is not a regular one: every regular
// container has exited and is not started again, or an init container failed
// for good.
func (r *reading) finished(s *state, i int) bool {
	if r.p.isRegular(i) && !r.condemned(s, i) {
		return false
	}
	over := func(j int) bool {
		spec, x := &r.p.containers[j], r.seenOf(s, j)
		code := r.exitCode(j, x)
		rule, ruled := ruleMatches(spec.rules, code)
		switch {
		case r.condemned(s, j):
			return true // whatever it has exited with since
		case ruled && x.mainEnd != 0 && rule.Action == corev1.ContainerRestartRuleActionRestart, spec.policy == corev1.RestartPolicyAlways:
			return false
		case spec.policy == corev1.RestartPolicyNever:
			return true
		}
		return x.mainEnd == 0 && x.mainBegin == 0 || x.mainEnd != 0 && code == 0
	}
	if r.failedInit(s) >= 0 {
		return true
	}
	for j := r.p.inits; j < r.p.inits+r.p.regulars; j++ {
		if !over(j) {
			return false
		}
	}
	return true
}

// failedInit is an init container that may have failed for good, -1 if there is
// none.
func (r *reading) failedInit(s *state) int {
	for j := range r.p.inits {
		spec, c, x := &r.p.containers[j], &s.c[j], r.seenOf(s, j)
		died := x.mainEnd == 0 && !c.fresh && !c.done.known() && r.h[j].over >= c.run
		if spec.role == initContainer && spec.policy == corev1.RestartPolicyNever && (died || x.mainEnd != 0 && x.mainCode != 0) {
			return j
		}
	}
	return -1
}
