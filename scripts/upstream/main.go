package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/suites/upstream"
)

// The exit status.
const (
	exitAgree = iota
	exitDiffer
	exitUsage
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, sources))
}

// sources are those of a version of Kubernetes.
func sources(ctx context.Context, version string) (_ fs.FS, err error) {
	tmp, err := cluster.ScratchForGo("upstream")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	dir, err := upstream.Module(ctx, version)
	if err != nil {
		return nil, fmt.Errorf("%w\nThe table cannot be compared with the sources. Let the go command reach a module proxy", err)
	}
	return os.DirFS(dir), nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer, sources func(context.Context, string) (fs.FS, error)) int {
	table := upstream.Relations()
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	version := flags.String("kubernetes", table.Kubernetes, "compare the table with the sources of this `version` of Kubernetes")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitAgree
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "upstream: argument %q is not known; the version goes after -kubernetes\n", flags.Arg(0))
		return exitUsage
	}
	module, err := sources(ctx, *version)
	if err != nil {
		fmt.Fprintln(stderr, "upstream:", err)
		return exitUsage
	}
	complaints, err := upstream.Compare(table, module)
	if err != nil {
		fmt.Fprintln(stderr, "upstream:", err)
		return exitUsage
	}
	for _, c := range complaints {
		fmt.Fprintf(stderr, "%s: %s\n", *version, c)
	}
	if len(complaints) > 0 {
		return exitDiffer
	}
	fmt.Fprintf(stdout, "the table of upstream tests agrees with the sources of Kubernetes %s\n", *version)
	return exitAgree
}
