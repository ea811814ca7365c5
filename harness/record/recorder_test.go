package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// patience bounds what is not expected to take any time.
const patience = 30 * time.Second

// cluster is an API server that serves one Pod and its Events by script.
type cluster struct {
	client *fake.Clientset
	// pods takes each watch on the Pod that is opened; events the one on Events.
	pods, events chan *watch.FakeWatcher

	mu        sync.Mutex
	pod       *corev1.Pod   // what a list returns
	lastEvent *corev1.Event // what a list returns
	refuse    []error       // for the next watches on the Pod
	versions  []string      // that watches on the Pod were asked to go on from
}

func newCluster() *cluster {
	c := &cluster{client: fake.NewClientset(), pods: make(chan *watch.FakeWatcher, 8), events: make(chan *watch.FakeWatcher, 8)}
	c.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		l := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
		if c.pod != nil {
			l.Items = append(l.Items, *c.pod)
		}
		return true, l, nil
	})
	c.client.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		l := &corev1.EventList{ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
		if c.lastEvent != nil {
			l.Items = append(l.Items, *c.lastEvent)
		}
		return true, l, nil
	})
	c.client.PrependWatchReactor("pods", func(a clienttesting.Action) (bool, watch.Interface, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.versions = append(c.versions, a.(clienttesting.WatchActionImpl).ListOptions.ResourceVersion)
		if len(c.refuse) > 0 {
			err := c.refuse[0]
			c.refuse = c.refuse[1:]
			return true, nil, err
		}
		w := watch.NewFakeWithChanSize(8, false)
		c.pods <- w
		return true, w, nil
	})
	c.client.PrependWatchReactor("events", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFakeWithChanSize(8, false)
		c.events <- w
		return true, w, nil
	})
	return c
}

func pod(version, node string, ready bool) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", UID: "u1", ResourceVersion: version, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

// attempt is one connection to the log reader: what it prints, and how it ends.
type attempt struct {
	offset int64
	prints string
	err    error
	hold   bool // until the context ends
}

// follower plays the attempts; the test fails if the offsets are not as expected.
func follower(t *testing.T, attempts ...attempt) Follow {
	var mu sync.Mutex
	return func(ctx context.Context, node string, uid types.UID, offset int64, out io.Writer) error {
		mu.Lock()
		defer mu.Unlock()
		if len(attempts) == 0 {
			t.Error("the log was followed once too often")
			return nil
		}
		a := attempts[0]
		attempts = attempts[1:]
		if node != "n1" || uid != "u1" || offset != a.offset {
			t.Errorf("following the log of %s on %s from %d, not from %d", uid, node, offset, a.offset)
		}
		if _, err := io.WriteString(out, a.prints); err != nil {
			return err
		}
		if a.hold {
			<-ctx.Done()
			return ctx.Err()
		}
		return a.err
	}
}

func options(t *testing.T, c *cluster, f Follow) Options {
	return Options{
		Dir: t.TempDir(), Client: c.client, Namespace: "ns", Pod: "p", Follow: f,
		LocalClock: func(string) bool { return true },
		Header: func(node string) (trace.Header, bool) {
			return trace.Header{Case: "a/b", Kubelet: "v1.37.2"}, node == "n1"
		},
	}
}

