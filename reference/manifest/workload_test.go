package manifest_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/manifest"
)

// object is an object with a Pod template at the given path.
func object(apiVersion, kind, name, path, spec string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" +
		strings.NewReplacer("[", "{", "]", "}").Replace(path) + spec + strings.Repeat("}", strings.Count(path, "[")) + "\n"
}

const template = "spec: [template: [spec: "

func deployment(spec string) string { return object("apps/v1", "Deployment", "web", template, spec) }

const (
	one       = "{containers: [{name: c, image: i}]}"
	never     = "{restartPolicy: Never, containers: [{name: c, image: i}]}"
	service   = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {pod.yaml: \"kind: Pod\"}\n"
	rollout   = "apiVersion: example.org/v1\nkind: Rollout\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: c}]}}}\n"
	otherJob  = "apiVersion: batch.example.org/v1\nkind: Job\nmetadata: {name: web}\nspec: {tasks: [{template: {}}]}\n"
	list      = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: c}\n  spec: " + one + "\n"
)

func TestPodOf(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		policy corev1.RestartPolicy
		pod    string
	}{
		"a Pod":                   {good, "", "p"},
		"a Deployment":            {deployment(one), corev1.RestartPolicyAlways, "web"},
		"a ReplicaSet":            {object("apps/v1", "ReplicaSet", "web", template, one), corev1.RestartPolicyAlways, "web"},
		"a StatefulSet":           {object("apps/v1", "StatefulSet", "db", template, one), corev1.RestartPolicyAlways, "db"},
		"a DaemonSet":             {object("apps/v1", "DaemonSet", "agent", template, one), corev1.RestartPolicyAlways, "agent"},
		"a ReplicationController": {object("v1", "ReplicationController", "old", template, one), corev1.RestartPolicyAlways, "old"},
		"a PodTemplate":           {object("v1", "PodTemplate", "t", "template: [spec: ", never), corev1.RestartPolicyNever, "t"},
		"a Job":                   {object("batch/v1", "Job", "once", template, never), corev1.RestartPolicyNever, "once"},
		"a CronJob":               {object("batch/v1", "CronJob", "nightly", "spec: [schedule: \"@daily\", jobTemplate: [spec: [template: [spec: ", never), corev1.RestartPolicyNever, "nightly"},
		"with other objects":      {"# Source: web/service.yaml\n" + service + "---\n" + configMap + "---\n" + rollout + "---\n" + otherJob + "---\n---\n# Source: web/deployment.yaml\n" + deployment(one), corev1.RestartPolicyAlways, "web"},
		"in a list":               {list, "", "c"},
		"in a list of Pods":       {"apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: c}, spec: " + one + "}]\n", "", "c"},
		"other lists":             {good + "---\napiVersion: example.org/v1\nkind: AllowList\nmetadata: {name: l}\nitems: [a, b]\n", "", "p"},
		"a field twice elsewhere": {good + "---\n" + configMap + "data: {}\n", "", "p"},
		"ends of lines of DOS":    {strings.ReplaceAll(service+"---\n"+deployment(one), "\n", "\r\n"), corev1.RestartPolicyAlways, "web"},
		"a byte order mark":       {"\ufeff" + good, "", "p"},
		"a directive":             {"%YAML 1.2\n---\n" + good + "...\n", "", "p"},
		"JSON":                    {`{"apiVersion":"v1","kind":"ConfigMap"}` + "\n{\"apiVersion\":\"apps/v1\",\n\t\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}}", corev1.RestartPolicyAlways, "web"},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := manifest.PodOf([]byte(c.text), "")
			assert.NilError(t, err)
			assert.Equal(t, pod.Spec.Containers[0].Name, "c")
			assert.Equal(t, pod.Spec.RestartPolicy, c.policy)
			assert.Equal(t, pod.Name, c.pod)
			assert.Equal(t, pod.Kind, "Pod")
		})
	}
}

