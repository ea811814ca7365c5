// Track-record runs what the suite knows of regressions of Kubernetes: the cases that show each of them,
// on a kubelet that has it and on one that does not. It fails where the verdict on either, or what is seen, is
// not as the table in this folder says.
//
//	go run ./scripts/track-record [-artifacts FOLDER] [-repeat N] [-saved] [-- FLAGS]
//
// All cases run on all kubelets of the table, in one cluster; FLAGS go to the suite. Where a run did not show
// what some runs only show, its case runs three times more. With -saved nothing is run: the report in the
// folder is looked at.
//
// Exit status: 0, 1 if something is not as listed or could not be run, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podorder/podorder/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("track-record", flag.ContinueOnError)
	f.SetOutput(stderr)
	artifacts := f.String("artifacts", "artifacts", "the `folder` of the recordings")
	repeat := f.Int("repeat", 1, "run each case `n` times")
	saved := f.Bool("saved", false, "look at the report of an earlier run")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	dir, err := filepath.Abs(*artifacts)
	if err == nil && !*saved {
		err = runSuite(ctx, dir, all, pattern(ids(record)), *repeat, f.Args(), stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "track-record: %v\n", err)
		return 1
	}
	r, err := report.Read(dir)
	if err != nil {
		fmt.Fprintf(stderr, "track-record: %v\n", err)
		return 1
	}
	again := filepath.Join(dir, "again")
	kubelets, cases := notAsListed(record, r)
	if len(cases) > 0 && !*saved {
		fmt.Fprintf(stderr, "track-record: not as listed, so run three times more: %s on %s\n", strings.Join(cases, ", "), strings.Join(kubelets, ", "))
		err = runSuite(ctx, again, kubelets, pattern(cases), 3, f.Args(), stdout, stderr)
	}
	if _, missing := os.Stat(again); err == nil && len(cases) > 0 && missing == nil {
		var more *report.Report
		if more, err = report.Read(again); err == nil {
			r.Runs = append(r.Runs, more.Runs...)
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "track-record: %v\n", err)
		return 1
	}
	text, bad := table(r)
	fmt.Fprint(stdout, text)
	if bad > 0 {
		fmt.Fprintf(stderr, "track-record: %d verdicts are not as listed\n", bad)
		return 1
	}
	return 0
}

// notAsListed are the kubelets and the cases of which a run is missing that shows what the table says. What
// a kubelet does in some runs only, and what the node kept from coming about, one more run may show.
func notAsListed(record []entry, r *report.Report) (kubelets, cases []string) {
	for _, e := range record {
		for _, s := range e.check(r) {
			chance := s.runs == 0 || s.wrong && e.sometimes || !s.wrong && e.rightly
			if s.bad != "" && chance {
				kubelets, cases = append(kubelets, s.kubelet), append(cases, s.id)
			}
		}
	}
	slices.SortFunc(kubelets, report.CompareKubelets)
	slices.Sort(cases)
	return slices.Compact(kubelets), slices.Compact(cases)
}

// runSuite runs cases of the table on kubelets. That some of them fail is for the table to judge.
func runSuite(ctx context.Context, dir string, kubelets []string, cases string, repeat int, flags []string, stdout, stderr io.Writer) error {
	args := []string{"test", "-count=1", "-timeout=3h", "-kubelets=" + strings.Join(kubelets, " "), "-cases=" + cases, "-repeat=" + strconv.Itoa(repeat)}
	args = append(args, flags...)
	args = append(args, "-args", "-artifacts="+dir)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = "suites"
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGINT) } // it removes its cluster
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && ctx.Err() == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("running the suite: %w", err)
	}
	return nil
}

// ids are the cases of the table.
func ids(record []entry) (all []string) {
	for _, e := range record {
		all = append(all, e.cases...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pattern selects cases.
func pattern(ids []string) string {
	var quoted []string
	for _, id := range ids {
		quoted = append(quoted, regexp.QuoteMeta(id))
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// table is the track record as Markdown, and how many of its verdicts are not as listed.
func table(r *report.Report) (text string, bad int) {
	var b strings.Builder
	b.WriteString("| issue | what the kubelet does | case | wrong | right |\n|---|---|---|---|---|\n")
	for _, e := range record {
		list := e.check(r)
		for i, id := range e.cases {
			issue, says := e.issue, e.says
			if issue == "" {
				issue = "none"
			}
			if e.unseen != "" {
				says += " Not seen: " + e.unseen + "."
			}
			if i > 0 {
				issue, says = "", ""
			}
			sides := map[bool][]string{}
			for _, s := range list {
				if s.id == id {
					sides[s.wrong] = append(sides[s.wrong], s.kubelet+" "+e.String(s))
				}
			}
			right := strings.Join(sides[false], ", ")
			if len(e.right) == 0 {
				right = "none yet"
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s |\n", issue, says, id, strings.Join(sides[true], ", "), right)
		}
		for _, s := range list {
			if s.bad != "" {
				bad++
			}
		}
	}
	return b.String(), bad
}
