package record

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/trace"
)

// Source is where the observations of a trace are kept while it is read.
type Source interface {
	// At returns observation n. It is valid until the next call.
	At(n int) *Observation
	// Stamp is when log line n was written, by its own clock, and whether that time has
	// whole seconds only.
	Stamp(n int) (time.Time, bool)
	// Pick returns the observations with the given indexes, which ascend.
	Pick(n []int) (Recorded, error)
}

// Recorded is a source that holds all observations.
type Recorded []Observation

func (r Recorded) At(n int) *Observation { return &r[n] }

func (r Recorded) Stamp(n int) (time.Time, bool) { return r[n].Log.Time, r[n].Log.Whole }

func (r Recorded) Pick(n []int) (Recorded, error) {
	some := make(Recorded, len(n))
	for i, at := range n {
		some[i] = r[at]
	}
	return some, nil
}

// logFile is a source that keeps of each log line only what the rules need. Where an
// explanation wants the text, it is read from the file again. So a long log needs little
// memory.
type logFile struct {
	p      *podspec.Pod
	r      io.ReadSeeker
	blocks []*[blockLines]short
	Lines  int
	now    Observation // the one that At returned last
	entry  trace.Entry
}

// NewLogFile is a log of which no line was read yet.
func NewLogFile(p *podspec.Pod, r io.ReadSeeker) *logFile { return &logFile{p: p, r: r} }

// blockLines is how many lines are kept together: a list that grows by blocks is
// never copied.
const blockLines = 4096

// short is a log line in 16 bytes.
type short struct {
	stamp int64 // nanoseconds since 1970; the lowest bit tells whole seconds
	n     int32 // of the mark
	c     uint8
	actor uint8
	run   int16
}

// The kind of mark shares a byte with the actor. Of the signals, the rules need the stop
// signal of the container, and TERM.
const (
	actorBits = 0x0f
	markShift = 4
	termMark  = 5 // TERM, where another signal stops the container
	otherMark = 6 // any other signal, or one from inside the Pod
	stopMark  = 7 // the stop signal, from outside of the Pod
)

// shorten packs a line of container c, whose stop signal is stop. It reports false where a
// number of the line is too large.
func shorten(l *trace.Line, c int, stop string) (short, bool) {
	s := short{stamp: l.Time.UnixNano() &^ 1, n: int32(l.Mark.N), c: uint8(c), run: int16(l.Run)}
	if l.Whole {
		s.stamp |= 1
	}
	kind := uint8(l.Mark.Kind)
	switch {
	case l.Mark.Kind != trace.Signal:
	case l.Mark.From == trace.Inside:
		kind = otherMark
	case l.Mark.Signal == stop && l.Mark.From == trace.Outside:
		kind = stopMark
	case l.Mark.Signal == stop:
	case l.Mark.Signal == "TERM":
		kind = termMark
	default:
		kind = otherMark
	}
	s.actor = uint8(actorIndex(l.Actor)) | kind<<markShift
	return s, int(s.c) == c && int(s.run) == l.Run && int(s.n) == l.Mark.N
}

func (s *short) line(p *podspec.Pod) trace.Line {
	l := trace.Line{
		Time: time.Unix(0, s.stamp&^1), Whole: s.stamp&1 != 0, Run: int(s.run), Actor: Actors[s.actor&actorBits],
		Container: p.Containers[s.c].Name, Mark: trace.Mark{N: int(s.n)},
	}
	switch kind := s.actor >> markShift; kind {
	case termMark:
		l.Mark.Kind, l.Mark.Signal = trace.Signal, "TERM"
	case otherMark:
		l.Mark.Kind, l.Mark.Signal = trace.Signal, "?"
	case stopMark:
		l.Mark.Kind, l.Mark.Signal, l.Mark.From = trace.Signal, p.Containers[s.c].Stop, trace.Outside
	default:
		if l.Mark.Kind = trace.MarkKind(kind); l.Mark.Kind == trace.Signal {
			l.Mark.Signal = p.Containers[s.c].Stop
		}
	}
	return l
}

func (f *logFile) short(n int) *short { return &f.blocks[n/blockLines][n%blockLines] }

func (f *logFile) Stamp(n int) (time.Time, bool) {
	s := f.short(n).stamp
	return time.Unix(0, s&^1), s&1 != 0
}

// Keep adds a line. It reports false where a number of the line is too large to be kept.
func (f *logFile) Keep(l *trace.Line, c int) bool {
	if f.Lines%blockLines == 0 {
		f.blocks = append(f.blocks, new([blockLines]short))
	}
	s, ok := shorten(l, c, f.p.Containers[c].Stop)
	f.blocks[f.Lines/blockLines][f.Lines%blockLines] = s
	f.Lines++
	return ok
}

// At returns line n without its text, valid until the next call.
func (f *logFile) At(n int) *Observation {
	s := f.short(n)
	f.entry.Line = n + 1
	f.now = Observation{Entry: &f.entry, IsLog: true, Container: int(s.c), Log: s.line(f.p)}
	return &f.now
}

// Each reads the file and calls do with every line until it returns false. The
// observation is valid during the call. The error is a *trace.Error.
func (f *logFile) Each(do func(n int, o *Observation) bool) error {
	if _, err := f.r.Seek(0, io.SeekStart); err != nil {
		return &trace.Error{Err: fmt.Errorf("going back to the start of the log: %w", err)}
	}
	s := bufio.NewScanner(f.r)
	s.Buffer(make([]byte, 64<<10), trace.MaxLine)
	s.Split(wholeLines)
	var e trace.Entry
	var text string
	e.Log = &text
	o := Observation{Entry: &e}
	n := 0
	for s.Scan() {
		for line := range strings.SplitSeq(s.Text(), "\n") {
			text = strings.TrimSuffix(line, "\r")
			e.Line = n + 1
			if err := o.parse(f.p, text); err != nil {
				return &trace.Error{Line: n + 1, Err: err}
			}
			if !do(n, &o) {
				return nil
			}
			n++
		}
	}
	if err := s.Err(); err != nil {
		return &trace.Error{Line: n + 1, Err: err}
	}
	return nil
}

// wholeLines is a [bufio.SplitFunc] that takes as many lines at once as are in the buffer,
// so that one string does for all of them.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (f *logFile) Pick(want []int) (Recorded, error) {
	var some Recorded
	if len(want) == 0 {
		return some, nil
	}
	err := f.Each(func(n int, o *Observation) bool {
		if want[len(some)] == n {
			e := *o.Entry
			text := strings.Clone(*e.Log) // not the whole of what was read at once
			e.Log = &text
			some = append(some, Observation{Entry: &e, IsLog: true, Container: o.Container, Log: o.Log, counted: o.counted})
		}
		return len(some) < len(want)
	})
	if err == nil && len(some) < len(want) {
		err = fmt.Errorf("the log became shorter while it was being judged")
	}
	return some, err
}

// parse reads a log line into the observation. The error says what is torn in it, or what
// does not belong to the Pod.
func (o *Observation) parse(p *podspec.Pod, text string) error {
	l, err := trace.ParseLine(text)
	if err != nil {
		return err
	}
	c, ok := p.Index[l.Container]
	if !ok {
		return fmt.Errorf("the Pod has no container %q", l.Container)
	}
	if !p.Containers[c].Has(l.Actor) {
		return fmt.Errorf("container %q declares no %s", l.Container, l.Actor)
	}
	o.IsLog, o.Log, o.Container, o.counted = true, l, c, l.Run
	return nil
}
