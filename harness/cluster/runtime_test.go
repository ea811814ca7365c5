package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	kind "sigs.k8s.io/kind/pkg/cluster"
)

// podman stands in for Podman: containers and volumes are files in a folder, and "run" goes on until its container is removed.
const podman = `#!/bin/sh
cd "$PODMAN_STATE" || exit 1
echo "$@" >>calls
case "$1 $2" in
"--version "*) echo "podman version 4.3.1" ;;
"info "*) echo '{"host":{"cgroupVersion":"v2","cgroupControllers":["memory","pids","cpu"],"security":{"rootless":false}}}' ;;
"inspect --type=image") ;;
"network ls") ls networks ;;
"network create") for n; do :; done; touch "networks/$n" ;;
"network inspect") for n; do :; done; test -e "networks/$n" ;;
"network rm") rm "networks/$3" ;;
"volume create") echo "${4%=true}" >"volumes/v$$"; echo "v$$" ;;
"volume ls")
	if [ "$4" = json ]; then
		sep='['
		for v in volumes/*; do
			test -e "$v" || continue
			printf '%s{"Name":"%s","Labels":{"%s":"true"}}' "$sep" "$(basename "$v")" "$(cat "$v")"
			sep=,
		done
		test "$sep" = '[' || echo ']'
	fi ;;
"volume rm") shift 3; for v; do rm "volumes/$v"; done ;;
"ps -a")
	case "$4" in
	network=*) ls containers ;;
	label=*=*) grep -l "^${4##*=}$" containers/* 2>/dev/null | sed s,containers/,, ;;
	*) ls containers ;;
	esac ;;
"run --name")
	name=$3
	for a; do case "$a" in io.x-k8s.kind.cluster=*) echo "${a#*=}" >"containers/$name" ;; esac; done
	# Only the first container is waited for: nobody would read what the next one writes.
	mkdir announced 2>/dev/null && echo started >"$PODMAN_STARTED"
	while test -e "containers/$name"; do sleep 0.02; done
	echo "container $name was removed" >&2
	exit 125 ;;
"rm -f") shift 5; for c; do rm -f "containers/$c"; done ;;
esac
`

// fakeRuntime runs the stand-in, and nothing where it has none.
type fakeRuntime struct {
	dir                 string
	kubeadm, containerd []string
}

// newRuntime puts the stand-in in front of PATH and returns it with a pipe that tells when a container has been started.
func newRuntime(t *testing.T) (fakeRuntime, func()) {
	t.Helper()
	rt := fakeRuntime{dir: t.TempDir()}
	for _, d := range []string{"bin", "containers", "volumes", "networks", "tmp"} {
		assert.NilError(t, os.Mkdir(filepath.Join(rt.dir, d), 0o700))
	}
	assert.NilError(t, os.WriteFile(filepath.Join(rt.dir, "bin", "podman"), []byte(podman), 0o700))
	fifo := filepath.Join(rt.dir, "started")
	assert.NilError(t, exec.Command("mkfifo", fifo).Run())
	t.Setenv("PATH", filepath.Join(rt.dir, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("PODMAN_STATE", rt.dir)
	t.Setenv("PODMAN_STARTED", fifo)
	t.Setenv("TMPDIR", filepath.Join(rt.dir, "tmp"))
	for _, v := range networkVariables {
		t.Setenv(v, "") // the provider sets them, and the test puts them back
	}
	return rt, func() {
		_, err := os.ReadFile(fifo)
		assert.NilError(t, err)
	}
}

func (r fakeRuntime) Runtime() string   { return "podman" }
func (r fakeRuntime) Environ() []string { return []string{"PODORDER_TEST=1"} }
func (r fakeRuntime) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "podman", args...)
}
func (r fakeRuntime) KindOption() kind.ProviderOption { return kind.ProviderWithPodman() }
func (r fakeRuntime) KubeadmPatches(string) []string  { return r.kubeadm }
func (r fakeRuntime) ContainerdPatches() []string     { return r.containerd }

// left returns everything that there is, but for the stand-in itself.
func (r fakeRuntime) left(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, d := range []string{"containers", "volumes", "networks", "tmp"} {
		assert.NilError(t, filepath.WalkDir(filepath.Join(r.dir, d), func(p string, e os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(r.dir, p); rel != d {
				all = append(all, rel)
			}
			return err
		}))
	}
	return all
}

func (r fakeRuntime) calls(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "calls"))
	assert.NilError(t, err)
	return string(b)
}

// put makes a container and a volume of a cluster, as kind would.
func (r fakeRuntime) put(t *testing.T, cluster string) {
	t.Helper()
	node := cluster + "-control-plane"
	assert.NilError(t, os.WriteFile(filepath.Join(r.dir, "containers", node), []byte(cluster+"\n"), 0o600))
	assert.NilError(t, os.WriteFile(filepath.Join(r.dir, "volumes", "of-"+cluster), []byte(node+"\n"), 0o600))
}

func (r fakeRuntime) has(t *testing.T, cluster string) bool {
	t.Helper()
	return strings.Contains(strings.Join(r.left(t), " "), cluster)
}
