package listwatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
)

// Source is one kind of objects, as a typed client serves them.
type Source struct {
	// What names the objects in errors: "Pods".
	What  string
	List  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Fields and Labels select some of the objects; empty for all.
	Fields, Labels string
}

// Handler takes what Run sees. Its functions are called one at a time.
type Handler struct {
	// Listed takes all objects that there are: once at the start, and again whenever the watch could not be resumed; then lost says why, and
	// changes since the last call may have been missed.
	Listed func(items []runtime.Object, lost string) (done bool, err error)
	// Event takes a change: ADDED, MODIFIED or DELETED.
	Event func(t watch.EventType, o runtime.Object) (done bool, err error)
	// Trouble, if set, takes a request's error after which Run tries again.
	Trouble func(err error)
}

// pauses are those between attempts while the API server does not answer.
var pauses = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Cap: 2 * time.Second, Steps: math.MaxInt32}

// Run lists and watches until the handler is done (nil), fails (its error), the API server refuses the request for good, or the context ends;
// then the error tells the last trouble there was.
func Run(ctx context.Context, s Source, h Handler) error {
	r := runner{source: s, handler: h, pauses: pauses}
	for {
		done, err := r.step(ctx)
		if done {
			return nil
		}
		if ctx.Err() != nil {
			return r.ended(ctx)
		}
		if err == nil { // the watch closed after it had worked; resume at once
			r.pauses = pauses
			continue
		}
		if failed := new(handlerError); errors.As(err, &failed) {
			return failed.err
		}
		if refused(err) {
			return err
		}
		r.trouble = err
		if h.Trouble != nil {
			h.Trouble(err)
		}
		timer := time.NewTimer(r.pauses.Step())
		select {
		case <-ctx.Done():
			timer.Stop()
			return r.ended(ctx)
		case <-timer.C:
		}
	}
}

type runner struct {
	source  Source
	handler Handler
	version string // that the next watch goes on from; empty before a list
	lost    string // why there has to be a list again
	pauses  wait.Backoff
	trouble error
}

// handlerError carries an error of the handler past the decision whether to try again.
type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

// ended returns the end of the context, with what went wrong before it.
func (r *runner) ended(ctx context.Context) error {
	err := fmt.Errorf("watching %s: %w", r.source.What, context.Cause(ctx))
	if r.trouble != nil {
		err = fmt.Errorf("%w (last trouble: %v)", err, r.trouble)
	}
	return err
}

// refused reports whether asking again cannot help.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsInvalid(err)
}

// gone reports whether the API server no longer knows the version that a watch was to go on from.
func gone(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }

// step lists, if it has to, and watches once.
func (r *runner) step(ctx context.Context) (done bool, err error) {
	if r.version == "" {
		if done, err = r.list(ctx); done || err != nil {
			return done, err
		}
	}
	w, err := r.source.Watch(ctx, metav1.ListOptions{
		FieldSelector: r.source.Fields, LabelSelector: r.source.Labels, ResourceVersion: r.version, AllowWatchBookmarks: true,
	})
	if err != nil {
		return false, r.broken(err)
	}
	defer w.Stop()
	seen := false
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case e, open := <-w.ResultChan():
			if !open {
				if seen {
					return false, nil
				}
				// One that closes without having delivered anything may do so again at once.
				return false, fmt.Errorf("watching %s: the watch closed", r.source.What)
			}
			seen = true
			if e.Type == watch.Error {
				return false, r.broken(apierrors.FromObject(e.Object))
			}
			o, err := meta.Accessor(e.Object)
			if err != nil {
				return false, fmt.Errorf("watching %s: a %s event without an object: %w", r.source.What, e.Type, err)
			}
			if e.Type != watch.Bookmark {
				if done, err = r.handler.Event(e.Type, e.Object); err != nil {
					return false, &handlerError{err}
				}
			}
			if v := o.GetResourceVersion(); v != "" {
				r.version = v
			}
			r.trouble = nil
			if done {
				return true, nil
			}
		}
	}
}

// broken notes a failed watch. Where its version is gone, the next step lists.
func (r *runner) broken(err error) error {
	if gone(err) {
		r.version, r.lost = "", err.Error()
	}
	return fmt.Errorf("watching %s: %w", r.source.What, err)
}

func (r *runner) list(ctx context.Context) (done bool, err error) {
	list, err := r.source.List(ctx, metav1.ListOptions{FieldSelector: r.source.Fields, LabelSelector: r.source.Labels})
	if err != nil {
		return false, fmt.Errorf("listing %s: %w", r.source.What, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return false, fmt.Errorf("listing %s: %w", r.source.What, err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return false, fmt.Errorf("listing %s: %w", r.source.What, err)
	}
	done, err = r.handler.Listed(items, r.lost)
	if err != nil {
		return false, &handlerError{err}
	}
	r.version, r.lost, r.trouble = m.GetResourceVersion(), "", nil
	return done, nil
}
