package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
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
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/forms"
	"github.com/podorder/podorder/report/judged"
)

// main runs the suite on a cluster.
func (s *Suite) main(m *testing.M) (status int) {
	if err := os.MkdirAll(s.artifacts, 0o755); err != nil {
		return complain(fmt.Errorf("making the folder of the artifacts: %w", err))
	}
	// What an earlier run reported must not pass for the report of this one. Of
	// its recordings, those of the cases that are run now are replaced.
	stale := append(forms.Files(), "cluster")
	for _, name := range forms.Files() {
		stale = append(stale, filepath.Join(forms.Again, name))
	}
	for _, name := range stale {
		if err := os.RemoveAll(filepath.Join(s.artifacts, name)); err != nil {
			return complain(fmt.Errorf("removing what an earlier run left behind: %w", err))
		}
	}
	mode := os.O_TRUNC
	if s.options.Resume {
		mode = os.O_APPEND
	}
	log, err := os.OpenFile(filepath.Join(s.artifacts, "progress.log"), os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return complain(fmt.Errorf("keeping the progress: %w", err))
	}
	defer log.Close()
	s.progress.KeepIn(log)
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
	status = s.through(end, m)
	return end.End(status)
}

// through goes through the whole run and returns the exit status of its tests.
// What is to be removed afterwards is registered with end.
func (s *Suite) through(end ending, m *testing.M) int {
	tmp, err := cluster.ScratchForGo("suites")
	if err != nil {
		return complain(err)
	}
	end.OnEnd("removing the temporary folder", func(context.Context) error { return os.RemoveAll(tmp) })
	if err := withGo(end, tmp); err != nil {
		return complain(err)
	}
	ws, err := s.waves(end)
	if err != nil {
		return complain(err)
	}
	s.planned = ws
	status := 0
	for i, kubelets := range ws {
		if len(ws) > 1 {
			s.progress.Printf("wave %d of %d: kubelets %s", i+1, len(ws), strings.Join(kubelets, ", "))
		}
		environment, err := env.NewWithContext(end.Context(), s.cfg)
		if err != nil {
			return complain(err)
		}
		failed := errors.New("the set-up did not finish")
		var remove func(context.Context) error
		start := time.Now()
		s.env = environment.Setup(func(ctx context.Context, cfg *envconf.Config) (context.Context, error) {
			var cl *cluster.Cluster
			if cl, remove, failed = s.up(ctx, end, tmp, kubelets); failed == nil {
				failed = s.use(ctx, cl, kubelets)
			}
			if failed != nil {
				return ctx, failed
			}
			s.clusters[len(s.clusters)-1].Seconds = time.Since(start).Seconds()
			cfg.WithKubeconfigFile(cl.Kubeconfig)
			return ctx, nil
		})
		// package testing lets a test main run its tests several times, one after the
		// other.
		status = max(status, s.env.Run(m))
		if failed != nil {
			if cause := context.Cause(end.Context()); cause != nil {
				failed = cause // what it broke on the way is of no interest
			}
			return s.without(failed, start)
		}
		s.rest()
		if end.Context().Err() != nil {
			break
		}
		if i+1 < len(ws) { // the last one is removed at the end
			if err := remove(end.Context()); err != nil {
				return complain(fmt.Errorf("removing the cluster of wave %d: %w", i+1, err))
			}
		}
	}
	return s.finish(status, context.Cause(end.Context()))
}

// without ends a run that has no cluster to run cases in. The report has those of the clusters
// before it.
func (s *Suite) without(why error, since time.Time) int {
	s.clusters = append(s.clusters, report.Cluster{
		Kubernetes: s.options.Kubernetes, Made: !s.target.exists(), Seconds: time.Since(since).Seconds(), Failed: why.Error(),
	})
	if err := s.save(s.report()); err != nil {
		return complain(errors.Join(why, err))
	}
	return complain(why)
}

