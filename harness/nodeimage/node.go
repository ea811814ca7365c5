package nodeimage

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podorder/podorder/fixtures/image/layer"
	"github.com/podorder/podorder/harness/archive"
)

// nodePieces are what the file system of a node is made of.
type nodePieces struct{ kubernetes, runc, containerd, tools, root piece }

// addKind fetches the base files of kind's own node image.
func (b *builder) addKind(g *graph) *made[fs.FS] {
	return add(g, task[fs.FS]{
		name: "kind", line: func() string { return "base files of kind " + kindRelease },
		make: func(ctx context.Context, _ *step) (fs.FS, error) { return kindFiles(ctx) },
	})
}

// addBase loads the node image without the images of the control plane into the runtime, and returns its reference.
func (b *builder) addBase(g *graph, kind *made[fs.FS], kubernetes, runc, containerd, tools, root *made[piece]) *made[string] {
	return add(g, task[string]{
		name: "base", needs: []need{kind, kubernetes, runc, containerd, tools, root}, line: func() string { return "base of the node image" },
		make: func(ctx context.Context, s *step) (string, error) {
			of := nodePieces{from(s, kubernetes), from(s, runc), from(s, containerd), from(s, tools), from(s, root)}
			file, err := b.base(ctx, from(s, kind), of)
			if err != nil {
				return "", fmt.Errorf("put together the base of the node image: %w", err)
			}
			return baseRef(b.version), load(ctx, b.host, file)
		},
	})
}

// addNode makes the node image, ref: the base, and the images imported into it.
func (b *builder) addNode(g *graph, ref string, images, base *made[string]) *made[string] {
	return add(g, task[string]{
		name: "node", needs: []need{images, base}, line: func() string { return "node image" },
		make: func(ctx context.Context, s *step) (string, error) {
			return ref, commit(ctx, b.host, from(s, base), from(s, images), ref, b.version, b.store.dir)
		},
	})
}

// kindFiles are the base files of kind's own node image, from the module that this program is built with.
func kindFiles(ctx context.Context) (fs.FS, error) {
	got, err := download(ctx, goEnv, "sigs.k8s.io/kind@"+kindRelease)
	if err != nil {
		return nil, err
	}
	if got[0].Error != "" {
		return nil, fmt.Errorf("fetch kind's base files: %s", firstLine(got[0].Error))
	}
	dir := filepath.Join(got[0].Dir, "images", "base", "files")
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("fetch kind's base files: %w", err)
	}
	return os.DirFS(dir), nil
}

// base writes the archive of the node's base image and returns its path.
func (b *builder) base(ctx context.Context, kind fs.FS, of nodePieces) (string, error) {
	t, err := b.nodeFiles(ctx, kind, of)
	if err != nil {
		return "", err
	}
	// The archive is read once, by a runtime on the same machine: compressing it would only take time.
	root, err := layer.FromFile(filepath.Join(of.root.dir, "root.tar"), gzip.NoCompression)
	if err != nil {
		return "", err
	}
	files, err := t.Layer(gzip.NoCompression)
	if err != nil {
		return "", err
	}
	img, err := layer.Image(runtime.GOARCH, v1.Config{
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		StopSignal: "SIGRTMIN+3", // which is how systemd is told to end
		Env: []string{
			"container=docker", // systemd looks for it
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		},
		Labels: map[string]string{labelVersion: b.version, labelRecipe: recipe()},
	}, root, files)
	if err != nil {
		return "", err
	}
	file := filepath.Join(b.work, "base.tar")
	return file, archive.Write(file, map[string]v1.Image{baseRef(b.version): img})
}

// Labels of images that were built here.
const (
	labelVersion = "podorder.kubernetes"
	labelRecipe  = "podorder.recipe"
)

// baseRepository has the base images, each for as long as its node image is made.
const baseRepository = "localhost/podorder/node-base"

func baseRef(version string) string {
	return baseRepository + ":" + version + "-" + recipe()
}

