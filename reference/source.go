package reference

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/podorder/podorder/reference/trace"
)

// source is where the observations of a trace are kept while it is read.
type source interface {
	at(n int) *observation
	// stamp is when log line n was written by its own clock, and whether that
	// has whole seconds only.
	stamp(n int) (time.Time, bool)
	// pick returns some of the observations, by ascending indexes.
	pick(n []int) (recorded, error)
}

// recorded holds them all.
type recorded []observation

func (r recorded) at(n int) *observation { return &r[n] }

func (r recorded) stamp(n int) (time.Time, bool) { return r[n].log.Time, r[n].log.Whole }

func (r recorded) pick(n []int) (recorded, error) {
	some := make(recorded, len(n))
	for i, at := range n {
		some[i] = r[at]
	}
	return some, nil
}

// logFile reads a log from its file again whenever a line of it is asked for,
// and keeps the stamps alone, so that a long log needs little memory.
type logFile struct {
	p      *plan
	r      io.ReadSeeker
	stamps []int64 // nanoseconds since 1970; the lowest bit tells whole seconds
}

func (f *logFile) stamp(n int) (time.Time, bool) {
	return time.Unix(0, f.stamps[n]&^1), f.stamps[n]&1 != 0
}

func (f *logFile) keep(l *trace.Line) {
	s := l.Time.UnixNano() &^ 1
	if l.Whole {
		s |= 1
	}
	f.stamps = append(f.stamps, s)
}

// each calls do with every line until it returns false. The observation is
// valid during the call. The error is a *trace.Error.
func (f *logFile) each(do func(n int, o *observation) bool) error {
	if _, err := f.r.Seek(0, io.SeekStart); err != nil {
		return &trace.Error{Err: fmt.Errorf("going back to the start of the log: %w", err)}
	}
	s := bufio.NewScanner(f.r)
	s.Buffer(make([]byte, 64<<10), trace.MaxLine)
	var e trace.Entry
	o := observation{entry: &e}
	for n := 0; s.Scan(); n++ {
		text := s.Text()
		e.Log, e.Line = &text, n+1
		if err := o.parse(f.p, text); err != nil {
			return &trace.Error{Line: n + 1, Err: err}
		}
		if !do(n, &o) {
			return nil
		}
	}
	if err := s.Err(); err != nil {
		return &trace.Error{Line: len(f.stamps) + 1, Err: err}
	}
	return nil
}

func (f *logFile) at(n int) *observation {
	some, err := f.pick([]int{n})
	if err != nil {
		panic(err) // it was read twice before
	}
	return &some[0]
}

func (f *logFile) pick(want []int) (recorded, error) {
	var some recorded
	err := f.each(func(n int, o *observation) bool {
		if len(some) < len(want) && want[len(some)] == n {
			e := *o.entry
			some = append(some, observation{entry: &e, isLog: true, c: o.c, log: o.log})
		}
		return len(some) < len(want)
	})
	if err == nil && len(some) < len(want) {
		err = fmt.Errorf("the log has become shorter while it was judged")
	}
	return some, err
}

// parse reads a log line into the observation. The error says what is torn or
// foreign in it.
func (o *observation) parse(p *plan, text string) error {
	l, err := trace.ParseLine(text)
	if err != nil {
		return err
	}
	c, ok := p.index[l.Container]
	if !ok {
		return fmt.Errorf("the Pod has no container %q", l.Container)
	}
	if !p.containers[c].has(l.Actor) {
		return fmt.Errorf("container %q declares no %s", l.Container, l.Actor)
	}
	o.isLog, o.log, o.c = true, l, c
	return nil
}
