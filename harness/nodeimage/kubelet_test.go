package nodeimage

import (
	"context"
	gobuild "go/build"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/modfile"
	"gotest.tools/v3/assert"
)

func TestCheckKubelet(t *testing.T) {
	for _, v := range []string{"v1.28.5", Default, "v1.38.0-beta.0"} {
		assert.NilError(t, CheckKubelet(v))
	}
	for v, want := range map[string]string{
		"1.37.2":  "exact release",
		"v1.27.9": "older than v1.28.0",
		"v1.39.0": "the newest minor that can be built is v1.38",
	} {
		assert.ErrorContains(t, CheckKubelet(v), want)
	}
}

// A version that is refused costs nothing: no cache is opened.
func TestKubeletRefusesAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	_, err := Kubelet(context.Background(), "v1.37", Options{CacheDir: dir})
	assert.ErrorContains(t, err, "exact release")
	_, err = os.Stat(dir)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// A kubelet that is part of a node image which was built is not built again.
func TestKubeletOfANodeImage(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(context.Background(), dir, nil)
	assert.NilError(t, err)
	module := s.path("module-"+Default, keyOf(recipeRevision))
	assert.NilError(t, os.Mkdir(module, 0o755))
	assert.NilError(t, os.WriteFile(filepath.Join(module, "go.mod"), []byte("module podorder.build/kubernetes\n"), 0o644))
	b := &builder{version: Default, store: s, progress: &progress{print: t.Logf}}
	m, err := b.modules(context.Background(), b.progress.step("modules"), Default)
	assert.NilError(t, err)
	want := filepath.Join(s.path("kubernetes-"+Default, commandsKey(Default, m)), "kubelet")
	assert.NilError(t, os.Mkdir(filepath.Dir(want), 0o755))
	assert.NilError(t, os.WriteFile(want, nil, 0o755))
	assert.NilError(t, s.close())

	got, err := Kubelet(context.Background(), Default, Options{CacheDir: dir})
	assert.NilError(t, err)
	assert.Equal(t, got, want)
}

func TestAdjust(t *testing.T) {
	mod := []byte(`module podorder.build/kubernetes

go 1.27.0

require (
	k8s.io/apiextensions-api v0.38.0-beta.0
	sigs.k8s.io/iptables-wrappers v1.0.0
	sigs.k8s.io/structured-merge-diff/v7 v7.0.1
)

replace k8s.io/apiextensions-api => k8s.io/apiextensions-api v0.38.0-beta.0
`)
	text, err := adjustments["v1.38.0-beta.0"].adjust(mod)
	assert.NilError(t, err)
	m, err := modfile.Parse("go.mod", text, nil)
	assert.NilError(t, err)
	replaced := map[string]string{}
	for _, r := range m.Replace {
		replaced[r.Old.String()] = r.New.String()
	}
	assert.DeepEqual(t, replaced, map[string]string{
		"k8s.io/apiextensions-api":             "./apiextensions-api",
		"k8s.io/ktesting":                      "./ktesting",
		"sigs.k8s.io/iptables-wrappers":        "./iptables",
		"sigs.k8s.io/structured-merge-diff/v7": "sigs.k8s.io/structured-merge-diff/v7@v7.0.0",
	})

	text, err = adjustments[Default].adjust(mod)
	assert.NilError(t, err)
	assert.Equal(t, string(text), string(mod), "no adjustment changes nothing")
}

// Every stand-in is a module with the package that is imported from the one it stands for.
func TestStandIns(t *testing.T) {
	read := 0
	for version, a := range adjustments {
		dir := t.TempDir()
		assert.NilError(t, a.writeStandIns(dir), version)
		for _, s := range a.standIns {
			text, err := os.ReadFile(filepath.Join(dir, s.folder, "go.mod"))
			assert.NilError(t, err)
			m, err := modfile.Parse("go.mod", text, nil)
			assert.NilError(t, err)
			assert.Equal(t, m.Module.Mod.Path, s.path)
			assert.Assert(t, a.standsIn(s.path))
			if !s.source {
				continue
			}
			pkg, err := gobuild.ImportDir(filepath.Join(dir, s.folder, "pkg", s.folder), 0)
			assert.NilError(t, err)
			assert.Equal(t, pkg.Name, s.folder)
			read++
		}
	}
	assert.Assert(t, read > 0, "no stand-in has a source")
}

// What is missing is added to what the version needs anyway, and changes no other version.
func TestWithout(t *testing.T) {
	a := adjustments["v1.38.0-beta.0"]
	more := a.without([]string{"k8s.io/sample-apiserver"})
	assert.Equal(t, len(more.standIns), len(a.standIns)+1)
	assert.Assert(t, more.standsIn("k8s.io/sample-apiserver"))
	assert.Assert(t, !adjustments["v1.38.0-beta.0"].standsIn("k8s.io/sample-apiserver"))

	text, err := adjustments["v1.31.14"].without([]string{"k8s.io/sample-apiserver"}).adjust([]byte("module podorder.build/kubernetes\n"))
	assert.NilError(t, err)
	m, err := modfile.Parse("go.mod", text, nil)
	assert.NilError(t, err)
	assert.Equal(t, m.Replace[0].New.Path, "./sample-apiserver")
}

// Only a version that asks for it is built with another Go than the one that runs.
func TestGoEnvOf(t *testing.T) {
	assert.DeepEqual(t, goEnvOf(Default), goEnv)
	assert.DeepEqual(t, goEnvOf("v1.38.0-beta.0"), append([]string{"GOTOOLCHAIN=go1.27.3"}, goEnv...))
}