func begin(t *testing.T, c *cluster, f Follow, drain time.Duration) *Recorder {
	t.Helper()
	r, err := start(t.Context(), options(t, c, f), drain)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// shape names the entries of a saved trace.
func shape(t *testing.T, r *Recorder) []string {
	t.Helper()
	tr, err := r.Load()
	assert.NilError(t, err)
	var s []string
	for _, e := range tr.Entries {
		switch {
		case e.Log != nil:
			s = append(s, "log "+*e.Log)
		case e.Pod != nil:
			assert.Equal(t, len(e.Pod.ManagedFields), 0)
			assert.Equal(t, e.Pod.Kind, "Pod")
			s = append(s, e.Type+" "+e.Pod.ResourceVersion)
		case e.Event != nil:
			s = append(s, "event "+e.Event.Reason)
		case e.Did != nil:
			s = append(s, "did "+e.Did.Name)
		case e.Gap != nil:
			s = append(s, "gap "+e.Gap.Channel)
		}
	}
	return s
}

func pattern(t *testing.T, s string) *trace.Pattern {
	p, err := trace.ParsePattern(s)
	assert.NilError(t, err)
	return &p
}

const (
	stamp = "2026-01-02T03:04:05.000000001Z "
	begun = "2026-01-02T03:04:04Z: c / main: begin"
	ended = "2026-01-02T03:04:05Z: c / main: end 0"
)

func awaitLine(t *testing.T, r *Recorder, line string, count int) {
	t.Helper()
	assert.NilError(t, r.Await(t.Context(), fixtures.Await{Pattern: pattern(t, line), Count: count}, patience))
}

func TestARecordingHoldsWhatCameInAndIsSaved(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{prints: stamp + begun + "\n" + stamp + ended + "\n"}), patience)
	assert.NilError(t, r.Did(trace.ActApply, nil))
	w := <-c.pods
	w.Add(pod("101", "", false))
	w.Modify(pod("102", "n1", false))
	awaitLine(t, r, "c / main: end 0", 1)
	w.Modify(pod("103", "n1", true))
	assert.NilError(t, r.Await(t.Context(), fixtures.Await{Condition: "Ready"}, patience))
	(<-c.events).Add(&corev1.Event{ObjectMeta: metav1.ObjectMeta{UID: "e1", ResourceVersion: "7"}, Reason: "Started"})
	assert.NilError(t, r.await(t.Context(), patience, "an Event", func(e trace.Entry) bool { return e.Event != nil }, func() string { return "none" }))
	assert.NilError(t, r.Did(trace.ActDelete, trace.DeleteParam{}))
	w.Delete(pod("104", "n1", false))
	assert.NilError(t, r.Await(t.Context(), fixtures.Await{Gone: true}, patience))
	c.lastEvent = &corev1.Event{ObjectMeta: metav1.ObjectMeta{UID: "e2", ResourceVersion: "8"}, Reason: "Killing"}
	assert.NilError(t, r.Close())
	assert.DeepEqual(t, shape(t, r), []string{
		"did apply", "ADDED 101", "MODIFIED 102", "log " + begun, "log " + ended, "MODIFIED 103", "event Started", "did delete", "DELETED 104",
		"event Killing",
	})
	tr, err := r.Load()
	assert.NilError(t, err)
	assert.Equal(t, tr.Header.Kubelet, "v1.37.2")
	assert.Equal(t, tr.Entries[3].At.Format(time.RFC3339Nano), strings.TrimSpace(stamp), "a line has the time at which the node read it")
	raw, err := os.ReadFile(r.LogPath())
	assert.NilError(t, err)
	assert.Equal(t, string(raw), begun+"\n"+ended+"\n")
}

func TestAnEventOfTheNewerAPIHasItsCountAndTimesElsewhere(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := event(&corev1.Event{
		Reason: "Scheduled", EventTime: metav1.NewMicroTime(at),
		Series: &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at.Add(time.Minute))},
	})
	assert.DeepEqual(t, *got, trace.Event{
		Reason: "Scheduled", Count: 3, FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at.Add(time.Minute)),
	})
}

func TestAWatchThatClosesIsResumedWithoutAGap(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{}), patience)
	w := <-c.pods
	w.Add(pod("101", "n1", false))
	w.Stop()
	w = <-c.pods
	w.Delete(pod("102", "n1", false))
	assert.NilError(t, r.AwaitOver(t.Context(), patience))
	assert.NilError(t, r.Close())
	assert.DeepEqual(t, shape(t, r), []string{"ADDED 101", "DELETED 102"})
	assert.DeepEqual(t, c.versions, []string{"100", "101"})
}

func TestAWatchThatCannotBeResumedLeavesAGap(t *testing.T) {
	for name, last := range map[string]*corev1.Pod{"the Pod is there": pod("150", "n1", true), "the Pod is gone": nil} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			r := begin(t, c, follower(t, attempt{}), patience)
			w := <-c.pods
			w.Add(pod("101", "n1", false))
			c.mu.Lock()
			c.pod, c.refuse = last, []error{apierrors.NewResourceExpired("too old")}
			c.mu.Unlock()
			w.Stop()
			want := []string{"ADDED 101", "gap watch"}
			if last != nil {
				(<-c.pods).Delete(pod("151", "n1", false))
				want = append(want, "MODIFIED 150", "DELETED 151")
			}
			assert.NilError(t, r.AwaitOver(t.Context(), patience))
			assert.NilError(t, r.Close())
			assert.DeepEqual(t, shape(t, r), want)
		})
	}
}

