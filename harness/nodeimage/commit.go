package nodeimage

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/harness/host"
)

// Patience, not rules.
const (
	loadPatience   = 10 * time.Minute
	commitPatience = 10 * time.Minute
	importPatience = 5 * time.Minute
	cleanPatience  = time.Minute
)

// runtimeCommand runs the container runtime to its end.
func runtimeCommand(ctx context.Context, h *host.Host, args ...string) (string, error) {
	out, err := finish(ctx, h.Command(ctx, args...), nil)
	return strings.TrimSpace(string(out)), err
}

// load puts an archive into the runtime's store.
func load(ctx context.Context, h *host.Host, file string) error {
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	if _, err := runtimeCommand(ctx, h, "load", "-i", file); err != nil {
		return fmt.Errorf("load the base image: %w", err)
	}
	return nil
}

// removeImage removes an image from the runtime's store, if it is there.
func removeImage(ctx context.Context, h *host.Host, ref string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanPatience)
	defer cancel()
	have, err := present(ctx, h, ref)
	if err != nil || !have {
		return err
	}
	if _, err := runtimeCommand(ctx, h, "rmi", ref); err != nil {
		return fmt.Errorf("clean up after the build: %w", err)
	}
	return nil
}

// labelBuild marks the container in which a node image is made.
const labelBuild = "podorder.build"

// buildLabel is the label of the containers of one builder, which is known by the folder of its store.
func buildLabel(owner string) string { return labelBuild + "=" + keyOf(owner) }

// buildPrefix is what the names of these containers begin with.
const buildPrefix = "podorder-build-"

// builds are the names of the containers with a label in which node images are made. A node has the label as well, since a committed image keeps those
// of its container; so the name has to tell it from a build.
func builds(ctx context.Context, h *host.Host, label string) ([]string, error) {
	out, err := runtimeCommand(ctx, h, "ps", "-a", "--filter", "label="+label, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(out), func(name string) bool { return !strings.HasPrefix(name, buildPrefix) }), nil
}

// commit imports the archive of images into containerd in a container of the image base, and commits that container as ref. owner tells this
// builder's containers from those of others: what a killed build left is removed, what another builds is not.
func commit(ctx context.Context, h *host.Host, base, images, ref, version, owner string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, commitPatience)
	defer cancel()
	label := buildLabel(owner)
	if left, err := builds(ctx, h, label); err == nil && len(left) > 0 {
		if _, err := runtimeCommand(ctx, h, append([]string{"rm", "-f", "-v"}, left...)...); err != nil {
			return fmt.Errorf("remove the container of an interrupted build: %w", err)
		}
	}
	name := fmt.Sprintf(buildPrefix+"%s-%d", strings.NewReplacer(".", "-", "+", "-").Replace(version), os.Getpid())
	clean := func(args ...string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanPatience)
		defer cancel()
		if _, e := runtimeCommand(ctx, h, args...); e != nil && err == nil {
			err = fmt.Errorf("clean up after the build: %w", e)
		}
	}
	if _, err := runtimeCommand(ctx, h, "run", "-d", "--name", name, "--label", label, "--privileged", "--network=none",
		"--entrypoint", "sleep", base, "infinity"); err != nil {
		clean("rm", "-f", "-v", name) // it may have been created all the same
		return fmt.Errorf("start a container of the base image: %w", err)
	}
	defer clean("rm", "-f", "-v", name)
	// What runs in it is the first process, which no signal but this one ends; removing it would wait for 10 seconds.
	defer clean("kill", name)

	if err := importImages(ctx, h, name, images); err != nil {
		return err
	}
	if _, err := runtimeCommand(ctx, h, "commit",
		"--change", `ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]`, "--change", "CMD []", name, ref); err != nil {
		return fmt.Errorf("commit the node image: %w", err)
	}
	return nil
}

// forget removes the images that earlier recipes made of this version, unless a container uses them: nothing asks for them any more.
func forget(ctx context.Context, h *host.Host, version, keep string) {
	out, err := runtimeCommand(ctx, h, "images", "--format", "{{.Repository}}:{{.Tag}}")
	if err != nil {
		return // they only take space
	}
	for _, ref := range strings.Fields(out) {
		if strings.HasPrefix(ref, repository+":"+version+"-") && len(ref) == len(keep) && ref != keep {
			_, _ = runtimeCommand(ctx, h, "rmi", ref)
		}
	}
}

// importImages puts an archive of images into the content store of a container's containerd, packed: a node unpacks what it runs. The archive was made here,
// complete and without an index, so taking all of its platforms is taking the one there is.
func importImages(ctx context.Context, h *host.Host, container, file string) error {
	ctx, cancel := context.WithTimeout(ctx, importPatience)
	defer cancel()
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open the archive of images: %w", err)
	}
	defer f.Close()
	load := h.Command(ctx, "exec", "-i", container, "sh", "-c", importScript)
	load.Stdin = f
	if _, err := finish(ctx, load, nil); err != nil {
		return fmt.Errorf("import images into the node: %w", err)
	}
	return nil
}

// importScript starts containerd, waits until it answers, imports the archive on standard input, and waits until containerd has ended.
const importScript = `
containerd >/tmp/containerd.log 2>&1 &
daemon=$!
until ctr version >/dev/null 2>&1; do
	kill -0 $daemon || { tail -n 3 /tmp/containerd.log >&2; exit 1; }
	sleep 0.1
done
ctr -n k8s.io images import --label=io.cri-containerd.pinned=pinned --all-platforms --no-unpack - >/dev/null || exit 1
kill $daemon
wait $daemon
rm -rf /run/containerd /tmp/containerd.log
`
