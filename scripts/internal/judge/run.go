package judge

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/admission"
	"github.com/podorder/podorder/reference/manifest"
	"github.com/podorder/podorder/reference/trace"
)

// The exit statuses of the command.
const (
	exitPass = iota
	exitViolation
	exitUsage
	exitInconclusive
	exitUnmodelled
	exitKnown
)

// options is the command line.
type options struct {
	kubernetes, gates, pod, object, log, trace, caseID, fixtures, svg string
	json, strict                                                      bool
	// writes says who writes to the log; nil where it is not given.
	writes *string
	// known is what is known beside a log, and told whether a flag says anything of it.
	known reference.LogKnown
	told  bool
}

// input is what the command line names, read.
type input struct {
	kubelet reference.Kubelet
	// pod is the Pod that the command line names, by itself or with a case; nil
	// where the trace is judged by the Pod in it.
	pod     *corev1.Pod
	trace   *trace.Trace
	witness []trace.Pattern
	// of is the case that the witnesses are of, and changes are what differs between
	// its Pod and the one in the trace.
	of      string
	changes admission.Changes
	// writes says who writes to the log; nil where the Pod itself tells.
	writes *string
	// log is there instead of trace where a log alone is judged and no witness
	// is asked for: it may be too long to be held in memory.
	log io.ReadSeeker
	// done closes it.
	done func() error
}

// Run runs the command with its arguments and returns its exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitPass
	case err != nil:
		return fail(stderr, err)
	}
	in, err := read(o, stdin)
	var torn *trace.Error
	switch {
	case errors.As(err, &torn):
		// The input was found and is damaged: that is a verdict, with a line.
		v := broken(torn)
		v.Log = lineAt(cmp.Or(o.log, o.trace), v.Line)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			v = empty()
		}
		return in.finish(v, o, stdout, stderr)
	case err != nil:
		return fail(stderr, err)
	}
	if note := in.kubelet.Uncovered(); note != "" {
		fmt.Fprintf(stderr, "judge: warning: %s\n", note)
	}
	in.tellWrites()
	if in.log != nil {
		v := o.known.CheckLog(in.kubelet, in.pod, in.log)
		if v.Outcome == reference.Broken && v.Log == "" {
			if _, err := in.log.Seek(0, io.SeekStart); err == nil {
				v.Log = line(in.log, v.Line)
			}
		}
		err := in.forPicture(o)
		if err := errors.Join(err, in.done()); err != nil {
			return fail(stderr, fmt.Errorf("reading the log: %w", err))
		}
		return in.finish(v, o, stdout, stderr)
	}
	v := reference.CheckTrace(in.kubelet, in.trace)
	if in.pod != nil {
		v = o.known.Check(in.kubelet, in.pod, in.trace)
	}
	if in.witness != nil {
		v = v.Witnessed(in.trace, in.witness)
	}
	if len(in.changes) > 0 {
		note := fmt.Sprintf("the Pod in the trace is not that of case %s: %s, or the case has changed since", in.of, in.changes)
		judged := "the Pod in the trace is judged; only the witnesses are those of the case"
		if o.pod != "" {
			note = fmt.Sprintf("the Pod in the trace is not that of %s: %s", o.pod, in.changes)
			judged = "the Pod in the trace is judged, as the one that the API server admitted"
		}
		fmt.Fprintf(stderr, "judge: %s; %s\n", note, judged)
		if v.Outcome == reference.Inconclusive && v.Reason != "" {
			v.Reason += "; " + note
		}
	}
	return in.finish(v, o, stdout, stderr)
}

func fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "judge: %v\n", err)
	return exitUsage
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("judge", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // an unknown flag gets one line, not the whole usage
	fs.StringVar(&o.kubernetes, "kubernetes", "", "`version` of the kubelet that ran the Pod; a trace names its own")
	fs.StringVar(&o.gates, "feature-gates", "", "feature `gates` of the kubelet that differ from its defaults (SidecarContainers=true,...)")
	fs.StringVar(&o.pod, "pod", "", "manifest of the Pod, or of a Deployment, Job or the like, a `file`; a trace that holds the Pod is judged by that one")
	fs.StringVar(&o.object, "object", "", "the object of -pod that is meant where the file has several with a Pod, as `kind/name`")
	fs.StringVar(&o.log, "log", "", "shared log to judge, a `file`; - is standard input")
	fs.StringVar(&o.trace, "trace", "", "trace to judge, a `file`; - is standard input")
	fs.StringVar(&o.caseID, "case", "", "take the witnesses from the bundled `case` (hooks/poststart-blocks), and the Pod where a trace holds none")
	fs.StringVar(&o.fixtures, "fixtures", "", "the `folder` that the case is in, where it is not a bundled one")
	fs.Func("writes", "who writes to the log, where the Pod does not tell, a `list` of containers and actors (\"app, network/post start hook\"); what it does not name writes nothing", func(list string) error {
		o.writes = &list
		return nil
	})
	fs.BoolVar(&o.json, "json", false, "print the verdict as one JSON object")
	fs.StringVar(&o.svg, "svg", "", "write a picture of what was recorded, with what the verdict names, to a `file`")
	fs.BoolVar(&o.strict, "strict", false, "let a known issue count as a violation")
	o.logFlags(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "judge judges a saved log or trace without a cluster.\n\nusage: judge -kubernetes version -pod file [-object kind/name] -log file\n       judge -trace file [-svg picture]\n\nflags:")
			fs.SetOutput(stderr)
			fs.PrintDefaults()
			return o, err
		}
		return o, fmt.Errorf("%w; judge -h lists the flags", err)
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; a log is named by -log, a trace by -trace", fs.Arg(0))
	case o.log == "" && o.trace == "":
		return o, errors.New("nothing to judge: name a log with -log or a trace with -trace")
	case o.log != "" && o.trace != "":
		return o, errors.New("-log and -trace both name something to judge; give one of them")
	case o.told && o.log == "":
		return o, errors.New("-deleted-at, -grace and -assume are for a log alone, named by -log; a trace says itself what was done")
	case o.pod != "" && o.caseID != "":
		return o, errors.New("-pod and -case both name a Pod; give one of them")
	case o.fixtures != "" && o.trace == "" && o.caseID == "":
		return o, errors.New("-fixtures says where a case is: name it with -case, or give a trace of it with -trace")
	case o.object != "" && o.pod == "":
		return o, errors.New("-object chooses among the objects of a manifest: give that with -pod")
	case o.log != "" && o.kubernetes == "":
		return o, errors.New("a log does not say which kubelet wrote it: give its version with -kubernetes")
	case o.log != "" && o.pod == "" && o.caseID == "":
		return o, errors.New("a log does not say which Pod wrote it: give its manifest with -pod")
	}
	return o, nil
}

// read reads everything that the command line names. A *trace.Error in the
// error means that the log or trace itself is damaged.
func read(o options, stdin io.Reader) (input, error) {
	in := input{writes: o.writes}
	var err error
	if o.kubernetes != "" {
		if in.kubelet, err = reference.ParseKubelet(o.kubernetes); err != nil {
			return in, fmt.Errorf("-kubernetes: %w", err)
		}
		if in.kubelet, err = in.kubelet.WithGates(o.gates); err != nil {
			return in, fmt.Errorf("-feature-gates: %w", err)
		}
	}
	if o.pod != "" {
		text, err := os.ReadFile(o.pod)
		if err != nil {
			return in, fmt.Errorf("reading the Pod: %w", err)
		}
		in.pod, err = reference.ParsePodOf(text, o.object)
		if errors.Is(err, manifest.ErrWhich) {
			err = fmt.Errorf("%w, with -object", err)
		}
		if err != nil {
			return in, fmt.Errorf("%s: %w", o.pod, err)
		}
	}
	if o.caseID != "" {
		if err := in.fromCase(o.fixtures, o.caseID); err != nil {
			return in, err
		}
	}
	if o.log != "" {
		r, done, err := open(o.log, stdin)
		if err != nil {
			return in, fmt.Errorf("reading the log: %w", err)
		}
		if in.witness == nil {
			in.log, err = seekable(r)
			in.done = done
			if err != nil {
				err = fmt.Errorf("reading the log: %w", errors.Join(err, done()))
			}
			return in, err
		}
		defer done()
		if in.trace, err = trace.ReadLog(r, o.kubernetes); err != nil {
			return in, fmt.Errorf("%s: %w", o.log, err)
		}
		return in, nil
	}
	r, done, err := open(o.trace, stdin)
	if err != nil {
		return in, fmt.Errorf("reading the trace: %w", err)
	}
	defer done()
	if in.trace, err = trace.Read(r); err != nil {
		return in, fmt.Errorf("%s: %w", o.trace, err)
	}
	return in, in.fromTrace(o)
}

// seekable returns what can be read more than once: a file as it is, anything
// else from memory.
func seekable(r io.Reader) (io.ReadSeeker, error) {
	if f, ok := r.(io.ReadSeeker); ok {
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			return f, nil
		}
	}
	b, err := io.ReadAll(r)
	return bytes.NewReader(b), err
}

func open(name string, stdin io.Reader) (io.Reader, func() error, error) {
	if name == "-" {
		return stdin, func() error { return nil }, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		f.Close()
		return nil, nil, fmt.Errorf("%s is a folder", name)
	}
	return f, f.Close, nil
}

