package run

import (
	"cmp"
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

	"al.essio.dev/pkg/shellescape"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/forms"
)

// Suite is one run of the suites. Its flags are registered by [New], so there
// can be one per process.
type Suite struct {
	options  Options
	progress *Progress
	// tells has the test of a case say the whole explanation of its verdict, instead of
	// printing it.
	tells   bool
	kubelet kubeletSource
	intent
	place
	outcome
}

// intent is what is planned: what the flags say, once they are read.
type intent struct {
	root      string // of the repository
	artifacts string
	target    target
	all       []fixtures.Case
	cases     []fixtures.Case   // those that are selected
	cfg       *envconf.Config   // what e2e-framework selects them by
	again     []string          // flags that a rerun needs
	failFast  bool              // no case begins once one has failed
	short     bool              // only cases that take little time
	shard     shard             // the part of the cases that is run
	asked     int64             // how many cases the user wants to run at once; 0 if that was not said
	kubelets  []string          // those that are wanted; nil for what there is
	files     map[string]string // the kubelets of the user's own build, by name
	several   bool              // kubelets
	planned   [][]string        // the kubelets of each cluster that is made
	stages    []stage           // what the cases take
	selection *selection        // takes the cases instead of a run; nil for a run
}

// place is where the cases run, once there is a cluster: several, one after the other,
// where this machine has no room for all kubelets at once.
type place struct {
	env     types.Environment
	machine *machine // nil where the cluster is not made
	columns []column
	record  recorder
	queue   *queue
}

// New registers the flags of the suites and returns a run that has done nothing
// yet.
func New() *Suite {
	s := &Suite{}
	s.kubelet = s.build
	s.options.Register(flag.CommandLine)
	return s
}

// Main is the body of TestMain: it brings up the cluster, runs the tests and
// reports. It returns the exit status.
func (s *Suite) Main(m *testing.M) int {
	flag.CommandLine.Usage = usage
	flag.Parse()
	if lookup("test.list") != "" {
		return m.Run() // only prints the names of tests
	}
	out, live, done := streams(lookup("test.v") != "false")
	defer done()
	s.progress = NewProgress(out, live)
	s.tells = lookup("test.v") != "false"
	if flag.NArg() > 0 {
		return complain(usageError{fmt.Errorf("unexpected argument %q; go test has flags -artifacts and -list of its own, so those of the suite go after -args", flag.Arg(0))})
	}
	if err := s.configure(); err != nil {
		return complain(err)
	}
	if s.options.List || s.options.DryRun {
		text, err := s.list(m)
		if err != nil {
			return complain(err)
		}
		fmt.Fprint(out, text)
		return 0
	}
	cols := s.foreseen()
	jobs, err := s.selects(context.Background(), m, s.cfg, cols)
	if err == nil {
		jobs, err = s.part(jobs)
		err = misused(err)
	}
	if err == nil {
		err = misused(s.narrow(jobs, cols))
	}
	if err == nil {
		// What else there is to do is known once there is a container runtime.
		s.stages = forCases(jobs, s.options.Repeat)
		err = s.inTime(s.stages, s.target.exists())
	}
	if err != nil {
		return complain(err)
	}
	if runs, ok := s.wholly(jobs); ok {
		s.progress.Printf("every selected case has run already: nothing is left to be run")
		s.add(runs...)
		return s.finish(0, nil)
	}
	return s.main(m)
}

// list says what a run with the same flags would run.
func (s *Suite) list(m *testing.M) (string, error) {
	cols := s.foreseen()
	if s.target.exists() {
		var err error
		if cols, err = s.there(context.Background()); err != nil {
			return "", err
		}
	}
	jobs, err := s.selects(context.Background(), m, s.cfg, cols)
	if err != nil {
		return "", err
	}
	if jobs, err = s.part(jobs); err == nil {
		err = s.narrow(jobs, cols)
	}
	if err != nil {
		return "", usageError{err}
	}
	return list(jobs, cols, s.cases, s.all), nil
}

// configure checks everything that can be checked without a cluster. What is wrong
// with the flags is a usageError.
func (s *Suite) configure() error {
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the root of the repository: %w", err)
	}
	if s.root, err = root(wd); err != nil {
		return fmt.Errorf("finding the root of the repository: %w", err)
	}
	if s.all, err = casesOf(s.root, s.options.Fixtures); err != nil {
		return err
	}
	if err := misused(s.read()); err != nil {
		return err
	}
	s.again = rerunFlags(flag.CommandLine)
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" {
			s.asked, _ = strconv.ParseInt(f.Value.String(), 10, 64)
		}
	})
	// The queue bounds how many cases run at once, for all groups together; if go
	// test did so for groups, the last would begin when others have ended.
	if err := flag.Set("test.parallel", strconv.Itoa(len(s.all))); err != nil {
		return fmt.Errorf("letting the groups run side by side: %w", err)
	}
	return nil
}

