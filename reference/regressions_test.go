package reference_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// The scripts of testdata/regressions are traces that the judge once had wrong,
// or that it is easily wrong about. A script begins with the cause: why the
// kubelet may do what the trace shows, or why it may not. Its sections say what
// the verdict must be:
//
//	accept                     a pass
//	refuse hooks/one           a violation of this rule
//	known hooks/one            the same, explained by a known issue
//	inconclusive               no decision
//
// After it may stand a kubelet, and feature gates, as in the scripts of the
// rules ("refuse hooks/one v1.28.5"). A section takes what stands before it:
//
//	pod                        a Pod in short form; the sections hold traces in
//	                           short form, and mark the refused line with "<-"
//	stored DIR [FILE]          pod.yaml and FILE.trace.jsonl, or trace.jsonl, of
//	                           this folder of testdata: a trace that is too long
//	                           to be written again, or in which every stamp and
//	                           every field may count. It is judged by the kubelet
//	                           that it names
//
// and may have these words, one a line:
//
//	reason TEXT                the reason that the verdict gives
//	log alone                  only the log is judged
//	cut anywhere               the same of whatever is cut off at the end
//
// What is done to a stored trace before it is judged, and what is refused then.
// WHICH is a piece of exactly one line of the file, or "line N" of it:
//
//	pod DIR                    the Pod of this folder
//	without WHICH              the line is taken out
//	until WHICH                it is the last one
//	replace [line N] OLD => NEW
//	after WHICH                where insert goes, which is the end otherwise
//	insert [+1m] TEXT          a line of the log: how long after the one before it comes,
//	insert [-1s] TEXT          or how long before it comes it was written
//	refused WHICH              the line that is refused
//
// Lines keep the numbers that they have in the file, apart from what insert
// moves on. A stored Pod named "simulated" was run by package kubelet.
func TestRegressions(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "regressions", "*.txt"))
	assert.NilError(t, err)
	assert.Assert(t, len(scripts) > 0)
	used := map[string]bool{}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			for _, of := range sections(t, path) {
				if words := strings.Fields(of.base.Name); words[0] == "stored" {
					used[words[1]] = true
				}
				judgeSection(t, of.base, of.section)
			}
		})
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "regressions", "*", "trace.jsonl"))
	assert.NilError(t, err)
	for _, dir := range dirs {
		name, err := filepath.Rel("testdata", filepath.Dir(dir))
		assert.NilError(t, err)
		assert.Assert(t, used[filepath.ToSlash(name)], "no script judges %s", name)
	}
}

// wanted is what a section says of its verdict.
type wanted struct {
	outcome reference.Outcome
	rule    string
	line    int    // of the refused observation; 0 where none is
	log     string // what it ends with, or holds
	reason  string
}

// judgeSection judges a section as it wants to be, and returns the verdict and the kubelet.
func judgeSection(t *testing.T, base, section *txtar.File) (reference.Verdict, reference.Kubelet) {
	t.Helper()
	words := strings.Fields(section.Name)
	var want wanted
	outcomes := map[string]reference.Outcome{
		"accept": reference.Pass, "refuse": reference.Violation, "known": reference.Known, "inconclusive": reference.Inconclusive,
	}
	var ok bool
	want.outcome, ok = outcomes[words[0]]
	assert.Assert(t, ok, "section %q has no such verdict", section.Name)
	words = words[1:]
	if want.outcome == reference.Violation || want.outcome == reference.Known {
		assert.Assert(t, len(words) > 0, "section %q names no rule", section.Name)
		want.rule, words = words[0], words[1:]
		_, ok := rules.BySlug(want.rule)
		assert.Assert(t, ok, "section %q: no such rule", section.Name)
	}
	s := &judged{t: t}
	var rest strings.Builder
	for line := range strings.Lines(string(section.Data)) {
		word, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "reason":
			want.reason = arg
		case word == "log" && arg == "alone":
			s.logAlone = true
		case word == "cut" && arg == "anywhere":
			s.cutAnywhere = true
		default:
			rest.WriteString(line)
		}
	}
	kubelet := "v1.37.2"
	if dir, ok := strings.CutPrefix(base.Name, "stored "); ok {
		dir, file, _ := strings.Cut(dir, " ")
		kubelet = s.edit(filepath.Join("testdata", filepath.FromSlash(dir)), file, rest.String(), &want)
	} else if len(words) > 0 {
		kubelet = words[0]
	}
	if s.tr == nil {
		s.pod = parsePodScript(t, string(base.Data))
		s.tr, want.line = parseTraceScript(t, s.pod, kubelet, rest.String())
	}
	k, err := reference.ParseKubelet(kubelet)
	assert.NilError(t, err)
	if len(words) > 1 {
		k, err = k.WithGates(words[1])
		assert.NilError(t, err)
	}
	return s.judge(k, want, section), k
}

// judged is a trace and how it is to be judged.
type judged struct {
	t                     *testing.T
	pod                   *corev1.Pod
	tr                    *trace.Trace
	logAlone, cutAnywhere bool
}

