package nodeimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"gotest.tools/v3/assert"
)

// fakeGo is a go command that compiles nothing: each package becomes a script. It notes what it was called for.
const fakeGo = `#!/bin/sh
case "$1 $2" in
"env "*) echo go1.99; echo amd64; exit ;;
"mod download") for m; do :; done; case "$m" in sigs.k8s.io/kind@*) echo "{\"Dir\":\"$FAKE/kind\"}" ;; *) echo "{\"Dir\":\"$FAKE\"}" ;; esac; exit ;;
"list "*|"get "*) exit ;;
esac
shift
while [ $# -gt 0 ]; do
	case "$1" in
	-o) out=$2; shift ;;
	-tags|-ldflags) shift ;;
	-*) ;;
	*) break ;;
	esac
	shift
done
for package; do
	name=${package##*/}
	[ "$name" = v3 ] && name=server
	[ "$name" = "$FAIL" ] && { echo "no space left for $name" >&2; exit 1; }
	echo "compiled $name" >>"$FAKE/calls"
	case "$name" in
	kubeadm) echo '#!/bin/sh
for i in kube-apiserver:v1 kube-proxy:v1 etcd:3 coredns/coredns:v1 pause:3; do echo registry.k8s.io/$i; done' ;;
	ctr) echo '#!/bin/sh
echo "{\"process\":{}}"' ;;
	*) echo '#!/bin/sh' ;;
	esac >"$out$name"
	chmod 755 "$out$name"
done
`

// fakeBuild is a builder on a machine whose programs are scripts, and what was called and said there.
func fakeBuild(t *testing.T) (b *builder, calls func() []string, said *[]string) {
	t.Helper()
	fake := t.TempDir()
	h := fakeDocker(t, nil, `[ "$1" = exec ] && cat >/dev/null; [ "$1" = ps ] || echo "docker $1" >>"$FAKE/calls"`)
	dir := strings.Split(os.Getenv("PATH"), ":")[0]
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(t, os.WriteFile(path, []byte(text), mode))
	}
	write(filepath.Join(dir, "chmod"), "#!/bin/sh\nexec /bin/chmod \"$@\"\n", 0o755)
	write(filepath.Join(dir, "go"), fakeGo, 0o755)
	write(filepath.Join(dir, "dpkg-query"), "#!/bin/sh\nprintf 'install ok installed'\n", 0o755)
	write(filepath.Join(dir, "apt-get"), "#!/bin/sh\necho 'Debian|http://mirror.example/debian|bookworm|main'\n", 0o755)
	// An empty archive is two blocks of zeros. The one to write is the last argument but one.
	write(filepath.Join(fake, "empty.tar"), strings.Repeat("\x00", 1024), 0o644)
	write(filepath.Join(dir, "mmdebstrap"), "#!/bin/sh\nfor a; do file=$last; last=$a; done\ncat \"$FAKE/empty.tar\" >\"$file\"\n", 0o755)
	write(filepath.Join(fake, "kind/images/base/files/etc/containerd/config.toml"), "sandbox_image = \"registry.k8s.io/pause:3\"\n", 0o644)
	t.Setenv("FAKE", fake)
	t.Setenv("FAIL", "")

	s, err := openStore(t.Context(), t.TempDir(), func() {})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, s.close()) })
	module := s.path(moduleName(Default), moduleKey)
	write(filepath.Join(module, "go.mod"), "module podorder.build/kubernetes\n\ngo 1.26.0\n", 0o644)
	write(filepath.Join(module, "go.sum"), "", 0o644)
	write(filepath.Join(module, "etcd"), "v3.7.0", 0o644)

	var mu sync.Mutex
	said = new([]string)
	p := &progress{start: time.Now(), print: func(f string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		*said = append(*said, fmt.Sprintf(f, args...))
	}}
	b = &builder{host: h, version: Default, store: s, progress: p, work: t.TempDir()}
	return b, func() []string {
		text, err := os.ReadFile(filepath.Join(fake, "calls"))
		assert.NilError(t, err)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}, said
}

// Every step of a build runs, with what it says that it needs, and what it made is used.
func TestBuildRunsEveryStep(t *testing.T) {
	b, calls, said := fakeBuild(t)
	assert.NilError(t, b.graph(localRef(Default)).run(t.Context()))
	got := calls()
	before := func(one, other string) {
		t.Helper()
		i, j := slices.Index(got, one), slices.Index(got, other)
		assert.Assert(t, i >= 0 && j >= 0 && i < j, "%q before %q: %q", one, other, got)
	}
	// The tools find in the compiler's cache what Kubernetes has left there; two compile at a time.
	for _, tool := range []string{"host-local", "crictl", "coredns", "containerd"} {
		before("compiled kube-proxy", "compiled "+tool)
	}
	before("compiled crictl", "compiled server")
	before("compiled server", "compiled podnet")
	before("compiled containerd", "compiled runc")
	before("compiled runc", "docker load")
	before("docker load", "docker run")
	before("docker run", "docker exec")
	before("docker exec", "docker commit")
	assert.Equal(t, got[len(got)-1], "docker rm")

	tars, err := filepath.Glob(filepath.Join(b.store.dir, "images-*", "images.tar"))
	assert.NilError(t, err)
	assert.Equal(t, len(tars), 1)
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(tars[0]) })
	assert.NilError(t, err)
	var refs []string
	for _, m := range manifest {
		refs = append(refs, m.RepoTags...)
	}
	slices.Sort(refs)
	assert.DeepEqual(t, refs, []string{
		podnetImage, "registry.k8s.io/coredns/coredns:v1", "registry.k8s.io/etcd:3", "registry.k8s.io/kube-apiserver:v1", "registry.k8s.io/kube-proxy:v1", "registry.k8s.io/pause:3",
	})
	text := strings.Join(*said, "\n")
	for _, want := range []string{"/18 commands of Kubernetes " + Default, "/18 etcd v3.7.0", "/18 node image"} {
		assert.Assert(t, strings.Contains(text, want), "%q is not in\n%s", want, text)
	}

	// The next build finds every piece, and compiles nothing.
	compiled := len(got)
	b.work = t.TempDir()
	assert.NilError(t, b.graph(localRef(Default)).run(t.Context()))
	for _, call := range calls()[compiled:] {
		assert.Assert(t, !strings.HasPrefix(call, "compiled"), call)
	}
}

// A step that fails is named, and nothing that needs it begins.
func TestBuildNamesTheStepThatFails(t *testing.T) {
	b, calls, _ := fakeBuild(t)
	t.Setenv("FAIL", "crictl")
	err := b.graph(localRef(Default)).run(context.Background())
	assert.ErrorContains(t, err, "tools: ")
	assert.ErrorContains(t, err, "no space left for crictl")
	got := calls()
	for _, call := range []string{"compiled server", "docker load", "docker commit"} {
		assert.Assert(t, !slices.Contains(got, call), "%q", got)
	}
}
