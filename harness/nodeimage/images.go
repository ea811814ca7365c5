package nodeimage

import (
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podorder/podorder/fixtures/image/layer"
	"github.com/podorder/podorder/harness/archive"
)

// imagePieces are what the images of the control plane and of every node are made of.
type imagePieces struct{ kubernetes, support, etcd, tools, networkRoot piece }

func (p imagePieces) keys() []string {
	return []string{p.kubernetes.key, p.support.key, p.etcd.key, p.tools.key, p.networkRoot.key}
}

// addImages makes the archive of the images that a control plane and every node run, and returns its path.
func (b *builder) addImages(g *graph, kind *made[fs.FS], kubernetes, support, etcd, tools, networkRoot *made[piece]) *made[string] {
	return add(g, task[string]{
		name: "images", needs: []need{kind, kubernetes, support, etcd, tools, networkRoot}, line: func() string { return "images of the control plane" },
		make: func(ctx context.Context, s *step) (string, error) {
			config, err := fs.ReadFile(from(s, kind), containerdConfig)
			if err != nil {
				return "", fmt.Errorf("read kind's containerd configuration: %w", err)
			}
			sandbox := sandboxImage(string(config))
			of := imagePieces{from(s, kubernetes), from(s, support), from(s, etcd), from(s, tools), from(s, networkRoot)}
			key := keyOf(append([]string{recipeRevision, sandbox}, of.keys()...)...)
			made, err := b.store.piece("images-"+b.version, key, func(dir string) error {
				out, err := run(ctx, "", nil, nil, filepath.Join(of.kubernetes.dir, "kubeadm"), "config", "images", "list", "--kubernetes-version", b.version)
				if err != nil {
					return fmt.Errorf("ask kubeadm for the images it wants: %w", err)
				}
				return writeImages(filepath.Join(dir, "images.tar"), strings.Fields(string(out)), sandbox, of)
			})
			return filepath.Join(made.dir, "images.tar"), err
		},
	})
}

const containerdConfig = "etc/containerd/config.toml"

var sandboxLine = regexp.MustCompile(`(?m)^\s*sandbox_image\s*=\s*"([^"]+)"`)

// sandboxImage is the pause image that a containerd configuration names; empty if it names none.
func sandboxImage(config string) string {
	if m := sandboxLine.FindStringSubmatch(config); m != nil {
		return m[1]
	}
	return ""
}

// writeImages writes an archive with an image for each reference.
func writeImages(file string, refs []string, sandbox string, of imagePieces) error {
	network, err := networkLayers(of.networkRoot.dir)
	if err != nil {
		return err
	}
	refs = append(refs, podnetImage)
	if sandbox != "" {
		refs = append(refs, sandbox)
	}
	all := map[string]v1.Image{}
	for _, ref := range refs {
		program := path.Base(strings.Split(ref, ":")[0])
		var from, at string
		var base []v1.Layer
		switch program {
		case "kube-proxy":
			from, at, base = filepath.Join(of.kubernetes.dir, program), "usr/local/bin/kube-proxy", network
		case "podnet":
			from, at, base = filepath.Join(of.support.dir, program), "usr/local/bin/podnet", network
		case "kube-apiserver", "kube-controller-manager", "kube-scheduler":
			from, at = filepath.Join(of.kubernetes.dir, program), "usr/local/bin/"+program
		case "etcd":
			from, at = filepath.Join(of.etcd.dir, program), "usr/local/bin/etcd"
		case "coredns":
			from, at = filepath.Join(of.tools.dir, program), "coredns"
		case "pause":
			from, at = filepath.Join(of.support.dir, program), "pause"
		default:
			return fmt.Errorf("kubeadm wants the image %s, and there is no recipe for it", ref)
		}
		t := layer.Tree{}
		t.Copy(at, 0o755, from)
		l, err := t.Layer(gzip.BestSpeed)
		if err != nil {
			return fmt.Errorf("pack %s: %w", program, err)
		}
		img, err := layer.Image(runtime.GOARCH, v1.Config{
			Entrypoint: []string{"/" + at}, WorkingDir: "/",
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		}, append(append([]v1.Layer{}, base...), l)...)
		if err != nil {
			return fmt.Errorf("make image %s: %w", ref, err)
		}
		all[ref] = img
	}
	return archive.Write(file, all)
}

// networkLayers are the layers of an image whose program calls iptables, nft or ip.
func networkLayers(root string) ([]v1.Layer, error) {
	debian, err := layer.FromFile(filepath.Join(root, "root.tar"), gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	// The packages are unpacked, not configured, so nothing has chosen an iptables. Every kernel in use has nf_tables.
	t := layer.Tree{}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			t.Symlink("usr/sbin/"+family+suffix, "xtables-nft-multi")
		}
	}
	choice, err := t.Layer(gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	return []v1.Layer{debian, choice}, nil
}
