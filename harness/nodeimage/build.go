package nodeimage

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/podorder/podorder/fixtures/image/layer"
	"github.com/podorder/podorder/harness/archive"
	"github.com/podorder/podorder/harness/host"
)

// builder makes the node image of one Kubernetes version.
type builder struct {
	host     *host.Host
	version  string
	store    *store
	progress *progress
	compiler string // the version of Go and the platform it compiles for, part of the keys

	// What the steps have made: folders in the store.
	module, baseModule        string // the generated module of this version, and that of Default, which the tools start from
	kubernetes, support, etcd string
	runc, containerd          string
	tools                     string // those that share a module
	nodeRoot, networkRoot     string
	keys                      map[string]string
}

// buildSteps is how many steps a build announces.
const buildSteps = 13

// build makes the image and returns its reference.
func build(ctx context.Context, h *host.Host, version string, o Options, say func(string, ...any)) (string, error) {
	p := &progress{print: say, start: time.Now(), total: buildSteps}
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
	b := &builder{
		host: h, version: version, store: s, progress: p, keys: map[string]string{},
	}
	p.say("building the node image of Kubernetes %s; finished pieces are kept in %s", version, s.dir)
	if err := b.pieces(ctx); err != nil {
		return "", fmt.Errorf("build the node image of Kubernetes %s: %w", version, err)
	}
	if err := b.assemble(ctx, ref); err != nil {
		return "", fmt.Errorf("build the node image of Kubernetes %s: %w", version, err)
	}
	forget(ctx, h, version, ref)
	p.say("node image %s is ready", ref)
	return ref, nil
}

// pieces makes everything that goes into the image, side by side where nothing is lost by it: builds that run at the same time compile the same packages
// twice, so Kubernetes comes first, and leaves in the compiler's cache what the tools have in common with it. What those need is downloaded meanwhile.
func (b *builder) pieces(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})     // closed when this machine has what building takes
	modules := make(chan struct{})   // closed when the generated modules are there
	compiled := make(chan struct{})  // closed when the commands of Kubernetes are there
	tooled := make(chan struct{})    // closed when the tools are there
	contained := make(chan struct{}) // closed when containerd is there
	after := func(named <-chan struct{}, step func() error) {
		g.Go(func() error {
			if err := await(ctx, named); err != nil {
				return err
			}
			return step()
		})
	}
	g.Go(func() error {
		m, err := b.stepBuilder(ctx)
		if err != nil {
			return err
		}
		close(ready)
		b.nodeRoot, err = b.stepRoot(ctx, "node-root", m, "apt", nodePackages, nodeRootHook)
		if err != nil {
			return err
		}
		b.networkRoot, err = b.stepRoot(ctx, "network-root", m, "extract", networkPackages, "")
		return err
	})
	g.Go(func() error {
		if err := b.stepModule(ctx, Default); err != nil {
			return err
		}
		close(modules)
		if err := b.stepKubernetes(ctx); err != nil {
			return err
		}
		close(compiled)
		return nil
	})
	after(modules, func() (err error) {
		if b.tools, err = b.stepTools(ctx, "tools", tools, compiled); err == nil {
			close(tooled)
		}
		return err
	})
	after(modules, func() error {
		if err := b.stepEtcd(ctx, tooled); err != nil {
			return err
		}
		return b.stepSupport(ctx)
	})
	after(modules, func() (err error) {
		if b.containerd, err = b.stepTools(ctx, containerd.name, []tool{containerd}, compiled); err == nil {
			close(contained)
		}
		return err
	})
	after(ready, func() error {
		if err := await(ctx, modules); err != nil {
			return err
		}
		return b.stepRunc(ctx, contained)
	})
	return g.Wait()
}

// await waits for a step that closes a channel when it is done.
func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stepBuilder makes this machine ready to build, and finds out where it gets its packages from.
func (b *builder) stepBuilder(ctx context.Context) (m mirror, err error) {
	s := b.progress.step("packages for building")
	defer func() { s.end(err) }()
	if err := ensureBuilder(ctx, b.host, s.note); err != nil {
		return m, err
	}
	return systemMirror(ctx, b.host, s.note)
}

