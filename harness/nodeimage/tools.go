package nodeimage

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// toolModule is a module in which tools are ready to be compiled: all that they need is downloaded. It has no
// folder where they are in the store already.
type toolModule struct {
	tools []tool
	dir   string
	name  string // of the piece
	key   string
	// renamed is what a program is called by go, and what by everybody else.
	renamed [2]string
}

func toolsOf(t tool) []tool { return []tool{t} }

// addTools builds tools that share a module, with the versions of Kubernetes. They are compiled after it.
func (b *builder) addTools(g *graph, name string, tools []tool, mods *made[modules], after need) *made[piece] {
	var names []string
	for _, t := range tools {
		names = append(names, t.name+" "+t.version)
	}
	line := func() string { return strings.Join(names, ", ") }
	module := add(g, task[toolModule]{
		name: "modules of " + name, needs: []need{mods}, line: func() string { return "modules of " + line() },
		make: func(ctx context.Context, s *step) (toolModule, error) {
			m := from(s, mods)
			parts := append([]string{m.baseKey}, mayRaise...)
			for _, t := range tools {
				parts = append(parts, t.key())
			}
			return b.prepare(ctx, toolModule{tools: tools, name: name, key: keyOf(parts...)}, func(dir string) error { return resolve(ctx, m.base, dir, tools) })
		},
	})
	return b.addCompiled(g, name, line, module, after)
}

// addRunc builds runc. It is not in the module of the other tools: with cgo, it has little in common with them. Its C takes packages of
// this machine.
func (b *builder) addRunc(g *graph, mods *made[modules], packages, after need) *made[piece] {
	line := func() string { return runc.name + " " + runc.version }
	module := add(g, task[toolModule]{
		name: "modules of " + runc.name, needs: []need{mods, packages}, line: func() string { return "modules of " + line() },
		make: func(ctx context.Context, s *step) (toolModule, error) {
			key := keyOf(runc.key(), from(s, mods).compiler)
			return b.prepare(ctx, toolModule{tools: toolsOf(runc), name: runc.name, key: key}, func(dir string) error { return alone(ctx, dir, runc) })
		},
	})
	return b.addCompiled(g, runc.name, line, module, after)
}

// addEtcd builds the etcd that kubeadm asks for, or the nearest patch of the same minor that is served. That of the default minor is built like the other
// tools; an older one would get modules that it was not made for, and shares nothing anyway.
func (b *builder) addEtcd(g *graph, mods *made[modules], after need) *made[piece] {
	version := ""
	line := func() string { return strings.TrimSpace("etcd " + version) }
	module := add(g, task[toolModule]{
		name: "modules of etcd", needs: []need{mods}, line: func() string { return "modules of etcd" },
		make: func(ctx context.Context, s *step) (toolModule, error) {
			m := from(s, mods)
			want, err := os.ReadFile(filepath.Join(m.dir, "etcd"))
			if err != nil {
				return toolModule{}, fmt.Errorf("read which etcd is wanted: %w", err)
			}
			version = string(want)
			parts := []string{etcdModule, version, m.compiler}
			shared := minorOf(b.version) == minorOf(Default)
			if shared {
				parts = append(append(parts, m.baseKey), mayRaise...)
			}
			// The main package is the root of the module .../server/v3, and go names the program after it.
			t := toolModule{name: "etcd-" + version, key: keyOf(parts...), renamed: [2]string{"server", "etcd"}}
			if b.store.has(t.name, t.key) {
				return t, nil
			}
			use, err := servedEtcd(ctx, s, version)
			if err != nil {
				return t, err
			}
			t.tools = []tool{{name: "etcd", module: etcdModule, version: use, packages: []string{"."}}}
			return b.prepare(ctx, t, func(dir string) error {
				if shared {
					return resolve(ctx, m.base, dir, t.tools)
				}
				return alone(ctx, dir, t.tools[0])
			})
		},
	})
	return b.addCompiled(g, "etcd", line, module, after)
}

