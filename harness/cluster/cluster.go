package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// Cluster is a cluster that cases can be run on, made by a Provider or opened. It may be used by many goroutines.
type Cluster struct {
	// Name is that of the kind cluster, or of the context that was opened.
	Name       string
	Kubeconfig string
	Config     *rest.Config
	Client     kubernetes.Interface
	// Version is that of the API server, "v1.37.2".
	Version string
	// Nodes are all nodes: first those that took Pods when the cluster was opened, then the others, each by name.
	Nodes []Node
	// Owner marks what this run makes in the cluster.
	Owner Owner

	progress func(string, ...any)
	rt       Runtime // that the nodes are containers of; nil where they are not

	// restarting serializes restarts of nodes. Podman's name server was seen to die where several containers leave and join its network at once, and no
	// node finds the control plane without it.
	restarting sync.Mutex

	mu      sync.Mutex
	helpers map[string]*helperSlot
	uses    map[string]*semaphore.Weighted // of nodes
	system  string                         // the namespace of the helpers; empty until there is one
}

// Node is one node, as it was when the cluster was opened.
type Node struct {
	Name string
	// Kubelet and Runtime are versions as the node reports them: "v1.37.2", "containerd://2.3.5".
	Kubelet, Runtime string
	// Platform is what its images are for: "linux/amd64".
	Platform string
	// container is the node as kind knows it; nil where it is not a container on this machine.
	container nodes.Node
}

// Cluster returns the cluster that Create made.
func (p *Provider) Cluster(ctx context.Context) (*Cluster, error) {
	p.mu.Lock()
	name, st := p.name, p.state
	p.mu.Unlock()
	if name == "" {
		return nil, errors.New("using the kind cluster: there is none yet")
	}
	c, err := Open(ctx, st.kubeconfig(name), "kind-"+name)
	if err != nil {
		return nil, err
	}
	c.Name, c.progress = name, p.o.Progress
	if err := c.attach(ctx, p.rt, name); err != nil {
		return nil, err
	}
	return c, nil
}

// Attach makes commands in the nodes and image loading work on a cluster that was opened, if its nodes are those of a kind cluster of this
// runtime, and reports whether they are.
func (c *Cluster) Attach(ctx context.Context, rt Runtime) (bool, error) {
	list, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing the nodes of cluster %s: %w", c.Name, err)
	}
	name := ""
	for _, n := range list.Items {
		// kind writes kind://RUNTIME/CLUSTER/NODE.
		parts := strings.Split(strings.TrimPrefix(n.Spec.ProviderID, "kind://"), "/")
		if !strings.HasPrefix(n.Spec.ProviderID, "kind://") || len(parts) != 3 || parts[0] != rt.Runtime() || name != "" && parts[1] != name {
			return false, nil
		}
		name = parts[1]
	}
	there, err := containers(ctx, rt, name)
	if err != nil {
		return false, err
	}
	for _, n := range list.Items {
		if !slices.Contains(there, n.Name) {
			return false, nil
		}
		// Another machine may have a cluster of the same name.
		id, err := output(rt.Command(ctx, "exec", n.Name, "cat", "/etc/machine-id"))
		if err != nil || strings.TrimSpace(id) != n.Status.NodeInfo.MachineID {
			return false, nil
		}
	}
	return true, c.attach(ctx, rt, name)
}

func (c *Cluster) attach(ctx context.Context, rt Runtime, name string) error {
	all, err := kind.NewProvider(rt.KindOption()).ListNodes(name)
	if err != nil {
		return fmt.Errorf("listing the nodes of kind cluster %s: %w", name, err)
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		j := slices.IndexFunc(all, func(k nodes.Node) bool { return k.String() == n.Name })
		if j < 0 {
			return fmt.Errorf("node %s of kind cluster %s is not among its containers", n.Name, name)
		}
		n.container = all[j]
	}
	c.rt = rt
	return ctx.Err()
}

