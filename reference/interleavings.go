package reference

import (
	"fmt"
	"iter"

	"github.com/podorder/podorder/reference/internal/judge"

	corev1 "k8s.io/api/core/v1"
)

// Enumerate yields every order in which the first instances of a Pod's
// containers may log their runs: each process begins and ends once, each probe
// succeeds once, and a deletion, whose grace period does not run out, ends it
// all. The slice is valid until the next one. The number grows with the
// factorial of what is unordered: it is meant for small Pods. The error lists
// the fields that the model does not know.
func Enumerate(k Kubelet, pod *corev1.Pod) (iter.Seq[[]string], error) {
	p, err := toExplain(k, pod)
	if err != nil {
		return nil, err
	}
	return judge.Judge{Kubelet: k, Pod: p, LogOnly: true}.Enumerate(), nil
}

// Count returns how many orders Enumerate yields, or an error where they are
// more than most.
func Count(k Kubelet, pod *corev1.Pod, most int) (int, error) {
	all, err := Enumerate(k, pod)
	if err != nil {
		return 0, err
	}
	n := 0
	for range all {
		if n++; n > most {
			return 0, fmt.Errorf("the Pod has more than %d allowed interleavings", most)
		}
	}
	return n, nil
}
