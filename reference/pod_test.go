package reference_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
)

func TestParsePod(t *testing.T) {
	const good = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: c, image: i}\n"
	pod, err := reference.ParsePod([]byte("---\n" + good + "---\n"))
	assert.NilError(t, err)
	assert.Equal(t, pod.Spec.Containers[0].Name, "c")
	for name, c := range map[string]struct{ manifest, want string }{
		"empty":         {"", "the manifest is empty"},
		"comment":       {"# nothing\n", "the manifest is empty"},
		"not YAML":      {"a: [", "not YAML"},
		"list":          {"- a\n", "not an object"},
		"other kind":    {"apiVersion: apps/v1\nkind: Deployment\n", `kind "Deployment", not a v1 Pod`},
		"two Pods":      {good + "---\n" + good, "more than one object"},
		"unknown field": {good + "  lifecycle: {}\n", `unknown field "lifecycle"`},
		"wrong type":    {"apiVersion: v1\nkind: Pod\nspec: {containers: 3}\n", "not a Pod"},
		"no containers": {"apiVersion: v1\nkind: Pod\nspec: {}\n", "no containers"},
		"same name":     {good + "  - {name: c, image: i}\n", "stands twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reference.ParsePod([]byte(c.manifest))
			assert.ErrorContains(t, err, c.want)
		})
	}
}

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
