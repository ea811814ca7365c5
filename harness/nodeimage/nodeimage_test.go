package nodeimage

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/modfile"
	"gotest.tools/v3/assert"
)

// The digests fit one release of kind. Whoever moves go.mod to another must bring the digests of that release along.
func TestDigestsBelongToKindRelease(t *testing.T) {
	b, err := os.ReadFile("../../go.mod")
	assert.NilError(t, err)
	mod, err := modfile.Parse("go.mod", b, nil)
	assert.NilError(t, err)
	for _, r := range mod.Require {
		if r.Mod.Path == "sigs.k8s.io/kind" {
			assert.Equal(t, r.Mod.Version, kindRelease, "digests.go belongs to another release of kind: take the digests from its release notes")
			return
		}
	}
	t.Fatal("go.mod does not require sigs.k8s.io/kind")
}

func TestPinned(t *testing.T) {
	for version, digest := range digests {
		assert.NilError(t, CheckVersion(version))
		assert.Assert(t, strings.HasPrefix(digest, "sha256:") && len(digest) == len("sha256:")+64, "%s: %s", version, digest)
	}
	ref, ok := Published("v1.37.0")
	assert.Assert(t, ok)
	assert.Equal(t, ref, "docker.io/kindest/node:v1.37.0@"+digests["v1.37.0"])
	_, ok = Published(Default)
	assert.Assert(t, !ok, "the package comment says that the default version is built")
}

func TestCheckVersion(t *testing.T) {
	for _, v := range []string{Default, "v1.28.0", "v1.37.0-beta.0"} {
		assert.NilError(t, CheckVersion(v))
	}
	for v, want := range map[string]string{
		"":        "exact release",
		"1.37.2":  "exact release",
		"v1.37":   "exact release",
		"latest":  "exact release",
		"v1.27.9": "older than v1.28.0",
		"v1.38.0": "not covered yet",
	} {
		assert.ErrorContains(t, CheckVersion(v), want)
	}
}

func TestNearest(t *testing.T) {
	versions := []string{"v1.28.5", "v1.35.4", "v1.36.0", "v1.36.3", "v1.37.0", "v1.37.2", "v1.38.0-beta.0"}
	tests := []struct {
		want string
		n    int
		near []string
	}{
		{"v1.37.9", 2, []string{"v1.37.2", "v1.37.0"}},
		{"v1.37.1", 4, []string{"v1.37.2", "v1.37.0", "v1.38.0-beta.0", "v1.36.3"}},
		{"v1.29.0", 1, []string{"v1.28.5"}},
		{"v1.36.1", 3, []string{"v1.36.0", "v1.36.3", "v1.37.2"}},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) { assert.DeepEqual(t, nearest(tt.want, versions, tt.n), tt.near) })
	}
}

func TestPatchesNear(t *testing.T) {
	tests := []struct {
		want     string
		versions []string
		near     []string
	}{
		{"v0.31.14", []string{"v0.31.10", "v0.31.13", "v0.32.0"}, []string{"v0.31.13", "v0.31.15", "v0.31.12", "v0.31.16", "v0.31.11", "v0.31.17", "v0.31.10"}},
		{"v0.28.1", []string{"v0.28.1", "v0.28.1-rc.0", "v0.29.1"}, []string{"v0.28.0", "v0.28.2", "v0.28.3", "v0.28.4", "v0.28.1-rc.0"}},
		{"v0.38.0-beta.0", []string{"v0.38.0-alpha.1", "v0.37.2"}, []string{"v0.38.0", "v0.38.1", "v0.38.2", "v0.38.3", "v0.38.0-alpha.1"}},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) { assert.DeepEqual(t, patchesNear(tt.want, tt.versions), tt.near) })
	}
}

func TestUnavailableErrorNamesTheNearest(t *testing.T) {
	var err error = unavailable("v1.37.9", "not found", []string{"v1.19.0", "v1.35.4", "v1.37.1", "v1.37.2", "v1.38.0"})
	assert.Error(t, err, "Kubernetes v1.37.9 is not available: no published node image is pinned for it, and its module is not served (not found); "+
		"the nearest that is available: v1.37.2, v1.37.1, v1.37.0 (by pulling only), v1.36.4 (by pulling only), v1.35.8 (by pulling only), v1.34.11 (by pulling only)")
	var u *UnavailableError
	assert.Assert(t, errors.As(err, &u))
}