// fromTrace fills in what only the trace says.
func (in *input) fromTrace(o options) error {
	h := in.trace.Header
	var err error
	if o.kubernetes == "" {
		if in.kubelet, err = reference.ParseKubelet(h.Kubelet); err != nil {
			return fmt.Errorf("%s: the header's kubelet: %w; give the version with -kubernetes", o.trace, err)
		}
		if in.kubelet, err = in.kubelet.WithGates(o.gates); err != nil {
			return fmt.Errorf("-feature-gates: %w", err)
		}
	}
	if in.kubelet, err = in.kubelet.Configured(h.Settings); err != nil {
		return fmt.Errorf("%s: the header's settings: %w", o.trace, err)
	}
	// The Pod that was admitted is the one to judge by. The manifest or the case may have
	// another; the case has what no trace holds.
	admitted := in.trace.Admitted()
	if o.caseID == "" && o.pod == "" {
		// A trace may be of a case that is no more.
		if err := in.fromCase(o.fixtures, h.Case); err != nil && (!errors.Is(err, errNoCase) || o.fixtures != "") {
			return err
		}
	}
	switch {
	case admitted != nil && in.pod != nil:
		in.changes, in.pod = admission.Compare(in.pod, admitted), nil
	case admitted == nil && in.pod == nil:
		return fmt.Errorf("%s holds no Pod object and names no bundled case: give the manifest with -pod", o.trace)
	case admitted == nil && o.caseID == "" && o.pod == "":
		in.pod = nil // what the case is now may not be what was run
	}
	return nil
}

var errNoCase = errors.New("there is no case")

// fromCase takes the Pod and the witnesses of a case: a bundled one, or one of a folder if that is
// given.
func (in *input) fromCase(folder, id string) error {
	cases, err := fixtures.All()
	if err != nil {
		return fmt.Errorf("reading the bundled cases: %w", err)
	}
	if folder != "" {
		// The rules that it names decide nothing here.
		if cases, err = fixtures.LoadDir(folder, nil); err != nil {
			return fmt.Errorf("-fixtures: %w", err)
		}
	}
	i := slices.IndexFunc(cases, func(c fixtures.Case) bool { return c.ID == id })
	if i < 0 {
		return fmt.Errorf("-case: %w %q; the cases are %s", errNoCase, id, ids(cases))
	}
	if in.pod, err = reference.ParsePod(cases[i].Manifest); err != nil {
		return fmt.Errorf("case %s: %w", id, err)
	}
	in.of, in.witness = id, cases[i].Witness
	if of := cases[i].Writes; of != nil && in.writes == nil {
		list := strings.Join(of, ",")
		in.writes = &list
	}
	return nil
}

// tellWrites has the Pod that is judged say who writes to the log, where the command line or a
// case says so.
func (in *input) tellWrites() {
	if in.writes == nil {
		return
	}
	if in.pod == nil {
		in.pod = in.trace.Admitted()
	}
	in.pod = reference.WithWrites(in.pod, *in.writes)
}

func ids(cases []fixtures.Case) string {
	all := make([]string, len(cases))
	for i, c := range cases {
		all[i] = c.ID
	}
	return strings.Join(all, ", ")
}

func broken(err *trace.Error) reference.Verdict {
	return reference.Verdict{Outcome: reference.Broken, Line: err.Line, Reason: err.Err.Error()}
}

// lineAt returns a line of a file, counted from 1; it is empty where there is none
// to be had, as of standard input, which has been read.
func lineAt(path string, n int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	return line(f, n)
}

// line returns a line, and not more of it than one can look at.
func line(r io.Reader, n int) string {
	const most = 200
	s := bufio.NewScanner(r)
	s.Buffer(nil, trace.MaxLine)
	for i := 1; s.Scan(); i++ {
		if i < n {
			continue
		}
		if text := []rune(s.Text()); len(text) > most {
			return string(text[:most]) + "…"
		}
		return s.Text()
	}
	return ""
}

func empty() reference.Verdict {
	return reference.Verdict{Outcome: reference.Inconclusive, Reason: "nothing was recorded: the trace is empty"}
}

func print(v reference.Verdict, o options, stdout, stderr io.Writer) int {
	if o.json {
		b, err := json.Marshal(v)
		if err != nil {
			return fail(stderr, fmt.Errorf("encoding the verdict: %w", err))
		}
		fmt.Fprintf(stdout, "%s\n", b)
		if v.Reason != "" && !v.Outcome.Green() {
			fmt.Fprintf(stderr, "judge: %s: %s\n", v.Outcome, v.Reason)
		}
	} else {
		text := []byte(v.Text())
		stdout.Write(append(bytes.TrimRight(text, "\n"), '\n'))
	}
	switch v.Outcome {
	case reference.Pass:
		return exitPass
	case reference.Violation, reference.Fixed:
		return exitViolation
	case reference.Known:
		if o.strict {
			return exitViolation
		}
		return exitKnown
	case reference.Inconclusive:
		return exitInconclusive
	case reference.Unmodelled:
		return exitUnmodelled
	}
	return exitUsage
}
