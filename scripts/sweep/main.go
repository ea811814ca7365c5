// Sweep removes what killed runs of podorder left behind: kind clusters and temporary folders on this machine whose owner is dead, what an
// interrupted build left in the cache and in the container runtime, and with -kubeconfig or -context the namespaces of such runs in an existing
// cluster. What belongs to runs that are still going, kept clusters and those of others are left alone.
//
//	go run ./scripts/sweep [-n] [-kept] [-kubeconfig FILE] [-context NAME]
//
// Exit status: 0, 1 if something could not be removed or looked at, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/host"
	"github.com/podorder/podorder/harness/nodeimage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "sweep: %v\n", err)
	}
	os.Exit(status(err))
}

// usageError is what is wrong with the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// status is the exit status for an error.
func status(err error) int {
	var kubeconfig *cluster.KubeconfigError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)) || errors.As(err, &kubeconfig):
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("sweep", flag.ContinueOnError)
	dry := f.Bool("n", false, "only say what would be removed")
	kept := f.Bool("kept", false, "remove kept clusters that no run uses as well")
	kubeconfig := f.String("kubeconfig", "", "sweep the namespaces of the cluster in this `file` instead")
	contextName := f.String("context", "", "the `name` of its context")
	f.SetOutput(io.Discard) // an unknown flag gets one line, not the whole usage
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, "sweep removes what killed runs left behind.\n\nusage: sweep [flags]\n\nflags:")
		f.SetOutput(os.Stderr)
		f.PrintDefaults()
		return err
	case err != nil:
		return usageError{fmt.Errorf("%w; sweep -h lists the flags", err)}
	case f.NArg() > 0:
		return usageError{fmt.Errorf("argument %q is not a flag", f.Arg(0))}
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	o := cluster.SweepOptions{Kept: *kept, DryRun: *dry, Progress: say}
	var removed []string
	if *kubeconfig != "" || *contextName != "" {
		c, err := cluster.Open(ctx, *kubeconfig, *contextName)
		if err != nil {
			return err
		}
		removed, err := cluster.SweepNamespaces(ctx, c, o)
		for i, name := range removed {
			removed[i] = "namespace " + name
		}
		return report(removed, *dry, err)
	}
	all, errs := []string(nil), []error(nil)
	add := func(what string, removed []string, err error) {
		for _, name := range removed {
			all = append(all, what+name)
		}
		errs = append(errs, err)
	}
	removed, err = cluster.SweepScratch(o)
	add("folder ", removed, err)
	h, err := host.Detect(ctx, host.Options{NoInstall: true, Progress: say})
	if err != nil {
		errs = append(errs, fmt.Errorf("cannot look for clusters: %w", err))
	} else {
		defer func() { err = errors.Join(err, h.Close()) }()
		removed, err = cluster.Sweep(ctx, h, o)
		add("cluster ", removed, err)
	}
	removed, err = nodeimage.Sweep(ctx, h, nodeimage.Options{Progress: say}, *dry)
	add("", removed, err)
	return report(all, *dry, errors.Join(errs...))
}

// report prints what was removed.
func report(removed []string, dry bool, err error) error {
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	for _, what := range removed {
		fmt.Printf("%s %s\n", verb, what)
	}
	if len(removed) == 0 && err == nil {
		fmt.Println("nothing to remove")
	}
	return err
}
