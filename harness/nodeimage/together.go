package nodeimage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Tools import much of what Kubernetes imports: its client, gRPC, OpenTelemetry. Built each in a module of its own, with versions of its own, every tool compiles
// all of that again. Here they are built in one module that has exactly the versions which Kubernetes requires, so that the compiler finds the packages
// that the build of Kubernetes has left in its cache.
//
// A tool may require more than Kubernetes does, and the higher version would win. Such versions are excluded from the module, whereupon go ignores the
// requirement. A replacement would give the same sources, but their file names, which are part of what is compiled, would be those of the version required.

// toolsMod is the go.mod that builds tools with the modules that base requires, the go.mod of the default version of Kubernetes.
func toolsMod(base *modfile.File, tools []tool, excludes []module.Version) ([]byte, error) {
	m := new(modfile.File)
	if err := m.AddModuleStmt("podorder.build/tools"); err != nil {
		return nil, err
	}
	if base.Go != nil {
		if err := m.AddGoStmt(base.Go.Version); err != nil {
			return nil, fmt.Errorf("go version: %w", err)
		}
	}
	for _, r := range base.Require {
		m.AddNewRequire(r.Mod.Path, r.Mod.Version, r.Indirect)
	}
	for _, t := range tools {
		if err := m.AddRequire(t.module, t.version); err != nil {
			return nil, fmt.Errorf("require %s: %w", t.name, err)
		}
	}
	for _, r := range base.Replace {
		if err := m.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, r.New.Version); err != nil {
			return nil, fmt.Errorf("replace %s: %w", r.Old.Path, err)
		}
	}
	for _, t := range tools {
		for _, v := range t.instead {
			if err := m.AddReplace(v.Path, "", v.Path, v.Version); err != nil {
				return nil, fmt.Errorf("replace %s: %w", v.Path, err)
			}
		}
	}
	for _, e := range excludes {
		if err := m.AddExclude(e.Path, e.Version); err != nil {
			return nil, fmt.Errorf("exclude %s: %w", e, err)
		}
	}
	m.Cleanup()
	return m.Format()
}

// raised are the selected modules whose version is above the one required. Those that may be raised are left out: they are named by their path, or, with a
// slash at the end, by the beginning of it.
func raised(required, selected []module.Version, may []string) []module.Version {
	want := map[string]string{}
	for _, m := range required {
		want[m.Path] = m.Version
	}
	allowed := func(path string) bool {
		return slices.ContainsFunc(may, func(p string) bool { return path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) })
	}
	var above []module.Version
	for _, m := range selected {
		if v, ok := want[m.Path]; ok && semver.Compare(m.Version, v) > 0 && !allowed(m.Path) {
			above = append(above, m)
		}
	}
	return above
}

// selectedModules reads what `go list -m -json all` prints. The main module, which has no version, is left out.
func selectedModules(list []byte) ([]module.Version, error) {
	var all []module.Version
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var m struct {
			module.Version
			Main bool
		}
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of modules: %w", err)
		}
		if !m.Main {
			all = append(all, m.Version)
		}
	}
}

// rounds bounds how often versions are excluded. Two rounds were enough whenever it was measured.
const rounds = 10

// resolve writes go.mod and go.sum of a module for tools into dir. from is the folder with those of Kubernetes.
func resolve(ctx context.Context, from, dir string, tools []tool) error {
	text, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		return fmt.Errorf("read the generated go.mod: %w", err)
	}
	base, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return fmt.Errorf("read the generated go.mod: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(from, "go.sum"))
	if err != nil {
		return fmt.Errorf("read the checksums of Kubernetes: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644); err != nil {
		return fmt.Errorf("write go.sum: %w", err)
	}
	var required, excludes []module.Version
	for _, r := range base.Require {
		required = append(required, r.Mod)
	}
	for range rounds {
		mod, err := toolsMod(base, tools, excludes)
		if err != nil {
			return err
		}
		// Written again each time: go has put the versions that it selected into the last one.
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o644); err != nil {
			return fmt.Errorf("write go.mod: %w", err)
		}
		out, err := run(ctx, dir, goEnv, nil, "go", "list", "-mod=mod", "-m", "-json=Path,Version,Main", "all")
		if err != nil {
			return fmt.Errorf("select the modules of the tools: %w", err)
		}
		selected, err := selectedModules(out)
		if err != nil {
			return err
		}
		above := raised(required, selected, mayRaise)
		if len(above) == 0 {
			return nil
		}
		excludes = append(excludes, above...)
	}
	return fmt.Errorf("the modules of the tools are still not those of Kubernetes after %d versions were excluded, the last one %s", len(excludes), excludes[len(excludes)-1])
}
