package run

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/flags"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/fixtures/image"
	"github.com/podorder/podorder/harness/archive"
	"github.com/podorder/podorder/reference"
)

// Options are the flags of the suites beside those of go test. Those of
// e2e-framework that mean something here are among them, by the same names.
type Options struct {
	// Kubeconfig and Context name a cluster that exists.
	Kubeconfig, Context string
	// Kubernetes is the version of the cluster that is made. With a cluster
	// that exists it is what its kubelets must be.
	Kubernetes string
	// Kubelets are the versions of the kubelets, separated by commas, that the
	// cases are run on in one cluster. Kubernetes is then the version of its
	// control plane.
	Kubelets string
	// KubeletFiles are kubelets of the user's own build, separated by commas, each for a
	// worker of its own beside those of Kubelets.
	KubeletFiles string
	// RaiseInotify lets the run raise a limit of this machine that keeps it from
	// having many nodes at once. It is put back at the end.
	RaiseInotify bool
	// Repeat is how often each case is run.
	Repeat int
	// Again lets a case that came out inconclusive be run once more.
	Again bool
	// NodeImage is the image of the nodes, instead of the one that is found
	// or made for the version.
	NodeImage string
	// Keep leaves the cluster in place for the next run, or in a cluster that
	// exists the namespaces of the cases. Their Pods are deleted all the same:
	// how a Pod ends belongs to what is judged.
	Keep bool
	// Artifacts is the folder that everything is written to.
	Artifacts string
	// Cases is a regular expression that selects cases by their path.
	Cases string
	// Fixtures are folders of cases, separated by commas, that are run instead of those
	// that are built in; "built-in" among them stands for these.
	Fixtures string
	// RecorderImage and ShellImage are images that the nodes can pull, in
	// place of those that are assembled and loaded.
	RecorderImage, ShellImage string
	// ImageMirror is where the nodes pull all images of the test Pods from, by the names that
	// scripts/images gives them there; and the runtime the node image.
	ImageMirror string
	// NoInstall refuses to install a container runtime.
	NoInstall bool
	// Strict lets a known verdict fail the run.
	Strict bool
	// FeatureGates are set in the cluster that is made, and have a cluster that
	// exists judged as one that has them.
	FeatureGates string
	// List and DryRun print the cases that a run would run, and run none.
	List, DryRun bool
	// Shard is the part of the cases that is run, "2/3".
	Shard string
	// Resume keeps what an earlier run recorded into the same folder, and runs the rest.
	Resume bool
	// FailFast lets no further case begin once one has failed.
	FailFast bool
	// Labels and SkipLabels select cases by their labels, Feature and SkipFeatures
	// are regular expressions that select them by their name in the group.
	Labels, SkipLabels    flags.LabelsMap
	Feature, SkipFeatures string
}

// Register adds the flags to a set.
func (o *Options) Register(fs *flag.FlagSet) {
	fs.StringVar(&o.Kubernetes, "kubernetes", "", "`version` of the cluster to make; with -kubeconfig or -context, the version that its kubelets must have")
	fs.StringVar(&o.Kubelets, "kubelets", "", "`versions` of kubelets, separated by commas: run every case on each of them, on its own worker node; -kubernetes is then the version of the control plane")
	fs.StringVar(&o.KubeletFiles, "kubelet-files", "", "`files`, separated by commas: kubelets of your own build, statically linked, each on its own worker node; each is asked for its version")
	fs.BoolVar(&o.RaiseInotify, "raise-inotify", false, "as root, raise fs.inotify.max_user_instances for the run if more nodes need it, and restore it afterwards")
	fs.IntVar(&o.Repeat, "repeat", 1, "run every case `n` times")
	fs.BoolVar(&o.Again, "again", true, "run an inconclusive case a second time; not with -repeat")
	fs.StringVar(&o.NodeImage, "node-image", "", "`image` of the nodes, instead of the one that is found or made for the version")
	fs.BoolVar(&o.Keep, "keep", false, "leave the cluster in place for the next run; in a cluster that exists, leave the namespaces of the cases")
	fs.StringVar(&o.Artifacts, "artifacts", "artifacts", "`folder` for everything that is written; a relative path starts at the root of the repository")
	fs.StringVar(&o.Cases, "cases", "", "run only the cases whose path matches the `regexp`")
	fs.StringVar(&o.Fixtures, "fixtures", "", "run the cases of these `folders`, separated by commas, instead of those that are built in; \"built-in\" among them keeps these as well")
	fs.StringVar(&o.RecorderImage, "recorder-image", "", "recorder `image` that the nodes can pull, instead of the one that is loaded into them")
	fs.StringVar(&o.ShellImage, "shell-image", "", "shell `image` that the nodes can pull, instead of the one that is loaded into them")
	fs.StringVar(&o.ImageMirror, "image-mirror", "", "`registry`, or folder of one, that the nodes pull every image from, the node image included; scripts/images -push fills it")
	fs.BoolVar(&o.NoInstall, "no-install", false, "never install a container runtime")
	fs.BoolVar(&o.Strict, "strict", false, "let a known issue fail the run")
	fs.BoolVar(&o.List, "list", false, "print the cases that a run with the same flags would run, and run none")
	fs.BoolVar(&o.DryRun, "dry-run", false, "the same as -list")
	fs.BoolVar(&o.FailFast, "fail-fast", false, "start no further case after one has failed")
	fs.StringVar(&o.Shard, "shard", "", "run one `part` of the cases, such as 2/3; all parts take about as long, and have each case once")
	fs.BoolVar(&o.Resume, "resume", false, "go on where an earlier run with the same -artifacts and the same flags was interrupted: keep what it recorded")
	fs.StringVar(&o.FeatureGates, "feature-gates", "", "feature `gates` that affect order and differ from the defaults (ContainerStopSignals=true,...): set in the cluster that is made; with one that exists, say what its kubelets have")
	o.Labels, o.SkipLabels = flags.LabelsMap{}, flags.LabelsMap{}
	fs.Var(o.Labels, "labels", "run only the cases with these labels, `key=value,...`: group, rule, kubelet, long, node")
	fs.Var(o.SkipLabels, "skip-labels", "leave out the cases with one of these labels, `key=value,...`")
	fs.StringVar(&o.Feature, "feature", "", "run only the cases whose name in their group matches the `regexp`")
	fs.StringVar(&o.SkipFeatures, "skip-features", "", "leave out the cases whose name in their group matches the `regexp`")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "run on the cluster of this `file`")
	fs.StringVar(&o.Context, "context", "", "run on the cluster of this context of the kubeconfig, a `name`")
	for name, why := range notHere {
		fs.Var(refusal{name, why}, name, "not here: "+why)
	}
}

