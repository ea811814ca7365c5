package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

// apiServer has the Pod as the API server has it.
type apiServer struct {
	n       *node
	pod     *corev1.Pod
	deleted bool
	grace   int   // deletionGracePeriodSeconds
	images  []int // how often that of each container was changed
	gone    bool
}

func (a *apiServer) changed(kind string) { a.n.rec.pod(kind, a.pod.DeepCopy()) }

// delete is what a deletion does at the API server: the grace period can only
// become shorter, and one of 0 removes the object at once.
func (a *apiServer) delete(grace int) {
	if a.gone || a.deleted && grace >= a.grace {
		return
	}
	a.deleted, a.grace = true, grace
	seconds := int64(grace)
	a.pod.DeletionGracePeriodSeconds = &seconds
	a.pod.DeletionTimestamp = &metav1.Time{Time: whole(a.n.now).Add(time.Duration(grace) * time.Second)}
	if grace == 0 {
		a.remove()
		return
	}
	a.changed(trace.Modified)
}

func (a *apiServer) remove() {
	if !a.gone {
		a.gone = true
		a.changed(trace.Deleted)
	}
}

// changeImage gives a container another image.
func (a *apiServer) changeImage(c int) {
	if a.gone {
		return
	}
	a.images[c]++
	list, i := a.pod.Spec.InitContainers, c
	if a.n.isRegular(c) {
		list, i = a.pod.Spec.Containers, c-len(list)
	}
	list[i].Image = imageOf(a.images[c])
	a.changed(trace.Modified)
}

// patchStatus stores a status; an equal one changes nothing.
func (a *apiServer) patchStatus(s corev1.PodStatus) {
	if a.gone || equality.Semantic.DeepEqual(a.pod.Status, s) {
		return
	}
	a.pod.Status = *s.DeepCopy()
	a.changed(trace.Modified)
}
