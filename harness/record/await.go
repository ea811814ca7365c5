package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// AwaitError says what was not seen, and what was seen last.
type AwaitError struct {
	// What was waited for: `line "container2 / main: begin"`.
	What string
	// Why the waiting ended.
	Why error
	// Last is what there was by then.
	Last string
}

func (e *AwaitError) Error() string {
	return fmt.Sprintf("waiting for %s: %v; seen last: %s", e.What, e.Why, e.Last)
}

// Unwrap returns why the waiting ended.
func (e *AwaitError) Unwrap() error { return e.Why }

// ErrOver says that the Pod is gone and its log read to the end, so that waiting is of no use.
var ErrOver = errors.New("the Pod is gone")

// Await waits until what was recorded, from the beginning, fulfils a step of a case; for what the Pod is shown as, its last state counts. patience holds where the
// step gives none.
func (r *Recorder) Await(ctx context.Context, a fixtures.Await, patience time.Duration) error {
	if a.Within > 0 {
		patience = a.Within
	}
	switch {
	case a.Pattern != nil:
		want, seen := max(a.Count, 1), 0
		return r.await(ctx, patience, a.String(), func(e trace.Entry) bool {
			if e.Log == nil {
				return false
			}
			// A line that is not of the grammar is recorded like any other, and is for the judge to refuse.
			if l, err := trace.ParseLine(*e.Log); err == nil && a.Pattern.Match(l) {
				seen++
			}
			return seen >= want
		}, func() string { return fmt.Sprintf("%d of %d such lines", seen, want) })
	case a.Condition != "":
		want := a.Status
		if want == "" {
			want = string(corev1.ConditionTrue)
		}
		return r.awaitState(ctx, a, patience, func(p *corev1.Pod) (bool, string) {
			for _, c := range p.Status.Conditions {
				if string(c.Type) == a.Condition {
					return string(c.Status) == want, a.Condition + " is " + strings.TrimSpace(string(c.Status)+" "+c.Reason)
				}
			}
			return false, a.Condition + " is not set"
		})
	case a.State != "":
		return r.awaitState(ctx, a, patience, func(p *corev1.Pod) (bool, string) {
			for _, s := range containerStatuses(p) {
				if s.Name == a.Container {
					return isState(s, a.State, a.Reason), a.Container + " is " + stateOf(s)
				}
			}
			return false, a.Container + " has no status"
		})
	case a.Phase != "":
		return r.awaitState(ctx, a, patience, func(p *corev1.Pod) (bool, string) {
			return p.Status.Phase == a.Phase, "the phase is " + string(p.Status.Phase)
		})
	case a.Event != "":
		return r.await(ctx, patience, a.String(), func(e trace.Entry) bool {
			return e.Event != nil && e.Event.Reason == a.Event && (a.Container == "" || strings.HasSuffix(e.Event.FieldPath, "{"+a.Container+"}"))
		}, func() string { return "no such Event" })
	case a.Gone:
		return r.AwaitOver(ctx, patience)
	}
	return errors.New("waiting for nothing")
}

// awaitState waits until the Pod is shown as something. What it was before this step is of no interest, but what it is now is.
func (r *Recorder) awaitState(ctx context.Context, a fixtures.Await, patience time.Duration, is func(*corev1.Pod) (bool, string)) error {
	r.mu.Lock()
	now, from := r.last, len(r.entries)
	r.mu.Unlock()
	done, state := false, "no Pod"
	if now != nil {
		done, state = is(now)
	}
	if done {
		return nil
	}
	return r.awaitFrom(ctx, from, patience, a.String(), func(e trace.Entry) bool {
		if e.Pod != nil {
			done, state = is(e.Pod)
		}
		return done
	}, func() string { return state })
}

func containerStatuses(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses)
}

// isState reports whether a container is shown as a state, for a reason if that is not empty.
func isState(s corev1.ContainerStatus, state fixtures.ContainerState, reason string) bool {
	switch state {
	case fixtures.Waiting:
		return s.State.Waiting != nil && (reason == "" || reason == s.State.Waiting.Reason)
	case fixtures.Running:
		return s.State.Running != nil
	case fixtures.Terminated:
		return s.State.Terminated != nil && (reason == "" || reason == s.State.Terminated.Reason)
	case fixtures.Started:
		return s.Started != nil && *s.Started
	case fixtures.Ready:
		return s.Ready
	}
	return false
}

// AwaitOver waits until the Pod is gone and its log has been read to the end.
func (r *Recorder) AwaitOver(ctx context.Context, patience time.Duration) error {
	err := r.await(ctx, patience, "the Pod to be gone", func(trace.Entry) bool { return false }, func() string {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.gone {
			return "it is, but its log has not ended"
		}
		return "it is there"
	})
	if errors.Is(err, ErrOver) {
		return nil
	}
	return err
}

func (r *Recorder) await(ctx context.Context, patience time.Duration, what string, is func(trace.Entry) bool, seen func() string) error {
	return r.awaitFrom(ctx, 0, patience, what, is, seen)
}

// awaitFrom shows every entry from one on to a function until that is content. seen tells how far it got.
func (r *Recorder) awaitFrom(ctx context.Context, from int, patience time.Duration, what string, is func(trace.Entry) bool, seen func() string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	for i := from; ; {
		r.mu.Lock()
		entries, changed, failed := r.entries[i:], r.changed, r.err
		over := r.gone && r.drained
		r.mu.Unlock()
		for _, e := range entries {
			if is(e) {
				return nil
			}
		}
		i += len(entries)
		why := failed
		if why == nil && over {
			why = ErrOver
		}
		if why == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				why = context.Cause(ctx)
			}
		}
		return &AwaitError{What: what, Why: why, Last: seen() + "; " + r.seenLast()}
	}
}

// seenLast describes the last log line and the state of the Pod.
func (r *Recorder) seenLast() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := "no log line"
	for i := len(r.entries) - 1; i >= 0; i-- {
		if r.entries[i].Log != nil {
			line = fmt.Sprintf("log line %q", *r.entries[i].Log)
			break
		}
	}
	return line + "; " + describe(r.last)
}

// describe says in a line how a Pod is doing.
func describe(p *corev1.Pod) string {
	if p == nil {
		return "no Pod"
	}
	parts := []string{"Pod " + string(p.Status.Phase)}
	if p.Spec.NodeName == "" {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
				parts = append(parts, strings.TrimSpace("not scheduled: "+c.Message))
			}
		}
	}
	for _, s := range containerStatuses(p) {
		parts = append(parts, s.Name+" "+stateOf(s))
	}
	return strings.Join(parts, ", ")
}

// stateOf says in some words how a container is shown.
func stateOf(s corev1.ContainerStatus) string {
	switch {
	case s.State.Running != nil && s.Ready:
		return "running and ready"
	case s.State.Running != nil:
		return "running"
	case s.State.Terminated != nil:
		return fmt.Sprintf("terminated (%s, exit code %d)", s.State.Terminated.Reason, s.State.Terminated.ExitCode)
	case s.State.Waiting != nil:
		return strings.TrimSpace(fmt.Sprintf("waiting (%s) %s", s.State.Waiting.Reason, s.State.Waiting.Message))
	}
	return "waiting"
}
