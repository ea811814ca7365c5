package run

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/nodeimage"
)

// The exit statuses of a run, as those of the other commands: a command line that
// cannot be meant is told from a run that failed.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is what is wrong with a command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// complain prints the one error of a run that has no verdicts to show, and
// returns the exit status.
func complain(err error) int {
	fmt.Fprintf(os.Stderr, "podorder: %v\n", err)
	return statusOf(err)
}

// statusOf is the exit status for an error.
func statusOf(err error) int {
	var (
		usage       usageError
		kubeconfig  *cluster.KubeconfigError
		unavailable *nodeimage.UnavailableError
	)
	if errors.As(err, &usage) || errors.As(err, &kubeconfig) || errors.As(err, &unavailable) {
		return exitUsage
	}
	return exitFailed
}

// notHere are flags of e2e-framework that would change nothing here, with what to
// use instead of them.
var notHere = map[string]string{
	"namespace":                 "each case runs in a namespace of its own, which the run makes and removes; -keep leaves them",
	"assess":                    "a case has one assessment, its verdict; select cases with -cases, -labels, -feature or -run",
	"skip-assessment":           "a case has one assessment, its verdict; leave cases out with -skip-labels, -skip-features or -skip",
	"parallel":                  "the cases always run side by side; go test's own -parallel=N says how many at once, and goes before -args",
	"disable-graceful-teardown": "a run always cleans up, however it ends; -keep leaves the cluster in place",
}

// refusal is a flag that is refused wherever it is given.
type refusal struct{ name, why string }

func (r refusal) String() string   { return "" }
func (r refusal) Set(string) error { return fmt.Errorf("-%s has no meaning here: %s", r.name, r.why) }

// IsBoolFlag has those refused that no value follows.
func (r refusal) IsBoolFlag() bool {
	return r.name == "parallel" || r.name == "disable-graceful-teardown"
}

// usage is printed for a flag that does not exist, and for -h.
func usage() {
	out := flag.CommandLine.Output()
	if !slices.ContainsFunc(os.Args[1:], func(a string) bool { return strings.Trim(a, "-") == "h" || strings.Trim(a, "-") == "help" }) {
		fmt.Fprintln(out, "the flags: go test ./suites -args -h")
		return
	}
	fmt.Fprintln(out, "usage: go test ./suites -count=1 [flags]")
	ours := flag.NewFlagSet("suites", flag.ContinueOnError)
	ours.SetOutput(out)
	flag.VisitAll(func(f *flag.Flag) {
		if _, no := f.Value.(refusal); !no && !strings.HasPrefix(f.Name, "test.") {
			ours.Var(f.Value, f.Name, f.Usage)
			ours.Lookup(f.Name).DefValue = f.DefValue
		}
	})
	ours.PrintDefaults()
	fmt.Fprintln(out, "flags of go test that also work: -run, -skip, -short, -parallel, -failfast, -timeout, -v, -json; go help testflag")
}

// checkGoTest reports flags of go test that would not do what they say.
func checkGoTest() error {
	if n := lookup("test.count"); n != "" && n != "1" {
		return fmt.Errorf("-count=%s would run every case over what the one before it recorded: give -count=1 and -repeat=%s", n, n)
	}
	if list := lookup("test.cpu"); strings.Contains(list, ",") {
		return fmt.Errorf("-cpu=%s would run every case over what the one before it recorded; -repeat=N runs each of them N times", list)
	}
	for _, name := range []string{"run", "skip"} {
		pattern := lookup("test." + name)
		if _, err := regexp.Compile(pattern); err == nil {
			continue
		}
		// Package testing takes it apart at slashes; it ends the process over one that is none.
		for part := range strings.SplitSeq(pattern, "/") {
			if _, err := regexp.Compile(part); err != nil {
				return fmt.Errorf("-%s: %w", name, err)
			}
		}
	}
	return nil
}

// lookup returns the value of a flag of go test.
func lookup(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// notAgain are flags that a rerun of one case does not need: they say which cases
// are run, on which kubelets, and how often.
var notAgain = []string{
	"cases", "artifacts", "list", "dry-run", "kubelets", "kubelet-files", "repeat", "fail-fast",
	"shard", "resume", "labels", "skip-labels", "feature", "skip-features",
}

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