// misused makes an error one of the command line.
func misused(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// read reads the flags.
func (s *Suite) read() (err error) {
	if err := checkGoTest(); err != nil {
		return err
	}
	o := &s.options
	// e2e-framework's own flag of this name may have been registered by a library.
	if f := flag.Lookup("kubeconfig"); f != nil {
		o.Kubeconfig = f.Value.String()
	}
	o.Kubeconfig = absolute(s.root, o.Kubeconfig)
	o.Kubernetes = withV(o.Kubernetes)
	s.artifacts = absolute(s.root, o.Artifacts)
	s.target = target{kubeconfig: o.Kubeconfig, context: o.Context}
	if s.cfg, err = o.config(); err != nil {
		return err
	}
	if err := o.check(s.target); err != nil {
		return err
	}
	if s.shard, err = parseShard(o.Shard); err != nil {
		return err
	}
	s.short = lookup("test.short") == "true"
	s.failFast = o.FailFast || lookup("test.failfast") == "true"
	if s.kubelets, err = parseKubelets(o.Kubelets); err != nil {
		return err
	}
	if s.files, err = kubeletFiles(s.root, o.KubeletFiles, s.kubelets); err != nil {
		return err
	}
	s.kubelets = withFiles(s.kubelets, s.files)
	s.several = len(s.kubelets) > 1
	if !s.target.exists() {
		if err := s.canBeHad(); err != nil {
			return err
		}
	}
	if err := checkGates(o.FeatureGates, s.gated(), !s.target.exists()); err != nil {
		return err
	}
	if s.cases, err = selectCases(s.all, o.Cases); err != nil {
		return err
	}
	for i, c := range s.cases {
		if s.cases[i], err = s.withImages(c); err != nil {
			return err
		}
	}
	return nil
}

// canBeHad reports versions that there is no node image or no kubelet of.
func (s *Suite) canBeHad() error {
	if v := s.options.Kubernetes; v != "" && s.options.NodeImage == "" {
		if err := nodeimage.CheckVersion(v); err != nil {
			return fmt.Errorf("-kubernetes: %w", err)
		}
	}
	for _, name := range s.kubelets {
		if s.files[name] != "" || name == s.options.Kubernetes {
			continue
		}
		if err := nodeimage.CheckKubelet(name); err != nil {
			return fmt.Errorf("-kubelets: %w", err)
		}
	}
	return nil
}

// gated are the versions that -feature-gates has to be right for, as far as they are
// known: those of the kubelets, and that of the control plane that is made.
func (s *Suite) gated() []string {
	var out []string
	for _, c := range s.foreseen() {
		if c.kubelet != "" {
			out = append(out, report.VersionOf(c.kubelet))
		}
	}
	if !s.target.exists() && s.options.NodeImage == "" {
		out = append(out, cmp.Or(s.options.Kubernetes, nodeimage.Default))
	}
	return out
}

// Group runs the selected cases of a group, one subtest for each of them and each
// kubelet. It is the body of a test function.
func (s *Suite) Group(t *testing.T, group string) {
	var jobs []*job
	for _, c := range s.cases {
		if of, _ := testOf(c); of != group {
			continue
		}
		for _, col := range s.columns {
			jobs = append(jobs, &job{c: c, col: col})
		}
	}
	if len(jobs) == 0 {
		t.Skipf("no case of group %s is selected", group)
	}
	// All groups get here before any of them goes on, so that the queue knows of
	// every candidate.
	s.queue.expect(len(jobs))
	t.Parallel()
	var wg sync.WaitGroup
	for _, j := range jobs {
		j.settled = sync.OnceFunc(s.queue.settled)
		wg.Go(func() {
			defer j.settled() // whatever flags of go test and of e2e-framework make of it
			s.env.Test(t, s.feature(j))
		})
	}
	wg.Wait()
}

// job is one case on one kubelet.
type job struct {
	c   fixtures.Case
	col column
	// settled tells the queue that the job has joined it; nil where the queue does
	// not wait for that.
	settled func()
}

// feature makes a job known to e2e-framework, so that its flags select cases by
// name and label. The case runs in the feature's set-up, because only that can skip
// the whole feature: one that only skipped its assessment would count as passed.
func (s *Suite) feature(j *job) features.Feature {
	_, name := testOf(j.c)
	if s.several {
		name += "/" + j.col.kubelet
	}
	b := features.New(name)
	for key, values := range labels(j.c) {
		for _, v := range values {
			b.WithLabel(key, v)
		}
	}
	for _, name := range s.kubeletLabels(j.col.kubelet) {
		b.WithLabel("kubelet", name)
	}
	var cell report.Cell
	return b.Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		if s.selection != nil {
			s.selection.add(j)
			only := runOf(j.c, j.col.kubelet, 0)
			only.Skip("only selected")
			cell = report.Merge([]*report.Run{&only})
			return ctx
		}
		runs := s.one(ctx, j)
		s.add(runs...)
		if cell = merged(runs); cell.Worst.Outcome == report.Skipped {
			t.Skip(cell.Worst.Reason)
		}
		return ctx
	}).Assess("verdict", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		s.tell(t, cell)
		return ctx
	}).Feature()
}

