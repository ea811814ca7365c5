package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"github.com/podorder/podorder/fixtures"
)

// Suite is one run of the suites. Its flags are registered by [New], so there
// can be one per process.
type Suite struct {
	options  Options
	progress *Progress

	// Known once the flags are read.
	root      string // of the repository
	artifacts string
	target    target
	all       []fixtures.Case
	cases     []fixtures.Case // those that are selected
	again     []string        // flags that a rerun needs
	env       types.Environment

	// Known once there is a cluster.
	kubernetes string
	node       node
	record     recorder
	slots      *semaphore.Weighted

	mu      sync.Mutex
	results []Result
	started time.Time // of the first case
	ended   time.Time // of the last verdict
	ready   time.Duration
}

// node is where the Pods of the cases run.
type node struct {
	name, kubelet, runtime string
}

// New registers the flags of the suites and returns a run that has done nothing
// yet.
func New() *Suite {
	s := &Suite{}
	s.options.Register(flag.CommandLine)
	return s
}

// Main is the body of TestMain: it brings up the cluster, runs the tests and
// reports. It returns the exit status.
func (s *Suite) Main(m *testing.M) int {
	flag.CommandLine.Usage = usage
	cfg, err := envconf.NewFromFlags()
	if err != nil {
		return complain(err)
	}
	if lookup("test.list") != "" {
		return m.Run() // only prints the names of tests
	}
	out, live, done := streams(lookup("test.v") != "false")
	defer done()
	s.progress = NewProgress(out, live)
	if flag.NArg() > 0 {
		return complain(fmt.Errorf("unexpected argument %q; go test has flags -artifacts and -list of its own, so those of the suite stand behind -args", flag.Arg(0)))
	}
	if err := s.configure(cfg); err != nil {
		return complain(err)
	}
	if s.options.List || cfg.DryRunMode() {
		for _, c := range s.cases {
			fmt.Fprintf(out, "%s\n    %s\n", c.ID, c.Title)
		}
		return 0
	}
	return s.main(m, cfg)
}

// configure checks everything that can be checked without a cluster.
func (s *Suite) configure(cfg *envconf.Config) error {
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the root of the repository: %w", err)
	}
	if s.root, err = root(wd); err != nil {
		return fmt.Errorf("finding the root of the repository: %w", err)
	}
	s.artifacts = absolute(s.root, s.options.Artifacts)
	s.target = target{kubeconfig: absolute(s.root, cfg.KubeconfigFile()), context: cfg.KubeContext()}
	cfg.WithKubeconfigFile(s.target.kubeconfig)
	if err := s.options.check(s.target); err != nil {
		return err
	}
	if s.all, err = fixtures.All(); err != nil {
		return fmt.Errorf("reading the cases: %w", err)
	}
	if s.cases, err = selectCases(s.all, s.options.Cases); err != nil {
		return err
	}
	for i, c := range s.cases {
		if s.cases[i], err = s.withImages(c); err != nil {
			return err
		}
	}
	s.again = rerunFlags(flag.CommandLine)
	if !cfg.FailFast() {
		// e2e-framework then starts all features of a test at once; slots
		// bounds how many of them run.
		cfg.WithParallelTestEnabled()
	}
	return nil
}

// Group runs the selected cases of a group, one subtest each. It is the body of
// a test function.
func (s *Suite) Group(t *testing.T, group string) {
	t.Parallel()
	var fs []features.Feature
	for _, c := range s.cases {
		if groupOf(c.ID) == group {
			fs = append(fs, s.feature(c))
		}
	}
	if len(fs) == 0 {
		t.Skipf("-cases selects no case of group %s", group)
	}
	s.env.TestInParallel(t, fs...)
}

// feature makes a case known to e2e-framework, so that its flags select cases
// by name and label.
func (s *Suite) feature(c fixtures.Case) features.Feature {
	group, name, _ := strings.Cut(c.ID, "/")
	b := features.New(name).WithLabel("group", group)
	for _, rule := range c.Rules {
		b.WithLabel("rule", rule)
	}
	return b.Assess("verdict", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		res := s.one(ctx, c)
		s.add(res)
		switch {
		case res.Skipped != "":
			t.Skip(res.Skipped)
		case res.fails(s.options.Strict):
			t.Errorf("%s: %s", res.Word(), res.what())
		}
		return ctx
	}).Feature()
}

