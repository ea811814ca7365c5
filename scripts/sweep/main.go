// Sweep removes what killed runs of podorder left behind: kind clusters on this machine whose owner is dead, and with -kubeconfig or -context
// the namespaces of such runs in an existing cluster. Clusters of live runs, kept ones and those of others are left alone.
//
//	go run ./scripts/sweep [-n] [-kept] [-kubeconfig FILE] [-context NAME]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintf(os.Stderr, "sweep: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("sweep", flag.ContinueOnError)
	dry := f.Bool("n", false, "only tell what would be removed")
	kept := f.Bool("kept", false, "remove kept clusters that no run uses as well")
	kubeconfig := f.String("kubeconfig", "", "sweep the namespaces of the cluster in this `file` instead")
	contextName := f.String("context", "", "the `name` of its context")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("argument %q is not a flag", f.Arg(0))
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	o := cluster.SweepOptions{Kept: *kept, DryRun: *dry, Progress: say}
	var removed []string
	if *kubeconfig != "" || *contextName != "" {
		c, err := cluster.Open(ctx, *kubeconfig, *contextName)
		if err != nil {
			return err
		}
		removed, err = cluster.SweepNamespaces(ctx, c, o)
		return report(removed, *dry, "namespace", err)
	}
	h, err := host.Detect(ctx, host.Options{NoInstall: true, Progress: say})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	removed, err = cluster.Sweep(ctx, h, o)
	return report(removed, *dry, "cluster", err)
}

func report(removed []string, dry bool, what string, err error) error {
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	for _, name := range removed {
		fmt.Printf("%s %s %s\n", verb, what, name)
	}
	if len(removed) == 0 && err == nil {
		fmt.Println("nothing to remove")
	}
	return err
}