func TestFaultsOfObjects(t *testing.T) {
	two := good + "---\n" + deployment(one)
	for name, c := range map[string]struct{ manifest, want string }{
		"empty":               {"", "no object; write a v1 Pod here, or an object with a Pod template"},
		"documents without":   {"---\n# nothing\n---\n", "no object; write a v1 Pod here, or an object with a Pod template"},
		"an empty list":       {"apiVersion: v1\nkind: List\nitems: []\n", "no object; write a v1 Pod here, or an object with a Pod template"},
		"a word":              {"hello\n", "not an object; write a v1 Pod here, or an object with a Pod template"},
		"a word beside":       {good + "---\nhello\n", "document 2: not an object; write a v1 Pod here, or an object with a Pod template"},
		"no kind":             {good + "---\nreplicas: 3\n", "document 2: field kind: empty; every object has apiVersion and kind"},
		"no kind in a list":   {list + "- {metadata: {name: x}}\n", "field items[2]: field kind: empty; every object has apiVersion and kind"},
		"none":                {service, "no object holds a Pod or a Pod template; there is only Service/web"},
		"none of two":         {service + "---\n" + rollout, "no object holds a Pod or a Pod template; there are Service/web, Rollout/web"},
		"two":                 {two, "more than one object holds a Pod: Pod/p, Deployment/web; say which one is meant, as kind/name"},
		"two after a dot":     {good + "...\n" + good, "more than one object holds a Pod: Pod/p, Pod/p; say which one is meant, as kind/name"},
		"no apiVersion":       {"kind: Deployment\nmetadata: {name: web}\n", `Deployment/web: apiVersion ""; a Deployment is read as apps/v1, so write that`},
		"an old apiVersion":   {strings.Replace(deployment(one), "apps/v1", "extensions/v1beta1", 1), `Deployment/web: apiVersion "extensions/v1beta1"; a Deployment is read as apps/v1, so write that`},
		"the wrong group":     {strings.Replace(deployment(one), "apps/v1", "v1", 1), `Deployment/web: apiVersion "v1"; a Deployment is read as apps/v1, so write that`},
		"unknown field":       {deployment(one) + "replicas: 3\n", `Deployment/web: unknown field "replicas"; a Deployment of apps/v1 has no such field there, so remove or correct it`},
		"unknown in template": {deployment("{containers: [{name: c, images: i}]}"), `Deployment/web: unknown field "spec.template.spec.containers[0].images"; a Deployment of apps/v1 has no such field there, so remove or correct it`},
		"field twice":         {deployment(one) + "kind: Deployment\n", `not YAML: line 5: key "kind" already set in map`},
		"field twice in JSON": {`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[]},"spec":{}}`, `duplicate field "spec"; leave one of them`},
		"no template":         {"apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\n", "ReplicationController/rc: field spec.template.spec.containers: empty; a Pod has at least one container"},
		"wrong type":          {deployment("{containers: 3}"), "Deployment/web: not a Deployment of apps/v1: json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container"},
		"same name":           {deployment("{containers: [{name: c}, {name: c}]}"), `Deployment/web: field spec.template.spec.containers[1].name: "c" is used twice; give every container a name of its own`},
		"a Deployment that is never restarted": {
			deployment(never), `Deployment/web: field spec.template.spec.restartPolicy: "Never"; a Deployment takes only Always`,
		},
		"a Job without a policy": {
			object("batch/v1", "Job", "once", template, one), "Job/once: field spec.template.spec.restartPolicy: empty; a Job takes OnFailure or Never",
		},
		"a Job that is always restarted": {
			object("batch/v1", "Job", "once", template, strings.Replace(never, "Never", "Always", 1)), `Job/once: field spec.template.spec.restartPolicy: "Always"; a Job takes only OnFailure or Never`,
		},
		"a deadline": {
			deployment("{activeDeadlineSeconds: 3, containers: [{name: c}]}"), "Deployment/web: field spec.template.spec.activeDeadlineSeconds: a Deployment does not take it",
		},
		"ephemeral containers": {
			deployment("{containers: [{name: c}], ephemeralContainers: [{name: d}]}"), "Deployment/web: field spec.template.spec.ephemeralContainers: a template has none; they are added to a Pod that runs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.PodOf([]byte(c.manifest), "")
			assert.Error(t, err, c.want)
		})
	}
	_, err := manifest.PodOf([]byte(two), "")
	assert.ErrorIs(t, err, manifest.ErrWhich)
}

func TestWhichObject(t *testing.T) {
	text := good + "---\n" + deployment(one) + "---\n" + service + "---\n" +
		strings.Replace(good, "name: p", "name: q, namespace: a", 1) + "---\n" + strings.Replace(good, "name: p", "name: q, namespace: b", 1)
	for which, want := range map[string]string{"Pod/p": "p", "pod/p": "p", "Deployment/web": "web", "deployment.apps/web": "web", "b/Pod/q": "q"} {
		pod, err := manifest.PodOf([]byte(text), which)
		assert.NilError(t, err, which)
		assert.Equal(t, pod.Name, want, which)
	}
	pods := "those that hold a Pod: Pod/p, Deployment/web, Pod/q (namespace a), Pod/q (namespace b)"
	for which, want := range map[string]string{
		"Pod/x":              "no object is Pod/x; " + pods,
		"p":                  "no object is p; " + pods,
		"deployment.batch/x": "no object is deployment.batch/x; " + pods,
		"c/Pod/q":            "no object is c/Pod/q; " + pods,
		"Service/web":        "Service/web holds no Pod; those that do: Pod/p, Deployment/web, Pod/q (namespace a), Pod/q (namespace b)",
		"Pod/q":              "2 objects are Pod/q: Pod/q (namespace a), Pod/q (namespace b); name one as namespace/kind/name",
	} {
		_, err := manifest.PodOf([]byte(text), which)
		assert.Error(t, err, want)
	}
	_, err := manifest.PodOf([]byte(service), "Pod/p")
	assert.Error(t, err, "no object is Pod/p, and none holds a Pod; there is only Service/web")
	_, err = manifest.PodOf([]byte(good), "Pod/other")
	assert.Error(t, err, "no object is Pod/other; those that hold a Pod: Pod/p")
	many := good
	for range 30 {
		many += "---\n" + service
	}
	_, err = manifest.PodOf([]byte(strings.TrimPrefix(many, good)), "")
	assert.ErrorContains(t, err, "Service/web, and 10 more")
}
