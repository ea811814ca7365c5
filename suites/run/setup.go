package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness"
	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/host"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/harness/shutdown"
)

// main runs the suite on a cluster.
func (s *Suite) main(m *testing.M, cfg *envconf.Config) (status int) {
	if err := os.MkdirAll(s.artifacts, 0o755); err != nil {
		return complain(fmt.Errorf("making the folder of the artifacts: %w", err))
	}
	// What an earlier run reported must not pass for the report of this one. Of
	// its recordings, those of the cases that are run now are replaced.
	for _, name := range []string{summaryFile, verdictsFile, "cluster"} {
		if err := os.RemoveAll(filepath.Join(s.artifacts, name)); err != nil {
			return complain(fmt.Errorf("removing what an earlier run left: %w", err))
		}
	}
	log, err := os.Create(filepath.Join(s.artifacts, "progress.log"))
	if err != nil {
		return complain(fmt.Errorf("keeping the progress: %w", err))
	}
	defer log.Close()
	s.progress.Keep(log)
	clients, err := os.Create(filepath.Join(s.artifacts, "client.log"))
	if err != nil {
		return complain(fmt.Errorf("keeping what the client libraries log: %w", err))
	}
	defer clients.Close()
	divert(clients)

	timeout, err := time.ParseDuration(lookup("test.timeout"))
	if err != nil {
		return complain(fmt.Errorf("reading -timeout: %w", err))
	}
	end := shutdown.New(context.Background(), shutdown.Options{Timeout: timeout, Output: s.progress.Live()})
	defer end.Recover()
	endWithGo()
	status = s.through(end, m, cfg)
	return end.End(status)
}

// through goes through the whole run and returns the exit status of its tests.
// What is to be removed afterwards is registered with end.
func (s *Suite) through(end ending, m *testing.M, cfg *envconf.Config) int {
	tmp, err := os.MkdirTemp("", "podorder-suites-")
	if err != nil {
		return complain(fmt.Errorf("making a temporary folder: %w", err))
	}
	end.OnEnd("removing the temporary folder", func(context.Context) error { return os.RemoveAll(tmp) })
	// A go command that is stopped leaves its working folder behind.
	if err := os.Setenv("GOTMPDIR", tmp); err != nil {
		return complain(fmt.Errorf("keeping go's files together: %w", err))
	}
	environment, err := env.NewWithContext(end.Context(), cfg)
	if err != nil {
		return complain(err)
	}
	failed := errors.New("the set-up did not get to its end")
	s.env = environment.Setup(func(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
		start := time.Now()
		cl, err := s.up(ctx, end, tmp)
		if err == nil {
			err = s.use(ctx, cl)
		}
		if failed = err; err != nil {
			return ctx, err
		}
		s.ready = time.Since(start)
		cfg.WithKubeconfigFile(cl.Kubeconfig)
		return ctx, nil
	})
	status := s.env.Run(m)
	if failed != nil {
		if cause := context.Cause(end.Context()); cause != nil {
			failed = cause // what it broke on the way is of no interest
		}
		return complain(failed)
	}
	return s.finish(status)
}

// ending is where a run says what has to be removed at its end, whatever ends
// it; *shutdown.Shutdown is one.
type ending interface {
	Context() context.Context
	OnEnd(name string, f func(context.Context) error)
}

// divert sends what client libraries log to a file: on the screen it would
// stand between the verdicts.
func divert(w io.Writer) {
	logger := slog.New(slog.NewTextHandler(w, nil))
	klog.SetSlogLogger(logger)
	controllerlog.SetLogger(klog.Background())
}

