package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"
	kinderrors "sigs.k8s.io/kind/pkg/errors"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// Runtime is what a Provider needs of a container runtime; *host.Host is one.
type Runtime interface {
	// Runtime returns its name: "docker", "podman" or "nerdctl".
	Runtime() string
	// Environ returns the variables (KEY=VALUE) that every process needs which calls the runtime.
	Environ() []string
	// Command returns a call of the runtime.
	Command(ctx context.Context, args ...string) *exec.Cmd
	KindOption() kind.ProviderOption
	// KubeadmPatches and ContainerdPatches are what this machine needs of a cluster.
	KubeadmPatches(version string) []string
	ContainerdPatches() []string
}

// Options say what a kind cluster is to be.
type Options struct {
	// Image is the node image, which must be on this machine or be pullable; Version is the Kubernetes version in it ("v1.37.2").
	Image, Version string
	// Workers are the nodes beside the one control plane, which runs Pods itself where there are none.
	Workers []Worker
	// Schedulable lets the control plane run Pods also where there are workers.
	Schedulable bool
	// FeatureGates are those of every component, the kubelets among them.
	FeatureGates map[string]bool
	// ControlPlaneGates are feature gates of every component but the kubelets, which may be older.
	ControlPlaneGates map[string]bool
	RuntimeConfig     map[string]string

	// Keep lets the cluster outlive the run, for a later one with the same options to take up: a digest of the options is its name.
	Keep bool
	// Patience bounds how long the cluster may take from its creation until it is ready; 5 minutes if zero.
	Patience time.Duration
	// Artifacts is the folder that takes the logs of a cluster that did not come up; empty for none.
	Artifacts string
	Progress  func(format string, args ...any)
	// NodesReady, if set, is called once all nodes are Ready, which is what kind calls ready.
	NodesReady func()
}

// Patience, not rules.
const (
	defaultPatience = 5 * time.Minute
	// abandonPatience is how long kind may take to notice that its nodes are gone.
	abandonPatience = 90 * time.Second
	// removePatience is how long the runtime may take to remove nodes, and kind to collect their logs.
	removePatience = 90 * time.Second
)

// Provider makes and removes one kind cluster. It may be used by several goroutines; in particular Destroy may be called while Create is under way, once
// the context of Create has ended.
type Provider struct {
	rt Runtime
	o  Options

	mu      sync.Mutex // guards what follows
	name    string
	keeping *lock // held, shared with others, while a kept cluster is in use
	state   state
	owner   Owner
}

// NewProvider returns a provider that has made nothing yet.
func NewProvider(rt Runtime, o Options) *Provider {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	return &Provider{rt: rt, o: o}
}