// stepModule makes the module that Kubernetes is built in, and the one that the tools start from, if they are of use: base is the version of that.
func (b *builder) stepModule(ctx context.Context, base string) (err error) {
	s := b.progress.step("modules of Kubernetes %s", b.version)
	defer func() { s.end(err) }()
	if b.module, err = b.kubernetesModule(ctx, s, b.version); err != nil {
		return err
	}
	if b.baseModule, err = b.kubernetesModule(ctx, s, base); err != nil {
		return err
	}
	module, err := keyOfFiles(os.DirFS(b.module))
	if err != nil {
		return fmt.Errorf("read the generated module: %w", err)
	}
	baseModule, err := keyOfFiles(os.DirFS(b.baseModule))
	if err != nil {
		return fmt.Errorf("read the generated module: %w", err)
	}
	out, err := run(ctx, b.module, goEnvOf(b.version), nil, "go", "env", "GOVERSION", "GOARCH")
	if err != nil {
		return fmt.Errorf("ask for the version of Go: %w", err)
	}
	b.compiler = string(out) + strings.Join(compilerFlags(), " ")
	b.keysSet("module", keyOf(module, b.compiler))
	b.keysSet("base", keyOf(baseModule, b.compiler))
	return nil
}

// moduleKey is that of the pieces with a generated go.mod, each under its moduleName.
var moduleKey = keyOf(recipeRevision)

func moduleName(version string) string { return "module-" + version }

// kubernetesModule is the piece with the generated go.mod of a version.
func (b *builder) kubernetesModule(ctx context.Context, s *step, version string) (string, error) {
	return b.store.get(moduleName(version), moduleKey, func(dir string) error {
		src, err := kubernetesSource(ctx, version)
		if err != nil {
			return err
		}
		staging, missing, err := stagingVersions(ctx, version, src, s.note)
		if err != nil {
			return err
		}
		mod, err := kubernetesMod(version, src.mod, staging)
		if err != nil {
			return err
		}
		a := adjustments[version].without(missing)
		if mod, err = a.adjust(mod); err != nil {
			return err
		}
		if err := a.writeStandIns(dir); err != nil {
			return err
		}
		if err := writeModule(dir, mod, src); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "etcd"), []byte(src.etcd), 0o644)
	})
}

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

func (b *builder) stepKubernetes(ctx context.Context) (err error) {
	s := b.progress.step("commands of Kubernetes %s", b.version)
	defer func() { s.end(err) }()
	tags, flags := buildTags(b.version), ldflags(b.version)
	key := b.commandsKey()
	b.keysSet("kubernetes", key)
	b.kubernetes, err = b.store.get("kubernetes-"+b.version, key, func(dir string) error {
		work, clean, err := b.moduleCopy()
		if err != nil {
			return err
		}
		defer clean()
		args := []string{"-tags", tags, "-ldflags", flags}
		for _, c := range kubernetesCommands {
			args = append(args, "k8s.io/kubernetes/cmd/"+c)
		}
		return b.goBuild(ctx, s, work, dir, []string{"CGO_ENABLED=0"}, args...)
	})
	return err
}

// commandsKey is the key of the commands of Kubernetes.
func (b *builder) commandsKey() string {
	return keyOf(b.key("module"), buildTags(b.version), ldflags(b.version))
}

