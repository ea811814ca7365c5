package nodeimage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// plainPackages are the bulk that is mostly generated, or that only the command lines use: a third of the code and nothing that is hot. They are compiled
// without inlining, which takes a quarter less time; what they do stays the same.
var plainPackages = []string{
	"k8s.io/api/...",
	"k8s.io/apiextensions-apiserver/...",
	"k8s.io/client-go/applyconfigurations/...",
	"k8s.io/client-go/informers/...",
	"k8s.io/client-go/kubernetes/...",
	"k8s.io/client-go/listers/...",
	"k8s.io/kube-aggregator/...",
	"k8s.io/kubectl/...",
	"k8s.io/kubernetes/cmd/kubeadm/...",
	"k8s.io/kubernetes/pkg/apis/...",
	"k8s.io/kubernetes/pkg/generated/...",
	"github.com/google/gnostic-models/...",
	"go.opentelemetry.io/otel/...",
	"sigs.k8s.io/kustomize/...",
}

// compilerFlags are those of every build: they are part of what the compiler's cache knows a package by, and the builds share most packages. They leave out
// the tables for debuggers, which the linker would drop anyway, and let each package be compiled by one thread, as there is always another package to compile.
func compilerFlags() []string {
	const all = "-dwarf=false -c=1"
	flags := []string{"-gcflags=all=" + all}
	for _, p := range plainPackages {
		flags = append(flags, "-gcflags="+p+"="+all+" -l")
	}
	return flags
}

// goBuild compiles packages of the module in dir into bin and says now and then how far it is.
func (b *builder) goBuild(ctx context.Context, s *step, dir, bin string, env []string, args ...string) error {
	var compiled atomic.Int64
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(30 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.note("%d packages compiled so far", compiled.Load())
			}
		}
	}()
	count := func(line string) bool {
		if strings.ContainsAny(line, " :#") {
			return true // a message
		}
		compiled.Add(1)
		return false
	}
	// Linking takes gigabytes for a while. Below dir they are removed even if go itself is killed.
	tmp := filepath.Join(dir, ".tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return fmt.Errorf("make a working folder: %w", err)
	}
	env = append(env, "GOTMPDIR="+tmp)
	args = slices.Concat([]string{"build", "-v", "-mod=mod", "-trimpath"}, compilerFlags(), []string{"-o", bin + "/"}, args)
	_, err := run(ctx, dir, slices.Concat(env, goEnv, compilerEnv(memory())), count, "go", args...)
	return err
}
