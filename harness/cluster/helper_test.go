package cluster

import (
	"context"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func status(s corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Image: "i:1", State: s}}}}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}
}

func TestAHelperThatCannotRunIsNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		running bool
		state   string
		err     string
	}{
		"new":            {pod: &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, state: "Pending"},
		"being created":  {pod: status(waiting("ContainerCreating")), state: "ContainerCreating why"},
		"a failing pull": {pod: status(waiting("ErrImagePull")), state: "ErrImagePull why"}, // it may be tried again with more luck
		"no image":       {pod: status(waiting("ImagePullBackOff")), state: "ImagePullBackOff why", err: "image i:1 is not available there: ImagePullBackOff why"},
		"running":        {pod: status(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), running: true, state: "running"},
		"evicted": {
			pod:   &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "no room"}},
			state: "Failed", err: "the Pod ended: Evicted no room Failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			running, state, err := helperState(c.pod)
			assert.Equal(t, running, c.running)
			assert.Equal(t, state, c.state)
			if c.err == "" {
				assert.NilError(t, err)
				return
			}
			assert.Error(t, err, c.err)
		})
	}
}

func TestAHelperIsBackOnceItsContainerWasRestarted(t *testing.T) {
	p := status(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	p.Name, p.Namespace = "h", "ns"
	p.Status.ContainerStatuses[0].RestartCount = 1
	client := fake.NewClientset(p)
	c := &Cluster{Client: client, helpers: map[string]*helperSlot{"n1": {h: &Helper{Namespace: "ns", Pod: "h", Node: "n1"}}}}
	before, err := c.helperRestarts(t.Context(), "n1")
	assert.NilError(t, err)
	assert.Equal(t, before, int32(1))

	// What is shown still is the old one, so it is not back.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.ErrorContains(t, c.helperBack(ctx, "n1", before), "last seen: running, restarted 1 times")

	p = p.DeepCopy()
	p.Status.ContainerStatuses[0].RestartCount = 2
	_, err = client.CoreV1().Pods("ns").UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	assert.NilError(t, err)
	assert.NilError(t, c.helperBack(t.Context(), "n1", before))

	none, err := c.helperRestarts(t.Context(), "n2")
	assert.NilError(t, err)
	assert.Equal(t, none, int32(0))
	assert.NilError(t, c.helperBack(t.Context(), "n2", none))
}

func TestSweepNamespacesRemovesThoseOfTheDead(t *testing.T) {
	self, err := Self()
	assert.NilError(t, err)
	dead, elsewhere := self, self
	dead.Start++
	elsewhere.Machine = "other"
	namespace := func(name, owner string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{LabelManagedBy: ManagedBy, LabelOwner: owner}}}
	}
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "foreign", Labels: map[string]string{LabelOwner: dead.String()}}}
	c := &Cluster{Owner: self, Client: fake.NewClientset(
		namespace("left", dead.String()), namespace("live", self.String()), namespace("unknown", elsewhere.String()), namespace("odd", "x"), foreign,
	)}
	removed, err := SweepNamespaces(t.Context(), c, SweepOptions{DryRun: true})
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []string{"left"})
	removed, err = SweepNamespaces(t.Context(), c, SweepOptions{})
	assert.NilError(t, err)
	assert.DeepEqual(t, removed, []string{"left"})
	list, err := c.Client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	assert.Equal(t, len(list.Items), 4)
}