// stepSupport builds the small programs of this package within the module of Kubernetes: everything that they need is compiled already.
func (b *builder) stepSupport(ctx context.Context) (err error) {
	s := b.progress.step("pause and the Pod network")
	defer func() { s.end(err) }()
	tags := buildTags(b.version)
	programs := []string{"pause", "podnet"}
	parts := []string{b.key("module"), tags}
	for _, p := range programs {
		sub, err := fs.Sub(sources, p)
		if err != nil {
			return err
		}
		key, err := keyOfFiles(sub)
		if err != nil {
			return err
		}
		parts = append(parts, key)
	}
	key := keyOf(parts...)
	b.keysSet("support", key)
	b.support, err = b.store.get("support-"+b.version, key, func(dir string) error {
		work, clean, err := b.moduleCopy()
		if err != nil {
			return err
		}
		defer clean()
		args := []string{"-tags", tags, "-ldflags", "-s -w"}
		for _, p := range programs {
			sub, err := fs.Sub(sources, p)
			if err != nil {
				return err
			}
			if err := os.CopyFS(filepath.Join(work, p), sub); err != nil {
				return fmt.Errorf("unpack the source of %s: %w", p, err)
			}
			args = append(args, "./"+p)
		}
		return b.goBuild(ctx, s, work, dir, []string{"CGO_ENABLED=0"}, args...)
	})
	return err
}

// moduleCopy is a working copy of the generated module: go adds checksums to go.sum, and the piece in the store stays as it is.
func (b *builder) moduleCopy() (dir string, clean func(), err error) {
	dir, err = b.store.temp()
	if err != nil {
		return "", nil, fmt.Errorf("make a working folder: %w", err)
	}
	clean = func() { _ = os.RemoveAll(dir) } // the next build removes what this cannot
	if err := os.CopyFS(dir, os.DirFS(b.module)); err != nil {
		clean()
		return "", nil, fmt.Errorf("copy the generated module: %w", err)
	}
	return dir, clean, nil
}

func (b *builder) stepRoot(ctx context.Context, name string, m mirror, variant string, packages []string, hook string) (dir string, err error) {
	s := b.progress.step("%s: root file system of %s packages", name, m.suite)
	defer func() { s.end(err) }()
	key := keyOf(append([]string{recipeRevision, m.lines, m.suite, variant, hook, runtime.GOARCH}, packages...)...)
	b.keysSet(name, key)
	return b.store.get(name, key, func(dir string) error {
		return makeRoot(ctx, dir, m, variant, packages, hook)
	})
}

// stepRunc builds runc. It is not in the module of the other tools: with cgo, it has little in common with them.
func (b *builder) stepRunc(ctx context.Context, after <-chan struct{}) (err error) {
	s := b.progress.step("%s %s", runc.name, runc.version)
	defer func() { s.end(err) }()
	key := keyOf(runc.key(), b.compiler)
	b.keysSet(runc.name, key)
	b.runc, err = b.store.get(runc.name, key, func(dir string) error { return b.buildAlone(ctx, s, runc, dir, after) })
	return err
}

// stepTools builds tools that share a module.
func (b *builder) stepTools(ctx context.Context, name string, tools []tool, after <-chan struct{}) (dir string, err error) {
	var names []string
	parts := append([]string{b.key("base")}, mayRaise...)
	for _, t := range tools {
		names = append(names, t.name+" "+t.version)
		parts = append(parts, t.key())
	}
	s := b.progress.step("%s", strings.Join(names, ", "))
	defer func() { s.end(err) }()
	key := keyOf(parts...)
	b.keysSet(name, key)
	return b.store.get(name, key, func(dir string) error { return b.buildTogether(ctx, s, tools, dir, after) })
}