// waves returns the kubelets of each cluster that is made, one after the other.
// A cluster that exists, or that takes its kubelet from the node image, is one wave.
func (s *Suite) waves(end ending) ([][]string, error) {
	if s.target.exists() {
		return [][]string{s.kubelets}, nil
	}
	if s.options.RaiseInotify {
		back, err := cluster.RaiseInotify(max(len(s.kubelets), mostSpares))
		if err != nil {
			return nil, err
		}
		end.OnEnd("restoring the limit of inotify instances", func(context.Context) error { return back() })
	}
	c, err := cluster.MachineCapacity()
	if err != nil {
		return nil, err
	}
	if s.options.RaiseInotify {
		s.progress.Printf("fs.inotify.max_user_instances is %d for this run, of which %d are in use", c.InotifyLimit, c.InotifyUsed)
	}
	if s.kubelets == nil {
		return [][]string{nil}, nil
	}
	ws, why, err := plan(s.kubelets, c)
	if err != nil {
		return nil, err
	}
	if len(ws) > 1 {
		s.progress.Printf("%d kubelets in %d waves, one after the other: %s", len(s.kubelets), len(ws), why)
		if s.options.Keep {
			return nil, usageError{fmt.Errorf("-keep: %d kubelets take %d clusters, one after the other, which cannot all be kept; name fewer, or as root give -raise-inotify", len(s.kubelets), len(ws))}
		}
	}
	return ws, nil
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

// machine is what clusters are made of on this machine, found out once for all of
// them.
type machine struct {
	host    *host.Host
	image   nodeimage.Image
	workers map[string]cluster.Worker // by kubelet
	// archives returns the images of the test Pods.
	archives func() ([]string, error)
}

// up brings up a cluster, or opens one that exists, with the images of the test
// Pods in it. It has one worker for each kubelet; without any, it is one of the
// kubelet in the node image. The function that it returns removes it before the
// end.
func (s *Suite) up(ctx context.Context, end ending, tmp string, kubelets []string) (*cluster.Cluster, func(context.Context) error, error) {
	if s.target.exists() {
		cl, err := s.open(ctx, end, tmp)
		return cl, nil, err
	}
	if s.machine == nil {
		h, err := host.Detect(ctx, host.Options{NoInstall: s.options.NoInstall, Progress: s.progress.Printf})
		if err != nil {
			return nil, nil, fmt.Errorf("finding a container runtime: %w", err)
		}
		end.OnEnd("removing the private configuration of the container runtime", func(context.Context) error { return h.Close() })
		s.machine = &machine{host: h, archives: sync.OnceValues(func() ([]string, error) { return s.archives(ctx, h, tmp) })}
	}
	h := s.machine.host
	if s.machine.workers == nil {
		stages, err := s.forCluster(ctx, h, s.planned)
		if err != nil {
			return nil, nil, err
		}
		if err := s.inTime(append(stages, s.stages...), true); err != nil {
			return nil, nil, err
		}
	}

	var paths []string
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		paths, err = s.machine.archives()
		return err
	})
	var provider *cluster.Provider
	g.Go(func() error {
		if removed, err := cluster.SweepScratch(cluster.SweepOptions{}); err != nil {
			s.progress.Printf("removing what killed runs left behind: %v", err)
		} else if len(removed) > 0 {
			s.progress.Printf("removed what killed runs left behind: %s", strings.Join(removed, ", "))
		}
		if removed, err := cluster.Sweep(gctx, h, cluster.SweepOptions{}); err != nil {
			s.progress.Printf("removing what killed runs left behind: %v", err)
		} else if len(removed) > 0 {
			s.progress.Printf("removed what killed runs left behind: %s", strings.Join(removed, ", "))
		}
		if err := s.material(gctx); err != nil {
			return err
		}
		o, err := s.clusterOptions(kubelets)
		if err != nil {
			return err
		}
		provider = cluster.NewProvider(h, o)
		end.OnEnd("removing the cluster", provider.Destroy)
		return provider.Create(gctx)
	})
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	cl, err := provider.Cluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	if s.options.Keep { // a kept cluster has namespaces of earlier runs in it
		s.sweepNamespaces(ctx, cl)
	}
	return cl, provider.Destroy, load(ctx, cl, paths, tmp)
}

// material gets the node image and the kubelets.
func (s *Suite) material(ctx context.Context) (err error) {
	if s.machine.workers != nil {
		return nil // an earlier cluster was made of it
	}
	if s.machine.image, err = s.nodeImage(ctx, s.machine.host); err != nil {
		return err
	}
	made, err := workers(ctx, s.kubelets, s.files, s.machine.image, s.kubelet)
	if err != nil {
		return err
	}
	s.machine.workers = map[string]cluster.Worker{}
	for i, v := range s.kubelets {
		s.machine.workers[v] = made[i]
	}
	return nil
}