const upstreamMod = `module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
	github.com/spf13/cobra v1.10.2
	k8s.io/api v0.0.0
	k8s.io/kubelet v0.0.0
	k8s.io/utils v0.0.0-20260626114624-be93311217bd
	sigs.k8s.io/structured-merge-diff/v6 v6.4.2 // indirect
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubelet => ./staging/src/k8s.io/kubelet
	k8s.io/sample-cli-plugin => ./staging/src/k8s.io/sample-cli-plugin
)
`

func TestKubernetesMod(t *testing.T) {
	upstream, err := modfile.Parse("go.mod", []byte(upstreamMod), nil)
	assert.NilError(t, err)
	assert.DeepEqual(t, stagingModules(upstream), []string{"k8s.io/api", "k8s.io/kubelet"})

	text, err := kubernetesMod("v1.37.2", upstream, map[string]string{"k8s.io/api": "v0.37.2", "k8s.io/kubelet": "v0.37.1"})
	assert.NilError(t, err)
	mod, err := modfile.Parse("go.mod", text, nil)
	assert.NilError(t, err)
	assert.Equal(t, mod.Go.Version, "1.26.0")
	assert.Equal(t, len(mod.Godebug), 1)
	required := map[string]string{}
	for _, r := range mod.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	assert.DeepEqual(t, required, map[string]string{
		"k8s.io/kubernetes":                    "v1.37.2",
		"github.com/spf13/cobra":               "v1.10.2",
		"k8s.io/api":                           "v0.37.2",
		"k8s.io/kubelet":                       "v0.37.1",
		"k8s.io/utils":                         "v0.0.0-20260626114624-be93311217bd",
		"sigs.k8s.io/structured-merge-diff/v6": "v6.4.2",
	})
	replaced := map[string]string{}
	for _, r := range mod.Replace {
		replaced[r.Old.Path] = r.New.String()
	}
	assert.DeepEqual(t, replaced, map[string]string{"k8s.io/api": "k8s.io/api@v0.37.2", "k8s.io/kubelet": "k8s.io/kubelet@v0.37.1"})

	_, err = kubernetesMod("v1.37.2", upstream, map[string]string{"k8s.io/api": "v0.37.2"})
	assert.ErrorContains(t, err, "no version of k8s.io/kubelet")
}

func TestFlagsByVersion(t *testing.T) {
	assert.Equal(t, buildTags("v1.28.5"), "providerless")
	assert.Equal(t, buildTags("v1.37.2"), "")
	assert.Assert(t, strings.Contains(ldflags("v1.28.5"), "-checklinkname=0"))
	assert.Assert(t, !strings.Contains(ldflags("v1.37.2"), "-checklinkname"))
	for _, want := range []string{"gitVersion=v1.37.2", "gitMajor=1", "gitMinor=37"} {
		assert.Assert(t, strings.Contains(ldflags("v1.37.2"), want), want)
	}
}

func TestStagingVersion(t *testing.T) {
	assert.Equal(t, stagingVersion("v1.37.2"), "v0.37.2")
	assert.Equal(t, stagingVersion("v1.38.0-beta.0"), "v0.38.0-beta.0")
}

func TestEtcdRelease(t *testing.T) {
	const file = "cmd/kubeadm/app/constants/constants.go"
	v, err := etcdRelease(fstest.MapFS{file: {Data: []byte("\t// comment\n\tDefaultEtcdVersion = \"3.6.5-0\"\n")}})
	assert.NilError(t, err)
	assert.Equal(t, v, "v3.6.5")
	_, err = etcdRelease(fstest.MapFS{file: {Data: []byte("package constants\n")}})
	assert.ErrorContains(t, err, "has no DefaultEtcdVersion")
	_, err = etcdRelease(fstest.MapFS{})
	assert.ErrorContains(t, err, file)
}