// merged is what came of the runs of a case on a kubelet.
func merged(runs []report.Run) report.Cell {
	all := make([]*report.Run, len(runs))
	for i := range runs {
		all[i] = &runs[i]
	}
	return report.Merge(all)
}

// tell fails the test of a case if its verdict does. Where go test prints what tests say as
// they run, with -v or -json, that is the whole explanation: it then stands with its test.
// Elsewhere it has been printed by now, and would be repeated at the end of the group.
func (s *Suite) tell(t testing.TB, cell report.Cell) {
	t.Helper()
	fails := cell.Worst.Fails(s.options.Strict)
	switch {
	case s.tells && fails:
		t.Error(s.told(cell))
	case s.tells && cell.Worst.Explanation != "":
		t.Log(s.told(cell))
	case fails:
		t.Errorf("%s: %s", cell.Mark(), cell.Worst.Brief())
	}
}

// told is what the test of a case says: the whole explanation, and of a repeated case first in
// how many runs it was so.
func (s *Suite) told(cell report.Cell) string {
	text := strings.TrimSpace(s.explained(cell.Worst))
	if len(cell.Runs) > 1 {
		text = cell.Mark() + "\n" + text
	}
	return text
}

// kubeletLabels are the values that the label kubelet has for a kubelet: its name,
// its version, and the release that this is a build of. One that is not known yet has
// any that is asked for.
func (s *Suite) kubeletLabels(name string) []string {
	if name == "" {
		return s.options.Labels["kubelet"]
	}
	all := []string{name, report.VersionOf(name)}
	if v, err := trace.ParseRelease(report.VersionOf(name)); err == nil {
		all = append(all, v.String())
	}
	return slices.Compact(all)
}

// labels are what -labels and -skip-labels of e2e-framework select cases by,
// besides the kubelet.
func labels(c fixtures.Case) map[string][]string {
	is := map[bool]string{true: "true", false: "false"}
	return map[string][]string{"group": groupsOf(c), "rule": c.Rules, "long": {is[isLong(c)]}, "node": {is[onNode(c)]}}
}

// one runs a case on a kubelet, as often as it is to be, each time as soon as
// there is room for it.
func (s *Suite) one(ctx context.Context, j *job) []report.Run {
	c, kubelet := j.c, j.col.kubelet
	n := max(1, s.options.Repeat)
	runs := make([]report.Run, n)
	for i := range runs {
		runs[i] = runOf(c, kubelet, s.numbered(i))
	}
	if !c.Versions.Includes(report.VersionOf(kubelet)) {
		only := runOf(c, kubelet, 0)
		only.Skip("for kubelet " + c.Versions.String())
		return []report.Run{only}
	}
	if n > 1 && !s.options.Resume {
		// What an earlier run left must not pass for one of this.
		if err := os.RemoveAll(s.folder(c, kubelet, 0)); err != nil {
			only := runOf(c, kubelet, 0)
			only.Set(broken(fmt.Errorf("removing what an earlier run left behind: %w", err)))
			return []report.Run{only}
		}
	}
	var left []int
	for i := range runs {
		if run, ok := s.resumed(c, kubelet, runs[i].Repeat); !ok {
			left = append(left, i)
		} else if runs[i] = run; s.failFast && run.Fails(s.options.Strict) {
			s.failed.Store(true)
		}
	}
	joined := time.Now()
	tickets := s.queue.join(len(left), s.need(j))
	if j.settled != nil {
		j.settled()
	}
	var wg sync.WaitGroup
	for k, ticket := range tickets {
		i := left[k]
		wg.Go(func() {
			node, err := s.queue.await(ctx, ticket)
			if err != nil {
				runs[i] = notRun(runs[i], context.Cause(ctx))
				return
			}
			defer s.queue.leave(ticket)
			if s.failed.Load() {
				runs[i].Skip("not started, because another case had failed")
				return
			}
			s.begun()
			waited := time.Since(joined)
			runs[i] = s.settle(ctx, c, kubelet, node, runs[i].Repeat)
			if n == 1 && s.once(&runs[i]) && ctx.Err() == nil {
				runs[i] = s.secondRun(ctx, c, kubelet, node, runs[i])
			}
			runs[i].Waited = waited.Seconds()
			if ctx.Err() == nil { // what was cut short is run again
				if err := s.keep(c, kubelet, runs[i]); err != nil {
					s.progress.Printf("%s: -resume will run it again: %v", s.named(&runs[i]), err)
				}
			}
			if s.failFast && runs[i].Fails(s.options.Strict) {
				s.failed.Store(true)
			}
		})
	}
	wg.Wait()
	return runs
}

