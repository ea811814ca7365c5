package newcase

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/manifest"
	"github.com/podorder/podorder/reference/rules"
)

// The exit statuses of the command, as those of judge and explain.
const (
	exitWritten    = 0
	exitUsage      = 2
	exitUnmodelled = 4
)

// kubelet is the one that allowed.txt is written for; a test keeps it equal to the one
// that the suite runs by default.
const kubelet = "v1.37.2"

// options is the command line.
type options struct {
	kubernetes, object, out, title, file string
	told                                 told
}

// Run runs the command with its arguments and returns its exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	fail := func(status int, err error) int {
		fmt.Fprintf(stderr, "new-case: %v\n", err)
		return status
	}
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitWritten
	case err != nil:
		return fail(exitUsage, err)
	}
	var text []byte
	if o.file == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(o.file)
	}
	if err != nil {
		return fail(exitUsage, fmt.Errorf("reading the Pod: %w", err))
	}
	made, status, err := newCase(o, text)
	if err != nil {
		return fail(status, fmt.Errorf("%s: %w", o.file, err))
	}
	if o.out == "" {
		o.out = made.name
	}
	if err := save(o.out, made.files); err != nil {
		return fail(exitUsage, err)
	}
	for _, n := range made.notes {
		fmt.Fprintf(stderr, "new-case: %s\n", n)
	}
	whole, err := filepath.Abs(o.out) // paths of the suite start at the root of the repository
	if err != nil {
		whole = o.out
	}
	fmt.Fprintf(stdout, "%s\nrun it:  make conformance FLAGS=-fixtures=%s\n", o.out, whole)
	return exitWritten
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{told: told{}}
	fs := flag.NewFlagSet("new-case", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // an unknown flag gets one line, not the whole usage
	fs.StringVar(&o.kubernetes, "kubernetes", kubelet, "`version` of the kubelet whose order allowed.txt has")
	fs.StringVar(&o.object, "object", "", "the object that is meant where the manifest has several with a Pod, as `kind/name`")
	fs.StringVar(&o.out, "out", "", "`folder` that the case is written to; that of the Pod's name if nothing is said")
	fs.StringVar(&o.title, "title", "", "what the case is about, in one `sentence`")
	fs.Func("tell", "what an actor does otherwise than usual, `ACTOR: KEY=VALUE ...`, such as \"app: idle=20s exit=1\" or \"app/readiness probe: fail-first=3\"; may be repeated", func(s string) error {
		return parseTold(s, o.told)
	})
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "new-case makes a case of a Pod, with a recorder in the place of each container.\n\nusage: new-case [flags] file    (- is standard input)\n\nflags:")
			fs.SetOutput(stderr)
			fs.PrintDefaults()
			return o, err
		}
		return o, fmt.Errorf("%w; new-case -h lists the flags", err)
	}
	switch {
	case fs.NArg() == 0:
		return o, errors.New("nothing to make a case of: name the manifest of a Pod")
	case fs.NArg() > 1:
		return o, fmt.Errorf("unexpected argument %q; flags go before the manifest, which is one file", fs.Arg(1))
	}
	o.file = fs.Arg(0)
	return o, nil
}

// made is a case that can be written.
type made struct {
	name  string // of its Pod
	files []file
	notes []string
}

