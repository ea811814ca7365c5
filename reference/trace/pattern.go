package trace

import (
	"fmt"
	"strings"
)

// Pattern names a kind of log line in a case: a line without its time stamp.
// Where it gives no run, no exit code or no number, any will do; a pattern
// without a mark matches every line of its actor.
type Pattern struct {
	line   Line
	marked bool
}

// ParsePattern reads a pattern such as "container2 / main: begin" or
// "container1#1 / post start hook".
func ParsePattern(s string) (Pattern, error) {
	l, err := ParseLine("2006-01-02T15:04:05Z: " + s)
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", s, err)
	}
	_, actor, _ := strings.Cut(s, " / ")
	return Pattern{line: l, marked: strings.Contains(actor, ": ")}, nil
}

// Match reports whether the line is of the pattern's kind.
func (p Pattern) Match(l Line) bool {
	w := p.line
	if w.Container != l.Container || w.Actor != l.Actor || w.Run != NoRun && w.Run != l.Run {
		return false
	}
	if !p.marked {
		return true
	}
	return w.Mark.Kind == l.Mark.Kind && w.Mark.Signal == l.Mark.Signal && (w.Mark.From == 0 || w.Mark.From == l.Mark.From) && (w.Mark.N < 0 || w.Mark.N == l.Mark.N)
}

// String returns the pattern as a case writes it.
func (p Pattern) String() string {
	s := p.line.String()
	if p.marked && p.line.Mark.Kind == Tick && p.line.Mark.N < 0 {
		s += ": tick"
	}
	return s
}