// servedEtcd is the version of etcd that is served: the one that is wanted, or the nearest.
func servedEtcd(ctx context.Context, s *step, version string) (string, error) {
	got, err := download(ctx, goEnv, etcdModule+"@"+version)
	if err != nil {
		return "", err
	}
	if got[0].Error == "" {
		return version, nil
	}
	use, err := servedNear(ctx, goEnv, etcdModule, version)
	if err != nil {
		return "", fmt.Errorf("etcd %s is not served (%s): %w", version, firstLine(got[0].Error), err)
	}
	s.note("%s is not served; using %s", version, use)
	return use, nil
}

// prepare makes the module of tools, with write, and downloads all that it needs, unless they are in the store.
func (b *builder) prepare(ctx context.Context, t toolModule, write func(dir string) error) (toolModule, error) {
	if b.store.has(t.name, t.key) {
		return t, nil
	}
	t.dir = filepath.Join(b.work, t.name)
	if err := os.Mkdir(t.dir, 0o755); err != nil {
		return t, fmt.Errorf("make a working folder: %w", err)
	}
	if err := write(t.dir); err != nil {
		return t, err
	}
	for _, tl := range t.tools {
		if len(tl.plugins) > 0 {
			if err := writeMain(filepath.Join(t.dir, tl.name), corednsMain(tl)); err != nil {
				return t, err
			}
		}
	}
	packages, env, tags, _ := t.arguments()
	// It loads the packages and prints nothing, which takes downloading all that a build needs.
	load := append([]string{"list", "-mod=mod", "-deps", "-f", "{{with .Error}}{{.}}{{end}}", "-tags", tags}, packages...)
	if _, err := run(ctx, t.dir, slices.Concat(env, goEnv), nil, "go", load...); err != nil {
		return t, fmt.Errorf("download modules: %w", err)
	}
	return t, nil
}

// addCompiled compiles the tools of a module once another step is done.
func (b *builder) addCompiled(g *graph, name string, line func() string, module *made[toolModule], after need) *made[piece] {
	return add(g, task[piece]{
		name: name, needs: []need{module, after}, line: line,
		make: func(ctx context.Context, s *step) (piece, error) {
			t := from(s, module)
			return b.store.piece(t.name, t.key, func(dir string) error {
				packages, env, tags, flags := t.arguments()
				if err := b.goBuild(ctx, s, t.dir, dir, env, append([]string{"-tags", tags, "-ldflags", flags}, packages...)...); err != nil {
					return err
				}
				if t.renamed[0] == "" {
					return nil
				}
				return os.Rename(filepath.Join(dir, t.renamed[0]), filepath.Join(dir, t.renamed[1]))
			})
		},
	})
}

// arguments are what go is called with for the tools of a module.
func (t toolModule) arguments() (packages, env []string, tags, ldflags string) {
	var all []string
	ldflags = "-s -w"
	env = []string{"CGO_ENABLED=0"}
	for _, tl := range t.tools {
		all = append(all, strings.Fields(tl.tags)...)
		if tl.ldflags != "" {
			ldflags += " " + tl.ldflags
		}
		if tl.cgo {
			env = []string{"CGO_ENABLED=1"}
		}
		for _, p := range tl.packages {
			packages = append(packages, path.Join(tl.module, p))
		}
		if len(tl.plugins) > 0 {
			packages = append(packages, "./"+tl.name)
		}
	}
	return packages, env, strings.Join(all, ","), ldflags
}

// alone writes a module that requires just one tool.
func alone(ctx context.Context, dir string, t tool) error {
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module podorder.build/"+t.name+"\n"), 0o644); err != nil {
		return fmt.Errorf("write go.mod: %w", err)
	}
	_, err := run(ctx, dir, goEnv, nil, "go", "get", t.module+"@"+t.version)
	return err
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