// nodeFiles is everything in the node's file system beside the Debian packages.
func (b *builder) nodeFiles(ctx context.Context, kind fs.FS, of nodePieces) (layer.Tree, error) {
	t := layer.Tree{}
	err := fs.WalkDir(kind, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(p, "LICENSES/") {
			return err
		}
		data, err := fs.ReadFile(kind, p)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if strings.HasPrefix(p, "usr/local/bin/") || strings.HasPrefix(p, "kind/bin/") {
			mode = 0o755
		}
		t.File(p, mode, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read kind's base files: %w", err)
	}
	for _, c := range []string{"kubelet", "kubeadm", "kubectl"} {
		t.Copy("usr/bin/"+c, 0o755, filepath.Join(of.kubernetes.dir, c))
	}
	t.Copy("usr/local/sbin/runc", 0o755, filepath.Join(of.runc.dir, "runc"))
	for _, p := range containerd.packages {
		t.Copy("usr/local/bin/"+path.Base(p), 0o755, filepath.Join(of.containerd.dir, path.Base(p)))
	}
	for _, tl := range tools {
		where := "usr/local/bin/"
		if tl.name == "cni-plugins" {
			where = "opt/cni/bin/"
		}
		for _, p := range tl.packages { // CoreDNS has none: it runs as a Pod
			t.Copy(where+path.Base(p), 0o755, filepath.Join(of.tools.dir, path.Base(p)))
		}
	}
	spec, err := baseSpec(ctx, filepath.Join(of.containerd.dir, "ctr"))
	if err != nil {
		return nil, err
	}
	t.File("etc/containerd/cri-base.json", 0o644, spec)
	t.File("kind/version", 0o644, []byte(b.version))
	for _, m := range []string{"default-cni.yaml", "default-storage.yaml"} {
		data, err := sources.ReadFile("manifests/" + m)
		if err != nil {
			return nil, err
		}
		t.File("kind/manifests/"+m, 0o644, data)
	}
	// The kernel's messages are the host's, and would only confuse.
	t.File("etc/systemd/journald.conf.d/podorder.conf", 0o644, []byte("[Journal]\nReadKMsg=no\n"))
	for _, unit := range []string{"kubelet", "containerd", "undo-mount-hacks"} {
		t.Symlink("etc/systemd/system/multi-user.target.wants/"+unit+".service", "/etc/systemd/system/"+unit+".service")
	}
	// It registers with the kernel, which is shared with the host.
	t.Symlink("etc/systemd/system/systemd-binfmt.service", "/dev/null")
	t.Folder("etc/kubernetes/manifests", 0o755)
	return t, nil
}

// baseSpec is the runtime specification that every container of the node starts from: what containerd would use, with kind's hook that
// hides the host's product name, and without limits, so that containers inherit those of the node.
func baseSpec(ctx context.Context, ctr string) ([]byte, error) {
	out, err := run(ctx, "", nil, nil, ctr, "oci", "spec")
	if err != nil {
		return nil, fmt.Errorf("ask containerd for its default specification: %w", err)
	}
	return editSpec(out)
}

func editSpec(spec []byte) ([]byte, error) {
	var s map[string]any
	if err := json.Unmarshal(spec, &s); err != nil {
		return nil, fmt.Errorf("read containerd's default specification: %w", err)
	}
	process, ok := s["process"].(map[string]any)
	if !ok {
		return nil, errors.New("read containerd's default specification: it has no process")
	}
	delete(process, "rlimits")
	hooks, _ := s["hooks"].(map[string]any)
	if hooks == nil {
		hooks = map[string]any{}
		s["hooks"] = hooks
	}
	create, _ := hooks["createContainer"].([]any)
	hooks["createContainer"] = append(create, map[string]any{"path": "/kind/bin/mount-product-files.sh"})
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("write the node's default specification: %w", err)
	}
	return b.Bytes(), nil
}
