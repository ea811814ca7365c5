package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/record"
	"github.com/podorder/podorder/reference/trace"
)

// Options say how a case is run. The zero value is usable but for Dir.
type Options struct {
	// Dir is the folder that takes the trace, the raw log, the manifest and the evidence.
	Dir string
	// Node pins the Pod to a node; empty leaves it to the scheduler.
	Node string
	// Namespace begins the name of the namespace that the case gets; "podorder" if empty.
	Namespace string
	// HelperImage is the recorder's image for the Pod that reads the log; cluster.DefaultHelperImage if empty.
	HelperImage string
	// Patience is how long to await a step that does not say; 2 minutes if zero.
	Patience time.Duration
	// Keep leaves the namespace of the case in the cluster. The Pod is deleted in any case, as its end belongs to the recording.
	Keep bool
	// Disposable says that the cluster goes away with the run. The namespace of a case that made its Pod and nothing else is then left to go
	// with it: a control plane deletes a namespace by asking for every kind of object there is, which is more work than the case was.
	Disposable bool
	// Decides is asked now and then while a step waits. It says why what was recorded so far decides the case, whatever comes; empty if it does not.
	// Then the case waits for nothing more: its Pod is deleted, and Run returns a *DecidedError. Nil never decides.
	Decides  func(*trace.Trace) string
	Progress func(format string, args ...any)
}

// leaves reports whether the namespace of a case that ended with this error stays for its cluster to take away: nothing runs in it any more.
func (o Options) leaves(c fixtures.Case, err error) bool {
	return o.Disposable && err == nil && len(c.Files) == 0
}

// Patience, not rules. goneSlack is how long a Pod may take to go beyond its grace period: hooks that run on, a busy node.
const (
	defaultPatience = 2 * time.Minute
	goneSlack       = 2 * time.Minute
	callPatience    = 2 * time.Minute
)

// Recording is what a run recorded.
type Recording struct {
	// Trace is the saved trace, read back from Path; nil if nothing was recorded.
	Trace *trace.Trace
	// Dir holds all files; Path is the trace, Log the raw log, Manifest the Pod as it was applied.
	Dir, Path, Log, Manifest string
	Namespace                string
	// Node is where the Pod ran; empty if it was never bound.
	Node    string
	UID     string
	Started time.Time

	cluster *cluster.Cluster
	pod     *corev1.Pod
	events  []*corev1.Event
}

// Run runs a case and returns what it recorded, saved and read back. The steps that the case leaves out are done as well: the Pod is applied first, and
// deleted and awaited to be gone at the end. With an error, the recording, if not nil, holds what there was until then; a step that was not fulfilled is
// a *record.AwaitError, and a case that was ended because it is decided a *DecidedError. An error that is a *SkipError says that the case cannot be run on this cluster. A case that restarts the kubelet gets its nodes for itself; pin it to one (Options.Node) to let others go on elsewhere. When the context ends, the recording ends at once and the Pod is left to the cleanup of its namespace.
//
// The namespace of the case goes in the background; Cluster.Cleanup, at the end of all runs, waits until the last of them is gone. What becomes of it
// decides nothing.
func Run(ctx context.Context, cl *cluster.Cluster, c fixtures.Case, o Options) (*Recording, error) {
	rec, err := run(ctx, cl, c, o)
	if err != nil {
		return rec, fmt.Errorf("running case %s: %w", c.ID, err)
	}
	return rec, nil
}

