package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/reference/trace"
)

func TestEveryCaseCanBeRun(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			assert.Assert(t, c.Pod() != nil)
			assert.NilError(t, checkSteps(c.Steps, true))
		})
	}
}

func TestACaseWithoutAPodIsRefused(t *testing.T) {
	_, err := Run(t.Context(), &cluster.Cluster{}, fixtures.Case{ID: "a/b"}, Options{Dir: t.TempDir()})
	assert.ErrorContains(t, err, "case a/b has no Pod")
}

func TestActsThatCannotBeDoneAreRefusedBeforehand(t *testing.T) {
	for name, c := range map[string]struct {
		act    trace.Act
		access bool
		want   string // empty if it can be done
	}{
		"apply":                    {act: trace.Act{Name: "apply", Param: json.RawMessage(`{}`)}},
		"delete":                   {act: trace.Act{Name: "delete", Param: json.RawMessage(`{"gracePeriodSeconds":3}`)}},
		"delete in a wrong way":    {act: trace.Act{Name: "delete", Param: json.RawMessage(`{"grace":3}`)}, want: `act "delete"`},
		"restart":                  {act: trace.Act{Name: "restart", Param: json.RawMessage(`"kubelet"`)}, access: true},
		"restart the node":         {act: trace.Act{Name: "restart", Param: json.RawMessage(`"node"`)}, access: true},
		"restart something else":   {act: trace.Act{Name: "restart", Param: json.RawMessage(`"pod"`)}, access: true, want: `"pod" cannot be named here; write restart: kubelet or restart: node`},
		"evict":                    {act: trace.Act{Name: "evict", Param: json.RawMessage(`{}`)}},
		"a patch of nothing":       {act: trace.Act{Name: "patch", Param: json.RawMessage(`{}`)}, want: "{} is not a patch"},
		"a file without a name":    {act: trace.Act{Name: "apply", Param: json.RawMessage(`""`)}, want: "is not the name of a file"},
		"an ephemeral container":   {act: trace.Act{Name: "debug", Param: json.RawMessage(`{"name":"d"}`)}},
		"stop":                     {act: trace.Act{Name: "stop", Param: json.RawMessage(`"sandbox"`)}, access: true},
		"restart from outside":     {act: trace.Act{Name: "restart", Param: json.RawMessage(`"kubelet"`)}, want: ErrNoNodeAccess.Why},
		"stop from outside":        {act: trace.Act{Name: "stop", Param: json.RawMessage(`"sandbox"`)}, want: ErrNoNodeAccess.Why},
		"something not heard of":   {act: trace.Act{Name: "explode"}, want: `unknown act "explode"; an act is apply, remove, delete, evict, patch, debug, restart, stop, start, erase or replace`},
		"a parameter of its own":   {act: trace.Act{Name: "stop", Param: json.RawMessage(`{"sandbox":1}`)}, access: true, want: "write stop: sandbox"},
		"nothing where it is some": {act: trace.Act{Name: "restart", Param: json.RawMessage(`{}`)}, access: true, want: "write restart: kubelet"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkSteps([]fixtures.Step{{Await: &fixtures.Await{Gone: true}}, {Act: &c.act}}, c.access)
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, "step 2: ")
			assert.ErrorContains(t, err, c.want)
			skip := new(SkipError)
			assert.Equal(t, errors.As(err, &skip), c.want == ErrNoNodeAccess.Why, "only what this cluster lacks is a reason to skip")
		})
	}
}

func TestAFieldThatTheServerDropsIsNamed(t *testing.T) {
	policy := corev1.ContainerRestartPolicyNever
	wanted := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b", RestartPolicy: &policy}}}}
	kept := wanted.DeepCopy()
	kept.Spec.DNSPolicy = corev1.DNSDefault // what the server adds is no matter
	field := func() string {
		w, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
		assert.NilError(t, err)
		k, err := runtime.DefaultUnstructuredConverter.ToUnstructured(kept)
		assert.NilError(t, err)
		return dropped(w["spec"], k["spec"], "spec")
	}
	assert.Equal(t, field(), "")
	kept.Spec.Containers = append([]corev1.Container{{Name: "added"}}, kept.Spec.Containers...)
	assert.Equal(t, field(), "", "what somebody puts in front drops nothing")
	kept.Spec.Containers[2].RestartPolicy = nil
	assert.Equal(t, field(), "spec.containers[b].restartPolicy")
	kept.Spec.Containers = kept.Spec.Containers[:2]
	assert.Equal(t, field(), "spec.containers[b]")
	kept.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b", RestartPolicy: &policy}}
	wanted.Spec.Containers[0].Command = []string{"x", "y"}
	kept.Spec.Containers[0].Command = []string{"x"}
	assert.Equal(t, field(), "spec.containers[a].command[1]")
}