// buildAlone compiles a tool inside a module that requires just it.
func (b *builder) buildAlone(ctx context.Context, s *step, t tool, dir string, after <-chan struct{}) error {
	work, err := b.store.temp()
	if err != nil {
		return fmt.Errorf("make a working folder: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "go.mod"), []byte("module podorder.build/"+t.name+"\n"), 0o644); err != nil {
		return fmt.Errorf("write go.mod: %w", err)
	}
	if _, err := run(ctx, work, goEnv, nil, "go", "get", t.module+"@"+t.version); err != nil {
		return err
	}
	return b.buildTools(ctx, s, []tool{t}, work, dir, after)
}

// buildTools compiles tools inside the module in the folder work. What they need is downloaded at once; the compiler waits for after.
func (b *builder) buildTools(ctx context.Context, s *step, tools []tool, work, dir string, after <-chan struct{}) error {
	var packages, tags []string
	flags := "-s -w"
	cgo := "CGO_ENABLED=0"
	for _, t := range tools {
		tags = append(tags, strings.Fields(t.tags)...)
		if t.ldflags != "" {
			flags += " " + t.ldflags
		}
		if t.cgo {
			cgo = "CGO_ENABLED=1"
		}
		for _, p := range t.packages {
			packages = append(packages, path.Join(t.module, p))
		}
		if len(t.plugins) > 0 {
			if err := writeMain(filepath.Join(work, t.name), corednsMain(t)); err != nil {
				return err
			}
			packages = append(packages, "./"+t.name)
		}
	}
	env := []string{cgo}
	// It loads the packages and prints nothing, which takes downloading all that a build needs.
	load := append([]string{"list", "-mod=mod", "-deps", "-f", "{{with .Error}}{{.}}{{end}}", "-tags", strings.Join(tags, ",")}, packages...)
	if _, err := run(ctx, work, slices.Concat(env, goEnv), nil, "go", load...); err != nil {
		return fmt.Errorf("download modules: %w", err)
	}
	select {
	case <-after:
	default:
		s.note("modules are there; waiting for the compiler")
		if err := await(ctx, after); err != nil {
			return err
		}
		s.note("compiling")
	}
	return b.goBuild(ctx, s, work, dir, env, append([]string{"-tags", strings.Join(tags, ","), "-ldflags", flags}, packages...)...)
}

// writeMain writes the source of a program into a folder of its own.
func writeMain(dir string, source []byte) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder for a program: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), source, 0o644); err != nil {
		return fmt.Errorf("write a program: %w", err)
	}
	return nil
}

// corednsMain is the source of a CoreDNS with just the plugins that are wanted. Their order in a chain of plugins is CoreDNS's own.
func corednsMain(t tool) []byte {
	var s bytes.Buffer
	fmt.Fprintf(&s, "package main\n\nimport (\n\t%q\n", path.Join(t.module, "coremain"))
	for _, p := range t.plugins {
		fmt.Fprintf(&s, "\t_ %q\n", path.Join(t.module, "plugin", p))
	}
	s.WriteString(")\n\nfunc main() { coremain.Run() }\n")
	return s.Bytes()
}

// stepEtcd builds the etcd that kubeadm asks for, or the nearest patch of the same minor that is served. That of the default minor is built like the other
// tools; an older one would get modules that it was not made for, and shares nothing anyway.
func (b *builder) stepEtcd(ctx context.Context, after <-chan struct{}) (err error) {
	want, err := os.ReadFile(filepath.Join(b.module, "etcd"))
	if err != nil {
		return fmt.Errorf("read which etcd is wanted: %w", err)
	}
	version := string(want)
	s := b.progress.step("etcd %s", version)
	defer func() { s.end(err) }()
	parts := []string{etcdModule, version, b.compiler}
	shared := minorOf(b.version) == minorOf(Default)
	if shared {
		parts = append(append(parts, b.key("base")), mayRaise...)
	}
	key := keyOf(parts...)
	b.keysSet("etcd", key)
	b.etcd, err = b.store.get("etcd-"+version, key, func(dir string) error {
		got, err := download(ctx, goEnv, etcdModule+"@"+version)
		if err != nil {
			return err
		}
		use := version
		if got[0].Error != "" {
			if use, err = servedNear(ctx, goEnv, etcdModule, version); err != nil {
				return fmt.Errorf("etcd %s is not served (%s): %w", version, firstLine(got[0].Error), err)
			}
			s.note("not served; using %s", use)
		}
		etcd := tool{name: "etcd", module: etcdModule, version: use, packages: []string{"."}}
		if shared {
			err = b.buildTogether(ctx, s, []tool{etcd}, dir, after)
		} else {
			err = b.buildAlone(ctx, s, etcd, dir, after)
		}
		if err != nil {
			return err
		}
		// The main package is the root of the module .../server/v3, and go names the program after it.
		return os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd"))
	})
	return err
}

