package nodeimage

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"gotest.tools/v3/assert"
)

func TestRaised(t *testing.T) {
	required := []module.Version{
		{Path: "example.org/same", Version: "v1.2.0"},
		{Path: "example.org/higher", Version: "v1.2.0"},
		{Path: "example.org/pseudo", Version: "v0.0.0-20260101000000-aaaaaaaaaaaa"},
		{Path: "example.org/unused", Version: "v1.0.0"},
		{Path: "example.org/allowed", Version: "v1.0.0"},
		{Path: "example.org/allowed/below", Version: "v1.0.0"},
		{Path: "example.org/family/one", Version: "v3.7.0"},
	}
	selected := []module.Version{
		{Path: "example.org/same", Version: "v1.2.0"},
		{Path: "example.org/higher", Version: "v1.10.0"},
		{Path: "example.org/pseudo", Version: "v0.0.0-20260202000000-bbbbbbbbbbbb"},
		{Path: "example.org/allowed", Version: "v1.1.0"},
		{Path: "example.org/allowed/below", Version: "v1.1.0"},
		{Path: "example.org/family/one", Version: "v3.7.1"},
		{Path: "example.org/tool", Version: "v2.0.0"}, // not required: nothing to compare it with
	}
	tests := []struct {
		name string
		may  []string
		want []module.Version
	}{
		{"no exceptions", nil, []module.Version{
			{Path: "example.org/higher", Version: "v1.10.0"},
			{Path: "example.org/pseudo", Version: "v0.0.0-20260202000000-bbbbbbbbbbbb"},
			{Path: "example.org/allowed", Version: "v1.1.0"},
			{Path: "example.org/allowed/below", Version: "v1.1.0"},
			{Path: "example.org/family/one", Version: "v3.7.1"},
		}},
		{"a module and a family", []string{"example.org/allowed", "example.org/family/"}, []module.Version{
			{Path: "example.org/higher", Version: "v1.10.0"},
			{Path: "example.org/pseudo", Version: "v0.0.0-20260202000000-bbbbbbbbbbbb"},
			{Path: "example.org/allowed/below", Version: "v1.1.0"},
		}},
		{"everything", []string{"example.org/"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.DeepEqual(t, raised(required, selected, tt.may), tt.want) })
	}
}

func TestSelectedModules(t *testing.T) {
	got, err := selectedModules([]byte(`{
	"Path": "podorder.build/tools",
	"Main": true
}
{
	"Path": "k8s.io/api",
	"Version": "v0.37.2"
}
{
	"Path": "golang.org/x/net",
	"Version": "v0.57.0"
}
`))
	assert.NilError(t, err)
	assert.DeepEqual(t, got, []module.Version{{Path: "k8s.io/api", Version: "v0.37.2"}, {Path: "golang.org/x/net", Version: "v0.57.0"}})
	_, err = selectedModules([]byte("go: no such thing\n"))
	assert.ErrorContains(t, err, "list of modules")
}

func TestToolsMod(t *testing.T) {
	base, err := modfile.Parse("go.mod", []byte(`module podorder.build/kubernetes

go 1.26.0

require (
	k8s.io/kubernetes v1.37.2
	k8s.io/api v0.37.2
	google.golang.org/grpc v1.80.0
	go.etcd.io/etcd/client/v3 v3.7.0 // indirect
)

replace k8s.io/api => k8s.io/api v0.37.2
`), nil)
	assert.NilError(t, err)
	text, err := toolsMod(base, tools, []module.Version{{Path: "google.golang.org/grpc", Version: "v1.83.2"}})
	assert.NilError(t, err)
	mod, err := modfile.Parse("go.mod", text, nil)
	assert.NilError(t, err)

	assert.Equal(t, mod.Go.Version, "1.26.0")
	required := map[string]string{}
	for _, r := range mod.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	want := map[string]string{
		"k8s.io/kubernetes": "v1.37.2", "k8s.io/api": "v0.37.2", "google.golang.org/grpc": "v1.80.0", "go.etcd.io/etcd/client/v3": "v3.7.0",
	}
	for _, tool := range tools {
		want[tool.module] = tool.version
	}
	assert.DeepEqual(t, required, want)
	assert.Equal(t, len(mod.Replace), 1)
	assert.Equal(t, mod.Replace[0].New, module.Version{Path: "k8s.io/api", Version: "v0.37.2"})
	assert.Equal(t, len(mod.Exclude), 1)
	assert.Equal(t, mod.Exclude[0].Mod, module.Version{Path: "google.golang.org/grpc", Version: "v1.83.2"})
	assert.Equal(t, len(base.Exclude), 0, "the go.mod of Kubernetes stays as it is")
}

// Tools in one module share one build, which has no cgo, and one list of flags.
func TestToolsCanBeBuiltTogether(t *testing.T) {
	names := map[string]bool{}
	for _, tool := range tools {
		assert.Assert(t, !tool.cgo, "%s", tool.name)
		assert.Assert(t, len(tool.packages) == 0 != (len(tool.plugins) == 0), "%s: packages or plugins", tool.name)
		for _, p := range slices.Concat(tool.packages, map[bool][]string{true: {tool.name}}[len(tool.plugins) > 0]) {
			name := p[strings.LastIndex(p, "/")+1:]
			assert.Assert(t, !names[name], "two programs are called %s", name)
			names[name] = true
		}
	}
}
