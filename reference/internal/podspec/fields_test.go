package podspec

import (
	"reflect"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
)

// Every name in the tables of irrelevant fields is one of the type, stands
// once, and is not one that the model reads.
func TestFieldTables(t *testing.T) {
	for _, c := range []struct {
		of    reflect.Type
		lists [][]string
	}{
		{reflect.TypeFor[corev1.PodSpec](), [][]string{irrelevantInPod, modelledInPod}},
		{reflect.TypeFor[corev1.Container](), [][]string{irrelevantInContainer, modelledInContainer}},
	} {
		all := slices.Concat(c.lists...)
		for i, n := range all {
			_, ok := c.of.FieldByName(n)
			assert.Assert(t, ok, "%s has no field %s", c.of, n)
			assert.Assert(t, !slices.Contains(all[i+1:], n), "%s stands twice", n)
		}
	}
}

// A field that a later API adds is unmodelled until someone reads it: the
// fields outside the tables are listed here, so that a new one shows.
func TestEveryFieldIsPlaced(t *testing.T) {
	names := func(fields []reflect.StructField) []string {
		var out []string
		for _, f := range fields {
			out = append(out, f.Name)
		}
		slices.Sort(out)
		return out
	}
	assert.DeepEqual(t, names(otherInPod), []string{
		"EvictionResponders",
	})
	assert.DeepEqual(t, names(otherInContainer), []string{
		"Lifecycle",
	})
}