// one runs a case as soon as there is room for it.
func (s *Suite) one(ctx context.Context, c fixtures.Case) Result {
	if !c.Versions.Includes(s.node.kubelet) {
		return Result{Case: c.ID, Title: c.Title, Kubelet: s.node.kubelet, Skipped: "for kubelet " + c.Versions.String()}
	}
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return s.notRun(c, context.Cause(ctx))
	}
	defer s.slots.Release(1)
	if ctx.Err() != nil {
		return s.notRun(c, context.Cause(ctx))
	}
	s.mu.Lock()
	if s.started.IsZero() {
		s.started = time.Now()
	}
	s.mu.Unlock()
	return s.settle(ctx, c, s.node.kubelet)
}

func (s *Suite) add(res Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, res)
	s.ended = time.Now()
}

// report returns what came of the run so far.
func (s *Suite) report() *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Report{
		Kubernetes: s.kubernetes, Runtime: s.node.runtime, Strict: s.options.Strict,
		Results: slices.Clone(s.results), Cluster: s.ready,
	}
	if !s.started.IsZero() {
		r.Wall = s.ended.Sub(s.started)
	}
	return r
}

// finish prints and saves the report and returns the exit status. status is
// that of the tests.
func (s *Suite) finish(status int) int {
	r := s.report()
	if len(r.Results) > 0 {
		s.progress.Print("\n" + r.Table())
	}
	if err := s.saveReport(r); err != nil {
		return complain(err)
	}
	if len(r.Results) > 0 {
		s.progress.Print(fmt.Sprintf("everything that was recorded: %s\n\n", s.shown(s.artifacts)))
	}
	if err := r.Err(); err != nil {
		return complain(err)
	}
	return status
}

// The reports of a run, in the folder of the artifacts.
const (
	summaryFile  = "summary.md"
	verdictsFile = "verdicts.json"
)

// saveReport writes summary.md and verdicts.json.
func (s *Suite) saveReport(r *Report) error {
	b, err := r.JSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.artifacts, 0o755); err != nil {
		return fmt.Errorf("making the folder of the artifacts: %w", err)
	}
	if err := os.WriteFile(filepath.Join(s.artifacts, verdictsFile), b, 0o644); err != nil {
		return fmt.Errorf("saving the verdicts: %w", err)
	}
	text := r.Markdown()
	if err := os.WriteFile(filepath.Join(s.artifacts, summaryFile), []byte(text), 0o644); err != nil {
		return fmt.Errorf("saving the summary: %w", err)
	}
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("adding to the step summary: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("adding to the step summary: %w", err)
	}
	return nil
}

// complain prints the one error of a run that has no verdicts to show, and
// returns the exit status.
func complain(err error) int {
	fmt.Fprintf(os.Stderr, "podorder: %v\n", err)
	return 1
}

// usage is printed for a flag that does not exist, and for -h.
func usage() {
	out := flag.CommandLine.Output()
	if !slices.ContainsFunc(os.Args[1:], func(a string) bool { return strings.Trim(a, "-") == "h" || strings.Trim(a, "-") == "help" }) {
		fmt.Fprintln(out, "the flags: go test ./suites -args -h")
		return
	}
	fmt.Fprintln(out, "usage: go test ./suites -count=1 [flags]")
	flag.PrintDefaults()
}

// lookup returns the value of a flag of go test.
func lookup(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// notAgain are flags that a rerun of one case does not need.
var notAgain = []string{"cases", "artifacts", "list"}

// rerunFlags returns the flags, as given, that a rerun needs to run on the same
// kind of cluster: those that are not of go test.
func rerunFlags(fs *flag.FlagSet) []string {
	var out []string
	fs.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") && !slices.Contains(notAgain, f.Name) {
			out = append(out, "-"+f.Name+"="+f.Value.String())
		}
	})
	return out
}

// room returns how many cases may run at once: what the user says, else four
// for each CPU of the node, as long as it takes so many Pods. A Pod of a case
// does next to nothing but wait; more of them would only delay each other's
// start.
func room(cpus, pods int64) int64 {
	asked := int64(0)
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" {
			asked, _ = strconv.ParseInt(f.Value.String(), 10, 64)
		}
	})
	if asked > 0 {
		return asked
	}
	return max(1, min(max(4, 4*cpus), pods))
}

// groupOf returns the group of a case.
func groupOf(id string) string {
	group, _, _ := strings.Cut(id, "/")
	return group
}

// title returns a group as its test function is named: "Hooks", "PodGroups".
func title(group string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(group, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
