package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podorder/podorder/harness/host"
)

// builder makes the node image of one Kubernetes version.
type builder struct {
	host     *host.Host
	version  string
	store    *store
	progress *progress
	work     string // a folder for what no piece keeps, for as long as the build takes
}

// build makes the image and returns its reference.
func build(ctx context.Context, h *host.Host, version string, o Options, say func(string, ...any)) (_ string, err error) {
	p := &progress{print: say, start: time.Now()}
	// Before it waits for anything: whether the version can be had at all.
	if _, err := kubernetesSource(ctx, version); err != nil {
		return "", err
	}
	s, err := openStore(ctx, o.CacheDir, func() { p.say("waiting for another build to finish: it holds the lock of the cache") })
	if err != nil {
		return "", err
	}
	defer s.close()
	// Another process may have made the image while this one waited.
	ref := localRef(version)
	if have, err := present(ctx, h, ref); err != nil || have {
		return ref, err
	}
	work, clean, err := s.folder()
	if err != nil {
		return "", err
	}
	defer clean()
	b := &builder{host: h, version: version, store: s, progress: p, work: work}
	p.say("building the node image of Kubernetes %s; finished pieces are kept in %s", version, s.dir)
	defer func() { err = errors.Join(err, removeImage(ctx, h, baseRef(version))) }()
	if err := b.graph(ref).run(ctx); err != nil {
		return "", fmt.Errorf("build the node image of Kubernetes %s: %w", version, err)
	}
	forget(ctx, h, version, ref)
	p.say("node image %s is ready", ref)
	return ref, nil
}

// graph is the whole build of the image, ref.
//
// Builds that run at the same time compile the same packages twice. So the tools wait for Kubernetes, which leaves in
// the compiler's cache what they have in common with it, and some steps wait for others without using what they make:
// there are two compilations at a time. What the tools need is downloaded meanwhile.
func (b *builder) graph(ref string) *graph {
	g := &graph{progress: b.progress}

	packages := b.addPackages(g)
	nodeRoot := b.addRoot(g, "node-root", "apt", nodePackages, nodeRootHook, packages)
	networkRoot := b.addRoot(g, "network-root", "extract", networkPackages, "", packages, nodeRoot)

	modules := b.addModules(g, Default)
	kubernetes := b.addKubernetes(g, modules)
	tools := b.addTools(g, "tools", tools, modules, kubernetes)
	containerd := b.addTools(g, containerd.name, toolsOf(containerd), modules, kubernetes)
	etcd := b.addEtcd(g, modules, tools)
	support := b.addSupport(g, modules, etcd)
	runc := b.addRunc(g, modules, packages, containerd)

	kind := b.addKind(g)
	images := b.addImages(g, kind, kubernetes, support, etcd, tools, networkRoot)
	base := b.addBase(g, kind, kubernetes, runc, containerd, tools, nodeRoot)
	b.addNode(g, ref, images, base)
	return g
}