// once reports whether a result shows nothing at all about the kubelet, so that
// the case may be run once more: a machine that is too busy misses what the case
// is about. Whatever does show something stands.
func (s *Suite) once(run *report.Run) bool {
	return s.options.Again && run.Outcome == report.Inconclusive
}

// toTheEnd is the key of a context in which a case is not ended before its last step: that of
// a second run, since the first may have been ended for what was explained a moment later.
type toTheEnd struct{}

// secondRun runs a case a second time. What the first run recorded is kept beside
// it, and its result says so.
func (s *Suite) secondRun(ctx context.Context, c fixtures.Case, kubelet, node string, first report.Run) report.Run {
	dir := s.folder(c, kubelet, 0)
	kept := dir + ".first"
	if err := errors.Join(os.RemoveAll(kept), os.Rename(dir, kept)); err != nil {
		s.progress.Printf("%s: not run again, because the recording cannot be kept: %v", c.ID, err)
		return first
	}
	s.progress.Printf("%s: inconclusive, so it is run once more; the first recording is kept in %s", c.ID, s.shown(kept))
	run := s.settle(context.WithValue(ctx, toTheEnd{}, true), c, kubelet, node, 0)
	run.Started, run.Seconds = first.Started, run.Seconds+first.Seconds
	if run.First = first.Reason; run.First == "" {
		run.First = "no reason was given"
	}
	return run
}

// need says what a job needs of the queue.
func (s *Suite) need(j *job) need {
	n := need{nodes: j.col.nodes, long: isLong(j.c), alone: disturbs(j.c)}
	n.length, _ = patience(j.c)
	n.length += delay(j.c)
	if n.shared = len(j.col.spare) == 0; n.alone && !n.shared {
		n.nodes = j.col.spare
	}
	return n
}

// report returns what came of the run so far.
func (s *Suite) report() *report.Report {
	r := s.outcome.report()
	r.Made, r.Command, r.Strict = time.Now().UTC().Truncate(time.Second), s.command(), s.options.Strict
	for _, name := range r.Names() {
		k := report.Kubelet{Name: name, Version: report.VersionOf(name), Gates: s.options.FeatureGates}
		if known, err := reference.ParseKubelet(k.Version); err == nil {
			k.Uncovered = known.Uncovered()
		}
		r.Kubelets = append(r.Kubelets, k)
	}
	r.Finish()
	return r
}

// command is the command line that the suite runs with, without what go test adds for itself.
func (s *Suite) command() string {
	words := []string{"go", "test", "./suites", "-count=1"}
	flag.Visit(func(f *flag.Flag) {
		name, ok := strings.CutPrefix(f.Name, "test.")
		if !ok || slices.Contains(ofGoTest, name) {
			words = append(words, "-"+name+"="+f.Value.String())
		}
	})
	return shellescape.QuoteCommand(words)
}

// ofGoTest are flags of go test that say which tests run.
var ofGoTest = []string{"run", "skip", "failfast", "short"}

// finish prints and saves the report and returns the exit status. status is
// that of the tests; interrupted is what ended the run early, nil if nothing did.
func (s *Suite) finish(status int, interrupted error) int {
	r := s.report()
	if interrupted != nil {
		r.Interrupted = interrupted.Error()
	}
	if len(r.Runs) > 0 {
		s.progress.Print("\n" + r.Table())
	}
	if err := s.save(r); err != nil {
		return complain(err)
	}
	if err := r.Err(); err != nil {
		return complain(err)
	}
	return status
}

// save writes the report in all its forms, and says where it is.
func (s *Suite) save(r *report.Report) error {
	at := s.shown(s.artifacts)
	if err := forms.Write(r, s.artifacts, at); err != nil {
		return err
	}
	var github strings.Builder
	if err := forms.OnGitHub(r, at, &github); err != nil {
		return err
	}
	if github.Len() > 0 {
		s.progress.Print(github.String())
	}
	if len(r.Runs) > 0 {
		s.progress.Print(fmt.Sprintf("report: %s\n\n", filepath.Join(at, forms.Page(s.artifacts))))
	}
	return nil
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