func TestAWorkloadGetsThePodAsItsTemplate(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	workloads := 0
	for _, c := range cases {
		for file := range c.Files {
			t.Run(c.ID+"/"+file, func(t *testing.T) {
				pod := c.Pod()
				r := &runner{c: c, pod: pod}
				o, err := r.object(file)
				assert.NilError(t, err)
				template, there, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
				assert.NilError(t, err)
				assert.Equal(t, there, file == c.Workload)
				if there {
					workloads++
					var spec corev1.PodSpec
					assert.NilError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(template, &spec))
					assert.DeepEqual(t, spec, pod.Spec)
				}
			})
		}
	}
	assert.Assert(t, workloads > 0, "no case has a workload")
}

func TestNamespaceNamesAreValid(t *testing.T) {
	for _, id := range []string{"hooks/poststart-blocks", "A/b_c", "a/very-long-name-of-a-case-that-goes-on-and-on-and-never-seems-to-come-to-an-end"} {
		name := namespaceName("podorder", id)
		assert.Equal(t, len(validation.IsDNS1123Label(name)), 0, name)
		assert.Assert(t, name != namespaceName("podorder", id), "two runs of a case do not meet")
	}
}

func TestTheHeaderIsKnownAtOnceWhereAllNodesAreAlike(t *testing.T) {
	a := nodeNow{name: "a", kubelet: "v1.37.2", runtime: "containerd://2.3.5"}
	b := nodeNow{name: "b", kubelet: "v1.28.5", runtime: "containerd://2.3.5"}
	like := a
	like.name = "c"
	r := &runner{all: []nodeNow{a, like}, nodes: []nodeNow{a, like}}
	r.cl = &cluster.Cluster{Version: "v1.37.2"}
	h, known := r.header("")
	assert.Assert(t, known)
	assert.Equal(t, h.Kubelet, "v1.37.2")

	r.all = []nodeNow{a, b}
	_, known = r.header("")
	assert.Assert(t, !known)
	h, known = r.header("b")
	assert.Assert(t, known)
	assert.Equal(t, h.Kubelet, "v1.28.5")
	_, known = r.header("x")
	assert.Assert(t, !known, "a node that was not there")
}

func TestTheNodesThatAPodMayRunOn(t *testing.T) {
	ready := corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	tainted := corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}}
	node := func(name string, spec corev1.NodeSpec, status corev1.NodeStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec, Status: status}
	}
	cl := &cluster.Cluster{Client: fake.NewClientset(
		node("control-plane", tainted, ready), node("cordoned", corev1.NodeSpec{Unschedulable: true}, ready),
		node("starting", corev1.NodeSpec{}, corev1.NodeStatus{}), node("worker1", corev1.NodeSpec{}, ready), node("worker2", corev1.NodeSpec{}, ready),
	)}
	names := func(nodes []nodeNow) string {
		var s []string
		for _, n := range nodes {
			s = append(s, n.name)
		}
		return strings.Join(s, " ")
	}
	all, some, err := nodesNow(t.Context(), cl, "")
	assert.NilError(t, err)
	assert.Equal(t, len(all), 5)
	assert.Equal(t, names(some), "worker1 worker2")
	_, some, err = nodesNow(t.Context(), cl, "worker2")
	assert.NilError(t, err)
	assert.Equal(t, names(some), "worker2")
	_, _, err = nodesNow(t.Context(), cl, "control-plane")
	assert.Error(t, err, `no node "control-plane" is ready and takes Pods; these do: worker1, worker2`)
	_, _, err = nodesNow(t.Context(), &cluster.Cluster{Client: fake.NewClientset()}, "")
	assert.Error(t, err, "no node of the cluster is ready and takes Pods")
}

func TestANamespaceStaysOnlyWhereItIsEmptyAndTheClusterGoes(t *testing.T) {
	alone, more := fixtures.Case{ID: "a/b"}, fixtures.Case{ID: "a/b", Files: map[string][]byte{"service.yaml": nil}}
	assert.Assert(t, Options{Disposable: true}.leaves(alone, nil))
	assert.Assert(t, !Options{Disposable: true}.leaves(more, nil), "its objects would run on")
	assert.Assert(t, !Options{Disposable: true}.leaves(alone, errors.New("the Pod is not gone")))
	assert.Assert(t, !Options{}.leaves(alone, nil), "the cluster is someone else's")
}

// A value that a feature gate guards is refused where the gate is off, and everything else is a fault of the case.
func TestAValueThatTheServerDoesNotKnowIsNamed(t *testing.T) {
	action := field.NewPath("spec", "containers").Index(0).Child("restartPolicyRules").Index(0).Child("action")
	unknown := field.NotSupported(action, "RestartAllContainers", []string{"Restart"})
	invalid := func(errs ...*field.Error) error {
		return fmt.Errorf("wrapped: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", errs))
	}
	assert.Equal(t, unknownValues(invalid(unknown, unknown)), `the API server does not know a value of spec.containers[0].restartPolicyRules[0].action, `+
		`so its feature is off (Unsupported value: "RestartAllContainers": supported values: "Restart")`)
	for _, err := range []error{
		nil, errors.New("no route to host"), invalid(), invalid(unknown, field.Required(action, "")),
		apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("quota")),
	} {
		assert.Equal(t, unknownValues(err), "")
	}
}
