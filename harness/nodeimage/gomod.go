package nodeimage

import (
	"fmt"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// stagingModules are the modules that Kubernetes requires, takes from its own source tree, and publishes beside it. Examples, which are in
// the same tree but are not required, are left out.
func stagingModules(upstream *modfile.File) []string {
	required := map[string]bool{}
	for _, r := range upstream.Require {
		required[r.Mod.Path] = true
	}
	var paths []string
	for _, r := range upstream.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") && required[r.Old.Path] {
			paths = append(paths, r.Old.Path)
		}
	}
	return paths
}

// stagingVersion is the version under which the staging modules of a Kubernetes version are published: v0.37.2 for v1.37.2.
func stagingVersion(version string) string { return "v0" + strings.TrimPrefix(version, "v1") }

// kubernetesMod makes a go.mod that builds the commands of k8s.io/kubernetes at version outside its source tree. upstream is the go.mod
// of that version; staging has the version to use for each staging module. Everything else is required exactly as upstream requires it,
// so that what is built is what was released.
func kubernetesMod(version string, upstream *modfile.File, staging map[string]string) ([]byte, error) {
	m := new(modfile.File)
	if err := m.AddModuleStmt("podorder.build/kubernetes"); err != nil {
		return nil, err
	}
	if upstream.Go != nil {
		if err := m.AddGoStmt(upstream.Go.Version); err != nil {
			return nil, fmt.Errorf("go version of Kubernetes %s: %w", version, err)
		}
	}
	for _, g := range upstream.Godebug {
		if err := m.AddGodebug(g.Key, g.Value); err != nil {
			return nil, fmt.Errorf("godebug setting of Kubernetes %s: %w", version, err)
		}
	}
	m.AddNewRequire("k8s.io/kubernetes", version, false)
	for _, r := range upstream.Require {
		path, v := r.Mod.Path, r.Mod.Version
		if s, ok := staging[path]; ok {
			v = s // upstream requires v0.0.0, which file names in stack traces would show
		}
		m.AddNewRequire(path, v, r.Indirect)
	}
	for _, path := range stagingModules(upstream) {
		v, ok := staging[path]
		if !ok {
			return nil, fmt.Errorf("no version of %s is known for Kubernetes %s", path, version)
		}
		if err := m.AddReplace(path, "", path, v); err != nil {
			return nil, err
		}
	}
	m.Cleanup()
	return m.Format()
}

// buildTags are the tags that a Kubernetes version needs to build from modules.
func buildTags(version string) string {
	if semver.Compare(version, "v1.31.0-0") < 0 {
		// Their in-tree cloud providers need modules that do not fit together outside the source tree.
		return "providerless"
	}
	return ""
}

// ldflags strip the commands and tell them their version, as the release builds do.
func ldflags(version string) string {
	major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
	flags := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, major, minor)
	}
	if semver.Compare(version, "v1.32.0-0") < 0 {
		// Written before the linker of Go 1.23 began to refuse references to internals of the standard library.
		flags += " -checklinkname=0"
	}
	return flags
}