// newCase makes a case of a manifest; the status goes with the error.
func newCase(o options, text []byte) (made, int, error) {
	k, err := reference.ParseKubelet(o.kubernetes)
	if err != nil {
		return made{}, exitUsage, fmt.Errorf("-kubernetes: %w", err)
	}
	pod, err := reference.ParsePodOf(text, o.object)
	if errors.Is(err, manifest.ErrWhich) {
		err = fmt.Errorf("%w, with -object", err)
	}
	if err != nil {
		return made{}, exitUsage, err
	}
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return made{}, exitUsage, errors.New("field spec.os.name: the recorder is a program for Linux")
	}
	t := told{}
	if err := parseTold(pod.Annotations[annotation], t); err != nil {
		return made{}, exitUsage, fmt.Errorf("annotation %s: %w", annotation, err)
	}
	maps.Copy(t, o.told)
	gone := withoutNeeds(pod)
	m, err := recorders(pod, t)
	if err != nil {
		return made{}, exitUsage, err
	}
	order, err := reference.Explain(k, pod)
	if err != nil {
		return made{}, exitUnmodelled, err
	}
	s := tell(m)
	notes := append(m.notes, s.notes...)
	if len(gone) > 0 {
		notes = append([]string{"left out: " + strings.Join(gone, ", ")}, notes...)
	}
	c, err := files(o, pod, order, s, notes)
	if err != nil {
		return made{}, exitUsage, err
	}
	c.notes = notes
	return c, exitWritten, c.check()
}

// from names where the Pod comes from, for a reader of the case.
func (o options) from() string {
	name := o.file
	if name == "-" {
		name = "a manifest"
	}
	if o.object != "" {
		name += " (" + o.object + ")"
	}
	return name
}

// files writes the files of a case.
func files(o options, pod *corev1.Pod, order reference.Order, s story, notes []string) (made, error) {
	head := comment("Made by new-case from " + o.from() + ". What each container does, the flags of its recorder say: go doc ./fixtures/recorder.")
	for _, n := range notes {
		head += comment(strings.ToUpper(n[:1]) + n[1:] + ".")
	}
	manifest, err := toYAML(pod)
	if err != nil {
		return made{}, fmt.Errorf("writing the Pod: %w", err)
	}
	title := o.title
	if title == "" {
		title = "The containers of " + pod.Name + " are started, probed and stopped in the order that a kubelet keeps."
	}
	description, err := toYAML(struct {
		Title    string   `json:"title"`
		Rules    []string `json:"rules"`
		Versions string   `json:"versions,omitempty"`
		Steps    []any    `json:"steps"`
		Witness  []string `json:"witness"`
	}{title, rulesOf(order), versionsOf(pod), s.steps, s.witness})
	if err != nil {
		return made{}, fmt.Errorf("describing the case: %w", err)
	}
	allowed := "# Written by: new-case\n" + strings.TrimRight(order.Text(), "\n") + "\n"
	return made{name: pod.Name, files: []file{
		{"pod.yaml", append([]byte(head), manifest...)}, {"case.yaml", description}, {"allowed.txt", []byte(allowed)},
	}}, nil
}

// check reads the case as the suite would.
func (m made) check() error {
	folder := fstest.MapFS{}
	for _, f := range m.files {
		folder["case/"+f.name] = &fstest.MapFile{Data: f.text}
	}
	if _, err := fixtures.Load(folder); err != nil {
		return fmt.Errorf("what was made of it is no case: %w", err)
	}
	return nil
}

// rulesOf are the rules that bind in an order. A Pod in which nothing has to wait for anything is still
// stopped for a reason.
func rulesOf(order reference.Order) []string {
	var out []string
	for _, e := range order.Edges {
		if r, ok := rules.BySlug(e.Rule); ok && r.Level == rules.Must && !slices.Contains(out, e.Rule) {
			out = append(out, e.Rule)
		}
	}
	if len(out) == 0 {
		out = []string{rules.TermCause}
	}
	return out
}

// versionsOf is the range of kubelets that know every field of the Pod; empty for all.
func versionsOf(pod *corev1.Pod) string {
	for minor := 28; ; minor++ {
		k, err := reference.ParseKubelet(fmt.Sprintf("v1.%d.0", minor))
		if err != nil || k.Uncovered() != "" && minor > 28 {
			return ""
		}
		if _, err := reference.Explain(k, pod); err != nil {
			continue
		}
		if minor == 28 {
			return ""
		}
		return fmt.Sprintf(">=1.%d", minor)
	}
}