// Create makes the cluster, or takes up a kept one, and waits until it is ready. When it fails or the context ends, it has removed again what it had
// made, and the error says so if that did not work.
func (p *Provider) Create(ctx context.Context) (err error) {
	if p.o.Image == "" {
		return errors.New("creating a kind cluster: no node image is given")
	}
	c := Config(p.rt, p.o)
	p.mu.Lock()
	if p.name != "" {
		defer p.mu.Unlock()
		return fmt.Errorf("creating a kind cluster: this provider has made %s already", p.name)
	}
	if p.state, err = openState(); err == nil {
		p.owner, err = Self()
	}
	if err != nil {
		p.mu.Unlock()
		return fmt.Errorf("creating a kind cluster: %w", err)
	}
	print := fingerprint(c)
	if p.o.Keep {
		p.name = keptName(print)
	} else {
		p.name = ownedName(p.owner, strings.ToLower(rand.Text()[:whichLen]))
	}
	name, st := p.name, p.state
	p.mu.Unlock()

	// kind's commands inherit the environment of this process and nothing else.
	for _, kv := range p.rt.Environ() {
		k, v, _ := strings.Cut(kv, "=")
		if err := os.Setenv(k, v); err != nil {
			return fmt.Errorf("creating a kind cluster: setting %s: %w", k, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.Patience, fmt.Errorf("gave up after %v", p.o.Patience))
	defer cancel()

	var keeping *lock
	defer func() {
		if err != nil {
			keeping.unlock()
			p.mu.Lock()
			p.name = ""
			p.mu.Unlock()
		}
	}()
	if p.o.Keep {
		var reused bool
		if keeping, reused, err = p.takeUp(ctx, name, print); err != nil {
			return err
		}
		p.mu.Lock()
		p.keeping = keeping
		p.mu.Unlock()
		if reused {
			return nil
		}
	}
	started := time.Now()
	label(c, p.owner, started, print)
	user, _ := os.Hostname()
	if err := st.save(record{
		Cluster: name, Owner: p.owner.String(), PID: p.owner.PID, User: fmt.Sprint(os.Getuid()), Host: user, Command: os.Args, Started: started,
		Kept: p.o.Keep, Image: c.Nodes[0].Image,
	}); err != nil {
		return err
	}
	if err := p.build(ctx, name, c); err != nil {
		return p.undo(ctx, name, err)
	}
	if keeping != nil {
		if err := keeping.share(); err != nil {
			return p.undo(ctx, name, err)
		}
	}
	p.o.Progress("cluster %s is ready after %.1f s", name, time.Since(started).Seconds())
	return nil
}

// build runs kind and waits until the cluster is ready.
func (p *Provider) build(ctx context.Context, name string, c *v1alpha4.Cluster) error {
	p.o.Progress("creating cluster %s with %s", name, c.Nodes[0].Image)
	network, err := p.joinNetwork(ctx)
	if err != nil {
		return err
	}
	defer network.unlock()
	// What killed runs left takes room and time from this one. It goes while kind is busy, and whether it does decides nothing.
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		removed, err := Sweep(ctx, p.rt, SweepOptions{})
		if err != nil && ctx.Err() == nil {
			p.o.Progress("%v", err)
		}
		for _, name := range removed {
			p.o.Progress("removed cluster %s, which a killed run had left", name)
		}
	}()
	defer func() { <-swept }()
	logFile, err := os.OpenFile(p.state.kindLog(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("keeping kind's log: %w", err)
	}
	// Not closed here: a kind that was given up on may still write to it.
	provider := p.kind(&kindLogger{w: logFile, progress: func(format string, args ...any) {
		p.o.Progress(format, args...)
		if strings.Contains(fmt.Sprintf(format, args...), kindHasNetwork) {
			if err := network.share(); err != nil {
				p.o.Progress("%v", err) // others wait longer than they need to
			}
		}
	}})
	done := make(chan error, 1)
	go func() {
		defer logFile.Close()
		done <- provider.Create(name,
			kind.CreateWithV1Alpha4Config(c),
			kind.CreateWithKubeconfigPath(p.state.kubeconfig(name)),
			kind.CreateWithRetain(true), // its logs are wanted; this package removes it
			kind.CreateWithDisplayUsage(false),
			kind.CreateWithDisplaySalutation(false),
		)
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("kind: %w", withOutput(err))
		}
	case <-ctx.Done():
		err := fmt.Errorf("kind was still busy: %w", context.Cause(ctx))
		return errors.Join(err, p.abandon(context.WithoutCancel(ctx), name, done))
	}
	cfg, err := loadConfig(p.state.kubeconfig(name), "")
	if err != nil {
		return err
	}
	return p.waitReady(ctx, cfg, len(c.Nodes))
}

func (p *Provider) waitReady(ctx context.Context, cfg *rest.Config, nodes int) error {
	return WaitReady(ctx, cfg, ReadyOptions{Nodes: nodes, Progress: p.o.Progress, NodesReady: p.o.NodesReady})
}

// kind returns kind's own provider.
func (p *Provider) kind(l *kindLogger) *kind.Provider {
	opts := []kind.ProviderOption{p.rt.KindOption()}
	if l != nil {
		opts = append(opts, kind.ProviderWithLogger(l))
	}
	return kind.NewProvider(opts...)
}

// kindHasNetwork is the step of kind before which it has made its network.
const kindHasNetwork = "Preparing nodes"

// withOutput adds to an error of kind the end of what the failed command wrote.
func withOutput(err error) error {
	run := kindexec.RunErrorForError(err)
	if run == nil {
		// kind runs nodes concurrently and may return several errors at once.
		if all := kinderrors.Errors(err); len(all) > 1 {
			return errors.Join(all...)
		}
		return err
	}
	const most = 15
	lines := strings.Split(strings.TrimSpace(string(run.Output)), "\n")
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	if text := strings.Join(lines, "\n\t"); text != "" {
		return fmt.Errorf("%w\n\t%s", err, text)
	}
	return err
}

// abandon makes a kind give up that cannot be cancelled: without its nodes, its next command fails.
func (p *Provider) abandon(ctx context.Context, name string, done <-chan error) error {
	p.o.Progress("interrupted; removing cluster %s", name)
	ctx, cancel := context.WithTimeout(ctx, abandonPatience)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		// kind may be in the middle of starting a node, so once is not enough.
		err := remove(ctx, p.rt, name)
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("kind did not give up within %v", abandonPatience), err)
		case <-tick.C:
		}
	}
}

