package manifest_test

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/manifest"
)

const good = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: c, image: i}\n"

func TestPod(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": good, "with empty documents": "# nothing\n---\n" + good + "---\n",
		"JSON": `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}`,
	} {
		pod, err := manifest.Pod([]byte(text))
		assert.NilError(t, err, name)
		assert.Equal(t, pod.Spec.Containers[0].Name, "c", name)
	}
}

func TestFaultsOfAPod(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"empty":         {"", "no object; write exactly one v1 Pod here"},
		"comment":       {"# nothing\n", "no object; write exactly one v1 Pod here"},
		"not YAML":      {"a: [", "not YAML: line 1: did not find expected node content"},
		"list":          {"- a\n", "not an object; write exactly one Pod of apiVersion v1 here"},
		"a word":        {"hello\n", "not an object; write exactly one Pod of apiVersion v1 here"},
		"other kind":    {"apiVersion: apps/v1\nkind: Deployment\n", `apiVersion "apps/v1" and kind "Deployment"; write exactly one Pod of apiVersion v1 here`},
		"two Pods":      {good + "---\n" + good, "more than one object; leave only the one v1 Pod here"},
		"unknown field": {good + "  lifecycle: {}\n", `unknown field "spec.lifecycle"; a v1 Pod has no such field there, so remove or correct it`},
		"letter case":   {good + "  RestartPolicy: Never\n", `unknown field "spec.RestartPolicy"; a v1 Pod has no such field there, so remove or correct it`},
		"field twice":   {good + "metadata: {}\n", `not YAML: line 7: key "metadata" already set in map`},
		"wrong type": {
			"apiVersion: v1\nkind: Pod\nspec: {containers: 3}\n",
			"not a v1 Pod: json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type []v1.Container",
		},
		"no containers": {"apiVersion: v1\nkind: Pod\nspec: {}\n", "field spec.containers: empty; a Pod has at least one container"},
		"no name":       {good + "  - {image: i}\n", "field spec.containers[1].name: empty; name the container"},
		"same name":     {good + "  - {name: c, image: i}\n", `field spec.containers[1].name: "c" is used twice; give every container a name of its own`},
		"same name as an init container": {
			good + "  initContainers:\n  - {name: c, image: i}\n", `field spec.containers[0].name: "c" is used twice; give every container a name of its own`,
		},
		"same name as an ephemeral container": {
			good + "  ephemeralContainers:\n  - {name: c, image: i}\n", `field spec.ephemeralContainers[0].name: "c" is used twice; give every container a name of its own`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Pod([]byte(c.manifest))
			assert.Error(t, err, c.want)
		})
	}
}

func TestDocuments(t *testing.T) {
	docs, err := manifest.Documents([]byte("a: 1\n---\n# nothing\n---\nb: [x]\n"))
	assert.NilError(t, err)
	assert.Equal(t, len(docs), 2)
	assert.Equal(t, string(docs[0]), `{"a":1}`)
	assert.Equal(t, string(docs[1]), `{"b":["x"]}`)
	_, err = manifest.Documents([]byte("a: 1\n---\nb: [\n"))
	assert.ErrorContains(t, err, "not YAML: ")
}

func TestDecode(t *testing.T) {
	var c corev1.Container
	assert.NilError(t, manifest.Decode([]byte(`{"name":"a"}`), &c))
	assert.Equal(t, c.Name, "a")
	assert.Error(t, manifest.Decode([]byte(`{"name":"a","lifecycle":{"PreStop":{}}}`), &c), `unknown field "lifecycle.PreStop"`)
	assert.ErrorContains(t, manifest.Decode([]byte(`{"name":3}`), &c), "cannot unmarshal number")
}