func run(ctx context.Context, cl *cluster.Cluster, c fixtures.Case, o Options) (_ *Recording, err error) {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Namespace == "" {
		o.Namespace = "podorder"
	}
	if o.HelperImage == "" {
		o.HelperImage = cluster.DefaultHelperImage
	}
	pod := c.Pod()
	if pod == nil {
		return nil, fmt.Errorf("case %s has no Pod; read it with package fixtures", c.ID)
	}
	if err := checkSteps(c.Steps, cl.Access()); err != nil {
		return nil, err
	}
	if err := required(cl, c); err != nil {
		return nil, err
	}
	all, nodes, err := nodesNow(ctx, cl, o.Node)
	if err != nil {
		return nil, err
	}
	if (c.Kubelet != nil || c.Static) && !cl.Access() {
		return nil, ErrNoNodeAccess
	}
	// Another configuration may make other static Pods of the control plane, which is then restarted.
	if needs(c.Steps, fixtures.Node) || c.Kubelet != nil {
		if nodes = slices.DeleteFunc(nodes, func(n nodeNow) bool { return n.controlPlane }); len(nodes) == 0 {
			return nil, errControlPlane
		}
		nodes = nodes[:1]
	}
	if c.Kubelet != nil || c.Static {
		nodes = nodes[:1]
	}
	if o.Node != "" || needs(c.Steps, fixtures.Node) || c.Kubelet != nil {
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[corev1.LabelHostname] = nodes[0].hostname
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.name)
	}
	alone := disturbs(c)
	if alone {
		o.Progress("waiting until no other case runs there, because this one disturbs the node")
	}
	giveBack, err := cl.Use(ctx, names, alone)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	r := &runner{
		Recording: &Recording{
			Dir: o.Dir, Manifest: filepath.Join(o.Dir, "pod.yaml"), Namespace: namespaceName(o.Namespace, c.ID), Started: time.Now(), cluster: cl,
		},
		cl: cl, c: c, o: o, pod: pod, all: all, nodes: nodes,
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	restore, err := r.configure(ctx)
	if err != nil {
		r.dropNamespace(ctx)
		return r.Recording, err
	}
	err = r.record(ctx)
	return r.Recording, errors.Join(err, restore())
}

// namespaceName makes a name of at most 63 characters that tells the case.
func namespaceName(prefix, id string) string {
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(id))
	const most = 63 - 6
	name := prefix + "-" + slug
	if len(name) > most {
		name = name[:most]
	}
	return strings.TrimRight(name, "-") + "-" + strings.ToLower(rand.Text()[:5])
}

// labelControlPlane is the label of the nodes that kubeadm runs the control plane on.
const labelControlPlane = "node-role.kubernetes.io/control-plane"

// nodeNow is a node as it is now.
type nodeNow struct {
	name, hostname   string
	kubelet, runtime string
	controlPlane     bool
}

// nodesNow asks for the nodes again, because a kubelet may have been replaced since the cluster was opened. It returns all of them, and those on
// which the Pod may run as far as can be told: a Pod that tolerates more, or asks for less, is the scheduler's business.
func nodesNow(ctx context.Context, cl *cluster.Cluster, pin string) (all, candidates []nodeNow, err error) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	list, err := cl.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("listing nodes: %w", err)
	}
	var names []string
	for _, n := range list.Items {
		_, controlPlane := n.Labels[labelControlPlane]
		now := nodeNow{n.Name, n.Labels[corev1.LabelHostname], n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.ContainerRuntimeVersion, controlPlane}
		all = append(all, now)
		if !cluster.TakesPods(&n) {
			continue
		}
		names = append(names, n.Name)
		if pin == "" || n.Name == pin {
			candidates = append(candidates, now)
		}
	}
	switch {
	case len(names) == 0:
		return nil, nil, errors.New("no node of the cluster is ready and takes Pods")
	case len(candidates) == 0:
		return nil, nil, fmt.Errorf("no node %q is ready and takes Pods; these do: %s", pin, strings.Join(names, ", "))
	}
	return all, candidates, nil
}

// runner is one run under way.
type runner struct {
	*Recording
	cl    *cluster.Cluster
	c     fixtures.Case
	o     Options
	pod   *corev1.Pod
	all   []nodeNow
	nodes []nodeNow // on which the Pod may run

	rec     *record.Recorder
	applied bool
	deleted bool
	decided *DecidedError // once it is
}

// prepare makes the namespace and the log readers: where the Pod will run is not known, and a reader that starts later than the Pod reads late.
func (r *runner) prepare(ctx context.Context) error {
	if err := os.MkdirAll(r.o.Dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the recording: %w", err)
	}
	if err := os.WriteFile(r.Manifest, r.c.Manifest, 0o644); err != nil {
		return fmt.Errorf("saving the manifest: %w", err)
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, n := range r.nodes {
		g.Go(func() error {
			_, err := r.cl.Helper(gctx, n.name, r.o.HelperImage)
			return err
		})
	}
	g.Go(func() error {
		nctx, cancel := context.WithTimeout(gctx, callPatience)
		defer cancel()
		labels := map[string]string{cluster.LabelCase: strings.ReplaceAll(r.c.ID, "/", ".")}
		return r.cl.CreateNamespace(nctx, r.Namespace, labels)
	})
	err := g.Wait()
	if err == nil {
		err = r.keeps(ctx)
	}
	if err != nil {
		r.dropNamespace(ctx)
	}
	return err
}

// dropNamespace asks for the namespace to be deleted. Whether it works decides nothing: Cleanup comes back to it.
func (r *runner) dropNamespace(ctx context.Context) {
	if r.o.Keep || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callPatience)
	defer cancel()
	if err := r.cl.DeleteNamespace(ctx, r.Namespace); err != nil {
		r.o.Progress("%v", err)
	}
}

