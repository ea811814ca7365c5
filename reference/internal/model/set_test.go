package model

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// A set finds by their hash the states that it would find one by one.
func TestSetKeepsEachStateOnce(t *testing.T) {
	p, _ := podspec.New(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}})
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 20, 200, 4000} {
		var all Set
		var oneByOne []State
		for range n {
			s := NewState(&p)
			s.startedOver = r.IntN(2) == 0
			for i := range s.c {
				s.c[i].run, s.c[i].progress, s.c[i].kill = int32(r.IntN(4)), progress(r.IntN(2)), killReason(r.IntN(3))
				if r.IntN(2) == 0 {
					s.c[i].ended = Cause{record.PlaceOf(r.IntN(3)), rules.Instances}
				}
			}
			all.Add(&s)
			known := false
			for i := range oneByOne {
				known = known || oneByOne[i].same(&s)
			}
			if !known {
				oneByOne = append(oneByOne, s)
			}
		}
		assert.Equal(t, len(all.States), len(oneByOne))
		assert.Assert(t, n < 4000 || len(all.States) > 1000 && len(all.States) < n, "%d of %d", len(all.States), n)
	}
}