// Patience for a cluster to come up, and for each of its workers. On an idle machine
// it takes seconds; on a busy one minutes.
const (
	clusterPatience = 6 * time.Minute
	workerPatience  = time.Minute
)

// clusterOptions says what a cluster for some kubelets is, or one for that of the
// node image.
func (s *Suite) clusterOptions(kubelets []string) (cluster.Options, error) {
	o := cluster.Options{
		Image: s.machine.image.Ref, Version: s.machine.image.Version, Keep: s.options.Keep,
		Artifacts: s.artifacts, Progress: s.progress.Printf,
		Patience: clusterPatience + time.Duration(len(kubelets))*workerPatience,
	}
	o.ControlPlaneGates, o.RuntimeConfig = extras(o.Version)
	o.FeatureGates = parseGates(s.options.FeatureGates)
	if err := checkGates(s.options.FeatureGates, []string{o.Version}, true); err != nil {
		return o, usageError{err}
	}
	for _, v := range kubelets {
		o.Workers = append(o.Workers, s.machine.workers[v])
	}
	if len(kubelets) > 0 {
		return o, nil
	}
	disturbing := 0
	for _, c := range s.cases {
		if disturbs(c) && c.Versions.Includes(o.Version) {
			disturbing++
		}
	}
	if disturbing == 0 {
		return o, nil
	}
	c, err := cluster.MachineCapacity()
	if err != nil {
		return o, err
	}
	o.Schedulable = true
	for range spares(disturbing, c) {
		o.Workers = append(o.Workers, cluster.Worker{Spare: true})
	}
	return o, nil
}

// build gets a kubelet from its module, or from the cache.
func (s *Suite) build(ctx context.Context, version string) (string, error) {
	return nodeimage.Kubelet(ctx, version, nodeimage.Options{Progress: s.progress.Printf})
}

// sweepNamespaces removes the namespaces that earlier runs left in a cluster.
// What cannot be removed is in nobody's way.
func (s *Suite) sweepNamespaces(ctx context.Context, cl *cluster.Cluster) {
	removed, err := cluster.SweepNamespaces(ctx, cl, cluster.SweepOptions{})
	if err != nil {
		s.progress.Printf("removing what earlier runs left behind: %v", err)
	}
	if len(removed) > 0 {
		s.progress.Printf("removed what earlier runs left behind: namespaces %s", strings.Join(removed, ", "))
	}
}