// undo keeps the evidence of a cluster that did not come up, removes it, and returns the whole error.
func (p *Provider) undo(ctx context.Context, name string, err error) error {
	interrupted := ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded)
	err = fmt.Errorf("creating cluster %s: %w", name, err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removePatience)
	defer cancel()
	if p.o.Artifacts != "" && !interrupted {
		dir := filepath.Join(p.o.Artifacts, "cluster")
		if e := p.exportLogs(ctx, name, dir); e != nil {
			err = errors.Join(err, e)
		}
		err = fmt.Errorf("%w\n\tlogs of its nodes are in %s", err, dir)
	}
	if e := p.removeAll(ctx, name); e != nil {
		err = errors.Join(err, e)
	}
	return err
}

func (p *Provider) writeKubeconfig(name string) (string, error) {
	text, err := p.kind(nil).KubeConfig(name, false)
	if err != nil {
		return "", fmt.Errorf("getting the kubeconfig of cluster %s: %w", name, err)
	}
	path := p.state.kubeconfig(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("making the folder of cluster %s: %w", name, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the kubeconfig of cluster %s: %w", name, err)
	}
	return path, nil
}

// Name returns the name of the cluster; empty while there is none.
func (p *Provider) Name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name
}

func (p *Provider) exportLogs(ctx context.Context, name, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder for logs: %w", err)
	}
	if b, err := os.ReadFile(p.state.kindLog(name)); err == nil {
		if err := os.WriteFile(filepath.Join(dir, "kind.log"), b, 0o644); err != nil {
			return fmt.Errorf("keeping kind's log: %w", err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- p.kind(nil).CollectLogs(name, dir) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("collecting the logs of cluster %s: %w", name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("collecting the logs of cluster %s: %w", name, context.Cause(ctx))
	}
}

// Destroy removes the cluster and everything that came with it, unless it is kept. It may be called more than once.
func (p *Provider) Destroy(ctx context.Context) error {
	p.mu.Lock()
	name, keeping := p.name, p.keeping
	p.name, p.keeping = "", nil
	p.mu.Unlock()
	if name == "" {
		return nil
	}
	if p.o.Keep {
		keeping.unlock()
		p.o.Progress("keeping cluster %s; kubeconfig: %s", name, p.state.kubeconfig(name))
		return nil
	}
	p.o.Progress("removing cluster %s", name)
	if err := p.removeAll(ctx, name); err != nil {
		// Not gone, so a second call must try again.
		p.mu.Lock()
		p.name = name
		p.mu.Unlock()
		return err
	}
	return nil
}

// removeAll removes nodes, network and files of a cluster.
func (p *Provider) removeAll(ctx context.Context, name string) error {
	if err := remove(ctx, p.rt, name); err != nil {
		return err
	}
	return errors.Join(leaveNetwork(ctx, p.rt, p.state), p.state.remove(name))
}

// loadConfig reads a kubeconfig; an empty context means the current one.
func loadConfig(path, context string) (*rest.Config, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path},
		&clientcmd.ConfigOverrides{CurrentContext: context},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", path, err)
	}
	tune(cfg)
	return cfg, nil
}

// tune lifts client-go's own rate limit: the API server has better ones, and a recorder must not fall behind.
func tune(cfg *rest.Config) {
	cfg.QPS = -1
	cfg.UserAgent = "podorder"
}
