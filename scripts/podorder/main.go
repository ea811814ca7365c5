// Command podorder has the commands that need neither a cluster nor a clone, under a name that can be
// installed.
//
//	go install github.com/podorder/podorder/scripts/podorder@latest
//	podorder judge -trace trace.jsonl
//	podorder explain -kubernetes v1.37.2 -pod pod.yaml
//	podorder report artifacts
//	podorder new-case pod.yaml
//
// "podorder judge -h" prints the flags of judge, and so on; flags, output and exit status are those of the
// folders beside this one. Left out on purpose: the suite, which is a test: make conformance.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/podorder/podorder/scripts/internal/explain"
	"github.com/podorder/podorder/scripts/internal/judge"
	"github.com/podorder/podorder/scripts/internal/newcase"
	"github.com/podorder/podorder/scripts/internal/reporting"
)

// exitUsage is the exit status of all commands for a command line that makes no sense.
const exitUsage = 2

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

const usage = `usage: podorder command [flags]

  judge      judge a saved log or trace
  explain    print the order that a kubelet keeps for a Pod
  report     judge saved runs again, and report on them
  new-case   make a case of a Pod

podorder command -h prints the flags of a command.
`

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch name, args := args[0], args[1:]; name {
	case "judge":
		return judge.Run(args, stdin, stdout, stderr)
	case "explain":
		return explain.Run(args, stdin, stdout, stderr)
	case "report":
		return reporting.Run(args, stdout, stderr)
	case "new-case":
		return newcase.Run(args, stdin, stdout, stderr)
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return 0
	default:
		fmt.Fprintf(stderr, "podorder: %q is none of judge, explain, report and new-case\n", name)
		return exitUsage
	}
}
