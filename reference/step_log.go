package reference

import (
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// onLine takes a line of the shared log.
func (m *model) onLine(s state, n int) ([]state, *denial) {
	i, l := m.obs[n].c, m.obs[n].log
	c := s.c[i]
	run := l.Run
	if run == trace.NoRun {
		run = max(c.run, 0)
		if m.nextInstance(c, l) && run < m.ev.runs[i] {
			run++
		}
	}
	if run < c.run {
		return nil, deny(ruleInstances, cause{m.firstOf(i, c), ruleInstances})
	}
	states := []state{s.clone()}
	if run == 0 && c.run < 0 && !c.late && l.Actor.IsProbe() {
		// The first sign of an instance: it was started, and its sync ended.
		states = m.endSync(s, n, ruleAfterSync)
		for _, t := range states {
			t.c[i].run = 0
		}
	} else if run > c.run {
		var d *denial
		if states, d = m.start(s, i, run, n); d != nil {
			return nil, d
		}
	}
	var next []state
	var first *denial
	for _, t := range states {
		after, d := m.write(t, i, n)
		if d != nil && first == nil {
			first = d
		}
		next = append(next, after...)
	}
	if len(next) == 0 {
		if first == nil {
			first = deny(ruleListedOrder, s.synced)
		}
		return nil, first
	}
	for _, t := range next {
		t.c[i].last = int32(n) + 1
	}
	return next, nil
}

// nextInstance reports whether an unnumbered line can only come from an
// instance after the one seen so far.
func (m *model) nextInstance(c instance, l trace.Line) bool {
	if c.run < 0 {
		return false
	}
	return c.gone.known() || l.Actor == trace.Main && (c.mainEnd != 0 || l.Mark.Kind == trace.Begin && c.last != 0)
}

// firstOf is the line that showed the newest instance of a container first.
func (m *model) firstOf(i int, c instance) int32 {
	for n := c.before; int(n) < len(m.obs); n++ {
		if o := m.obs[n]; o.c == i && o.log.Run == c.run {
			return n + 1
		}
	}
	return c.last
}

// write takes the line as one of the newest instance of container i, in a
// state of the caller's own.
func (m *model) write(s state, i, n int) ([]state, *denial) {
	l, c := m.obs[n].log, &s.c[i]
	if c.gone.known() {
		return nil, deny(c.gone.rule, c.gone)
	}
	switch {
	case l.Actor == trace.Main:
		return m.onMain(s, i, n)
	case l.Actor == trace.PostStart:
		return m.onPostStart(s, i, n)
	case l.Actor == trace.PreStop:
		return m.onPreStop(s, i, n)
	}
	return m.onProbe(s, i, n)
}

func (m *model) onMain(s state, i, n int) ([]state, *denial) {
	l, c := m.obs[n].log, &s.c[i]
	if c.mainEnd != 0 {
		return nil, deny(ruleInstances, cause{c.mainEnd, ruleInstances})
	}
	switch l.Mark.Kind {
	case trace.End:
		c.mainEnd, c.mainCode = int32(n)+1, max(l.Mark.N, 0)
	case trace.Signal:
		if l.Mark.Signal != "TERM" {
			break // the kubelet sends no other signal that can be trapped
		}
		next, d := m.stop(s, i, n, byEnding, byProbe, byHook)
		for _, t := range next {
			t.c[i].term = int32(n) + 1
		}
		return next, d
	}
	return []state{s}, nil
}

func (m *model) onPostStart(s state, i, n int) ([]state, *denial) {
	l, c := m.obs[n].log, &s.c[i]
	switch {
	case c.hookEnd != 0:
		return nil, deny(ruleHookOnce, cause{c.hookEnd, ruleHookOnce})
	case l.Mark.Kind == trace.Begin && c.hookFirst != 0:
		return nil, deny(ruleHookOnce, cause{c.hookFirst, ruleHookOnce})
	case c.returned.known():
		return nil, deny(c.returned.rule, c.returned)
	}
	if c.hookFirst == 0 {
		c.hookFirst = int32(n) + 1
	}
	if l.Mark.Kind == trace.End {
		c.hookEnd, c.hookCode = int32(n)+1, max(l.Mark.N, 0)
	}
	return []state{s}, nil
}

func (m *model) onProbe(s state, i, n int) ([]state, *denial) {
	l := m.obs[n].log
	if l.Actor != trace.StartupProbe && m.p.containers[i].startup && m.ev.logs[i][trace.StartupProbe] && s.c[i].started == 0 && !m.ev.logGap {
		d := deny(ruleStartupGates)
		d.why = "no startup probe of this instance has succeeded by then"
		return nil, d
	}
	next := m.instanceDone(s, i, n, ruleAfterSync)
	for _, t := range next {
		c := &t.c[i]
		// A line without an exit code may come from a probe that failed as
		// well as from one that succeeded.
		ok, bad := l.Mark.N <= 0, l.Mark.Kind != trace.End || l.Mark.N != 0
		switch {
		case l.Actor == trace.StartupProbe && ok && c.started == 0:
			c.started = int32(n) + 1
		case l.Actor == trace.ReadinessProbe && ok && c.ready == 0:
			c.ready = int32(n) + 1
		}
		if l.Actor != trace.ReadinessProbe && bad && c.failing == 0 {
			c.failing = int32(n) + 1
		}
	}
	return next, nil
}

func (m *model) onPreStop(s state, i, n int) ([]state, *denial) {
	if c := s.c[i]; c.term != 0 && c.kill == byEnding && m.graceLeft(int(c.term)-1) {
		return nil, deny(rulePreStopFirst, cause{c.term, rulePreStopFirst})
	}
	next, d := m.stop(s, i, n, byEnding, byProbe, byHook)
	for _, t := range next {
		c := &t.c[i]
		if c.preStop == 0 {
			c.preStop = int32(n) + 1
		}
		if m.obs[n].log.Mark.Kind == trace.End {
			c.preStopEnd = int32(n) + 1
		}
	}
	return next, d
}

// graceLeft reports whether the grace period of the deletion had surely not
// run out at observation n. A second is left for whole-second arithmetic
// (killContainer floors what it subtracts).
func (m *model) graceLeft(n int) bool {
	if m.deleteAt >= len(m.obs) || n < m.deleteAt {
		return false
	}
	grace := m.p.grace
	if p, err := m.obs[m.deleteAt].entry.Did.Delete(); err == nil && p.GracePeriodSeconds != nil {
		grace = *p.GracePeriodSeconds
	}
	end := m.obs[m.deleteAt].entry.At.Add(time.Duration(grace-1) * time.Second)
	return m.obs[n].entry.At.Before(end)
}