// RestartNode restarts the container of a node, and with it everything on the node. It waits for the helper there to run again, if there is one: a command
// that is run in it before that may hang. It does not wait for the node to be ready.
func (c *Cluster) RestartNode(ctx context.Context, n Node) error {
	if c.rt == nil || !n.Access() {
		return fmt.Errorf("restarting node %s: the node is not a container of this machine", n.Name)
	}
	before, err := c.helperRestarts(ctx, n.Name)
	if err != nil {
		return fmt.Errorf("restarting node %s: %w", n.Name, err)
	}
	c.restarting.Lock()
	_, err = output(c.rt.Command(ctx, "restart", n.Name))
	c.restarting.Unlock()
	if err != nil {
		return fmt.Errorf("restarting node %s: %w", n.Name, err)
	}
	if err := c.helperBack(ctx, n.Name, before); err != nil {
		return fmt.Errorf("restarting node %s: %w", n.Name, err)
	}
	return nil
}

// Node returns a node by name.
func (c *Cluster) Node(name string) (Node, bool) {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return c.Nodes[i], true
}

// Access reports whether commands can be run in every node.
func (c *Cluster) Access() bool {
	return !slices.ContainsFunc(c.Nodes, func(n Node) bool { return !n.Access() })
}

// Access reports whether commands can be run in the node. Where they can, the node also has this machine's clock.
func (n Node) Access() bool { return n.container != nil }

// Command runs a command in the node and returns what it wrote. An error tells what it complained about, or that this node cannot be entered.
func (n Node) Command(ctx context.Context, name string, args ...string) (string, error) {
	var out bytes.Buffer
	err := n.Stream(ctx, &out, name, args...)
	return out.String(), err
}

// Stream is Command for much output.
func (n Node) Stream(ctx context.Context, out io.Writer, name string, args ...string) error {
	if n.container == nil {
		return fmt.Errorf("running %s in node %s: the node is not a container of this machine", name, n.Name)
	}
	var complaint bytes.Buffer
	if err := n.bound(ctx).Command(name, args...).SetStdout(out).SetStderr(&complaint).Run(); err != nil {
		if s := strings.TrimSpace(complaint.String()); s != "" {
			return fmt.Errorf("running %s in node %s: %w: %s", name, n.Name, err, s)
		}
		return fmt.Errorf("running %s in node %s: %w", name, n.Name, err)
	}
	return nil
}

// boundNode ends the commands of a node with a context, also those that kind starts without one.
type boundNode struct {
	nodes.Node
	ctx context.Context
}

func (n Node) bound(ctx context.Context) nodes.Node { return boundNode{n.container, ctx} }

func (n boundNode) Command(name string, args ...string) kindexec.Cmd {
	return n.Node.CommandContext(n.ctx, name, args...)
}

// everyone is the number of runs that may use a node at once, and the weight of one that wants it for itself. It is no limit in practice.
const everyone = 1 << 20

// Use takes nodes for a run, together with other runs, or alone where the run disturbs whatever else is there. It waits for its turn, and
// the context bounds that. The function that it returns gives the nodes back.
func (c *Cluster) Use(ctx context.Context, nodes []string, alone bool) (func(), error) {
	weight := int64(1)
	if alone {
		weight = everyone
	}
	var held []*semaphore.Weighted
	release := func() {
		for _, s := range held {
			s.Release(weight)
		}
	}
	// Everybody takes them in the same order, so that no two wait for each other.
	for _, node := range slices.Sorted(slices.Values(nodes)) {
		c.mu.Lock()
		if c.uses == nil {
			c.uses = map[string]*semaphore.Weighted{}
		}
		s := c.uses[node]
		if s == nil {
			s = semaphore.NewWeighted(everyone)
			c.uses[node] = s
		}
		c.mu.Unlock()
		if err := s.Acquire(ctx, weight); err != nil {
			release()
			return nil, fmt.Errorf("waiting for a turn on node %s: %w", node, context.Cause(ctx))
		}
		held = append(held, s)
	}
	return release, nil
}

// TakesPods reports whether a node is ready and takes Pods that tolerate nothing in particular.
func TakesPods(n *corev1.Node) bool {
	if n.Spec.Unschedulable || notReady(n) != "" {
		return false
	}
	return !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	})
}
