package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// staticPods is where the kubelet of a kind node reads its static Pods from.
const staticPods = "/etc/kubernetes/manifests"

// staticFile is the manifest of the case there. Its namespace tells those of several cases apart.
func (r *runner) staticFile() string { return staticPods + "/" + r.Namespace + ".yaml" }

// mirrorName is the name of the mirror of a static Pod.
func (r *runner) mirrorName() string { return r.pod.Name + "-" + strings.ToLower(r.nodes[0].hostname) }

// writeStatic has the kubelet read the Pod from a file.
func (r *runner) writeStatic(ctx context.Context) error {
	text, err := json.Marshal(r.pod)
	if err == nil {
		err = r.putStatic(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("writing the static Pod: %w", err)
	}
	r.applied = true
	return nil
}

// putStatic writes a manifest with the namespace of the case into the folder of static Pods. A file whose name begins with a dot is ignored there.
func (r *runner) putStatic(ctx context.Context, text []byte) error {
	n, ok := r.cl.Node(r.nodes[0].name)
	if !ok {
		return fmt.Errorf("no node %s", r.nodes[0].name)
	}
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		return fmt.Errorf("reading the manifest: %w", err)
	}
	pod.Namespace, pod.APIVersion, pod.Kind = r.Namespace, "v1", "Pod"
	delete(pod.Spec.NodeSelector, "kubernetes.io/hostname") // it is where it is
	text, err := yaml.Marshal(pod)
	if err != nil {
		return err
	}
	_, err = n.Command(ctx, "sh", "-c", fmt.Sprintf("printf %%s \"$0\" | base64 -d >%[1]s/.%[2]s && mv %[1]s/.%[2]s %[3]s", staticPods, r.Namespace, r.staticFile()),
		base64.StdEncoding.EncodeToString(text))
	return err
}

// replace puts another manifest, or none, in the place of that of the static Pod.
func (r *runner) replace(ctx context.Context, a trace.Act) error {
	if err := r.rec.Did(a.Name, a.Param); err != nil {
		return err
	}
	r.deleted = true
	if a.Target() == fixtures.NoFile {
		return r.removeStatic(ctx)
	}
	if err := r.putStatic(ctx, r.c.Files[a.Target()]); err != nil {
		return fmt.Errorf("replacing the static Pod: %w", err)
	}
	return nil
}

// removeStatic removes the manifest of the static Pod, also where the run was given up.
func (r *runner) removeStatic(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
	defer cancel()
	n, ok := r.cl.Node(r.nodes[0].name)
	if !ok {
		return nil
	}
	if _, err := n.Command(ctx, "rm", "-f", r.staticFile()); err != nil {
		return fmt.Errorf("removing the static Pod: %w", err)
	}
	return nil
}

// erase removes the instances of a container from the runtime. One that runs is killed.
func (r *runner) erase(ctx context.Context, a trace.Act) error {
	r.note()
	n, ok := r.cl.Node(r.Node)
	if !ok {
		return fmt.Errorf("the Pod is not on a node yet; await something before")
	}
	ids, err := instances(ctx, n.Command, r.UID, a.Target())
	if err != nil {
		return err
	}
	if err := r.rec.Did(a.Name, a.Param); err != nil {
		return err
	}
	_, err = n.Command(ctx, "crictl", append([]string{"rm", "-f"}, ids...)...)
	return err
}

// instances returns the IDs of a container that the runtime has.
func instances(ctx context.Context, command func(ctx context.Context, name string, args ...string) (string, error), uid, container string) ([]string, error) {
	out, err := command(ctx, "crictl", "ps", "-a", "-q", "--label", "io.kubernetes.pod.uid="+uid, "--name", "^"+container+"$")
	if err != nil {
		return nil, fmt.Errorf("looking for container %s: %w", container, err)
	}
	if ids := strings.Fields(out); len(ids) > 0 {
		return ids, nil
	}
	return nil, fmt.Errorf("looking for container %s: the runtime has none of it", container)
}
