package trace_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference/trace"
)

func TestParseLine(t *testing.T) {
	date := time.Date(2023, 12, 21, 10, 40, 51, 0, time.UTC)
	nano := date.Add(123456789)
	for in, want := range map[string]trace.Line{
		"Thu Dec 21 10:40:51 UTC 2023: container1 / main":                      {Time: date, Whole: true, Container: "container1", Run: trace.NoRun, Actor: trace.Main, Mark: trace.Mark{Kind: trace.Tick, N: -1}},
		"Thu Dec 21 10:40:51 UTC 2023: container1 / post start hook":           {Time: date, Whole: true, Container: "container1", Run: trace.NoRun, Actor: trace.PostStart, Mark: trace.Mark{Kind: trace.Tick, N: -1}},
		"2023-12-21T10:40:51.123456789Z: a#0 / main: begin":                    {Time: nano, Container: "a", Run: 0, Actor: trace.Main, Mark: trace.Mark{Kind: trace.Begin, N: -1}},
		"2023-12-21T10:40:51.123456789Z: a#12 / pre stop hook: tick 3":         {Time: nano, Container: "a", Run: 12, Actor: trace.PreStop, Mark: trace.Mark{Kind: trace.Tick, N: 3}},
		"2023-12-21T10:40:51Z: a / readiness probe: end 1":                     {Time: date, Whole: true, Container: "a", Run: trace.NoRun, Actor: trace.ReadinessProbe, Mark: trace.Mark{Kind: trace.End, N: 1}},
		"2023-12-21T10:40:51.123456789Z: a#0 / main: signal TERM":              {Time: nano, Container: "a", Run: 0, Actor: trace.Main, Mark: trace.Mark{Kind: trace.Signal, N: -1, Signal: "TERM"}},
		"2023-12-21T10:40:51.123456789Z: a#0 / main: signal TERM from inside":  {Time: nano, Container: "a", Run: 0, Actor: trace.Main, Mark: trace.Mark{Kind: trace.Signal, N: -1, Signal: "TERM", From: trace.Inside}},
		"2023-12-21T10:40:51.123456789Z: a#0 / main: signal TERM from outside": {Time: nano, Container: "a", Run: 0, Actor: trace.Main, Mark: trace.Mark{Kind: trace.Signal, N: -1, Signal: "TERM", From: trace.Outside}},
		"2023-12-21T10:40:51.123456789Z: a#0 / main: end":                      {Time: nano, Container: "a", Run: 0, Actor: trace.Main, Mark: trace.Mark{Kind: trace.End, N: -1}},
		"Fri Dec  1 10:40:51 UTC 2023: a / liveness probe":                     {Time: time.Date(2023, 12, 1, 10, 40, 51, 0, time.UTC), Whole: true, Container: "a", Run: trace.NoRun, Actor: trace.LivenessProbe, Mark: trace.Mark{Kind: trace.Tick, N: -1}},
		"2023-12-21T19:40:51+09:00: a / startup probe: end 0":                  {Time: date, Whole: true, Container: "a", Run: trace.NoRun, Actor: trace.StartupProbe, Mark: trace.Mark{Kind: trace.End, N: 0}},
		"2023-12-21T10:40:51.1Z: pod-with-a-long-name-9 / main: tick 100000":   {Time: date.Add(100 * time.Millisecond), Container: "pod-with-a-long-name-9", Run: trace.NoRun, Actor: trace.Main, Mark: trace.Mark{Kind: trace.Tick, N: 100000}},
	} {
		t.Run(in, func(t *testing.T) {
			got, err := trace.ParseLine(in)
			assert.NilError(t, err)
			assert.Assert(t, got.Time.Equal(want.Time), "%s", got.Time)
			got.Time = want.Time
			assert.DeepEqual(t, got, want)
		})
	}
}

