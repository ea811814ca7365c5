package reference

import (
	corev1 "k8s.io/api/core/v1"
)

// model is everything that does not change while a trace is read.
type model struct {
	k   Kubelet
	p   plan
	obs []observation
	ev  evidence
	// deleteAt is the index of the first delete act, or len(obs).
	deleteAt int
	// shownBefore is, for each observation, the index + 1 of the latest update
	// before it.
	shownBefore []int32
}

// at names observation n as the cause of a fact under a rule.
func at(n int, rule string) cause { return cause{int32(n) + 1, rule} }

// step returns the states that may follow s once observation n has been made,
// with no more hidden steps taken than it forces. None means that s does not
// admit it, for the reason given.
func (m *model) step(s state, n int) ([]state, *denial) {
	switch e := m.obs[n].entry; {
	case e.Log != nil:
		return m.onLine(s, n)
	case e.Pod != nil:
		return m.onPod(s, n)
	case e.Event != nil:
		return m.onEvent(s, n)
	}
	return []state{s}, nil
}

// start is the hidden step to instance run of container i, forced by
// observation n. It returns every way to get there.
func (m *model) start(s state, i, run, n int) ([]state, *denial) {
	if c := s.c[i]; s.ending.known() && (c.kill == byEnding || c.last >= s.ending.obs) {
		// Otherwise it was started before, and its first line came late.
		return nil, deny(ruleNoStart, s.ending)
	}
	if run > 0 {
		return m.restart(s, i, run, n)
	}
	var next []state
	if !s.c[i].late && !s.synced.known() {
		for _, t := range m.reach(s, i, n) {
			t.c[i].run = 0
			next = append(next, t)
		}
	}
	if s.c[i].late || m.ev.startFailed[i] {
		// The first start failed; a later sync, which begins when the first
		// one has ended, starts it.
		t := s.clone()
		t.c[i].late = true
		for _, t := range m.endSync(t, n, ruleRestartSerial) {
			t.c[i].run = 0
			next = append(next, t)
		}
	}
	return next, nil
}

// reach takes the first sync to where it starts container i: everything listed
// before it has been started, and its postStart hook has returned, unless its
// start failed.
func (m *model) reach(s state, i, n int) []state {
	return m.pass(s, i, n, m.passRule)
}

// pass takes the first sync past the first i containers: each has been started
// and its postStart hook has returned, by the rule given for it. In one branch
// for each whose start may have failed, it is left to a later sync.
func (m *model) pass(s state, i, n int, rule func(int) string) []state {
	states := []state{s.clone()}
	for j := range i {
		if s.c[j].late || s.c[j].run > 0 {
			continue
		}
		for a := range states {
			if s.c[j].run < 0 && m.ev.startFailed[j] {
				t := states[a].clone()
				t.c[j].late = true
				states = append(states, t)
			}
			c := &states[a].c[j]
			if c.run < 0 {
				c.run = 0
			}
			if !c.returned.known() {
				c.returned = at(n, rule(j))
			}
		}
	}
	return states
}

// passRule is the rule by which a later start shows that container j is done
// with its own.
func (m *model) passRule(j int) string {
	if m.p.containers[j].postStart {
		return ruleBlocksNext
	}
	return ruleListedOrder
}

// endSync takes the first sync to its end: every container has been started
// and every hook has returned, by the given rule; see pass.
func (m *model) endSync(s state, n int, rule string) []state {
	if s.synced.known() {
		return []state{s.clone()}
	}
	states := m.pass(s, len(s.c), n, func(int) string { return rule })
	for a := range states {
		states[a].synced = at(n, rule)
	}
	return states
}

// restart is the hidden step to a later instance of container i. The sync that
// does it begins after the sync that started the instance before.
func (m *model) restart(s state, i, run, n int) ([]state, *denial) {
	old := s.c[i]
	switch {
	case m.p.policy == corev1.RestartPolicyNever:
		return nil, deny(rulePolicy, cause{max(old.mainEnd, old.term), rulePolicy})
	case m.p.policy == corev1.RestartPolicyOnFailure && old.run == run-1 && old.mainEnd != 0 && old.mainCode == 0 && old.kill == alive && old.failing == 0 && !m.ev.probeFailed[i]:
		// One that is being restarted because of a probe is started again
		// however it ended meanwhile.
		return nil, deny(rulePolicy, cause{old.mainEnd, rulePolicy})
	case run > m.ev.runs[i]:
		return nil, deny(ruleInstances, cause{max(old.mainEnd, old.last), ruleInstances})
	}
	var next []state
	for _, t := range m.endSync(s, n, ruleRestartSerial) {
		// A worker that waits for the hook of another instance starts nothing.
		// So this one was started before that hook began, unseen until now, or
		// the hook has returned.
		before := t.clone()
		unseen := true
		for j := range t.c {
			if c := &t.c[j]; j != i && c.hookFirst != 0 && !c.returned.known() {
				c.returned = at(n, ruleBlocksNext)
				unseen = unseen && old.last != 0 && old.last < c.hookFirst
			}
		}
		for _, u := range []state{t, before} {
			u.c[i] = instance{run: run, late: old.late, before: old.last, shown: old.shown}
		}
		next = append(next, t)
		if unseen && !before.same(t) {
			next = append(next, before)
		}
	}
	return next, nil
}

// instanceDone forces the end of the sync that started the newest instance of
// container i.
func (m *model) instanceDone(s state, i, n int, rule string) []state {
	if s.c[i].run <= 0 && !s.c[i].late {
		return m.endSync(s, n, rule)
	}
	t := s.clone()
	if !t.c[i].returned.known() {
		t.c[i].returned = at(n, rule)
	}
	return []state{t}
}

// stop is the hidden step to the kill of container i. It returns one state for
// each reason that the kubelet may have had by observation n.
func (m *model) stop(s state, i, n int, why ...killing) ([]state, *denial) {
	if s.c[i].kill != alive {
		return []state{s.clone()}, nil
	}
	var next []state
	for _, w := range why {
		switch c := s.c[i]; w {
		case byEnding:
			if !s.ending.known() && !m.ev.deletedAnyTime && n < m.deleteAt {
				continue
			}
			for _, t := range m.endSync(s, n, ruleTermAfterSync) {
				for j := range t.c {
					if !t.c[j].returned.known() {
						t.c[j].returned = at(n, ruleTermAfterSync)
					}
				}
				if !t.ending.known() {
					t.ending = at(n, ruleNoStart)
				}
				t.c[i].kill, t.c[i].killed = byEnding, at(n, ruleTermCause)
				next = append(next, t)
			}
		case byProbe:
			if !m.p.containers[i].liveness && !m.p.containers[i].startup || c.failing == 0 && !m.ev.probeFailed[i] {
				continue
			}
			for _, t := range m.instanceDone(s, i, n, ruleAfterSync) {
				t.c[i].kill, t.c[i].killed = byProbe, at(n, ruleTermCause)
				next = append(next, t)
			}
		case byHook:
			if !m.p.containers[i].postStart || !m.ev.hookFailed[i] || c.hookEnd != 0 && c.hookCode == 0 {
				continue
			}
			t := s.clone()
			if !t.c[i].returned.known() {
				t.c[i].returned = at(n, ruleTermCause)
			}
			t.c[i].kill, t.c[i].killed = byHook, at(n, ruleTermCause)
			next = append(next, t)
		}
	}
	if len(next) == 0 {
		d := deny(ruleTermCause)
		d.why = "nothing that was seen by then gives the kubelet a reason to stop container " + m.p.containers[i].name
		return nil, d
	}
	return next, nil
}