func TestALogThatBreaksOffIsReadOnFromItsOffset(t *testing.T) {
	c := newCluster()
	half := stamp + ended[:10]
	r := begin(t, c, follower(t,
		attempt{prints: stamp + begun + "\n" + half, err: errors.New("connection reset")},
		attempt{offset: int64(len(begun) + 1), err: errors.New("connection refused")},
		attempt{offset: int64(len(begun) + 1), prints: stamp + ended + "\n"},
	), patience)
	w := <-c.pods
	w.Add(pod("101", "n1", false))
	awaitLine(t, r, "c / main: end 0", 1)
	w.Delete(pod("102", "n1", false))
	assert.NilError(t, r.AwaitOver(t.Context(), patience))
	assert.NilError(t, r.Close())
	assert.DeepEqual(t, shape(t, r), []string{"ADDED 101", "log " + begun, "log " + ended, "DELETED 102"})
}

func TestAConnectionThatIsDeadIsMadeAnew(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t,
		attempt{prints: stamp + begun + "\n" + stamp + ended[:10], hold: true},
		attempt{offset: int64(len(begun) + 1), prints: stamp + ended + "\n"},
	), patience)
	w := <-c.pods
	w.Add(pod("101", "n1", false))
	awaitLine(t, r, "c / main", 1)
	r.FollowAgain()
	awaitLine(t, r, "c / main: end 0", 1)
	w.Delete(pod("102", "n1", false))
	assert.NilError(t, r.AwaitOver(t.Context(), patience))
	assert.NilError(t, r.Close())
	assert.DeepEqual(t, shape(t, r), []string{"ADDED 101", "log " + begun, "log " + ended, "DELETED 102"})
}

func TestAConnectionThatWasGivenUpAddsNothing(t *testing.T) {
	c := newCluster()
	var first io.Writer
	again := make(chan struct{})
	r := begin(t, c, func(ctx context.Context, _ string, _ types.UID, _ int64, out io.Writer) error {
		if first == nil {
			first = out
			return errors.New("connection reset")
		}
		close(again)
		<-ctx.Done()
		return ctx.Err()
	}, patience)
	(<-c.pods).Add(pod("101", "n1", false))
	<-again
	_, err := io.WriteString(first, stamp+begun+"\n")
	assert.ErrorIs(t, err, io.ErrClosedPipe)
	assert.DeepEqual(t, shape(t, r), []string{"ADDED 101"})
}

func TestALogThatCannotBeReadToItsEndLeavesAGap(t *testing.T) {
	for name, a := range map[string]attempt{
		"lost":      {prints: stamp + begun + "\n", err: fmt.Errorf("%w: the log was cut", ErrLost)},
		"never end": {prints: stamp + begun + "\n", hold: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			r := begin(t, c, follower(t, a), time.Millisecond)
			w := <-c.pods
			w.Add(pod("101", "n1", false))
			awaitLine(t, r, "c / main", 1)
			w.Delete(pod("102", "n1", false))
			assert.NilError(t, r.AwaitOver(t.Context(), patience))
			assert.NilError(t, r.Close())
			got := shape(t, r)
			assert.Assert(t, strings.Contains(strings.Join(got, "\n"), "gap log"), got)
		})
	}
}

func TestATornLastLineIsRecordedAsItIs(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{prints: stamp + begun + "\n" + stamp + ended[:30]}), patience)
	w := <-c.pods
	w.Add(pod("101", "n1", false))
	w.Delete(pod("102", "n1", false))
	assert.NilError(t, r.AwaitOver(t.Context(), patience))
	assert.NilError(t, r.Close())
	raw, err := os.ReadFile(r.LogPath())
	assert.NilError(t, err)
	assert.Equal(t, string(raw), begun+"\n"+ended[:30])
}

