package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podorder/podorder/harness/internal/listwatch"
	"github.com/podorder/podorder/reference/trace"
)

// watchPod records the Pod until it is gone.
func (r *Recorder) watchPod(ctx context.Context, listed chan<- struct{}) error {
	pods := r.o.Client.CoreV1().Pods(r.o.Namespace)
	source := listwatch.Source{
		What:  "Pods",
		List:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
	}
	if r.o.Pod != "" {
		source.Fields = "metadata.name=" + r.o.Pod
	} else {
		source.Labels = labels.SelectorFromSet(r.o.Labels).String()
	}
	err := listwatch.Run(ctx, source, listwatch.Handler{
		Listed: func(items []runtime.Object, lost string) (bool, error) {
			if lost == "" {
				listed <- struct{}{}
			} else if err := r.gap(channelWatch, lost); err != nil {
				return false, err
			}
			there := false
			for _, o := range items {
				if done, err := r.sawPod(ctx, trace.Modified, o.(*corev1.Pod)); done || err != nil {
					return done, err
				}
				there = there || r.ours(o.(*corev1.Pod))
			}
			if r.Pod() != nil && !there {
				// Its last state was never seen, so there is nothing to record but the gap.
				r.podGone(ctx)
				return true, nil
			}
			return false, nil
		},
		Event: func(t watch.EventType, o runtime.Object) (bool, error) {
			return r.sawPod(ctx, string(t), o.(*corev1.Pod))
		},
		Trouble: func(err error) { r.o.Progress("%v; trying again", err) },
	})
	return r.unlessEnded(ctx, err)
}

// unlessEnded returns the error of a channel, unless the recording as a whole has ended it.
func (r *Recorder) unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ours reports whether a Pod is the one that is recorded: the first that was seen.
func (r *Recorder) ours(p *corev1.Pod) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.uid == "" || r.uid == p.UID
}

// OnNode is the UID by which the node of a Pod knows it. A static Pod has another one there than its mirror at the API.
func OnNode(p *corev1.Pod) types.UID {
	if hash := p.Annotations[corev1.MirrorPodAnnotationKey]; hash != "" {
		return types.UID(hash)
	}
	return p.UID
}

// sawPod records the Pod as it was delivered. One that took its place is another Pod.
func (r *Recorder) sawPod(ctx context.Context, kind string, p *corev1.Pod) (done bool, err error) {
	if !r.ours(p) {
		return false, nil
	}
	p = p.DeepCopy()
	p.ManagedFields = nil
	p.APIVersion, p.Kind = "v1", "Pod"
	r.mu.Lock()
	first := r.last == nil
	if !first && r.last.ResourceVersion == p.ResourceVersion && kind != trace.Deleted {
		r.mu.Unlock()
		return false, nil // listed again, and the same
	}
	if first && kind == trace.Modified {
		kind = trace.Added
	}
	r.uid, r.onNode, r.last = p.UID, OnNode(p), p
	bound := r.node == "" && p.Spec.NodeName != ""
	if bound {
		r.node = p.Spec.NodeName
	}
	err = r.writeLocked(trace.Entry{At: time.Now(), Type: kind, Pod: p})
	if first {
		for _, e := range r.early {
			err = errors.Join(err, r.eventLocked(e))
		}
		r.early = nil
	}
	r.mu.Unlock()
	if err != nil {
		return false, err
	}
	if bound {
		if h, ok := r.o.Header(p.Spec.NodeName); ok {
			r.begin(h)
		} else {
			return false, fmt.Errorf("the Pod was bound to node %s, which is unknown", p.Spec.NodeName)
		}
		r.working.Go(func() { r.run(channelClock, func() error { return r.watchLease(ctx, p.Spec.NodeName) }) })
		if r.o.Follow != nil {
			r.working.Go(func() { r.run(channelLog, func() error { return r.followLog(ctx, p.Spec.NodeName, OnNode(p)) }) })
		}
	}
	if kind == trace.Deleted {
		r.podGone(ctx)
		return true, nil
	}
	return false, nil
}

