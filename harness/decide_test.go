package harness

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/record"
	"github.com/podorder/podorder/reference/trace"
)

// waiter is a runner that records a Pod which never comes.
func waiter(t *testing.T, decides func(*trace.Trace) string) *runner {
	t.Helper()
	rec, err := record.Start(t.Context(), record.Options{
		Dir: t.TempDir(), Client: fake.NewClientset(), Namespace: "ns", Pod: "p",
		Header: func(string) (trace.Header, bool) { return trace.Header{Case: "a/b", Kubelet: "v1.37.2"}, true },
	})
	assert.NilError(t, err)
	r := &runner{Recording: &Recording{}, rec: rec, o: Options{Decides: decides, Progress: func(string, ...any) {}}}
	assert.NilError(t, rec.Did(trace.ActApply, nil))
	return r
}

// forAMinute waits for what does not come.
func forAMinute(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errPatience)
	defer cancel()
	<-ctx.Done()
	return &record.AwaitError{What: "a line", Why: context.Cause(ctx)}
}

var errPatience = errors.New("not within a minute")

// TestADecidedCaseWaitsNoLonger: what is late is so once the time has passed, whether or not anything is recorded, and
// the recording then goes on until that time.
func TestADecidedCaseWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var seen []string
		r := waiter(t, func(soFar *trace.Trace) string {
			assert.Equal(t, soFar.Header.Kubelet, "v1.37.2")
			last := soFar.Entries[len(soFar.Entries)-1]
			seen = append(seen, last.Did.Name)
			assert.Equal(t, last.Line, len(soFar.Entries)+1)
			assert.Equal(t, time.Since(last.At), behind)
			if last.At.Sub(soFar.Entries[0].At) < 9*time.Second {
				return ""
			}
			return "hooks/poststart-once, line 7"
		})
		err := r.await(t.Context(), forAMinute)
		decided := new(DecidedError)
		assert.Assert(t, errors.As(err, &decided), err)
		assert.Check(t, is.Contains(err.Error(), "hooks/poststart-once, line 7"))
		assert.Check(t, !errors.Is(err, errPatience))
		assert.Equal(t, time.Since(start), 22*time.Second, "9 s, which a look sees 5 s later, and four more looks")
		assert.Equal(t, len(seen), 9)
		assert.Equal(t, r.decided, decided)
		assert.NilError(t, r.rec.Close())
		tr, err := r.rec.Load()
		assert.NilError(t, err)
		last := tr.Entries[len(tr.Entries)-1]
		assert.Equal(t, last.Did.Name, trace.ActLook)
		assert.Check(t, last.At.Sub(start) >= 9*time.Second)
	})
}

// TestWhatIsLookedAtIsAsOfATime: lines are read late, and updates come sooner than the lines of what they show.
func TestWhatIsLookedAtIsAsOfATime(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 4, 5, 0, time.UTC)
	line := func(written, read time.Duration) trace.Entry {
		text := at.Add(written).Format(time.RFC3339Nano) + ": a / main"
		return trace.Entry{At: at.Add(read), Log: &text}
	}
	kept := []trace.Entry{
		{At: at.Add(-time.Second), Event: &trace.Event{Reason: "Started"}}, line(-time.Second, -time.Second), line(time.Second, 0), line(-time.Second, time.Second),
	}
	dropped := []trace.Entry{{At: at.Add(time.Second), Event: &trace.Event{Reason: "Killing"}}, line(time.Second, 2*time.Second)}
	assert.DeepEqual(t, asOf(slices.Concat(kept, dropped), at), kept)
}

// TestWhatIsNotDecidedIsWaitedFor: for as long as its patience says, and looks leave nothing in the recording.
func TestWhatIsNotDecidedIsWaitedFor(t *testing.T) {
	for name, decides := range map[string]func(*trace.Trace) string{
		"nobody decides":  nil,
		"nothing decides": func(*trace.Trace) string { return "" },
		"what decides is explained at the fifth look": func(soFar *trace.Trace) string {
			entries := soFar.Entries
			if since := entries[len(entries)-1].At.Sub(entries[0].At); since >= 10*time.Second && since < 18*time.Second {
				return "hooks/poststart-once, line 7"
			}
			return ""
		},
		"each look says something else": func(soFar *trace.Trace) string {
			return soFar.Entries[len(soFar.Entries)-1].At.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := waiter(t, decides)
				err := r.await(t.Context(), forAMinute)
				assert.Check(t, errors.Is(err, errPatience))
				assert.Check(t, r.decided == nil)
				assert.NilError(t, r.await(t.Context(), func(context.Context) error { return nil }))
				assert.NilError(t, r.rec.Close())
				tr, err := r.rec.Load()
				assert.NilError(t, err)
				assert.Equal(t, len(tr.Entries), 1)
			})
		})
	}
}

func TestTheLastGracePeriodOfACase(t *testing.T) {
	act := func(name string, seconds int64) fixtures.Step {
		a, err := trace.NewAct(name, trace.DeleteParam{GracePeriodSeconds: &seconds})
		assert.NilError(t, err)
		return fixtures.Step{Act: &a}
	}
	assert.Check(t, lastPeriod(nil) == nil)
	assert.Check(t, lastPeriod([]fixtures.Step{act(trace.ActEvict, 4)}) == nil)
	assert.Equal(t, *lastPeriod([]fixtures.Step{act(trace.ActDelete, 9), {Await: &fixtures.Await{Gone: true}}, act(trace.ActDelete, 1)}), int64(1))
}
