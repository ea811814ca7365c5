package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// openPatience is how long a cluster that is said to be there may take to answer.
const openPatience = 5 * time.Second

// Open returns an existing cluster. An empty kubeconfig stands for the user's own (KUBECONFIG or ~/.kube/config), an empty context for the current
// one. The error says which of these it was: the kubeconfig cannot be read, it has no such context, or the cluster does not answer.
func Open(ctx context.Context, kubeconfig, context string) (*Cluster, error) {
	return open(ctx, kubeconfig, context, openPatience)
}

// KubeconfigError says why a cluster cannot be looked for: the kubeconfig cannot be read, or it has no such context.
type KubeconfigError struct{ Err error }

func (e *KubeconfigError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *KubeconfigError) Unwrap() error { return e.Err }

// configOf returns the name of a context, and the configuration of a client for its cluster. An error is a *KubeconfigError.
func configOf(kubeconfig, contextName string) (name string, cfg *rest.Config, shown string, err error) {
	fail := func(format string, args ...any) (string, *rest.Config, string, error) {
		return "", nil, "", &KubeconfigError{fmt.Errorf(format, args...)}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	shown = strings.Join(rules.Precedence, ", ")
	if kubeconfig != "" {
		rules, shown = &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, kubeconfig
		if _, err := os.Stat(kubeconfig); err != nil { // so that a missing file is not taken for an empty one
			return fail("kubeconfig %s cannot be read: %w", kubeconfig, err)
		}
	}
	raw, err := rules.Load()
	if err != nil {
		return fail("kubeconfig %s cannot be read: %w", shown, err)
	}
	name = contextName
	if name == "" {
		name = raw.CurrentContext
	}
	if name == "" {
		return fail("kubeconfig %s has no current context; name one of: %s", shown, contexts(raw))
	}
	if _, ok := raw.Contexts[name]; !ok {
		return fail("kubeconfig %s has no context %q; it has: %s", shown, name, contexts(raw))
	}
	if cfg, err = clientcmd.NewNonInteractiveClientConfig(*raw, name, &clientcmd.ConfigOverrides{}, rules).ClientConfig(); err != nil {
		return fail("context %q of kubeconfig %s is not usable: %w", name, shown, err)
	}
	return name, cfg, shown, nil
}

func open(ctx context.Context, kubeconfig, contextName string, patience time.Duration) (*Cluster, error) {
	name, cfg, shown, err := configOf(kubeconfig, contextName)
	if err != nil {
		return nil, err
	}
	tune(cfg)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("context %q of kubeconfig %s is not usable: %w", name, shown, err)
	}
	c := &Cluster{
		Name: name, Kubeconfig: kubeconfig, Config: cfg, Client: client, progress: func(string, ...any) {},
	}
	if c.Owner, err = Self(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %v", patience))
	defer cancel()
	if err := c.look(ctx); err != nil {
		return nil, fmt.Errorf("cluster of context %q at %s does not answer: %w", name, cfg.Host, err)
	}
	return c, nil
}

// look asks the API server for its version and its nodes.
func (c *Cluster) look(ctx context.Context) error {
	v, err := serverVersion(ctx, c.Client)
	if err != nil {
		return err
	}
	c.Version = v.GitVersion
	list, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	takes := map[string]bool{}
	for _, n := range list.Items {
		takes[n.Name] = TakesPods(&n)
		info := n.Status.NodeInfo
		c.Nodes = append(c.Nodes, Node{
			Name: n.Name, Kubelet: info.KubeletVersion, Runtime: info.ContainerRuntimeVersion, Platform: info.OperatingSystem + "/" + info.Architecture,
		})
	}
	slices.SortFunc(c.Nodes, func(a, b Node) int {
		if takes[a.Name] != takes[b.Name] {
			if takes[a.Name] {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return nil
}

// serverVersion is Discovery().ServerVersion with a context.
func serverVersion(ctx context.Context, client kubernetes.Interface) (version.Info, error) {
	var v version.Info
	b, err := client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return v, fmt.Errorf("asking for its version: %w", err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("asking for its version: not an API server's answer: %w", err)
	}
	return v, nil
}

func contexts(c *api.Config) string {
	if len(c.Contexts) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(c.Contexts)), ", ")
}
