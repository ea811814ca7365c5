package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func newGraph(said *[]string) *graph {
	var mu sync.Mutex
	return &graph{progress: &progress{start: time.Now(), print: func(f string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		*said = append(*said, fmt.Sprintf(f, args...))
	}}}
}

// text describes a step that makes a text.
func text(name string, make func(context.Context, *step) (string, error), needs ...need) task[string] {
	return task[string]{name: name, needs: needs, line: func() string { return "line of " + name }, make: make}
}

func says(s string) func(context.Context, *step) (string, error) {
	return func(context.Context, *step) (string, error) { return s, nil }
}

// waits waits until it is cancelled.
func waits(begun chan<- string, name string) func(context.Context, *step) (string, error) {
	return func(ctx context.Context, _ *step) (string, error) {
		begun <- name
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
}

func TestGraphHandsOnWhatStepsMake(t *testing.T) {
	var said []string
	g := newGraph(&said)
	a := add(g, text("a", says("x")))
	b := add(g, text("b", says("y")))
	n := add(g, task[int]{name: "n", needs: []need{a, b}, line: func() string { return "counts" }, make: func(_ context.Context, s *step) (int, error) {
		return len(from(s, a) + from(s, b)), nil
	}})
	end := ""
	add(g, text("end", func(_ context.Context, s *step) (string, error) {
		end = fmt.Sprint(from(s, n))
		return "", nil
	}, n))
	assert.NilError(t, g.run(t.Context()))
	assert.Equal(t, end, "2")
	assert.Equal(t, len(said), 4)
	assert.Equal(t, said[2], "[0:00] step 3/4 counts")
	assert.Equal(t, said[3], "[0:00] step 4/4 line of end")
}

// A step begins when what it needs is there, and neither sooner nor with those that others need.
func TestGraphRunsSideBySide(t *testing.T) {
	var said []string
	g := newGraph(&said)
	meet := make(chan string)
	first := add(g, text("first", says("1")))
	// The two can only end if they run at once, and the third while the fourth cannot begin.
	left := add(g, text("left", func(context.Context, *step) (string, error) { meet <- "left"; return "l", nil }, first))
	right := add(g, text("right", func(context.Context, *step) (string, error) { return <-meet, nil }, first))
	slowEnds := make(chan struct{})
	slow := add(g, text("slow", func(context.Context, *step) (string, error) { <-slowEnds; return "", nil }))
	add(g, text("after both", func(_ context.Context, s *step) (string, error) {
		assert.Equal(t, from(s, left)+from(s, right), "lleft")
		close(slowEnds) // it has not waited for slow
		return "", nil
	}, left, right))
	ended := false
	add(g, text("after slow", func(context.Context, *step) (string, error) {
		select {
		case <-slowEnds:
			ended = true
		default:
			t.Error("it began before slow had ended")
		}
		return "", nil
	}, slow))
	assert.NilError(t, g.run(t.Context()))
	assert.Assert(t, ended)
}

// The first error names its step, ends those that run, and lets none begin.
func TestGraphEndsWithTheFirstError(t *testing.T) {
	var said []string
	g := newGraph(&said)
	begun := make(chan string, 1)
	add(g, text("waits", waits(begun, "waits")))
	failure := errors.New("no space left")
	fails := add(g, text("fails", func(context.Context, *step) (string, error) { <-begun; return "", failure }))
	add(g, text("never", func(context.Context, *step) (string, error) {
		t.Error("it began without what it needs")
		return "", nil
	}, fails))
	err := g.run(t.Context())
	assert.ErrorIs(t, err, failure)
	assert.Error(t, err, "fails: no space left")
	assert.Assert(t, strings.Contains(strings.Join(said, "\n"), "line of fails: failed after 0:00"), "%q", said)
}

func TestGraphIsInterrupted(t *testing.T) {
	var said []string
	g := newGraph(&said)
	begun := make(chan string, 1)
	waiting := add(g, text("waits", waits(begun, "waits")))
	add(g, text("never", func(context.Context, *step) (string, error) {
		t.Error("it began without what it needs")
		return "", nil
	}, waiting))
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted: SIGINT")
	go func() { <-begun; cancel(interrupted) }()
	assert.ErrorIs(t, g.run(ctx), interrupted)
}

// What is not among the needs may not be there yet, and is refused even if it is.
func TestGraphRefusesWhatIsNotNeeded(t *testing.T) {
	var said []string
	g := newGraph(&said)
	a := add(g, text("a", says("x")))
	b := add(g, text("b", says("y"), a))
	add(g, text("c", func(_ context.Context, s *step) (_ string, err error) {
		defer func() { err = errors.New(fmt.Sprint(recover())) }()
		return from(s, a), nil
	}, b))
	assert.Error(t, g.run(t.Context()), `c: step "c" uses what step "a" makes and does not say that it needs it`)
}
