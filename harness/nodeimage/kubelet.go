package nodeimage

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// Kubelet returns the path of a kubelet of this version in the cache, building it from its module where it is missing. It covers one minor more than node
// images do. A kubelet needs nothing of the machine but Go. Who wants several asks for one after the other: each finds in the compiler's cache what the
// ones before it have in common with it. The path holds until the recipe changes. A version that cannot be had is an *[UnavailableError].
func Kubelet(ctx context.Context, version string, o Options) (string, error) {
	if err := CheckKubelet(version); err != nil {
		return "", err
	}
	say := o.Progress
	if say == nil {
		say = func(string, ...any) {}
	}
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("build the kubelet of Kubernetes %s: %w", version, err)
	}
	dir, err := storeFolder(o.CacheDir)
	if err != nil {
		return fail(err)
	}
	file, err := keptKubelet(ctx, dir, version)
	switch {
	case err != nil:
		return fail(err)
	case file != "":
		return file, nil
	}
	b := newKubeletBuilder(version, nil, say)
	if b.store, err = openStore(ctx, dir, func() { b.progress.say("waiting for another build to finish: it holds the lock of the cache") }); err != nil {
		return fail(err)
	}
	defer b.store.close()
	if file, err = b.kubelet(ctx); err != nil {
		return fail(err)
	}
	return file, nil
}

// keptKubelet is the kubelet of a version in the store in dir; empty if there is none. Nothing is asked of the store's owner
// for what is there already: another build may hold it for minutes.
func keptKubelet(ctx context.Context, dir, version string) (string, error) {
	b := newKubeletBuilder(version, &store{dir: dir}, func(string, ...any) {})
	if !b.store.has(moduleName(version), moduleKey) {
		return "", nil
	}
	m, err := b.modules(ctx, b.progress.step("modules"), version)
	if err != nil {
		return "", err
	}
	return b.builtKubelet(m), nil
}

func newKubeletBuilder(version string, s *store, say func(string, ...any)) *builder {
	return &builder{version: version, store: s, progress: &progress{print: say, start: time.Now()}}
}

// builtKubelet is the kubelet in the store: one of its own, or one that came with a node image of this version. It is empty if there is none.
func (b *builder) builtKubelet(m modules) string {
	for _, dir := range []string{b.store.path("kubernetes-"+b.version, commandsKey(b.version, m)), b.store.path("kubelet-"+b.version, kubeletKey(b.version, m))} {
		file := filepath.Join(dir, "kubelet")
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

func kubeletKey(version string, m modules) string { return keyOf(commandsKey(version, m), "kubelet") }

func (b *builder) kubelet(ctx context.Context) (string, error) {
	g := &graph{progress: b.progress}
	mods := b.addModules(g, b.version)
	kubelet := add(g, task[string]{
		name: "kubelet", needs: []need{mods}, line: func() string { return "kubelet " + b.version },
		make: func(ctx context.Context, s *step) (string, error) {
			m := from(s, mods)
			if file := b.builtKubelet(m); file != "" { // another process has made it while this one waited
				return file, nil
			}
			dir, err := b.store.get("kubelet-"+b.version, kubeletKey(b.version, m), func(dir string) error {
				return b.compileKubernetes(ctx, s, m, dir, nil, ldflags(b.version), "k8s.io/kubernetes/cmd/kubelet")
			})
			return filepath.Join(dir, "kubelet"), err
		},
	})
	err := g.run(ctx)
	return kubelet.value, err
}

// adjustment is what the module of one version needs beyond what its go.mod says.
type adjustment struct {
	toolchain string           // the Go to build it with, instead of the one that runs
	replace   []module.Version // to take instead of whatever version is required, which is not served
	standIns  []standIn
}

//go:embed standin
var standIns embed.FS

// standIn is built instead of a module that is not published.
type standIn struct {
	path   string // of the module
	folder string // beside the generated go.mod
	source bool   // whether it has a package, of this name and below standin; without one, a kubelet imports nothing of the module
}

// standsIn reports whether a module has a stand-in.
func (a adjustment) standsIn(path string) bool {
	return slices.ContainsFunc(a.standIns, func(s standIn) bool { return s.path == path })
}

// adjustments are by version.
var adjustments = map[string]adjustment{
	"v1.38.0-beta.0": {
		toolchain: "go1.27.3",
		replace:   []module.Version{{Path: "sigs.k8s.io/structured-merge-diff/v7", Version: "v7.0.0"}},
		standIns: []standIn{
			{path: "sigs.k8s.io/iptables-wrappers", folder: "iptables", source: true},
			{path: "k8s.io/apiextensions-api", folder: "apiextensions-api"}, // the API server's
			{path: "k8s.io/ktesting", folder: "ktesting"},                   // of tests
		},
	},
}

// without adds empty stand-ins for modules that cannot be had and that nothing imports.
func (a adjustment) without(modules []string) adjustment {
	a.standIns = slices.Clone(a.standIns)
	for _, m := range modules {
		a.standIns = append(a.standIns, standIn{path: m, folder: path.Base(m)})
	}
	return a
}

// adjust makes the changes of an adjustment to a generated go.mod. Stand-ins are expected in folders beside it.
func (a adjustment) adjust(mod []byte) ([]byte, error) {
	m, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		return nil, err
	}
	for _, served := range a.replace {
		if err := m.AddReplace(served.Path, "", served.Path, served.Version); err != nil {
			return nil, fmt.Errorf("replace %s: %w", served.Path, err)
		}
	}
	for _, s := range a.standIns {
		if err := m.AddReplace(s.path, "", "./"+s.folder, ""); err != nil {
			return nil, fmt.Errorf("replace %s: %w", s.path, err)
		}
	}
	return m.Format()
}

// writeStandIns writes the modules that stand in for others into folders of dir.
func (a adjustment) writeStandIns(dir string) error {
	for _, s := range a.standIns {
		at := filepath.Join(dir, s.folder)
		err := os.Mkdir(at, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(at, "go.mod"), []byte("module "+s.path+"\n"), 0o644)
		}
		if err != nil {
			return fmt.Errorf("make a stand-in for %s: %w", s.path, err)
		}
		if !s.source {
			continue
		}
		source, err := standIns.ReadFile("standin/" + s.folder + "/" + s.folder + ".go")
		if err != nil {
			return err
		}
		at = filepath.Join(at, "pkg", s.folder)
		err = os.MkdirAll(at, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(at, s.folder+".go"), source, 0o644)
		}
		if err != nil {
			return fmt.Errorf("make a stand-in for %s: %w", s.path, err)
		}
	}
	return nil
}
