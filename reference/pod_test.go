package reference_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
)

func FuzzParsePod(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: c, image: i, lifecycle: {postStart: {exec: {command: [x]}}}}\n"))
	f.Add([]byte("---\n---\n{}"))
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(f, err)
	f.Fuzz(func(t *testing.T, manifest []byte) {
		pod, err := reference.ParsePod(manifest)
		if err != nil || len(pod.Spec.Containers) > 4 {
			return
		}
		if o, err := reference.Explain(k, pod); err == nil && o.Text() == "" {
			t.Fatal("a Pod that is understood has no order")
		}
	})
}
