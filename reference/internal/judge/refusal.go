package judge

import (
	"fmt"
	"slices"

	"github.com/podorder/podorder/reference/internal/model"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// Refusal is an observation of something that a correct kubelet cannot do at that point.
type Refusal struct {
	// Rule is the slug of the rule that it breaks.
	Rule string
	// Line is its number in the log or trace file, counted from 1, and Log its text.
	Line int
	Log  string
	// Reason says in a sentence what is wrong.
	Reason string
	// Allowed are the log lines that could have come instead.
	Allowed []string
	// Because are the other observations that rule it out.
	Because []Because
	// named are their indexes.
	named []int
	// Due is what should have come by then, where something has not; else nil.
	Due *Due
}

// Due is an obligation of the kubelet that it has not met.
type Due struct {
	rules.Obligation
	// Since is the number of the line since which it is due, counted from 1.
	Since int
}

// Because is an observation that rules out the refused one.
type Because struct {
	Line int
	Log  string
	Rule string
}

func (r *reader) refuse(n int, o *record.Observation, d *model.Denial) *Refusal {
	f := &Refusal{Rule: d.Rule, Line: o.Entry.Line, Log: o.Text(), Reason: d.Why}
	if r.judge.Brief {
		return f
	}
	f.Allowed = r.allowed()
	if o, ok := d.Clause.Due(); ok && d.Since.Known() {
		if at, err := r.src.Pick([]int{d.Since.Index()}); err == nil {
			f.Due = &Due{o, at[0].Entry.Line}
		}
	}
	var direct int
	f.Because, direct, f.named = r.contradiction(n, o, d)
	if f.Reason == "" && len(f.Because) == 0 {
		f.Reason = "a correct kubelet cannot do this at this point"
	} else if f.Reason == "" {
		f.Reason = reasonOf(d, o, f.Because[direct].Line)
	}
	return f
}

// reasonOf says how the earlier line rules out the refused one, where the model
// gave no reason of its own.
func reasonOf(d *model.Denial, o *record.Observation, earlier int) string {
	if !o.IsLog {
		return fmt.Sprintf("line %d rules this out", earlier)
	}
	switch d.Rule {
	case rules.BlocksNext, rules.AfterSync, rules.BetweenSyncs, rules.TermAfterSync, rules.RestartSerial:
		hook := fmt.Sprintf("line %d shows that the postStart hook of %s had ended", earlier, o.Log.Container)
		if o.Log.Actor != trace.PostStart {
			return hook + "; it logged no end, so it died with its container, yet here that container still writes"
		}
		return hook + ", yet here it still writes"
	case rules.ObjectLast, rules.Together, rules.Instances:
		return fmt.Sprintf("line %d shows that this instance of %s had ended, yet here it still writes", earlier, o.Log.Container)
	default:
		return fmt.Sprintf("line %d rules this out", earlier)
	}
}

// allowed lists the log lines that could have come next.
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

// admits reports whether another line could have come instead of the refused one.
func (r *reader) admits(i int, l trace.Line) bool {
	ask, n := r.Instead(i, l)
	return slices.ContainsFunc(r.states, func(s model.State) bool {
		_, d := ask.Step(s, n)
		return d == nil
	})
}

// pattern writes a line as the witness of a case has it.
func pattern(l trace.Line) string {
	s := l.String()
	if l.Mark.Kind == trace.Tick {
		s += ": tick"
	}
	return s
}
