package cluster_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/host"
	"github.com/podorder/podorder/harness/nodeimage"
)

// rounds is how often each of the two creates a cluster.
const rounds = 5

// BenchmarkCreate compares the harness with the kind command line: both create the same cluster from the same image and configuration, in turn, until
// all nodes are Ready. It runs each of them the same number of times, whatever -benchtime says, and reports the medians and their ratio.
//
//	go test ./harness/cluster -run '^$' -bench Create -benchtime 1x -timeout 30m
func BenchmarkCreate(b *testing.B) {
	ctx := b.Context()
	h, err := host.Detect(ctx, host.Options{Progress: b.Logf})
	assert.NilError(b, err)
	defer h.Close()
	image, err := nodeimage.Ensure(ctx, h, nodeimage.Default, nodeimage.Options{Progress: b.Logf})
	assert.NilError(b, err)
	o := cluster.Options{Image: image.Ref, Version: image.Version}

	dir := b.TempDir()
	kind := filepath.Join(dir, "kind")
	build := exec.Command("go", "build", "-o", kind, "sigs.k8s.io/kind") // "go tool kind" would look whether it has to be built, each time
	out, err := build.CombinedOutput()
	assert.NilError(b, err, string(out))
	config := filepath.Join(dir, "kind.yaml")
	text, err := yaml.Marshal(cluster.Config(h, o))
	assert.NilError(b, err)
	assert.NilError(b, os.WriteFile(config, text, 0o600))

	if h.Command(ctx, "network", "inspect", "kind").Run() != nil {
		defer func() { _ = h.Command(context.WithoutCancel(ctx), "network", "rm", "kind").Run() }()
	}
	for b.Loop() {
		var ours, theirs []time.Duration
		for i := range rounds {
			theirs = append(theirs, kindCreates(b, h, kind, config, i))
			ours = append(ours, podorderCreates(b, h, o))
			b.Logf("round %d: kind %.2f s, podorder %.2f s", i+1, theirs[i].Seconds(), ours[i].Seconds())
		}
		fmt.Printf("cluster creation, median of %d: kind %.2f s, podorder %.2f s, ratio %.2f\n",
			rounds, median(theirs).Seconds(), median(ours).Seconds(), median(ours).Seconds()/median(theirs).Seconds())
		b.ReportMetric(median(theirs).Seconds(), "kind-s")
		b.ReportMetric(median(ours).Seconds(), "podorder-s")
		b.ReportMetric(median(ours).Seconds()/median(theirs).Seconds(), "ratio")
	}
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }

func kindCreates(b *testing.B, h *host.Host, kind, config string, i int) time.Duration {
	b.Helper()
	name := fmt.Sprintf("podorder-bench-%d-%d", os.Getpid(), i)
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	run := func(args ...string) {
		cmd := exec.Command(kind, append(args, "--name", name, "--kubeconfig", kubeconfig)...)
		// kind keeps its network, so for it there is one from the second round on; podorder makes its own each time.
		cmd.Env = slices.DeleteFunc(append(os.Environ(), h.Environ()...), func(kv string) bool { return strings.Contains(kv, "_NETWORK=") })
		out, err := cmd.CombinedOutput()
		assert.NilError(b, err, string(out))
	}
	defer run("delete", "cluster")
	start := time.Now()
	run("create", "cluster", "--config", config, "--wait", "5m")
	return time.Since(start)
}

func podorderCreates(b *testing.B, h *host.Host, o cluster.Options) time.Duration {
	b.Helper()
	var ready time.Time
	o.NodesReady = func() { ready = time.Now() }
	p := cluster.NewProvider(h, o)
	start := time.Now()
	assert.NilError(b, p.Create(b.Context()))
	defer func() { assert.NilError(b, p.Destroy(context.WithoutCancel(b.Context()))) }()
	return ready.Sub(start)
}