func TestWhatTheLogReaderMustNotPrintEndsTheRecording(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{prints: "panic: oh\n"}), patience)
	(<-c.pods).Add(pod("101", "n1", false))
	assert.ErrorContains(t, r.AwaitOver(t.Context(), patience), "does not begin with a time")
	assert.ErrorContains(t, r.Close(), `the log reader printed "panic: oh"`)
}

func TestAnAwaitSaysWhatWasSeenLast(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{prints: stamp + begun + "\n", hold: true}), patience)
	p := pod("101", "n1", false)
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}
	(<-c.pods).Add(p)
	awaitLine(t, r, "c / main", 1)
	err := r.Await(t.Context(), fixtures.Await{Pattern: pattern(t, "c / main"), Count: 2, Within: time.Millisecond}, patience)
	assert.Error(t, err, `waiting for 2 lines "c / main": not within 1ms; seen last: 1 of 2 such lines; log line "`+begun+
		`"; Pod Running, c waiting (ImagePullBackOff)`)
	err = r.Await(t.Context(), fixtures.Await{Condition: "Ready", Within: time.Millisecond}, patience)
	assert.ErrorContains(t, err, "waiting for condition Ready: not within 1ms; seen last: Ready is not set; ")
}

func TestAnAwaitEndsWithThePod(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{}), patience)
	w := <-c.pods
	w.Add(pod("101", "n1", false))
	w.Delete(pod("102", "n1", false))
	err := r.Await(t.Context(), fixtures.Await{Pattern: pattern(t, "c / main")}, patience)
	assert.Assert(t, errors.Is(err, ErrOver))
}

func TestARecordingThatEndsBeforeThePodSaysSo(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{prints: stamp + begun + "\n", hold: true}), patience)
	(<-c.pods).Add(pod("101", "n1", false))
	awaitLine(t, r, "c / main", 1)
	assert.NilError(t, r.Close())
	assert.DeepEqual(t, shape(t, r), []string{"ADDED 101", "log " + begun, "gap log"})
}

func TestAPodThatIsNeverBoundIsRecordedAllTheSame(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t), patience)
	w := <-c.pods
	w.Add(pod("101", "", false))
	w.Delete(pod("102", "", false))
	assert.NilError(t, r.AwaitOver(t.Context(), patience))
	assert.NilError(t, r.Close())
	assert.DeepEqual(t, shape(t, r), []string{"ADDED 101", "DELETED 102"})
}

func TestWithoutANameTheFirstPodIsRecorded(t *testing.T) {
	c := newCluster()
	o := options(t, c, follower(t, attempt{}))
	o.Pod, o.Labels = "", map[string]string{"app": "web"}
	r, err := start(t.Context(), o, patience)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	of := func(uid types.UID, version, reason string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(reason), ResourceVersion: version}, Reason: reason,
			InvolvedObject: corev1.ObjectReference{UID: uid},
		}
	}
	other := pod("103", "n1", false)
	other.Name, other.UID = "p2", "u2"
	events, w := <-c.events, <-c.pods
	events.Add(of("u2", "1", "Early"))
	events.Add(of("u1", "2", "Scheduled"))
	w.Add(pod("101", "n1", false))
	assert.NilError(t, r.Await(t.Context(), fixtures.Await{Event: "Scheduled"}, patience))
	w.Add(other)
	events.Add(of("u2", "4", "Pulled"))
	events.Add(of("u1", "5", "Started"))
	assert.NilError(t, r.Await(t.Context(), fixtures.Await{Event: "Started"}, patience))
	w.Delete(other)
	w.Delete(pod("104", "n1", false))
	assert.NilError(t, r.AwaitOver(t.Context(), patience))
	c.mu.Lock()
	c.lastEvent = of("u2", "6", "Killing")
	c.mu.Unlock()
	assert.NilError(t, r.Close())
	got := shape(t, r)
	slices.Sort(got) // Pods and Events come over two watches
	assert.DeepEqual(t, got, []string{"ADDED 101", "DELETED 104", "event Scheduled", "event Started"})
}

