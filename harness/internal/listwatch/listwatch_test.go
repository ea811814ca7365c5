package listwatch

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func pod(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: version}}
}

// script is a Source that answers each request with the next of its answers.
type script struct {
	t       *testing.T
	lists   []func() (*corev1.PodList, error)
	watches []func(version string) (watch.Interface, error)
}

func (s *script) source() Source {
	return Source{
		What: "Pods",
		List: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			assert.Assert(s.t, len(s.lists) > 0, "listed once too often")
			next := s.lists[0]
			s.lists = s.lists[1:]
			return next()
		},
		Watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			assert.Assert(s.t, len(s.watches) > 0, "watched once too often, from version %s", o.ResourceVersion)
			next := s.watches[0]
			s.watches = s.watches[1:]
			return next(o.ResourceVersion)
		},
	}
}

func listOf(version string, items ...corev1.Pod) func() (*corev1.PodList, error) {
	return func() (*corev1.PodList, error) {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: items}, nil
	}
}

// deliver returns a watch that must be asked for from a version, delivers the events and closes.
func deliver(t *testing.T, from string, events ...watch.Event) func(string) (watch.Interface, error) {
	return func(version string) (watch.Interface, error) {
		assert.Equal(t, version, from)
		w := watch.NewFakeWithChanSize(len(events), false)
		for _, e := range events {
			w.Action(e.Type, e.Object)
		}
		w.Stop()
		return w, nil
	}
}

// seen runs until a Pod of the last version comes, and returns what the handler was told.
func seen(t *testing.T, s *script, last string) []string {
	t.Helper()
	var got []string
	err := Run(t.Context(), s.source(), Handler{
		Listed: func(items []runtime.Object, lost string) (bool, error) {
			if lost != "" {
				got = append(got, "lost")
			}
			for _, o := range items {
				got = append(got, "listed "+o.(*corev1.Pod).ResourceVersion)
			}
			return false, nil
		},
		Event: func(e watch.EventType, o runtime.Object) (bool, error) {
			v := o.(*corev1.Pod).ResourceVersion
			got = append(got, string(e)+" "+v)
			return v == last, nil
		},
	})
	assert.NilError(t, err)
	assert.Equal(t, len(s.lists)+len(s.watches), 0, "not everything was asked for")
	return got
}

func TestAWatchThatClosesGoesOnFromItsVersion(t *testing.T) {
	s := &script{t: t, lists: []func() (*corev1.PodList, error){listOf("5")}}
	s.watches = append(s.watches,
		deliver(t, "5", watch.Event{Type: watch.Added, Object: pod("6")}, watch.Event{Type: watch.Bookmark, Object: pod("9")}),
		deliver(t, "9"),
		func(string) (watch.Interface, error) { return nil, errors.New("connection refused") },
		deliver(t, "9", watch.Event{Type: watch.Modified, Object: pod("10")}),
	)
	assert.DeepEqual(t, seen(t, s, "10"), []string{"ADDED 6", "MODIFIED 10"})
}

func TestAVersionThatIsGoneIsToldAndListedAgain(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old resource version")
	for name, broken := range map[string]func(string) (watch.Interface, error){
		"when asked for": func(string) (watch.Interface, error) { return nil, expired },
		"as an event":    deliver(t, "6", watch.Event{Type: watch.Error, Object: &expired.ErrStatus}),
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{t: t, lists: []func() (*corev1.PodList, error){listOf("5"), listOf("20", *pod("18"))}}
			s.watches = append(s.watches,
				deliver(t, "5", watch.Event{Type: watch.Added, Object: pod("6")}),
				broken,
				deliver(t, "20", watch.Event{Type: watch.Deleted, Object: pod("21")}),
			)
			assert.DeepEqual(t, seen(t, s, "21"), []string{"ADDED 6", "lost", "listed 18", "DELETED 21"})
		})
	}
}

func TestWhatIsRefusedIsNotAskedAgain(t *testing.T) {
	s := &script{t: t, lists: []func() (*corev1.PodList, error){func() (*corev1.PodList, error) {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	}}}
	err := Run(t.Context(), s.source(), Handler{})
	assert.ErrorContains(t, err, "listing Pods: pods is forbidden")
}

func TestAnEndedContextTellsTheLastTrouble(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &script{t: t, lists: []func() (*corev1.PodList, error){func() (*corev1.PodList, error) {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable, Message: "starting"}}
	}}}
	err := Run(ctx, s.source(), Handler{Trouble: func(error) { cancel(errors.New("patience is over")) }})
	assert.ErrorContains(t, err, "watching Pods: patience is over (last trouble: listing Pods: starting)")
}

func TestAnErrorOfTheHandlerEndsIt(t *testing.T) {
	s := &script{t: t, lists: []func() (*corev1.PodList, error){listOf("5")}}
	full := errors.New("disk full")
	err := Run(t.Context(), s.source(), Handler{Listed: func([]runtime.Object, string) (bool, error) { return false, full }})
	assert.ErrorIs(t, err, full)
}