// nodeImage returns the image that the flags name, or the one of the version.
func (s *Suite) nodeImage(ctx context.Context, h *host.Host) (img nodeimage.Image, err error) {
	o := nodeimage.Options{Progress: s.progress.Printf}
	if s.options.ImageMirror != "" {
		o.Mirror = s.mirrored
	}
	version := s.options.Kubernetes
	if ref := s.options.NodeImage; ref != "" {
		if img, err = nodeimage.Named(ctx, h, ref, o); err != nil {
			return img, err
		}
		if version != "" && version != img.Version {
			return img, usageError{fmt.Errorf("node image %s holds Kubernetes %s, not %s as -kubernetes says", ref, img.Version, version)}
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
	if err := s.agrees(cl); err != nil {
		return nil, err
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
	return cl, load(ctx, cl, paths, tmp)
}

// agrees reports a cluster whose kubelets are not what -kubernetes says.
func (s *Suite) agrees(cl *cluster.Cluster) error {
	want := s.options.Kubernetes
	for _, n := range cl.Nodes {
		if want != "" && !ofRelease(n.Kubelet, want) {
			return usageError{fmt.Errorf("node %s of cluster %s has kubelet %s, not %s as -kubernetes says", n.Name, cl.Name, n.Kubelet, want)}
		}
	}
	return nil
}

// pullable reports an image that the nodes of a cluster elsewhere could not
// have.
func (s *Suite) pullable(cl *cluster.Cluster) error {
	if s.recorderImage() == "" {
		return usageError{fmt.Errorf("the nodes of cluster %s are not containers of this machine, so the recorder image cannot be loaded into them: push it to where they can pull it from (scripts/images -push), and name that with -image-mirror, or the image alone with -recorder-image", cl.Name)}
	}
	return nil
}

func load(ctx context.Context, cl *cluster.Cluster, archives []string, tmp string) error {
	for _, path := range archives {
		if err := cl.LoadArchive(ctx, path, tmp); err != nil {
			return err
		}
	}
	return nil
}

// takers are the nodes of a cluster that take Pods, and what bounds how many cases run
// on them at once.
func (s *Suite) takers(ctx context.Context, cl *cluster.Cluster) (nodes []nodeInfo, l limits, err error) {
	list, err := cl.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, l, fmt.Errorf("listing the nodes of cluster %s: %w", cl.Name, err)
	}
	l = limits{asked: s.asked}
	for _, n := range list.Items {
		if !cluster.TakesPods(&n) {
			continue
		}
		nodes = append(nodes, nodeInfo{
			name: n.Name, kubelet: kubeletOf(n.Status.NodeInfo.KubeletVersion, n.Labels[cluster.LabelKubelet], s.kubelets),
			runtime: n.Status.NodeInfo.ContainerRuntimeVersion, spare: n.Labels[cluster.LabelSpare] != "",
		})
		size := n.Status.Allocatable
		l.pods, l.memory = size.Pods().Value(), size.Memory().Value()
		// Nodes that are containers of this machine share its CPUs and its memory.
		if l.cpus += size.Cpu().Value(); cl.Access() {
			l.cpus = size.Cpu().Value()
		}
	}
	if cl.Access() && len(nodes) > 0 {
		l.memory /= int64(len(nodes))
		c, err := cluster.MachineCapacity()
		if err != nil {
			return nil, l, err
		}
		l.followed = int64(c.Cases(len(list.Items)))
	}
	return nodes, l, nil
}

// use takes a cluster that is up for the cases.
func (s *Suite) use(ctx context.Context, cl *cluster.Cluster, kubelets []string) error {
	nodes, l, err := s.takers(ctx, cl)
	if err != nil {
		return err
	}
	if s.columns, err = columns(nodes, kubelets); err != nil {
		return fmt.Errorf("cluster %s: %w", cl.Name, err)
	}
	s.several = s.several || len(s.columns) > 1
	var versions []string
	for _, c := range s.columns {
		versions = append(versions, report.VersionOf(c.kubelet))
		if k, err := reference.ParseKubelet(report.VersionOf(c.kubelet)); err == nil && k.Uncovered() != "" {
			s.progress.Printf("warning: %s; nothing can pass on it", k.Uncovered())
		}
	}
	if err := checkGates(s.options.FeatureGates, versions, false); err != nil {
		return usageError{err}
	}
	short, long, perNode := room(l)
	if s.columns[0].nodes[0] == "" {
		perNode *= len(nodes)
	}
	s.queue = newQueue(short, long, perNode)
	s.clusters = append(s.clusters, report.Cluster{
		Kubernetes: cl.Version, Runtime: nodes[0].runtime, Nodes: len(nodes), Made: !s.target.exists(), Kubelets: kubeletsOf(s.columns),
	})
	s.progress.Printf("cluster %s: Kubernetes %s, kubelet %s, %s; %s, up to %d at once and %d long ones beside them",
		cl.Name, cl.Version, names(s.columns), nodes[0].runtime, plural(len(s.cases), "case"), min(short, perNode*len(nodes)), long)
	s.record = func(ctx context.Context, c fixtures.Case, node, dir string) (recorded, error) {
		o := harness.Options{
			Dir: dir, Node: node, Keep: s.options.Keep, Disposable: !s.target.exists() && !s.options.Keep, HelperImage: s.recorderImage(),
			Progress: func(format string, args ...any) {
				name := c.ID
				if i := slices.IndexFunc(nodes, func(n nodeInfo) bool { return n.name == node }); s.several && i >= 0 {
					name += " on " + nodes[i].kubelet
				}
				s.progress.Printf("%s: %s", name, fmt.Sprintf(format, args...))
			},
		}
		if ctx.Value(toTheEnd{}) == nil {
			o.Decides = func(tr *trace.Trace) string { return judged.Decides(c, s.options.FeatureGates, tr) }
		}
		rec, err := harness.Run(ctx, cl, c, o)
		if skip := new(harness.SkipError); errors.As(err, &skip) {
			return recorded{}, &skipError{skip.Why}
		}
		if rec == nil {
			return recorded{}, err
		}
		return recorded{trace: rec.Trace, path: rec.Path, evidence: rec.Evidence}, err
	}
	return nil
}