func (s *judged) judge(k reference.Kubelet, want wanted, section *txtar.File) reference.Verdict {
	t := s.t
	t.Helper()
	if s.logAlone {
		s.tr, want.line = onlyLog(s.tr, want.line)
	}
	v := reference.Check(k, s.pod, s.tr)
	where := fmt.Sprintf("-- %s --\n%s%s", section.Name, section.Data, v.Text())
	assert.Equal(t, v.Outcome, want.outcome, where)
	assert.Equal(t, v.Issue != "", want.outcome == reference.Known, where)
	if s.logAlone {
		var log strings.Builder
		for _, e := range s.tr.Entries {
			log.WriteString(*e.Log + "\n")
		}
		assert.DeepEqual(t, reference.CheckLog(k, s.pod, strings.NewReader(log.String())), v)
	}
	if want.reason != "" {
		assert.Equal(t, v.Reason, want.reason, where)
	}
	if want.rule != "" {
		assert.Equal(t, v.Rule, want.rule, where)
		assert.Assert(t, want.line > 0, "no line is marked as refused: %s", where)
		holdsByItself(t, k, s.pod, s.tr, v)
	}
	if want.line > 0 {
		assert.Equal(t, v.Line, want.line, where)
		assert.Assert(t, strings.Contains(v.Log, want.log), where)
	}
	for n := range s.tr.Entries {
		cut := &trace.Trace{Header: s.tr.Header, LogOnly: s.logAlone, Entries: s.tr.Entries[:n]}
		if !s.cutAnywhere {
			break
		}
		outcome := want.outcome
		if cut.Logs() == 0 {
			outcome = reference.Inconclusive
		}
		v := reference.Check(k, s.pod, cut)
		assert.Equal(t, v.Outcome, outcome, "first %d entries: %s", n, v.Text())
	}
	return v
}

// storedLine is a line of a stored trace, with the number that it has in its file.
type storedLine struct {
	n   int
	raw string
}

// edit reads a stored trace, does to it what a section says, and returns the
// kubelet that it names.
func (s *judged) edit(dir, file, script string, want *wanted) string {
	t := s.t
	t.Helper()
	file = strings.TrimPrefix(file+".trace.jsonl", ".")
	b, err := os.ReadFile(filepath.Join(dir, file))
	assert.NilError(t, err)
	var lines []storedLine
	for line := range strings.Lines(string(b)) {
		lines = append(lines, storedLine{len(lines) + 1, strings.TrimSpace(line)})
	}
	header, lines := lines[0], lines[1:]
	which := func(text string) int {
		t.Helper()
		number, byNumber := strings.CutPrefix(text, "line ")
		at := -1
		for i, l := range lines {
			if byNumber && strconv.Itoa(l.n) == number || !byNumber && strings.Contains(l.raw, text) {
				assert.Assert(t, at < 0, "%q is in lines %d and %d", text, lines[max(at, 0)].n, l.n)
				at = i
			}
		}
		assert.Assert(t, at >= 0, "%q is in no line", text)
		return at
	}
	manifest, refused, after := dir, "", -1
	for line := range strings.Lines(script) {
		word, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "//":
		case "pod":
			manifest = filepath.Join("testdata", filepath.FromSlash(arg))
		case "without":
			at := which(arg)
			lines = slices.Delete(lines, at, at+1)
		case "until":
			lines = lines[:which(arg)+1]
		case "after":
			after = which(arg)
		case "insert":
			if after < 0 {
				after = len(lines) - 1
			}
			lines = insertLog(t, lines, after, arg)
			after++
		case "replace":
			from, to := 0, len(lines)
			if number, what, ok := strings.Cut(arg, " "); ok && number == "line" {
				number, what, _ = strings.Cut(what, " ")
				from, arg = which("line "+number), what
				to = from + 1
			}
			old, with, ok := strings.Cut(arg, " => ")
			assert.Assert(t, ok, "replace without =>: %s", line)
			changed := 0
			for i := from; i < to; i++ {
				changed += strings.Count(lines[i].raw, old)
				lines[i].raw = strings.ReplaceAll(lines[i].raw, old, with)
			}
			assert.Assert(t, changed > 0, "nothing to replace: %s", line)
		case "refused":
			refused = arg
		default:
			t.Fatalf("%q is nothing that is done to a stored trace", line)
		}
	}
	if refused != "" {
		want.line = lines[which(refused)].n
		if !strings.HasPrefix(refused, "line ") {
			want.log = refused
		}
	}
	text := header.raw
	for _, l := range lines {
		text += "\n" + l.raw
	}
	s.tr, err = trace.Read(strings.NewReader(text))
	assert.NilError(t, err)
	for i, l := range lines {
		s.tr.Entries[i].Line = l.n
	}
	s.pod = storedPod(t, manifest)
	return s.tr.Header.Kubelet
}

// insertLog puts a log line after the one at a place.
func insertLog(t *testing.T, lines []storedLine, at int, arg string) []storedLine {
	t.Helper()
	var before trace.Entry
	assert.NilError(t, json.Unmarshal([]byte(lines[at].raw), &before))
	written := before.At
	if d, rest, _ := strings.Cut(arg, " "); d[0] == '+' || d[0] == '-' {
		wait, err := time.ParseDuration(d)
		assert.NilError(t, err)
		written, arg = written.Add(wait), rest
		if wait > 0 {
			before.At = written
		}
	}
	log := written.Format(time.RFC3339Nano) + ": " + arg
	raw, err := json.Marshal(trace.Entry{At: before.At, Log: &log})
	assert.NilError(t, err)
	lines = slices.Insert(slices.Clone(lines), at+1, storedLine{lines[at].n + 1, string(raw)})
	for i := at + 2; i < len(lines); i++ {
		lines[i].n++
	}
	return lines
}