// record runs the steps with a recorder beside them.
func (r *runner) record(ctx context.Context) error {
	name := r.pod.Name
	if r.c.Workload != "" {
		name = r.c.Select // empty for the first one that appears
	}
	if r.c.Static {
		name = r.mirrorName()
	}
	rec, err := record.Start(ctx, record.Options{
		Dir: r.o.Dir, Client: r.cl.Client, Namespace: r.Namespace, Pod: name, Labels: r.pod.Labels,
		Header: r.header, Follow: r.follow, LocalClock: r.localClock, Progress: r.o.Progress,
	})
	if err != nil {
		r.dropNamespace(ctx)
		return err
	}
	r.rec, r.Path, r.Log = rec, rec.TracePath(), rec.LogPath()
	err = r.steps(ctx)
	if err != nil && r.applied && ctx.Err() == nil {
		// Before the Pod is deleted, because its containers go with it.
		r.note()
		err = errors.Join(err, r.snapshot(ctx))
	}
	if r.applied && ctx.Err() == nil {
		err = errors.Join(err, r.finish(ctx))
	}
	if e := rec.Close(); e != nil && !alreadySaid(err, e) {
		err = errors.Join(err, e)
	}
	r.note()
	if !r.o.leaves(r.c, err) {
		r.dropNamespace(ctx)
	}
	if ctx.Err() == nil {
		err = errors.Join(err, r.nodeBack(ctx))
	}
	if r.c.Static {
		err = errors.Join(err, r.removeStatic(ctx))
	}
	t, e := rec.Load()
	r.Trace = t
	return errors.Join(err, e)
}

// alreadySaid reports whether an error is part of another: what ends a recording also ends the step that waits for it.
func alreadySaid(err, part error) bool { return err != nil && errors.Is(err, part) }

// note takes over what the recorder saw last.
func (r *runner) note() {
	r.Recording.pod, r.events = r.rec.Pod(), r.rec.Events()
	if p := r.Recording.pod; p != nil {
		r.Node, r.UID = p.Spec.NodeName, string(record.OnNode(p))
	}
}

// finish deletes the Pod, unless a step did, and waits until it is gone.
func (r *runner) finish(ctx context.Context) error {
	switch {
	case r.deleted:
	case r.c.Static:
		if err := r.replace(ctx, trace.Act{Name: trace.ActReplace, Param: json.RawMessage(`"` + fixtures.NoFile + `"`)}); err != nil {
			return err
		}
	case r.decided != nil && r.c.Workload == "":
		if err := r.delete(ctx, lastPeriod(r.c.Steps)); err != nil {
			return err
		}
	case r.c.Workload != "":
		if err := r.removeFile(ctx, r.c.Workload); err != nil {
			return err
		}
	default:
		if err := r.delete(ctx, nil); err != nil {
			return err
		}
	}
	r.o.Progress("waiting for the Pod to be gone")
	pod := r.pod
	if last := r.rec.Pod(); last != nil {
		pod = last // it may have been admitted with another grace period
	}
	var err error
	if r.decided == nil {
		err = r.await(ctx, func(ctx context.Context) error { return r.rec.AwaitOver(ctx, grace(pod)+goneSlack) })
	}
	if r.decided != nil {
		err = errors.Join(err, r.leave(ctx, pod))
	}
	return err
}

// header is the first line of the trace.
func (r *runner) header(node string) (trace.Header, bool) {
	n, same := r.nodes[0], true
	for _, m := range r.all {
		same = same && m.kubelet == n.kubelet && m.runtime == n.runtime
	}
	if node != "" {
		i := slices.IndexFunc(r.all, func(m nodeNow) bool { return m.name == node })
		if i < 0 {
			return trace.Header{}, false
		}
		n, same = r.all[i], true
	}
	return trace.Header{Case: r.c.ID, Kubernetes: r.cl.Version, Kubelet: n.kubelet, Runtime: n.runtime, Settings: r.c.Kubelet}, same
}

func (r *runner) localClock(node string) bool {
	n, ok := r.cl.Node(node)
	return ok && n.Access()
}

// clip shortens what the log reader complains about.
func clip(b *bytes.Buffer) string {
	s := strings.TrimSpace(b.String())
	if len(s) > 500 {
		s = s[:500] + "…"
	}
	return s
}
