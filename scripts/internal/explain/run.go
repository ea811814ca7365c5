package explain

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/manifest"
)

// The exit statuses of the command; 4 is the one that judge has for the same.
const (
	exitPrinted    = 0
	exitUsage      = 2
	exitUnmodelled = 4
)

// Run runs the command with its arguments and returns its exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		fmt.Fprintf(stderr, "explain: %v\n", err)
		return status
	}
	fs := flag.NewFlagSet("explain", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // an unknown flag gets one line, not the whole usage
	version := fs.String("kubernetes", "", "`version` of the kubelet")
	file := fs.String("pod", "", "manifest of the Pod, or of a Deployment, Job or the like, a `file`; - is standard input")
	object := fs.String("object", "", "the object that is meant where the manifest has several with a Pod, as `kind/name`")
	gates := fs.String("feature-gates", "", "feature `gates` of the kubelet that differ from its defaults (SidecarContainers=true,...)")
	svg := fs.Bool("svg", false, "print a picture instead of text")
	all := fs.Bool("interleavings", false, "print every allowed interleaving of the first instances, for small Pods")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "explain prints the order that a kubelet keeps for a Pod.\n\nusage: explain -kubernetes version -pod file [-object kind/name] [-svg | -interleavings]\n\nflags:")
		fs.SetOutput(stderr)
		fs.PrintDefaults()
		return exitPrinted
	} else if err != nil {
		return fail(exitUsage, fmt.Errorf("%w; explain -h lists the flags", err))
	}
	switch {
	case fs.NArg() > 0:
		return fail(exitUsage, fmt.Errorf("unexpected argument %q; the manifest is named by -pod", fs.Arg(0)))
	case *version == "":
		return fail(exitUsage, errors.New("the order depends on the kubelet: give its version with -kubernetes"))
	case *file == "":
		return fail(exitUsage, errors.New("nothing to explain: give the manifest of a Pod with -pod"))
	}
	kubelet, err := reference.ParseKubelet(*version)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("-kubernetes: %w", err))
	}
	if kubelet, err = kubelet.WithGates(*gates); err != nil {
		return fail(exitUsage, fmt.Errorf("-feature-gates: %w", err))
	}
	if note := kubelet.Uncovered(); note != "" {
		fmt.Fprintf(stderr, "explain: warning: %s\n", note)
	}
	if *svg && *all {
		return fail(exitUsage, errors.New("-svg and -interleavings both say what to print; give one of them"))
	}
	var data []byte
	if *file == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(*file)
	}
	if err != nil {
		return fail(exitUsage, fmt.Errorf("reading the Pod: %w", err))
	}
	text, status, err := explain(kubelet, data, *object, *svg, *all)
	if err != nil {
		return fail(status, fmt.Errorf("%s: %w", *file, err))
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return fail(exitUsage, fmt.Errorf("writing the order: %w", err))
	}
	return exitPrinted
}

// explain returns what the command prints for the manifest in text, or the exit status
// that goes with the error.
func explain(k reference.Kubelet, text []byte, object string, svg, all bool) (string, int, error) {
	pod, err := reference.ParsePodOf(text, object)
	if errors.Is(err, manifest.ErrWhich) {
		err = fmt.Errorf("%w, with -object", err)
	}
	if err != nil {
		return "", exitUsage, err
	}
	if all {
		text, err := interleavings(k, pod)
		if err != nil {
			return "", exitUnmodelled, err
		}
		return text, exitPrinted, nil
	}
	order, err := reference.Explain(k, pod)
	if err != nil {
		return "", exitUnmodelled, err
	}
	if svg {
		return order.SVG(), exitPrinted, nil
	}
	return order.Explanation(), exitPrinted, nil
}

// most is how many interleavings are printed; no person reads more.
const most = 10_000

// interleavings lists the orders in which the processes of a Pod may log: a
// letter for each line, and a row of letters for each order.
func interleavings(k reference.Kubelet, pod *corev1.Pod) (string, error) {
	n, err := reference.Count(k, pod, most)
	if err != nil {
		return "", err
	}
	orders, err := reference.Enumerate(k, pod)
	if err != nil {
		return "", err
	}
	letters := map[string]rune{}
	var b, rows strings.Builder
	fmt.Fprintf(&b, "# Pod %s, kubelet %s: %d allowed interleavings of\n", pod.Name, k, n)
	for order := range orders {
		for _, line := range order {
			if _, ok := letters[line]; !ok {
				letters[line] = rune('a' + len(letters))
				if len(letters) > 26 {
					letters[line] = rune('A' + len(letters) - 27)
				}
				fmt.Fprintf(&b, "%c  %s\n", letters[line], line)
			}
			rows.WriteRune(letters[line])
		}
		rows.WriteByte('\n')
	}
	return b.String() + "\n" + rows.String(), nil
}
