package reference_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// TestClauses is a census of the clauses and of the faults that suspend them. The file
// testdata/clauses/<name of the clause>.txt has, in the form of the scripts of the rules,
//
//	refuse [KUBELET [GATES]]           a trace that is refused for the rule of the clause, at
//	                                   the marked line
//	accept FAULT [KUBELET [GATES]]     the refused trace before it, and what befell: lines that
//	                                   begin with "fault"
//	inconclusive FAULT [...]           the same, where the fault leaves no more than that
//
// Each fault that the table has for the clause has one section, and there is no other.
// What such a section shows without the lines of the fault is the refused trace, word for
// word; and with them it is refused as well where the table has just this one suspension
// less. A line "fault log alone" leaves nothing of the trace but its log.
func TestClauses(t *testing.T) {
	for _, c := range rules.Clauses() {
		t.Run(c.Name(), func(t *testing.T) {
			a, err := txtar.ParseFile(filepath.Join("testdata", "clauses", c.Name()+".txt"))
			assert.NilError(t, err)
			var pod string
			var refuse *txtar.File
			left := slices.Clone(c.Unless())
			for i := range a.Files {
				f := &a.Files[i]
				word, name, _ := strings.Cut(f.Name, " ")
				switch word {
				case "pod":
					pod, refuse = string(f.Data), nil
				case "refuse":
					refuse = f
					s := clauseScript(t, pod, name, string(f.Data))
					s.refusedFor(t, reference.Check(s.kubelet, s.pod, s.trace), c.Rule())
				case "accept", "inconclusive":
					assert.Assert(t, refuse != nil, "no refused trace stands before section %q", f.Name)
					fault, kubelet, _ := strings.Cut(name, " ")
					k := slices.IndexFunc(left, func(s rules.Suspension) bool { return s.Fault.Name() == fault })
					assert.Assert(t, k >= 0, "the clause has no suspension for section %q, or it was shown before", f.Name)
					_, of, _ := strings.Cut(refuse.Name, " ")
					assert.Equal(t, kubelet, of, "section %q and the refused trace before it name different kubelets", f.Name)
					assert.Equal(t, withoutFault(string(f.Data)), withoutFault(string(refuse.Data)), "section %q differs from the refused trace by more than the fault", f.Name)
					s := clauseScript(t, pod, kubelet, markedLike(string(f.Data), string(refuse.Data)))
					want := map[string]reference.Outcome{"accept": reference.Pass, "inconclusive": reference.Inconclusive}[word]
					v := reference.Check(s.kubelet, s.pod, s.trace)
					assert.Equal(t, v.Outcome, want, "-- %s --\n%s%s", f.Name, f.Data, v.Text())
					s.refusedFor(t, reference.CheckIgnoring(s.kubelet, s.pod, s.trace, c, left[k]), c.Rule())
					left = slices.Delete(left, k, k+1)
				default:
					t.Errorf("section %q is neither pod, refuse, accept nor inconclusive", f.Name)
				}
			}
			assert.Assert(t, refuse != nil, "no refuse section")
			assert.Equal(t, len(left), 0, "no section shows that it matters: %v", left)
		})
	}
}

func TestClauseFilesHaveClauses(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "clauses"))
	assert.NilError(t, err)
	names := map[string]bool{}
	for _, c := range rules.Clauses() {
		names[c.Name()+".txt"] = true
	}
	assert.Equal(t, len(names), len(rules.Clauses()), "two clauses have one name")
	for _, f := range files {
		assert.Assert(t, names[f.Name()], "%s belongs to no clause", f.Name())
	}
}

// aClauseScript is a section of these files.
type aClauseScript struct {
	kubelet reference.Kubelet
	pod     *corev1.Pod
	trace   *trace.Trace
	line    int // of the marked observation
	text    string
}

// clauseScript reads one. The kubelet may have feature gates after it.
func clauseScript(t *testing.T, pod, kubelet, script string) aClauseScript {
	t.Helper()
	kubelet, gates, _ := strings.Cut(kubelet, " ")
	if kubelet == "" {
		kubelet = "v1.37.2"
	}
	k, err := reference.ParseKubelet(kubelet)
	assert.NilError(t, err)
	k, err = k.WithGates(gates)
	assert.NilError(t, err)
	s := aClauseScript{kubelet: k, pod: parsePodScript(t, pod), text: script}
	s.trace, s.line = parseSection(t, s.pod, kubelet, script)
	return s
}

// refusedFor wants the verdict to be a violation of the rule at the marked line, or that of a
// log alone which something else than the fault would explain as well.
func (s aClauseScript) refusedFor(t *testing.T, v reference.Verdict, rule string) {
	t.Helper()
	refused := v.Outcome == reference.Violation || v.Outcome == reference.Known || len(v.Explained) > 0
	assert.Assert(t, refused, "%s%s", s.text, v.Text())
	assert.Equal(t, v.Rule, rule, "%s%s", s.text, v.Text())
	assert.Equal(t, v.Line, s.line, "%s%s", s.text, v.Text())
}

// withoutFault is a script without the lines that make up the fault, comments and the mark.
func withoutFault(script string) string {
	var left strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), refused))
		if line != "" && !strings.HasPrefix(line, "fault ") && !strings.HasPrefix(line, "//") {
			left.WriteString(line + "\n")
		}
	}
	return left.String()
}

// markedLike marks the line of a script with a fault that is refused without it.
func markedLike(script, without string) string {
	at, n := -1, 0
	for line := range strings.Lines(withoutComments(without)) {
		if strings.HasSuffix(strings.TrimSpace(line), refused) {
			at = n
		}
		n++
	}
	var marked strings.Builder
	n = 0
	for line := range strings.Lines(withoutComments(script)) {
		if !strings.HasPrefix(line, "fault ") {
			if n == at {
				line = strings.TrimSpace(line) + " " + refused + "\n"
			}
			n++
		}
		marked.WriteString(line)
	}
	return marked.String()
}

func withoutComments(script string) string {
	var left strings.Builder
	for line := range strings.Lines(script) {
		if l := strings.TrimSpace(line); l != "" && !strings.HasPrefix(l, "//") {
			left.WriteString(line)
		}
	}
	return left.String()
}
