package nodeimage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// goEnv is the environment of every call of the go command, beside the user's own: the caches, the proxy and the checksum database stay as
// the user has them.
var goEnv = []string{"GOWORK=off"}

// goEnvOf is goEnv for what belongs to one Kubernetes version.
func goEnvOf(version string) []string {
	if t := adjustments[version].toolchain; t != "" {
		return append([]string{"GOTOOLCHAIN=" + t}, goEnv...)
	}
	return goEnv
}

// downloaded is what `go mod download -json` says of a module.
type downloaded struct{ Path, Version, Dir, GoMod, Error string }

// download fetches modules into the module cache. A module that cannot be had has its Error set; the error returned is about everything else.
func download(ctx context.Context, env []string, modules ...string) ([]downloaded, error) {
	// Outside any module, so that no go.mod of the user has a say.
	dir, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "podorder-mod-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	out, runErr := run(ctx, dir, env, nil, "go", append([]string{"mod", "download", "-json"}, modules...)...)
	var all []downloaded
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var d downloaded
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go mod download printed: %w", errors.Join(err, runErr))
		}
		all = append(all, d)
	}
	if len(all) != len(modules) {
		// With modules that cannot be had the command fails as well, but has an entry for each.
		return nil, fmt.Errorf("download modules: %w", runErr)
	}
	return all, nil
}

// served lists the versions of a module that the module proxy admits to.
func served(ctx context.Context, module string) ([]string, error) {
	dir, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "podorder-mod-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	out, err := run(ctx, dir, goEnv, nil, "go", "list", "-m", "-versions", module)
	if err != nil {
		return nil, fmt.Errorf("ask for the versions of %s: %w", module, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) == 0 {
		return nil, nil
	}
	return fields[1:], nil
}

// UnavailableError says that a Kubernetes version can neither be pulled nor built.
type UnavailableError struct {
	Version string
	Nearest []string // versions that can be had, the nearest first
	Why     string
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("Kubernetes %s is not available: no published node image is pinned for it, and its module is not served (%s)", e.Version, e.Why)
	if len(e.Nearest) > 0 {
		text += "; the nearest that is available: " + strings.Join(e.Nearest, ", ")
	}
	return text
}

// unavailable is the error for a version that cannot be had, where the module proxy has the versions in served.
func unavailable(version, why string, served []string) *UnavailableError {
	all := slices.DeleteFunc(slices.Clone(served), func(v string) bool { return CheckVersion(v) != nil })
	for v := range digests {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	near := nearest(version, all, 6)
	for i, v := range near {
		if !slices.Contains(served, v) {
			near[i] += " (by pulling only)"
		}
	}
	return &UnavailableError{Version: version, Nearest: near, Why: why}
}

// source is the module of one Kubernetes version.
type source struct {
	dir  string        // its files
	mod  *modfile.File // its go.mod
	etcd string        // the etcd release that its kubeadm asks for: "v3.6.5"
}

// kubernetesSource fetches k8s.io/kubernetes. The error is an *UnavailableError where the version is not served.
func kubernetesSource(ctx context.Context, version string) (*source, error) {
	got, err := download(ctx, goEnvOf(version), "k8s.io/kubernetes@"+version)
	if err != nil {
		return nil, err
	}
	d := got[0]
	if d.Error != "" {
		versions, err := served(ctx, "k8s.io/kubernetes")
		if err != nil {
			return nil, fmt.Errorf("the module of Kubernetes %s cannot be fetched (%s), nor the list of versions: %w", version, d.Error, err)
		}
		return nil, unavailable(version, firstLine(d.Error), versions)
	}
	b, err := os.ReadFile(d.GoMod)
	if err != nil {
		return nil, fmt.Errorf("read go.mod of Kubernetes %s: %w", version, err)
	}
	mod, err := modfile.Parse("go.mod of k8s.io/kubernetes", b, nil)
	if err != nil {
		return nil, fmt.Errorf("read go.mod of Kubernetes %s: %w", version, err)
	}
	etcd, err := etcdRelease(os.DirFS(d.Dir))
	if err != nil {
		return nil, fmt.Errorf("the source of Kubernetes %s: %w", version, err)
	}
	return &source{dir: d.Dir, mod: mod, etcd: etcd}, nil
}

var etcdConstant = regexp.MustCompile(`DefaultEtcdVersion = "(\d+\.\d+\.\d+)`)

// etcdRelease reads from the source of kubeadm which etcd it starts.
func etcdRelease(fsys fs.FS) (string, error) {
	const file = "cmd/kubeadm/app/constants/constants.go"
	b, err := fs.ReadFile(fsys, file)
	if err != nil {
		return "", fmt.Errorf("find the etcd release: %w", err)
	}
	m := etcdConstant.FindSubmatch(b)
	if m == nil {
		return "", fmt.Errorf("find the etcd release: %s has no DefaultEtcdVersion", file)
	}
	return "v" + string(m[1]), nil
}

// examples are staging modules that only tests of Kubernetes import. For some minors no version of them is served.
var examples = []string{"k8s.io/sample-apiserver"}

// stagingVersions finds a served version for each staging module: the exact patch, else the nearest one of the same minor. Those that cannot be had and are
// not needed either are missing.
func stagingVersions(ctx context.Context, version string, src *source, note func(string, ...any)) (versions map[string]string, missing []string, err error) {
	want := stagingVersion(version)
	var modules []string
	for _, path := range stagingModules(src.mod) {
		modules = append(modules, path+"@"+want)
	}
	got, err := download(ctx, goEnvOf(version), modules...)
	if err != nil {
		return nil, nil, err
	}
	versions = map[string]string{}
	for _, d := range got {
		versions[d.Path] = want
		if d.Error == "" || adjustments[version].standsIn(d.Path) {
			continue
		}
		v, err := servedNear(ctx, goEnvOf(version), d.Path, want)
		if err != nil && ctx.Err() == nil && slices.Contains(examples, d.Path) {
			note("no %s near %s is served; going without", d.Path, want)
			missing = append(missing, d.Path)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s@%s is not served (%s): %w", d.Path, want, firstLine(d.Error), err)
		}
		note("%s %s is not served; using %s", d.Path, want, v)
		versions[d.Path] = v
	}
	return versions, missing, nil
}

// servedNear is the version of a module that is nearest to want, within its minor, and can be had.
func servedNear(ctx context.Context, env []string, module, want string) (string, error) {
	list, err := served(ctx, module)
	if err != nil {
		return "", err
	}
	for _, v := range patchesNear(want, list) {
		got, err := download(ctx, env, module+"@"+v)
		if err != nil {
			return "", err
		}
		if got[0].Error == "" {
			return v, nil
		}
	}
	return "", fmt.Errorf("no version of %s near %s is served", module, want)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// writeModule writes a module with the given go.mod into dir, with the checksums that Kubernetes itself was released with.
func writeModule(dir string, mod []byte, src *source) error {
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o644); err != nil {
		return fmt.Errorf("write go.mod: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(src.dir, "go.sum"))
	if err != nil {
		return fmt.Errorf("read the checksums of Kubernetes: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644); err != nil {
		return fmt.Errorf("write go.sum: %w", err)
	}
	return nil
}