// keysSet remembers the key of a piece. Each name is set by one goroutine, but the map is shared.
func (b *builder) keysSet(name, key string) {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	b.keys[name] = key
}

// key is what keysSet has remembered.
func (b *builder) key(name string) string {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	return b.keys[name]
}

// assemble makes the image of the pieces.
func (b *builder) assemble(ctx context.Context, ref string) (err error) {
	kind, err := kindFiles(ctx)
	if err != nil {
		return err
	}
	config, err := fs.ReadFile(kind, containerdConfig)
	if err != nil {
		return fmt.Errorf("read kind's containerd configuration: %w", err)
	}
	defer func() { err = errors.Join(err, removeImage(ctx, b.host, baseRef(b.version))) }()
	var images string
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		images, err = b.stepImages(gctx, sandboxImage(string(config)))
		return err
	})
	g.Go(func() error { return b.stepBase(gctx, kind) })
	if err := g.Wait(); err != nil {
		return err
	}
	return b.stepNode(ctx, images, ref)
}

const containerdConfig = "etc/containerd/config.toml"

var sandboxLine = regexp.MustCompile(`(?m)^\s*sandbox_image\s*=\s*"([^"]+)"`)

// sandboxImage is the pause image that a containerd configuration names; empty if it names none.
func sandboxImage(config string) string {
	if m := sandboxLine.FindStringSubmatch(config); m != nil {
		return m[1]
	}
	return ""
}

// stepImages makes the archive of the images that a control plane and every node run.
func (b *builder) stepImages(ctx context.Context, sandbox string) (file string, err error) {
	s := b.progress.step("images of the control plane")
	defer func() { s.end(err) }()
	parts := []string{recipeRevision, sandbox}
	for _, name := range []string{"kubernetes", "support", "etcd", "tools", "network-root"} {
		parts = append(parts, b.key(name))
	}
	dir, err := b.store.get("images-"+b.version, keyOf(parts...), func(dir string) error {
		out, err := run(ctx, "", nil, nil, filepath.Join(b.kubernetes, "kubeadm"), "config", "images", "list", "--kubernetes-version", b.version)
		if err != nil {
			return fmt.Errorf("ask kubeadm for the images it wants: %w", err)
		}
		return b.writeImages(filepath.Join(dir, "images.tar"), strings.Fields(string(out)), sandbox)
	})
	return filepath.Join(dir, "images.tar"), err
}

// writeImages writes an archive with an image for each reference.
func (b *builder) writeImages(file string, refs []string, sandbox string) error {
	network, err := networkLayers(b.networkRoot)
	if err != nil {
		return err
	}
	refs = append(refs, podnetImage)
	if sandbox != "" {
		refs = append(refs, sandbox)
	}
	all := map[string]v1.Image{}
	for _, ref := range refs {
		program := path.Base(strings.Split(ref, ":")[0])
		var from, at string
		var base []v1.Layer
		switch program {
		case "kube-proxy":
			from, at, base = filepath.Join(b.kubernetes, program), "usr/local/bin/kube-proxy", network
		case "podnet":
			from, at, base = filepath.Join(b.support, program), "usr/local/bin/podnet", network
		case "kube-apiserver", "kube-controller-manager", "kube-scheduler":
			from, at = filepath.Join(b.kubernetes, program), "usr/local/bin/"+program
		case "etcd":
			from, at = filepath.Join(b.etcd, program), "usr/local/bin/etcd"
		case "coredns":
			from, at = filepath.Join(b.tools, program), "coredns"
		case "pause":
			from, at = filepath.Join(b.support, program), "pause"
		default:
			return fmt.Errorf("kubeadm wants the image %s, and there is no recipe for it", ref)
		}
		t := layer.Tree{}
		t.Copy(at, 0o755, from)
		l, err := t.Layer(gzip.BestSpeed)
		if err != nil {
			return fmt.Errorf("pack %s: %w", program, err)
		}
		img, err := layer.Image(runtime.GOARCH, v1.Config{
			Entrypoint: []string{"/" + at}, WorkingDir: "/",
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		}, append(append([]v1.Layer{}, base...), l)...)
		if err != nil {
			return fmt.Errorf("make image %s: %w", ref, err)
		}
		all[ref] = img
	}
	return archive.Write(file, all)
}