func TestParseMirror(t *testing.T) {
	m, err := parseMirror(strings.Join([]string{
		"Example|http://mirror.example/other|stable|main",
		"Debian|http://mirror.example/debian|bookworm-updates|main",
		"Debian|http://mirror.example/debian|bookworm|main",
		"Debian|http://mirror.example/debian|bookworm|contrib",
		"Debian|http://mirror.example/debian-security|bookworm-security|main",
	}, "\n"))
	assert.NilError(t, err)
	assert.Equal(t, m.suite, "bookworm")
	assert.Equal(t, m.lines, "deb http://mirror.example/debian bookworm-updates main\n"+
		"deb http://mirror.example/debian bookworm main contrib\n"+
		"deb http://mirror.example/debian-security bookworm-security main\n")

	_, err = parseMirror("Example|http://mirror.example/other|stable|main\n")
	assert.ErrorIs(t, err, errNoMirror)
}

// The newest comes first, and patches are numbers.
func TestPullInstead(t *testing.T) {
	assert.Equal(t, pullInstead(), "or choose a version that can be pulled: v1.37.0, v1.36.4, v1.35.8, v1.34.11")
}

func TestSandboxImage(t *testing.T) {
	assert.Equal(t, sandboxImage("[plugins.\"io.containerd.grpc.v1.cri\"]\n  # fixed\n  sandbox_image = \"registry.k8s.io/pause:3.10\"\n"), "registry.k8s.io/pause:3.10")
	assert.Equal(t, sandboxImage("version = 2\n"), "")
}

func TestEditSpec(t *testing.T) {
	out, err := editSpec([]byte(`{"process":{"cwd":"/","rlimits":[{"type":"RLIMIT_NOFILE"}]},"root":{"path":"rootfs"}}`))
	assert.NilError(t, err)
	assert.Equal(t, string(out),
		`{"hooks":{"createContainer":[{"path":"/kind/bin/mount-product-files.sh"}]},"process":{"cwd":"/"},"root":{"path":"rootfs"}}`+"\n")
	_, err = editSpec([]byte(`{}`))
	assert.ErrorContains(t, err, "no process")
	_, err = editSpec([]byte(`not json`))
	assert.ErrorContains(t, err, "default specification")
}

func TestClock(t *testing.T) {
	assert.Equal(t, clock(95e9), "1:35")
	assert.Equal(t, clock(0), "0:00")
}

// The manifest runs the image that the build makes.
func TestManifestNamesThePodNetwork(t *testing.T) {
	b, err := sources.ReadFile("manifests/default-cni.yaml")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(b), "image: "+podnetImage+"\n"))
	for _, asks := range []string{"would you kindly template this file", "would you kindly patch this file"} {
		assert.Assert(t, strings.Contains(string(b), asks))
	}
}

// Everything that a changed recipe must not be confused with is in the reference.
func TestLocalRef(t *testing.T) {
	ref := localRef("v1.37.2")
	assert.Equal(t, ref, localRef("v1.37.2"))
	assert.Equal(t, ref, "localhost/podorder/node:v1.37.2-"+recipe())
	assert.Equal(t, len(recipe()), keyLength)
	other := tools[0]
	other.version += ".1"
	assert.Assert(t, other.key() != tools[0].key())
}

func TestCorednsMain(t *testing.T) {
	source := corednsMain(tool{module: "github.com/coredns/coredns", plugins: []string{"errors", "kubernetes"}})
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", source, 0)
	assert.NilError(t, err)
	var imports []string
	for _, i := range file.Imports {
		imports = append(imports, i.Path.Value)
	}
	assert.DeepEqual(t, imports, []string{
		`"github.com/coredns/coredns/coremain"`, `"github.com/coredns/coredns/plugin/errors"`, `"github.com/coredns/coredns/plugin/kubernetes"`,
	})
}

// The Corefile that kubeadm writes must find its plugins.
func TestCorednsHasThePluginsOfKubeadm(t *testing.T) {
	for _, tool := range tools {
		if tool.name != "coredns" {
			continue
		}
		// metrics is the package of the directive prometheus.
		for _, p := range []string{"errors", "health", "ready", "kubernetes", "metrics", "forward", "cache", "loop", "reload", "loadbalance"} {
			assert.Assert(t, slices.Contains(tool.plugins, p), p)
		}
		return
	}
	t.Fatal("CoreDNS is not built")
}
