package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podorder/podorder/harness/internal/listwatch"
)

// ReadyOptions say what WaitReady waits for.
type ReadyOptions struct {
	// Nodes is how many nodes there must be at least.
	Nodes    int
	Progress func(format string, args ...any)
	// NodesReady, if set, is called once the Ready condition of all nodes is True.
	NodesReady func()
}

// WaitReady waits until a cluster can run Pods: its API answers, all nodes are Ready, the default service account exists, and what the cluster runs in
// kube-system (kube-proxy, CoreDNS, a network plugin; whatever is there) runs. The context bounds it; the error names what was waited for and
// what was seen last.
func WaitReady(ctx context.Context, cfg *rest.Config, o ReadyOptions) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("waiting for the cluster: making a client: %w", err)
	}
	return waitReady(ctx, client, o)
}

func waitReady(ctx context.Context, client kubernetes.Interface, o ReadyOptions) error {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if err := answers(ctx, client); err != nil {
		return err
	}
	o.Progress("waiting for %d node(s) to be Ready", o.Nodes)
	said := false
	if err := await(ctx, "all nodes to be Ready", nodeSource(client), func(seen objects) (bool, string) {
		if !said && o.NodesReady != nil && conditionsTrue(seen, o.Nodes) {
			said = true
			o.NodesReady()
		}
		return nodesReady(seen, o.Nodes)
	}); err != nil {
		return err
	}
	if err := waitServiceAccount(ctx, client, metav1.NamespaceDefault); err != nil {
		return err
	}
	o.Progress("waiting for the Pods of kube-system")
	if err := await(ctx, "the DaemonSets of kube-system", listwatch.Source{
		What: "DaemonSets",
		List: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return client.AppsV1().DaemonSets(metav1.NamespaceSystem).List(ctx, lo)
		},
		Watch: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			return client.AppsV1().DaemonSets(metav1.NamespaceSystem).Watch(ctx, lo)
		},
	}, daemonSetsReady); err != nil {
		return err
	}
	return await(ctx, "the Deployments of kube-system", listwatch.Source{
		What: "Deployments",
		List: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return client.AppsV1().Deployments(metav1.NamespaceSystem).List(ctx, lo)
		},
		Watch: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			return client.AppsV1().Deployments(metav1.NamespaceSystem).Watch(ctx, lo)
		},
	}, deploymentsReady)
}

// waitServiceAccount waits until a namespace has its default service account, without which no Pod can be created there.
func waitServiceAccount(ctx context.Context, client kubernetes.Interface, namespace string) error {
	return await(ctx, "the default service account of namespace "+namespace, listwatch.Source{
		What:   "ServiceAccounts",
		Fields: "metadata.name=default",
		List: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().ServiceAccounts(namespace).List(ctx, lo)
		},
		Watch: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().ServiceAccounts(namespace).Watch(ctx, lo)
		},
	}, func(seen objects) (bool, string) { return len(seen) > 0, "none yet" })
}

// WaitNode waits until one node takes Pods.
func WaitNode(ctx context.Context, client kubernetes.Interface, name string, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	source := nodeSource(client)
	source.Fields = "metadata.name=" + name
	return await(ctx, "node "+name+" to be ready", source, func(seen objects) (bool, string) { return nodesReady(seen, 1) })
}

func nodeSource(client kubernetes.Interface) listwatch.Source {
	return listwatch.Source{
		What: "Nodes",
		List: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Nodes().List(ctx, lo)
		},
		Watch: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Nodes().Watch(ctx, lo)
		},
	}
}

// answers waits until the API server says that it is ready. There is nothing to watch before it is.
func answers(ctx context.Context, client kubernetes.Interface) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("no answer yet")
	for {
		c := client.Discovery().RESTClient()
		if c == nil { // a fake one, which has no server to wait for
			return nil
		}
		_, err := c.Get().AbsPath("/readyz").Timeout(5 * time.Second).DoRaw(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the API server to answer: %w; last: %v", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// objects are what there is of one kind, by name.
type objects map[string]runtime.Object

// names returns the names in order, so that what is reported does not vary.
func (o objects) names() []string { return slices.Sorted(maps.Keys(o)) }

// await watches until check is content with the objects that there are. Its second result says what is amiss, for the error.
func await(ctx context.Context, what string, s listwatch.Source, check func(objects) (bool, string)) error {
	seen, amiss := objects{}, "nothing"
	take := func(o runtime.Object, there bool) error {
		m, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		if there {
			seen[m.GetName()] = o
		} else {
			delete(seen, m.GetName())
		}
		return nil
	}
	verdict := func() (done bool, err error) { done, amiss = check(seen); return done, nil }
	err := listwatch.Run(ctx, s, listwatch.Handler{
		Listed: func(items []runtime.Object, _ string) (bool, error) {
			clear(seen)
			for _, o := range items {
				if err := take(o, true); err != nil {
					return false, err
				}
			}
			return verdict()
		},
		Event: func(t watch.EventType, o runtime.Object) (bool, error) {
			if err := take(o, t != watch.Deleted); err != nil {
				return false, err
			}
			return verdict()
		},
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w; last seen: %s", what, err, amiss)
	}
	return nil
}

// conditionsTrue reports whether all nodes say that they are ready, which is what kind's own check looks at.
func conditionsTrue(seen objects, want int) bool {
	for _, o := range seen {
		if !slices.ContainsFunc(o.(*corev1.Node).Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			return false
		}
	}
	return len(seen) >= want
}

func nodesReady(seen objects, want int) (bool, string) {
	var amiss []string
	if len(seen) < want {
		amiss = append(amiss, fmt.Sprintf("%d of %d nodes", len(seen), want))
	}
	for _, name := range seen.names() {
		if why := notReady(seen[name].(*corev1.Node)); why != "" {
			amiss = append(amiss, name+": "+why)
		}
	}
	return len(amiss) == 0, strings.Join(amiss, ", ")
}

// notReady returns why a node is not ready; empty if it is. The taints of a node that was not ready go some time after it is, and keep Pods away
// until then.
func notReady(n *corev1.Node) string {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNetworkUnavailable {
			return "taint " + t.Key
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			if c.Status == corev1.ConditionTrue {
				return ""
			}
			return strings.TrimSpace(c.Reason + " " + c.Message)
		}
	}
	return "no Ready condition yet"
}

func daemonSetsReady(seen objects) (bool, string) {
	var amiss []string
	for _, name := range seen.names() {
		d := seen[name].(*appsv1.DaemonSet)
		s := d.Status
		// One that fits no node is no one's concern, but one that was not looked at yet is.
		if s.ObservedGeneration < d.Generation || s.NumberReady < s.DesiredNumberScheduled {
			amiss = append(amiss, fmt.Sprintf("%s: %d of %d ready", name, s.NumberReady, s.DesiredNumberScheduled))
		}
	}
	return len(amiss) == 0, strings.Join(amiss, ", ")
}

func deploymentsReady(seen objects) (bool, string) {
	var amiss []string
	for _, name := range seen.names() {
		d := seen[name].(*appsv1.Deployment)
		// One replica serves; the others only make it more so.
		wanted := d.Spec.Replicas == nil || *d.Spec.Replicas > 0
		if wanted && d.Status.AvailableReplicas == 0 {
			amiss = append(amiss, name+": no replica available")
		}
	}
	return len(amiss) == 0, strings.Join(amiss, ", ")
}