// up brings up a cluster, or opens one that exists, with the images of the test
// Pods in it.
func (s *Suite) up(ctx context.Context, end ending, tmp string) (*cluster.Cluster, error) {
	if s.target.exists() {
		return s.open(ctx, end, tmp)
	}
	h, err := host.Detect(ctx, host.Options{NoInstall: s.options.NoInstall, Progress: s.progress.Printf})
	if err != nil {
		return nil, fmt.Errorf("finding a container runtime: %w", err)
	}
	end.OnEnd("removing the private configuration of the container runtime", func(context.Context) error { return h.Close() })

	var paths []string
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		paths, err = s.archives(gctx, h, tmp)
		return err
	})
	var provider *cluster.Provider
	g.Go(func() error {
		if removed, err := cluster.Sweep(gctx, h, cluster.SweepOptions{}); err != nil {
			s.progress.Printf("removing what killed runs left: %v", err)
		} else if len(removed) > 0 {
			s.progress.Printf("removed what killed runs left: %s", strings.Join(removed, ", "))
		}
		img, err := s.nodeImage(gctx, h)
		if err != nil {
			return err
		}
		provider = cluster.NewProvider(h, cluster.Options{
			Image: img.Ref, Version: img.Version, Keep: s.options.Keep,
			Artifacts: s.artifacts, Progress: s.progress.Printf,
		})
		end.OnEnd("removing the cluster", provider.Destroy)
		_, err = provider.Create(gctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	cl, err := provider.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	if s.options.Keep { // a kept cluster has namespaces of earlier runs in it
		s.sweepNamespaces(ctx, cl)
	}
	return cl, load(ctx, cl, paths)
}

// sweepNamespaces removes the namespaces that earlier runs left in a cluster.
// What cannot be removed is in nobody's way.
func (s *Suite) sweepNamespaces(ctx context.Context, cl *cluster.Cluster) {
	removed, err := cluster.SweepNamespaces(ctx, cl, cluster.SweepOptions{})
	if err != nil {
		s.progress.Printf("removing what earlier runs left: %v", err)
	}
	if len(removed) > 0 {
		s.progress.Printf("removed what earlier runs left: namespaces %s", strings.Join(removed, ", "))
	}
}

// nodeImage returns the image that the flags name, or the one of the version.
func (s *Suite) nodeImage(ctx context.Context, h *host.Host) (img nodeimage.Image, err error) {
	o := nodeimage.Options{Progress: s.progress.Printf}
	version := s.options.Kubernetes
	if ref := s.options.NodeImage; ref != "" {
		if img, err = nodeimage.Named(ctx, h, ref, o); err != nil {
			return img, err
		}
		if version != "" && version != img.Version {
			return img, fmt.Errorf("node image %s holds Kubernetes %s, not %s as -kubernetes says", ref, img.Version, version)
		}
	} else {
		if version == "" {
			version = nodeimage.Default
		}
		if img, err = nodeimage.Ensure(ctx, h, version, o); err != nil {
			return img, fmt.Errorf("getting a node image: %w", err)
		}
	}
	s.progress.Printf("node image %s: Kubernetes %s, %s", img.Ref, img.Version, img.Source)
	return img, nil
}

// open opens the cluster that the flags name.
func (s *Suite) open(ctx context.Context, end ending, tmp string) (*cluster.Cluster, error) {
	cl, err := cluster.Open(ctx, s.target.kubeconfig, s.target.context)
	if err != nil {
		return nil, err
	}
	if !s.options.Keep {
		end.OnEnd("removing the namespaces of this run", cl.Cleanup)
	}
	if want := s.options.Kubernetes; want != "" {
		for _, n := range cl.Nodes {
			if n.Kubelet != want {
				return nil, fmt.Errorf("node %s of cluster %s has kubelet %s, not %s as -kubernetes says", n.Name, cl.Name, n.Kubelet, want)
			}
		}
	}
	s.sweepNamespaces(ctx, cl)
	// The nodes may be containers of this machine all the same; then their
	// journals can be read, and images loaded.
	h, err := host.Detect(ctx, host.Options{NoInstall: true, Progress: s.progress.Printf})
	if err != nil {
		return cl, s.pullable(cl)
	}
	end.OnEnd("removing the private configuration of the container runtime", func(context.Context) error { return h.Close() })
	ours, err := cl.Attach(ctx, h)
	if err != nil {
		return nil, err
	}
	if !ours {
		return cl, s.pullable(cl)
	}
	paths, err := s.archives(ctx, h, tmp)
	if err != nil {
		return nil, err
	}
	return cl, load(ctx, cl, paths)
}

// pullable reports an image that the nodes of a cluster elsewhere could not
// have.
func (s *Suite) pullable(cl *cluster.Cluster) error {
	if s.options.RecorderImage == "" {
		return fmt.Errorf("the nodes of cluster %s are not containers of this machine, so the recorder image cannot be loaded into them: push it to where they can pull it from, and name it with -recorder-image", cl.Name)
	}
	return nil
}

func load(ctx context.Context, cl *cluster.Cluster, archives []string) error {
	for _, path := range archives {
		if err := cl.LoadArchive(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// use takes a cluster that is up for the cases.
func (s *Suite) use(ctx context.Context, cl *cluster.Cluster) error {
	n := cl.Nodes[0]
	s.kubernetes = cl.Version
	s.node = node{name: n.Name, kubelet: n.Kubelet, runtime: n.Runtime}
	object, err := cl.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("asking for the size of node %s: %w", n.Name, err)
	}
	slots := room(object.Status.Allocatable.Cpu().Value(), object.Status.Allocatable.Pods().Value())
	s.slots = semaphore.NewWeighted(slots)
	s.progress.Printf("cluster %s: Kubernetes %s, kubelet %s, %s; %d cases, up to %d at once", cl.Name, cl.Version, n.Kubelet, n.Runtime, len(s.cases), slots)
	s.record = func(ctx context.Context, c fixtures.Case, dir string) (recorded, error) {
		rec, err := harness.Run(ctx, cl, c, harness.Options{
			Dir: dir, Keep: s.options.Keep, HelperImage: s.options.RecorderImage,
			Progress: func(format string, args ...any) {
				s.progress.Printf("%s: %s", c.ID, fmt.Sprintf(format, args...))
			},
		})
		if rec == nil {
			return recorded{}, err
		}
		return recorded{trace: rec.Trace, path: rec.Path, evidence: rec.Evidence}, err
	}
	return nil
}