func TestParseLineRefuses(t *testing.T) {
	const stamp = "2023-12-21T10:40:51Z: "
	for in, want := range map[string]string{
		"":                                          "no time stamp",
		"container1 / main":                         "no time stamp",
		"yesterday: a / main":                       "not the output of date(1)",
		"2023-12-21: a / main":                      "not RFC 3339",
		"Thu Dec 21 10:60:51 UTC 2023: a / main":    "not the output of date(1)",
		"Thu Dec 32 10:40:51 UTC 2023: a / main":    "not the output of date(1)",
		"Thu Feb 30 10:40:51 UTC 2023: a / main":    "not the output of date(1)",
		"Thx Dec 21 10:40:51 UTC 2023: a / main":    "not the output of date(1)",
		"Thu Dex 21 10:40:51 UTC 2023: a / main":    "not the output of date(1)",
		"Thu Dec 21 10:40:5x UTC 2023: a / main":    "not the output of date(1)",
		"2023-12-21T10:40:51,5Z: a / main":          "not RFC 3339",
		"2023-12-21T10:40:51.1234567890Z: a / main": "not RFC 3339",
		stamp + "a":                                 `no " / "`,
		stamp + "a/main":                            `no " / "`,
		stamp + "A / main":                          "not a container name",
		stamp + " / main":                           "not a container name",
		stamp + "-a / main":                         "not a container name",
		stamp + "a# / main":                         "not a number",
		stamp + "a#01 / main":                       "not a number",
		stamp + "a#-1 / main":                       "not a number",
		stamp + "a / mai":                           "not an actor",
		stamp + "a / main ":                         "not an actor",
		stamp + "a / post start":                    "not an actor",
		stamp + "a / main: ":                        "not a mark",
		stamp + "a / main: begin 1":                 "not a mark",
		stamp + "a / main: tick x":                  "not a mark",
		stamp + "a / main: end 256":                 "not a mark",
		stamp + "a / main: signal":                  "not a mark",
		stamp + "a / main: signal TERM from":        "not a mark",
		stamp + "a / main: signal TERM from above":  "not a mark",
		stamp + "a / main: signal from inside":      "not a mark",
		stamp + "a / main: signal term":             "not a mark",
		stamp + "a / main: start":                   "not a mark",
		stamp + "a / startup probe: signal TERM":    "a probe writes no",
	} {
		t.Run(in, func(t *testing.T) {
			_, err := trace.ParseLine(in)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"a / main: begin", "a#0 / main: begin", true},
		{"a / main: begin", "a#0 / main: tick 1", false},
		{"a#1 / main: begin", "a#0 / main: begin", false},
		{"a#1 / main: begin", "a#1 / main: begin", true},
		{"a / main", "a / main", true},
		{"a / main", "a#3 / main: end 1", true},
		{"a / main", "b / main", false},
		{"a / main: tick", "a / main", true},
		{"a / main: tick", "a / main: tick 7", true},
		{"a / main: tick 7", "a / main: tick 8", false},
		{"a / main: end", "a / main: end 1", true},
		{"a / main: end 0", "a / main: end 1", false},
		{"a / main: signal TERM", "a / main: signal INT", false},
		{"a / main: signal TERM", "a / main: signal TERM", true},
		{"a / main: signal TERM", "a / main: signal TERM from outside", true},
		{"a / main: signal TERM from outside", "a / main: signal TERM from outside", true},
		{"a / main: signal TERM from inside", "a / main: signal TERM from outside", false},
		{"a / main: signal TERM from inside", "a / main: signal TERM", false},
		{"a / post start hook", "a / pre stop hook", false},
	} {
		p, err := trace.ParsePattern(c.pattern)
		assert.NilError(t, err)
		assert.Equal(t, p.String(), c.pattern)
		l, err := trace.ParseLine("2023-12-21T10:40:51Z: " + c.line)
		assert.NilError(t, err)
		assert.Equal(t, p.Match(l), c.want, "%q matches %q", c.pattern, c.line)
	}
	_, err := trace.ParsePattern("a / mainly")
	assert.ErrorContains(t, err, `pattern "a / mainly"`)
}

func FuzzParseLine(f *testing.F) {
	for _, s := range []string{
		"Thu Dec 21 10:40:51 UTC 2023: container1 / main", "2023-12-21T10:40:51.123456789Z: a#0 / post start hook: end 0",
		"2023-12-21T10:40:51Z: a / startup probe: end 1", "x: y / z", ": / ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := trace.ParseLine(s)
		if err != nil {
			return
		}
		if strings.ContainsRune(l.Format(), '\n') {
			t.Fatalf("%q gives a line with a newline", s)
		}
		again, err := trace.ParseLine(l.Format())
		if err != nil {
			t.Fatalf("%q is read and written as %q, which is not: %v", s, l.Format(), err)
		}
		if again.String() != l.String() || !again.Time.Equal(l.Time) {
			t.Fatalf("%q is read, written and read as %q", s, again.Format())
		}
	})
}

func BenchmarkParseLine(b *testing.B) {
	const line = "Thu Dec 21 10:40:51 UTC 2023: container1 / post start hook"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trace.ParseLine(line); err != nil {
			b.Fatal(err)
		}
	}
}
