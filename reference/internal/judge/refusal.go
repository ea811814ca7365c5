package judge

import (
	"fmt"
	"slices"

	"github.com/podorder/podorder/reference/internal/model"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// Refusal is an observation that no state of a correct kubelet admits.
type Refusal struct {
	// Rule is the slug of the rule that it breaks.
	Rule string
	// Line is its number in the log or trace file, counted from 1, and Log its text.
	Line int
	Log  string
	// Reason says in a sentence what is wrong.
	Reason string
	// Allowed are the log lines that would have been allowed in its place.
	Allowed []string
	// Because are the other observations that forbid it.
	Because []Because
}

// Because is an observation that forbids the refused one.
type Because struct {
	Line int
	Log  string
	Rule string
}

func (r *reader) refuse(n int, o *record.Observation, d *model.Denial) *Refusal {
	f := &Refusal{Rule: d.Rule, Line: o.Entry.Line, Log: o.Text(), Reason: d.Why, Allowed: r.allowed()}
	var direct int
	f.Because, direct = r.contradiction(n, o, d)
	if f.Reason == "" && len(f.Because) == 0 {
		f.Reason = "no state of a correct kubelet admits this here"
	} else if f.Reason == "" {
		f.Reason = reasonOf(d, o, f.Because[direct].Line)
	}
	return f
}

// reasonOf says what the refused line and the earlier one have to do with each
// other, where the rule alone does not.
func reasonOf(d *model.Denial, o *record.Observation, earlier int) string {
	what := "this"
	if o.IsLog {
		what = fmt.Sprintf("the %s of %s", o.Log.Actor, o.Log.Container)
	}
	switch d.Rule {
	case rules.BlocksNext, rules.AfterSync, rules.BetweenSyncs, rules.TermAfterSync, rules.RestartSerial:
		if o.IsLog && o.Log.Actor != trace.PostStart {
			return fmt.Sprintf("line %d shows that the post start hook of %s had returned; it has logged no end, so it died with its container, and here that goes on", earlier, o.Log.Container)
		}
		return fmt.Sprintf("line %d shows that %s had ended, and here it goes on", earlier, what)
	case rules.ObjectLast, rules.Together, rules.Instances:
		return fmt.Sprintf("line %d shows that the instance was over, and here it goes on", earlier)
	default:
		return fmt.Sprintf("line %d forbids it", earlier)
	}
}

// allowed lists the log lines that some state would have admitted next.
func (r *reader) allowed() []string {
	var out []string
	for i, s := range r.judge.Pod.Containers {
		for _, a := range trace.Actors() {
			if !s.Has(a) {
				continue
			}
			var marks []trace.Mark
			switch {
			case a.IsProbe():
				marks = []trace.Mark{{Kind: trace.End, N: 0}}
			case a.IsHook():
				marks = []trace.Mark{{Kind: trace.Begin, N: -1}, {Kind: trace.Tick, N: -1}, {Kind: trace.End, N: 0}}
			default:
				marks = []trace.Mark{{Kind: trace.Begin, N: -1}, {Kind: trace.Tick, N: -1}, {Kind: trace.Signal, N: -1, Signal: s.Stop}, {Kind: trace.End, N: 0}}
			}
			for _, mark := range marks {
				l := trace.Line{Container: s.Name, Run: trace.NoRun, Actor: a, Mark: mark}
				if r.admits(i, l) {
					out = append(out, pattern(l))
				}
			}
		}
	}
	return out
}

// admits asks the states for a line that was not seen, in the place of the one
// that is being taken.
func (r *reader) admits(i int, l trace.Line) bool {
	ask, n := r.Instead(i, l)
	return slices.ContainsFunc(r.states, func(s model.State) bool {
		next, _ := ask.Step(s, n)
		return len(next) > 0
	})
}

// pattern writes a line as a case would, with its mark spelled out.
func pattern(l trace.Line) string {
	s := l.String()
	if l.Mark.Kind == trace.Tick {
		s += ": tick"
	}
	return s
}