// podGone notes the end of the Pod's object.
func (r *Recorder) podGone(context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	if r.node == "" || r.o.Follow == nil {
		r.drained = true // there never was anything to read
	}
	r.isOver()
	close(r.changed)
	r.changed = make(chan struct{})
}

// watchEvents records the Events of the Pod until the recording is closed.
func (r *Recorder) watchEvents(ctx context.Context, listed chan<- struct{}) error {
	events := r.o.Client.CoreV1().Events(r.o.Namespace)
	err := listwatch.Run(ctx, listwatch.Source{
		What:   "Events",
		Fields: r.eventFields(),
		List:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return events.List(ctx, o) },
		Watch:  func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return events.Watch(ctx, o) },
	}, listwatch.Handler{
		Listed: func(items []runtime.Object, lost string) (bool, error) {
			if lost == "" {
				listed <- struct{}{}
			} else if err := r.gap(channelEvents, lost); err != nil {
				return false, err
			}
			for _, o := range items {
				if err := r.sawEvent(o.(*corev1.Event)); err != nil {
					return false, err
				}
			}
			return false, nil
		},
		Event: func(t watch.EventType, o runtime.Object) (bool, error) {
			if t == watch.Deleted { // it got old
				return false, nil
			}
			return false, r.sawEvent(o.(*corev1.Event))
		},
		Trouble: func(err error) { r.o.Progress("%v; trying again", err) },
	})
	return r.unlessEnded(ctx, err)
}

// eventFields selects the Events by the Pod's name as far as that is known: its UID is not, before it exists.
func (r *Recorder) eventFields() string {
	fields := "involvedObject.kind=Pod"
	if r.o.Pod != "" {
		fields += ",involvedObject.name=" + r.o.Pod
	}
	return fields
}

// sawEvent records a new Event, or a new state of one. Those that come before the Pod wait for it.
func (r *Recorder) sawEvent(e *corev1.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uid == "" {
		r.early = append(r.early, e)
		return nil
	}
	return r.eventLocked(e)
}

func (r *Recorder) eventLocked(e *corev1.Event) error {
	if e.InvolvedObject.UID != "" && e.InvolvedObject.UID != r.uid && e.InvolvedObject.UID != r.onNode {
		return nil // of another Pod
	}
	if old := r.events[e.UID]; old != nil && old.ResourceVersion == e.ResourceVersion {
		return nil
	}
	r.events[e.UID] = e
	return r.writeLocked(trace.Entry{At: time.Now(), Event: event(e)})
}

// event takes from an Event what a trace keeps. Those of the newer API (the scheduler's) have their count and times elsewhere.
func event(e *corev1.Event) *trace.Event {
	t := &trace.Event{
		Reason: e.Reason, Type: e.Type, Message: e.Message, FieldPath: e.InvolvedObject.FieldPath,
		Count: e.Count, FirstTimestamp: e.FirstTimestamp, LastTimestamp: e.LastTimestamp,
	}
	if t.FirstTimestamp.IsZero() {
		t.FirstTimestamp = metav1.NewTime(e.EventTime.Time)
	}
	if t.LastTimestamp.IsZero() {
		t.LastTimestamp = t.FirstTimestamp
	}
	if t.Count == 0 {
		t.Count = 1
	}
	if e.Series != nil {
		t.Count, t.LastTimestamp = e.Series.Count, metav1.NewTime(e.Series.LastObservedTime.Time)
	}
	return t
}

// eventsPatience is how long the API server may take to list the Events at the end.
const eventsPatience = 5 * time.Second

// lastEvents records what the watch had not delivered yet when it was stopped.
func (r *Recorder) lastEvents() error {
	ctx, cancel := context.WithTimeout(context.Background(), eventsPatience)
	defer cancel()
	list, err := r.o.Client.CoreV1().Events(r.o.Namespace).List(ctx, metav1.ListOptions{FieldSelector: r.eventFields()})
	if err != nil {
		return fmt.Errorf("listing the last Events: %w", err)
	}
	for i := range list.Items {
		if err := r.sawEvent(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
