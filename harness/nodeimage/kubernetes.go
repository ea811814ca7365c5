package nodeimage

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// modules are the generated modules that are compiled in.
type modules struct {
	dir, base string // of this version, and of the one that the tools start from: folders in the store
	compiler  string // the version of Go, the platform and the flags that it compiles with: part of the keys
	// The keys of the two modules and of what they are compiled with.
	key, baseKey string
}

// addModules makes the module that Kubernetes is built in, and the one that the tools start from, which is that of the version base.
func (b *builder) addModules(g *graph, base string) *made[modules] {
	return add(g, task[modules]{
		name: "modules", line: func() string { return "modules of Kubernetes " + b.version },
		make: func(ctx context.Context, s *step) (modules, error) { return b.modules(ctx, s, base) },
	})
}

func (b *builder) modules(ctx context.Context, s *step, base string) (m modules, err error) {
	if m.dir, err = b.kubernetesModule(ctx, s, b.version); err != nil {
		return m, err
	}
	if m.base, err = b.kubernetesModule(ctx, s, base); err != nil {
		return m, err
	}
	module, err := keyOfFiles(os.DirFS(m.dir))
	if err != nil {
		return m, fmt.Errorf("read the generated module: %w", err)
	}
	baseModule, err := keyOfFiles(os.DirFS(m.base))
	if err != nil {
		return m, fmt.Errorf("read the generated module: %w", err)
	}
	out, err := run(ctx, m.dir, goEnvOf(b.version), nil, "go", "env", "GOVERSION", "GOARCH")
	if err != nil {
		return m, fmt.Errorf("ask for the version of Go: %w", err)
	}
	m.compiler = string(out) + strings.Join(compilerFlags(), " ")
	m.key, m.baseKey = keyOf(module, m.compiler), keyOf(baseModule, m.compiler)
	return m, nil
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

// addKubernetes builds the commands of Kubernetes.
func (b *builder) addKubernetes(g *graph, mods *made[modules]) *made[piece] {
	return add(g, task[piece]{
		name: "kubernetes", needs: []need{mods}, line: func() string { return "commands of Kubernetes " + b.version },
		make: func(ctx context.Context, s *step) (piece, error) {
			m := from(s, mods)
			return b.store.piece("kubernetes-"+b.version, commandsKey(b.version, m), func(dir string) error {
				var packages []string
				for _, c := range kubernetesCommands {
					packages = append(packages, "k8s.io/kubernetes/cmd/"+c)
				}
				return b.compileKubernetes(ctx, s, m, dir, nil, ldflags(b.version), packages...)
			})
		},
	})
}

// commandsKey is the key of the commands of Kubernetes.
func commandsKey(version string, m modules) string {
	return keyOf(m.key, buildTags(version), ldflags(version))
}

// compileKubernetes compiles packages in a copy of the module of Kubernetes, into which more folders of sources are put.
func (b *builder) compileKubernetes(ctx context.Context, s *step, m modules, dir string, more map[string]fs.FS, ldflags string, packages ...string) error {
	work, clean, err := b.moduleCopy(m)
	if err != nil {
		return err
	}
	defer clean()
	for name, source := range more {
		if err := os.CopyFS(filepath.Join(work, name), source); err != nil {
			return fmt.Errorf("unpack the source of %s: %w", name, err)
		}
	}
	env := append([]string{"CGO_ENABLED=0"}, goEnvOf(b.version)...)
	return b.goBuild(ctx, s, work, dir, env, append([]string{"-tags", buildTags(b.version), "-ldflags", ldflags}, packages...)...)
}

// addSupport builds the small programs of this package within the module of Kubernetes: everything that they need is compiled
// already. It waits for etcd.
func (b *builder) addSupport(g *graph, mods *made[modules], etcd *made[piece]) *made[piece] {
	return add(g, task[piece]{
		name: "support", needs: []need{mods, etcd}, line: func() string { return "pause and the Pod network" },
		make: func(ctx context.Context, s *step) (piece, error) {
			m := from(s, mods)
			parts := []string{m.key, buildTags(b.version)}
			programs := map[string]fs.FS{}
			var packages []string
			for _, p := range []string{"pause", "podnet"} {
				source, err := fs.Sub(sources, p)
				if err != nil {
					return piece{}, err
				}
				key, err := keyOfFiles(source)
				if err != nil {
					return piece{}, err
				}
				parts = append(parts, key)
				programs[p] = source
				packages = append(packages, "./"+p)
			}
			return b.store.piece("support-"+b.version, keyOf(parts...), func(dir string) error {
				return b.compileKubernetes(ctx, s, m, dir, programs, "-s -w", packages...)
			})
		},
	})
}

// moduleCopy is a working copy of the generated module: go adds checksums to go.sum, and the piece in the store stays as it is.
func (b *builder) moduleCopy(m modules) (dir string, clean func(), err error) {
	dir, clean, err = b.store.folder()
	if err != nil {
		return "", nil, err
	}
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		clean()
		return "", nil, fmt.Errorf("copy the generated module: %w", err)
	}
	return dir, clean, nil
}