// config is what e2e-framework needs to know of the flags to select cases.
func (o *Options) config() (*envconf.Config, error) {
	cfg := envconf.New().WithKubeconfigFile(o.Kubeconfig).WithKubeContext(o.Context).WithLabels(o.Labels).WithSkipLabels(o.SkipLabels)
	for _, f := range []struct {
		name, expr string
		set        func(string) *envconf.Config
	}{
		{"feature", o.Feature, cfg.WithFeatureRegex}, {"skip-features", o.SkipFeatures, cfg.WithSkipFeatureRegex},
	} {
		if _, err := regexp.Compile(f.expr); err != nil {
			return nil, fmt.Errorf("-%s: %w", f.name, err)
		}
		if f.expr != "" {
			f.set(f.expr)
		}
	}
	return cfg, nil
}

// target is where the suite runs: a cluster that exists if either is set.
type target struct{ kubeconfig, context string }

func (t target) exists() bool { return t.kubeconfig != "" || t.context != "" }

// check reports flags that cannot be meant together.
func (o *Options) check(t target) error {
	if o.Kubernetes != "" {
		if _, err := reference.ParseKubelet(o.Kubernetes); err != nil {
			return fmt.Errorf("-kubernetes: %w", err)
		}
	}
	if _, err := parseKubelets(o.Kubelets); err != nil {
		return err
	}
	if o.Repeat < 1 {
		return fmt.Errorf("-repeat: a case cannot be run %d times", o.Repeat)
	}
	if o.ImageMirror != "" {
		if _, err := archive.Mirrored(o.ImageMirror, image.RecorderRef); err != nil {
			return fmt.Errorf("-image-mirror: %w", err)
		}
	}
	if !t.exists() {
		return needsLinux(runtime.GOOS)
	}
	if runtime.GOOS != "linux" && o.RecorderImage == "" && o.ImageMirror == "" {
		return fmt.Errorf("on %s the suite does not make the images of the test Pods: push them to where the nodes can pull them from (scripts/images -push), and name that with -image-mirror", runtime.GOOS)
	}
	if o.Kubelets != "" && o.Kubernetes != "" {
		return errors.New("-kubernetes says which kubelets a cluster that exists must have, and -kubelets which of them to use: give one or the other")
	}
	if o.KubeletFiles != "" {
		return errors.New("-kubelet-files are for nodes that are made, -kubeconfig and -context use those of a cluster that exists: give one or the other")
	}
	if o.RaiseInotify {
		return errors.New("-raise-inotify is for nodes that are made, -kubeconfig and -context use those of a cluster that exists: give one or the other")
	}
	if o.NodeImage != "" {
		return errors.New("-node-image makes a cluster, -kubeconfig and -context use one that exists: give one or the other")
	}
	if t.kubeconfig != "" {
		f, err := os.Open(t.kubeconfig)
		if err != nil {
			return fmt.Errorf("-kubeconfig: %w", err)
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return fmt.Errorf("-kubeconfig: %s is a folder", t.kubeconfig)
		}
	}
	return nil
}

// needsLinux reports a system on which no cluster can be made.
func needsLinux(goos string) error {
	if goos == "linux" {
		return nil
	}
	return fmt.Errorf("making a cluster takes Linux, and this is %s: name a cluster that exists with -kubeconfig or -context, and with -image-mirror the registry that its nodes pull from; or run in a Linux machine (a VM, WSL 2). scripts/judge and scripts/explain work here", goos)
}

// selectCases returns the cases that -cases selects. Selecting nothing is an
// error: a run without a case would look like one that passed.
func selectCases(cases []fixtures.Case, expr string) ([]fixtures.Case, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("-cases: %w", err)
	}
	if selected := fixtures.Select(cases, re); len(selected) > 0 {
		return selected, nil
	}
	var groups []string
	for _, c := range cases {
		g, _, nested := strings.Cut(c.ID, "/")
		if nested {
			g += "/"
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return nil, fmt.Errorf("-cases: none of the %d cases matches %q; their paths begin with %s, and -args -list prints them all", len(cases), expr, strings.Join(groups, ", "))
}

// root returns the folder of the module around a folder. go test runs a test
// in the folder of its package, so that the paths of flags would otherwise
// depend on where a package happens to lie.
func root(from string) (string, error) {
	for dir := from; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %s", from)
		}
	}
}

// absolute returns a path as seen from the root of the repository.
func absolute(root, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}