// networkLayers are the layers of an image whose program calls iptables, nft or ip.
func networkLayers(root string) ([]v1.Layer, error) {
	debian, err := layer.FromFile(filepath.Join(root, "root.tar"), gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	// The packages are unpacked, not configured, so nothing has chosen an iptables. Every kernel in use has nf_tables.
	t := layer.Tree{}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			t.Symlink("usr/sbin/"+family+suffix, "xtables-nft-multi")
		}
	}
	choice, err := t.Layer(gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	return []v1.Layer{debian, choice}, nil
}

// kindFiles are the base files of kind's own node image, from the module that this program is built with.
func kindFiles(ctx context.Context) (fs.FS, error) {
	got, err := download(ctx, goEnv, "sigs.k8s.io/kind@"+kindRelease)
	if err != nil {
		return nil, err
	}
	if got[0].Error != "" {
		return nil, fmt.Errorf("fetch kind's base files: %s", firstLine(got[0].Error))
	}
	dir := filepath.Join(got[0].Dir, "images", "base", "files")
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("fetch kind's base files: %w", err)
	}
	return os.DirFS(dir), nil
}

// stepBase loads the node image without the images of the control plane into the runtime.
func (b *builder) stepBase(ctx context.Context, kind fs.FS) (err error) {
	s := b.progress.step("base of the node image")
	defer func() { s.end(err) }()
	work, err := b.store.temp()
	if err != nil {
		return fmt.Errorf("make a working folder: %w", err)
	}
	defer os.RemoveAll(work)
	file, err := b.base(ctx, kind, work)
	if err != nil {
		return fmt.Errorf("put together the base of the node image: %w", err)
	}
	return load(ctx, b.host, file)
}

// stepNode makes the node image: the base, and the images imported into it.
func (b *builder) stepNode(ctx context.Context, images, ref string) (err error) {
	s := b.progress.step("node image")
	defer func() { s.end(err) }()
	return commit(ctx, b.host, images, ref, b.version, b.store.dir)
}

// base writes the archive of the node's base image and returns its path.
func (b *builder) base(ctx context.Context, kind fs.FS, work string) (string, error) {
	t, err := b.nodeFiles(ctx, kind)
	if err != nil {
		return "", err
	}
	// The archive is read once, by a runtime on the same machine: compressing it would only take time.
	root, err := layer.FromFile(filepath.Join(b.nodeRoot, "root.tar"), gzip.NoCompression)
	if err != nil {
		return "", err
	}
	files, err := t.Layer(gzip.NoCompression)
	if err != nil {
		return "", err
	}
	img, err := layer.Image(runtime.GOARCH, v1.Config{
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		StopSignal: "SIGRTMIN+3", // which is how systemd is told to end
		Env: []string{
			"container=docker", // systemd looks for it
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		},
		Labels: map[string]string{labelVersion: b.version, labelRecipe: recipe()},
	}, root, files)
	if err != nil {
		return "", err
	}
	file := filepath.Join(work, "base.tar")
	return file, archive.Write(file, map[string]v1.Image{baseRef(b.version): img})
}

// Labels of images that were built here.
const (
	labelVersion = "podorder.kubernetes"
	labelRecipe  = "podorder.recipe"
)

// baseRepository has the base images, each for as long as its node image is made.
const baseRepository = "localhost/podorder/node-base"