func TestWhatThePodIsShownAsCanBeAwaited(t *testing.T) {
	c := newCluster()
	r := begin(t, c, follower(t, attempt{}), patience)
	w := <-c.pods
	yes := true
	w.Add(pod("101", "n1", true))
	for i, tt := range []struct {
		await fixtures.Await
		state corev1.ContainerState
		phase corev1.PodPhase
		miss  string
	}{
		{
			fixtures.Await{Container: "c", State: fixtures.Waiting, Reason: "ErrImagePull"},
			corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}, corev1.PodPending, "c has no status",
		},
		{
			fixtures.Await{Container: "c", State: fixtures.Running},
			corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.PodRunning, "c is waiting (ErrImagePull)",
		},
		{
			fixtures.Await{Container: "c", State: fixtures.Terminated, Reason: "Error"},
			corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 3}}, corev1.PodRunning, "c is running and ready",
		},
		{
			fixtures.Await{Phase: corev1.PodFailed},
			corev1.ContainerState{}, corev1.PodFailed, "the phase is Running",
		},
		{
			fixtures.Await{Condition: "Ready", Status: "False"},
			corev1.ContainerState{}, corev1.PodFailed, "Ready is True",
		},
	} {
		miss := tt.await
		miss.Within = time.Millisecond
		assert.NilError(t, r.await(t.Context(), patience, "the Pod", func(e trace.Entry) bool {
			return e.Pod != nil && e.Pod.ResourceVersion == fmt.Sprint(101+i)
		}, func() string { return "none" }))
		assert.ErrorContains(t, r.Await(t.Context(), miss, patience), tt.miss)
		p := pod(fmt.Sprint(102+i), "n1", true)
		p.Status.Phase = tt.phase
		if tt.await.Condition != "" {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: tt.state, Ready: tt.state.Running != nil, Started: &yes}}
		w.Modify(p)
		assert.NilError(t, r.Await(t.Context(), tt.await, patience), "%v", tt.await)
	}
	assert.NilError(t, r.Await(t.Context(), fixtures.Await{Container: "c", State: fixtures.Started}, patience))
	err := r.Await(t.Context(), fixtures.Await{Container: "c", State: fixtures.Ready, Within: time.Millisecond}, patience)
	assert.ErrorContains(t, err, "waiting for container c to be ready: not within 1ms")
	err = r.Await(t.Context(), fixtures.Await{Event: "Killing", Container: "c", Within: time.Millisecond}, patience)
	assert.ErrorContains(t, err, "waiting for Event Killing of container c: not within 1ms; seen last: no such Event")
	(<-c.events).Add(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{UID: "e1", ResourceVersion: "7"}, Reason: "Killing",
		InvolvedObject: corev1.ObjectReference{UID: "u1", FieldPath: "spec.initContainers{c}"},
	})
	assert.NilError(t, r.Await(t.Context(), fixtures.Await{Event: "Killing", Container: "c"}, patience))
}

func TestANodeThatStandsStillLeavesAGap(t *testing.T) {
	c := newCluster()
	leases := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now, duration := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), int32(40)
	lease := func(after time.Duration) *coordinationv1.Lease {
		now = now.Add(after)
		renewed := metav1.NewMicroTime(now)
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "n1", Namespace: corev1.NamespaceNodeLease},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &duration},
		}
	}
	_, err := leases.Create(t.Context(), lease(0), metav1.CreateOptions{})
	assert.NilError(t, err)
	watched := make(chan *watch.FakeWatcher, 1)
	c.client.PrependWatchReactor("leases", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFakeWithChanSize(8, false)
		watched <- w
		return true, w, nil
	})
	r := begin(t, c, follower(t, attempt{hold: true}), patience)
	(<-c.pods).Add(pod("101", "n1", false))
	w := <-watched
	w.Modify(lease(10 * time.Second))
	w.Modify(lease(19 * time.Second)) // on a busy node
	w.Modify(lease(43 * time.Second))
	assert.NilError(t, r.await(t.Context(), patience, "a gap", func(e trace.Entry) bool { return e.Gap != nil }, func() string { return "none" }))
	assert.NilError(t, r.Close())
	tr, err := r.Load()
	assert.NilError(t, err)
	assert.Equal(t, len(tr.Entries), 3) // the last one is of the log, which was not read to its end
	assert.DeepEqual(t, *tr.Entries[1].Gap, trace.Gap{Channel: trace.GapClock, Why: "node n1 stood still: its kubelet renewed its lease 33s too late"})
}
