package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "KubeletNotReady", Message: "no network"}},
	}}
}

var account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}}

func daemonSet(ready int32) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy", Namespace: "kube-system", Generation: 1},
		Status:     appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 2, NumberReady: ready},
	}
}

func deployment(available int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "coredns", Namespace: "kube-system"}, Status: appsv1.DeploymentStatus{AvailableReplicas: available},
	}
}

func TestWhatIsNotReadyIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"no node":        {nil, "waiting for all nodes to be Ready: watching Nodes: out of patience; last seen: 0 of 2 nodes"},
		"a missing node": {[]runtime.Object{node("a", corev1.ConditionTrue)}, "last seen: 1 of 2 nodes"},
		"a node":         {[]runtime.Object{node("a", corev1.ConditionTrue), node("b", corev1.ConditionFalse)}, "last seen: b: KubeletNotReady no network"},
		"a taint that has not gone yet": {
			[]runtime.Object{node("a", "True"), &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: node("b", "True").Status,
				Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}},
			}},
			"last seen: b: taint node.kubernetes.io/not-ready",
		},
		"service account": {[]runtime.Object{node("a", "True"), node("b", "True")}, "waiting for the default service account of namespace default"},
		"kube-proxy": {
			[]runtime.Object{node("a", "True"), node("b", "True"), account, daemonSet(1)},
			"waiting for the DaemonSets of kube-system: watching DaemonSets: out of patience; last seen: kube-proxy: 1 of 2 ready",
		},
		"CoreDNS": {
			[]runtime.Object{node("a", "True"), node("b", "True"), account, daemonSet(2), deployment(0)},
			"last seen: coredns: no replica available",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			client := fake.NewClientset(c.objects...)
			// What is there is listed at once, so the first watch on a kind means that it did not suffice.
			client.PrependWatchReactor("*", endPatience(cancel))
			assert.ErrorContains(t, waitReady(ctx, client, ReadyOptions{Nodes: 2}), c.want)
		})
	}
}

func TestReadyAsSoonAsEverythingIs(t *testing.T) {
	client := fake.NewClientset(node("a", corev1.ConditionFalse), node("b", corev1.ConditionTrue), account, daemonSet(2), deployment(1))
	watching := make(chan struct{}, 1)
	client.PrependWatchReactor("nodes", announce(watching))
	called := false
	done := make(chan error)
	go func() {
		done <- waitReady(t.Context(), client, ReadyOptions{Nodes: 2, NodesReady: func() { called = true }})
	}()
	<-watching
	_, err := client.CoreV1().Nodes().UpdateStatus(t.Context(), node("a", corev1.ConditionTrue), metav1.UpdateOptions{})
	assert.NilError(t, err)
	assert.NilError(t, <-done)
	assert.Assert(t, called)
}

func TestAKubeSystemWithNothingInItIsReady(t *testing.T) {
	client := fake.NewClientset(node("a", corev1.ConditionTrue), account)
	assert.NilError(t, waitReady(t.Context(), client, ReadyOptions{Nodes: 1}))
}

var errPatience = errors.New("out of patience")

// endPatience ends the wait when something is watched.
func endPatience(cancel context.CancelCauseFunc) clienttesting.WatchReactionFunc {
	return func(clienttesting.Action) (bool, watch.Interface, error) {
		cancel(errPatience)
		return true, watch.NewFake(), nil
	}
}

// announce tells that something is about to be watched, and lists it again, so that no change in between is missed.
func announce(watching chan<- struct{}) clienttesting.WatchReactionFunc {
	first := true
	return func(clienttesting.Action) (bool, watch.Interface, error) {
		if first {
			first = false
			watching <- struct{}{}
			w := watch.NewFake()
			w.Stop()
			return true, w, nil
		}
		return false, nil, nil
	}
}

func TestOneNodeIsWaitedFor(t *testing.T) {
	err := WaitNode(t.Context(), fake.NewClientset(node("a", "True")), "a", time.Minute)
	assert.NilError(t, err)
	err = WaitNode(t.Context(), fake.NewClientset(node("a", "False")), "a", time.Millisecond)
	assert.ErrorContains(t, err, "waiting for node a to be ready")
	assert.ErrorContains(t, err, "not within 1ms")
}