func baseRef(version string) string {
	return baseRepository + ":" + version + "-" + recipe()
}

// nodeFiles is everything in the node's file system beside the Debian packages.
func (b *builder) nodeFiles(ctx context.Context, kind fs.FS) (layer.Tree, error) {
	t := layer.Tree{}
	err := fs.WalkDir(kind, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(p, "LICENSES/") {
			return err
		}
		data, err := fs.ReadFile(kind, p)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if strings.HasPrefix(p, "usr/local/bin/") || strings.HasPrefix(p, "kind/bin/") {
			mode = 0o755
		}
		t.File(p, mode, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read kind's base files: %w", err)
	}
	for _, c := range []string{"kubelet", "kubeadm", "kubectl"} {
		t.Copy("usr/bin/"+c, 0o755, filepath.Join(b.kubernetes, c))
	}
	t.Copy("usr/local/sbin/runc", 0o755, filepath.Join(b.runc, "runc"))
	for _, p := range containerd.packages {
		t.Copy("usr/local/bin/"+path.Base(p), 0o755, filepath.Join(b.containerd, path.Base(p)))
	}
	for _, tl := range tools {
		where := "usr/local/bin/"
		if tl.name == "cni-plugins" {
			where = "opt/cni/bin/"
		}
		for _, p := range tl.packages { // CoreDNS has none: it runs as a Pod
			t.Copy(where+path.Base(p), 0o755, filepath.Join(b.tools, path.Base(p)))
		}
	}
	spec, err := baseSpec(ctx, filepath.Join(b.containerd, "ctr"))
	if err != nil {
		return nil, err
	}
	t.File("etc/containerd/cri-base.json", 0o644, spec)
	t.File("kind/version", 0o644, []byte(b.version))
	for _, m := range []string{"default-cni.yaml", "default-storage.yaml"} {
		data, err := sources.ReadFile("manifests/" + m)
		if err != nil {
			return nil, err
		}
		t.File("kind/manifests/"+m, 0o644, data)
	}
	// The kernel's messages are the host's, and would only confuse.
	t.File("etc/systemd/journald.conf.d/podorder.conf", 0o644, []byte("[Journal]\nReadKMsg=no\n"))
	for _, unit := range []string{"kubelet", "containerd", "undo-mount-hacks"} {
		t.Symlink("etc/systemd/system/multi-user.target.wants/"+unit+".service", "/etc/systemd/system/"+unit+".service")
	}
	// It registers with the kernel, which is shared with the host.
	t.Symlink("etc/systemd/system/systemd-binfmt.service", "/dev/null")
	t.Folder("etc/kubernetes/manifests", 0o755)
	return t, nil
}

// baseSpec is the runtime specification that every container of the node starts from: what containerd would use, with kind's hook that
// hides the host's product name, and without limits, so that containers inherit those of the node.
func baseSpec(ctx context.Context, ctr string) ([]byte, error) {
	out, err := run(ctx, "", nil, nil, ctr, "oci", "spec")
	if err != nil {
		return nil, fmt.Errorf("ask containerd for its default specification: %w", err)
	}
	return editSpec(out)
}

func editSpec(spec []byte) ([]byte, error) {
	var s map[string]any
	if err := json.Unmarshal(spec, &s); err != nil {
		return nil, fmt.Errorf("read containerd's default specification: %w", err)
	}
	process, ok := s["process"].(map[string]any)
	if !ok {
		return nil, errors.New("read containerd's default specification: it has no process")
	}
	delete(process, "rlimits")
	hooks, _ := s["hooks"].(map[string]any)
	if hooks == nil {
		hooks = map[string]any{}
		s["hooks"] = hooks
	}
	create, _ := hooks["createContainer"].([]any)
	hooks["createContainer"] = append(create, map[string]any{"path": "/kind/bin/mount-product-files.sh"})
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("write the node's default specification: %w", err)
	}
	return b.Bytes(), nil
}
