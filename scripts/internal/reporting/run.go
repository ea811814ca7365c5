package reporting

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/forms"
	"github.com/podorder/podorder/report/saved"
)

// Exit statuses.
const (
	exitFine   = 0
	exitFailed = 1
	exitUsage  = 2
)

// options is the command line.
type options struct {
	out, against, gates, fixtures string
	strict                        bool
	folders                       []string
}

// Run runs the command with its arguments and returns its exit status.
func Run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitFine
	}
	if err != nil {
		return fail(stderr, err)
	}
	r, changes, err := reported(o)
	if err != nil {
		return fail(stderr, err)
	}
	if err := forms.Write(r, o.out, o.out); err != nil {
		return fail(stderr, err)
	}
	if err := forms.StepSummary(r, o.out); err != nil {
		return fail(stderr, err)
	}
	fmt.Fprint(stdout, r.Table())
	for _, c := range changes {
		fmt.Fprintf(stdout, "judged otherwise than then: %s\n", c)
	}
	fmt.Fprintf(stdout, "\nreport: %s\n", filepath.Join(o.out, forms.Page(o.out)))
	if r.Failed != "" {
		fmt.Fprintf(stderr, "report: %s\n", r.Failed)
		return exitFailed
	}
	return exitFine
}

func fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "report: %v\n", err)
	return exitUsage
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.out, "out", "", "the `folder` that the report goes into; report in the folder of the run, where that is only one")
	fs.StringVar(&o.against, "against", "", "the `folder` of the run that this one is compared with")
	fs.StringVar(&o.gates, "feature-gates", "", "`gates` of the kubelets that differ from the defaults, where the run does not say so itself")
	fs.StringVar(&o.fixtures, "fixtures", "", "`folders` of cases, separated by commas, beside those that are built in")
	fs.BoolVar(&o.strict, "strict", false, "let a known fault of a release fail the run")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "usage: report [flags] folder...")
			fs.SetOutput(stderr)
			fs.PrintDefaults()
		}
		return o, err
	}
	o.folders = fs.Args()
	switch {
	case len(o.folders) == 0:
		return o, errors.New("name the folder of a run: report artifacts")
	case o.against != "" && len(o.folders) > 1:
		return o, fmt.Errorf("-against compares with one run, and there are %d: merge them into one report first", len(o.folders))
	case o.out == "" && len(o.folders) > 1:
		return o, errors.New("several folders become one report: say with -out which folder it goes into")
	case o.out == "":
		o.out = filepath.Join(o.folders[0], forms.Again)
	}
	return o, recordsNothing(o.out)
}

// recordsNothing reports a folder that holds what a run has recorded.
func recordsNothing(out string) error {
	refuse := func(what string) error {
		return fmt.Errorf("%s holds what a run has recorded (%s), which is never changed: give another folder with -out", out, what)
	}
	r, err := report.Read(out)
	missing := new(report.NotFoundError)
	switch {
	case errors.As(err, &missing):
	case err != nil:
		return refuse(report.File)
	case r.Judged == "":
		return refuse(report.File)
	default:
		return nil // of this command
	}
	for _, name := range []string{forms.Verdicts, "progress.log"} {
		if _, err := os.Lstat(filepath.Join(out, name)); err == nil {
			return refuse(name)
		}
	}
	return nil
}

// reported makes the report that the command line asks for.
func reported(o options) (*report.Report, []saved.Change, error) {
	cases, err := casesOf(o.fixtures)
	if err != nil {
		return nil, nil, err
	}
	all := o.folders
	if o.against != "" {
		all = append([]string{o.against}, all...)
	}
	var parts []saved.Part
	var changes []saved.Change
	for i, name := range names(all) {
		r, err := saved.Read(all[i])
		if err != nil {
			return nil, nil, err
		}
		if err := configure(r, o); err != nil {
			return nil, nil, err
		}
		changed, err := saved.Judge(r, all[i], cases)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, changed...)
		if err := saved.Rebase(r, all[i], o.out); err != nil {
			return nil, nil, err
		}
		parts = append(parts, saved.Part{Report: r, Name: name})
	}
	if o.against != "" {
		r, err := saved.Pair(parts[0], parts[1])
		return r, changes, err
	}
	return saved.Merge(parts), changes, nil
}

// configure takes from the command line what a report does not say.
func configure(r *report.Report, o options) error {
	r.Strict = r.Strict || o.strict
	for i := range r.Kubelets {
		k := &r.Kubelets[i]
		if k.Gates == "" {
			k.Gates = o.gates
		}
		known, err := reference.ParseKubelet(k.Version)
		if err == nil {
			_, err = known.WithGates(k.Gates)
		}
		if err != nil {
			return fmt.Errorf("kubelet %s: %w", k.Name, err)
		}
	}
	return nil
}

// casesOf are the cases that are built in, and those of folders.
func casesOf(folders string) ([]fixtures.Case, error) {
	cases, err := fixtures.All()
	if err != nil {
		return nil, fmt.Errorf("reading the cases: %w", err)
	}
	for dir := range strings.FieldsFuncSeq(folders, func(r rune) bool { return r == ',' }) {
		own, err := fixtures.LoadDir(dir, nil)
		if err != nil {
			return nil, fmt.Errorf("-fixtures: %w", err)
		}
		cases = append(cases, own...)
	}
	return cases, nil
}

// names tells folders from each other by no more of the ends of their paths than it takes.
func names(folders []string) []string {
	out := make([]string, len(folders))
	for depth := 1; ; depth++ {
		seen := map[string]bool{}
		whole := true // no path has more to it
		for i, dir := range folders {
			if abs, err := filepath.Abs(dir); err == nil {
				dir = abs
			}
			parts := strings.Split(strings.Trim(filepath.ToSlash(dir), "/"), "/")
			whole = whole && depth >= len(parts)
			out[i] = strings.Join(parts[max(0, len(parts)-depth):], "-")
			seen[out[i]] = true
		}
		switch {
		case len(seen) == len(folders):
			return out
		case whole: // one folder twice
			for i := range out {
				out[i] += fmt.Sprintf(".%d", i+1)
			}
			return out
		}
	}
}
