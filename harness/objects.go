package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/reference/trace"
)

// required says, as a *SkipError, what the cluster does not serve of what a case requires.
func required(cl *cluster.Cluster, c fixtures.Case) error {
	for _, version := range c.Requires {
		_, err := cl.Client.Discovery().ServerResourcesForGroupVersion(version)
		switch {
		case apierrors.IsNotFound(err):
			return &SkipError{"the cluster does not serve " + version}
		case err != nil:
			return fmt.Errorf("asking whether the cluster serves %s: %w", version, err)
		}
	}
	return nil
}

// keeps makes sure that the API server keeps every field of the Pod: one that a feature gate guards is dropped without a word, a value that a gate guards
// is refused, and a webhook or a policy may take any away. Nothing is made.
func (r *runner) keeps(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	got, err := r.cl.Client.CoreV1().Pods(r.Namespace).Create(ctx, r.pod.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if why := unknownValues(err); why != "" {
		return &SkipError{why}
	}
	if err != nil {
		return fmt.Errorf("asking whether the API server accepts the Pod: %w", err)
	}
	wanted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.pod)
	if err != nil {
		return fmt.Errorf("comparing the Pod with what the API server keeps: %w", err)
	}
	kept, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
	if err != nil {
		return fmt.Errorf("comparing the Pod with what the API server keeps: %w", err)
	}
	if field := dropped(wanted["spec"], kept["spec"], "spec"); field != "" {
		return &SkipError{fmt.Sprintf("the API server drops %s, so its feature is off, or admission removes it", field)}
	}
	return nil
}

// unknownValues says why the API server refuses a Pod where that is for values alone which it does not know; empty if it is not.
func unknownValues(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	causes := status.Status().Details.Causes
	for _, c := range causes {
		if c.Type != metav1.CauseTypeFieldValueNotSupported {
			return ""
		}
	}
	if len(causes) == 0 {
		return ""
	}
	return fmt.Sprintf("the API server does not know a value of %s, so its feature is off (%s)", causes[0].Field, causes[0].Message)
}

// dropped names the first field of a value that is missing in what was kept of it; empty for none.
func dropped(wanted, kept any, path string) string {
	switch w := wanted.(type) {
	case map[string]any:
		k, _ := kept.(map[string]any)
		for name, v := range w {
			if v == nil {
				continue
			}
			there, ok := k[name]
			if !ok {
				return path + "." + name
			}
			if field := dropped(v, there, path+"."+name); field != "" {
				return field
			}
		}
	case []any:
		k, _ := kept.([]any)
		for i, v := range w {
			if field := droppedOf(v, i, k, path); field != "" {
				return field
			}
		}
	}
	return ""
}

// droppedOf is the same for element i of a list. Where it has a name it may stand elsewhere in what was kept, after what was added in front of it.
func droppedOf(wanted any, i int, kept []any, path string) string {
	w, _ := wanted.(map[string]any)
	name, named := w["name"].(string)
	if !named {
		at := fmt.Sprintf("%s[%d]", path, i)
		if i >= len(kept) {
			return at
		}
		return dropped(wanted, kept[i], at)
	}
	at := fmt.Sprintf("%s[%s]", path, name)
	missing := at
	for _, k := range kept {
		if m, _ := k.(map[string]any); m["name"] == name {
			field := dropped(wanted, k, at)
			if field == "" {
				return ""
			}
			missing = field
		}
	}
	return missing
}

// resource returns the client for the kind of an object, in the namespace of the case.
func (r *runner) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	list, err := r.cl.Client.Discovery().ServerResourcesForGroupVersion(o.GetAPIVersion())
	if err != nil {
		return nil, fmt.Errorf("asking what the cluster serves of %s: %w", o.GetAPIVersion(), err)
	}
	// Beside the objects themselves there are their parts, such as deployments/status.
	i := slices.IndexFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Kind == o.GetKind() && !strings.Contains(a.Name, "/") })
	switch {
	case i < 0:
		return nil, fmt.Errorf("the cluster serves no %s of %s", o.GetKind(), o.GetAPIVersion())
	case !list.APIResources[i].Namespaced:
		return nil, fmt.Errorf("%s %s is in no namespace, so it would outlive the case", o.GetKind(), o.GetName())
	}
	client, err := dynamic.NewForConfig(r.cl.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client.Resource(o.GroupVersionKind().GroupVersion().WithResource(list.APIResources[i].Name)).Namespace(r.Namespace), nil
}

// object reads a file of the case. The template of the workload is the Pod, as it is run here.
func (r *runner) object(file string) (*unstructured.Unstructured, error) {
	o, err := r.c.Object(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if file == r.c.Workload {
		pod, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.pod)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		template := map[string]any{"spec": pod["spec"]}
		metadata := map[string]any{}
		for _, field := range []string{"labels", "annotations"} {
			if v, ok, _ := unstructured.NestedMap(pod, "metadata", field); ok {
				metadata[field] = v
			}
		}
		template["metadata"] = metadata
		if err := unstructured.SetNestedMap(o, template, "spec", "template"); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	// Numbers have to be those that JSON has for a client.
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	u := new(unstructured.Unstructured)
	if err := u.UnmarshalJSON(b); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return u, nil
}

func (r *runner) applyFile(ctx context.Context, file string) error {
	return r.withFile(ctx, trace.ActApply, file, func(ctx context.Context, c dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := c.Create(ctx, o, metav1.CreateOptions{})
		return err
	})
}

func (r *runner) removeFile(ctx context.Context, file string) error {
	r.deleted = r.deleted || file == r.c.Workload
	return r.withFile(ctx, fixtures.ActRemove, file, func(ctx context.Context, c dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		background := metav1.DeletePropagationBackground
		return c.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
	})
}

// withFile does an act on the object of a file.
func (r *runner) withFile(ctx context.Context, act, file string, do func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured) error) error {
	o, err := r.object(file)
	if err != nil {
		return err
	}
	c, err := r.resource(o)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := r.rec.Did(act, file); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if err := do(ctx, c, o); err != nil {
		return fmt.Errorf("%s of %s: %w", act, file, err)
	}
	return nil
}
