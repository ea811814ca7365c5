package nodeimage

import (
	"fmt"
	"sync"
	"time"
)

// progress prints what a build is doing: each step with its number and the time since the start.
type progress struct {
	print func(format string, args ...any)
	start time.Time
	total int

	mu   sync.Mutex
	last int
}

// say prints one line that belongs to no step.
func (p *progress) say(format string, args ...any) {
	p.print("[%s] %s", clock(time.Since(p.start)), fmt.Sprintf(format, args...))
}

// step begins the next step. While it runs, note may add to it; end closes it.
func (p *progress) step(format string, args ...any) *step {
	p.mu.Lock()
	p.last++
	s := &step{p: p, number: p.last, name: fmt.Sprintf(format, args...), start: time.Now()}
	p.mu.Unlock()
	s.note("")
	return s
}

type step struct {
	of     *node // of a graph, for [from]
	p      *progress
	number int
	name   string
	start  time.Time
}

func (s *step) note(format string, args ...any) {
	text := s.name
	if format != "" {
		text += ": " + fmt.Sprintf(format, args...)
	}
	s.p.say("step %d/%d %s", s.number, s.p.total, text)
}

func (s *step) end(err error) {
	took := time.Since(s.start)
	switch {
	case err != nil:
		s.note("failed after %s", clock(took))
	case took >= time.Second:
		s.note("done in %s", clock(took))
	}
}

// clock writes a duration as minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
