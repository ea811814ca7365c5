package record

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podorder/podorder/harness/internal/listwatch"
)

// A kubelet renews the lease of its node in a quarter of its duration, which is ten seconds (pkg/kubelet/kubelet.go, nodeLeaseRenewIntervalFraction). One
// that is lateLease later than that did nothing else meanwhile either. The judge waits 8 to 15 s
// for what has no bound, so shorter ones may go unseen, as does one whose end the recording does not outlive.
const (
	leaseFraction = 4
	lateLease     = 10 * time.Second
)

// watchLease tells where the node stood still: its kubelet did not renew its lease. What cannot be watched tells nothing, and is no fault of the recording.
func (r *Recorder) watchLease(ctx context.Context, node string) error {
	leases := r.o.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	var last *coordinationv1.Lease
	var unsaved error
	saw := func(o runtime.Object) (bool, error) {
		l := o.(*coordinationv1.Lease)
		late := leaseLate(last, l)
		last = l
		if late < lateLease {
			return false, nil
		}
		unsaved = r.gap(channelClock, fmt.Sprintf("node %s stood still: its kubelet renewed its lease %s too late", node, late.Round(time.Second)))
		return false, unsaved
	}
	err := listwatch.Run(ctx, listwatch.Source{
		What:   "the lease of node " + node,
		Fields: "metadata.name=" + node,
		List:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return leases.List(ctx, o) },
		Watch:  func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return leases.Watch(ctx, o) },
	}, listwatch.Handler{
		Listed: func(items []runtime.Object, _ string) (bool, error) {
			last = nil // renewals may have been missed
			for _, o := range items {
				if done, err := saw(o); done || err != nil {
					return done, err
				}
			}
			return false, nil
		},
		Event: func(t watch.EventType, o runtime.Object) (bool, error) {
			if t == watch.Deleted {
				last = nil
				return false, nil
			}
			return saw(o)
		},
	})
	if unsaved == nil && err != nil && ctx.Err() == nil {
		r.o.Progress("%v; it is not known whether the node stands still", err)
	}
	return unsaved
}

// leaseLate is how much later than it should a lease was renewed after the last time, by the clock of the node.
func leaseLate(last, next *coordinationv1.Lease) time.Duration {
	if last == nil || last.Spec.RenewTime == nil || next.Spec.RenewTime == nil || next.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	due := time.Duration(*next.Spec.LeaseDurationSeconds) * time.Second / leaseFraction
	return next.Spec.RenewTime.Sub(last.Spec.RenewTime.Time) - due
}
