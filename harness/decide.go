package harness

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/record"
	"github.com/podorder/podorder/reference/trace"
)

// DecidedError says that a case was ended before its last step, because what was recorded by then decides it.
type DecidedError struct {
	// Why is what Options.Decides said.
	Why string
}

func (e *DecidedError) Error() string { return "the case was ended, because it is decided: " + e.Why }

const (
	// lookEvery is how often a case that waits is asked whether it is decided. It is decided once so many looks in a row say the same: a line or
	// an Event that explains what is shown of the Pod may be on its way.
	lookEvery, looks = 2 * time.Second, 5
	// behind is how long what was seen is left before it is judged, so that the lines which explain it have been read. Patience, not a rule.
	behind = 5 * time.Second
	// leavePatience is how long the Pod of a case that is decided may take to go beyond its grace period. Patience, not a rule.
	leavePatience = 5 * time.Second
)

// await waits, and looks now and then whether the case is decided. Then it ends the waiting; its error is the *DecidedError.
func (r *runner) await(ctx context.Context, wait func(context.Context) error) error {
	if r.o.Decides == nil || r.decided != nil {
		return wait(ctx)
	}
	waiting, cancel := context.WithCancelCause(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		t := time.NewTicker(lookEvery)
		defer t.Stop()
		for last, same := "", 0; ; {
			select {
			case <-waiting.Done():
				return
			case <-t.C:
			}
			why := r.look()
			if why != last {
				last, same = why, 0
			}
			if same++; why != "" && same == looks {
				cancel(&DecidedError{why})
			}
		}
	}()
	err := wait(waiting)
	cancel(nil)
	<-looked
	if e := new(DecidedError); errors.As(err, &e) {
		r.decided = e
		r.o.Progress("waits no longer: %s", e.Why)
		// What was late by now is so only if the recording goes on until now.
		return errors.Join(e, r.rec.Did(trace.ActLook, nil))
	}
	return err
}

// look says why the recording would decide the case, had it ended a short time ago.
func (r *runner) look() string {
	t := r.rec.SoFar()
	if t == nil || len(t.Entries) == 0 {
		return ""
	}
	at, line := time.Now().UTC().Add(-behind), len(t.Entries)+2
	if at.Before(t.Entries[0].At) {
		return ""
	}
	act, err := trace.NewAct(trace.ActLook, nil)
	if err != nil {
		return ""
	}
	t.Entries = append(asOf(t.Entries, at), trace.Entry{At: at, Did: &act, Line: line})
	return r.o.Decides(t)
}

// asOf leaves of the entries what a recording would have that had ended at some time: what had come by then, and the lines that were
// written by then.
func asOf(entries []trace.Entry, at time.Time) []trace.Entry {
	return slices.DeleteFunc(entries, func(e trace.Entry) bool {
		if !e.At.After(at) {
			return false
		}
		if e.Log == nil {
			return true
		}
		l, err := trace.ParseLine(*e.Log)
		return err == nil && l.Time.After(at)
	})
}

// leave waits for the Pod of a case that is decided, but not for long: a kubelet that stops nothing would hold it up for ever.
func (r *runner) leave(ctx context.Context, pod *corev1.Pod) error {
	period := grace(pod)
	if last := r.rec.Pod(); last != nil && last.DeletionGracePeriodSeconds != nil {
		period = time.Duration(*last.DeletionGracePeriodSeconds) * time.Second
	} else if p := lastPeriod(r.c.Steps); p != nil {
		period = time.Duration(*p) * time.Second
	}
	err := r.rec.AwaitOver(ctx, period+leavePatience)
	if e := new(record.AwaitError); errors.As(err, &e) && ctx.Err() == nil {
		r.o.Progress("leaves the Pod to the cleanup: %v", err)
		return nil
	}
	return err
}

// lastPeriod is the grace period of the last step that deletes the Pod; nil if there is none, or it has none of its own.
func lastPeriod(steps []fixtures.Step) (period *int64) {
	for _, s := range steps {
		if s.Act == nil || s.Act.Name != trace.ActDelete {
			continue
		}
		if p, err := fixtures.Period(*s.Act); err == nil {
			period = p
		}
	}
	return period
}
