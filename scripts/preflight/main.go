// Command preflight prints which container runtime can run kind nodes on this machine, what the machine offers and what is too small.
//
//	go run ./scripts/preflight [-no-install]
//
// Exit status: 0 if a runtime was found, 1 if none was, 2 for wrong usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/podorder/podorder/harness/host"
)

func main() {
	noInstall := flag.Bool("no-install", false, "never install a package")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "preflight takes no arguments, but was given %q\n", flag.Args())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *noInstall); err != nil {
		fmt.Fprintln(os.Stderr, "preflight:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, noInstall bool) error {
	h, err := host.Detect(ctx, host.Options{
		NoInstall: noInstall,
		Progress:  func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	})
	if err != nil {
		return err
	}
	fmt.Print(h.Report())
	return h.Close()
}
