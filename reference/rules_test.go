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

// TestRules judges the stored traces of every rule: those of a section accept
// must pass, those of a section refuse must be refused for that very rule, at
// the marked line. A section may name a kubelet, and feature gates after it
// ("refuse v1.28.5 SidecarContainers=true"); the rest is judged as v1.37.2. It is
// a census as well: a rule without both, and a file without a rule, fail. So do a rule
// of which the table says that a log alone can show it to be broken where no refused trace
// does, and one of which it does not say so where one does.
func TestRules(t *testing.T) {
	for _, r := range rules.All() {
		t.Run(r.Slug, func(t *testing.T) {
			a, err := txtar.ParseFile(filepath.Join("testdata", "rules", filepath.FromSlash(r.Slug)+".txt"))
			assert.NilError(t, err)
			accepts, refuses, byLog := 0, 0, 0
			var podScript string
			for _, f := range a.Files {
				word, kubelet, _ := strings.Cut(f.Name, " ")
				kubelet, gates, _ := strings.Cut(kubelet, " ")
				if kubelet == "" {
					kubelet = "v1.37.2"
				}
				if word == "pod" {
					podScript = string(f.Data)
					continue
				}
				pod := parsePodScript(t, podScript)
				tr, line := parseTraceScript(t, pod, kubelet, string(f.Data))
				k, err := reference.ParseKubelet(kubelet)
				assert.NilError(t, err)
				k, err = k.WithGates(gates)
				assert.NilError(t, err)
				v := reference.Check(k, pod, tr)
				switch word {
				case "accept":
					accepts++
					assert.Equal(t, line, 0, "a line of an accept section is marked as refused")
					assert.Equal(t, v.Outcome, reference.Pass, "%s\n%s", v.Text(), f.Data)
				case "refuse":
					refuses++
					assert.Assert(t, v.Outcome == reference.Violation || v.Outcome == reference.Known, "%s\n%s", v.Text(), f.Data)
					assert.Equal(t, v.Rule, r.Slug, "%s\n%s", v.Text(), f.Data)
					assert.Equal(t, v.Line, line, "%s\n%s", v.Text(), f.Data)
					holdsByItself(t, k, pod, tr, v)
					if log, _ := onlyLog(tr, line); reference.Check(k, pod, log).Rule == r.Slug {
						byLog++
					}
				default:
					t.Errorf("section %q is neither pod, accept nor refuse", f.Name)
				}
			}
			assert.Assert(t, accepts > 0, "no accept section")
			if r.Level == rules.May {
				assert.Assert(t, accepts > 1 && refuses == 0, "a MAY rule has two outcomes, both accepted")
				return
			}
			assert.Assert(t, refuses > 0, "no refuse section")
			assert.Equal(t, byLog > 0, r.Log, "of %d refused traces %d are refused as a log alone", refuses, byLog)
		})
	}
}

// holdsByItself judges only the lines that an explanation names, and the refused
// one, and wants the same rule.
func holdsByItself(t *testing.T, k reference.Kubelet, pod *corev1.Pod, tr *trace.Trace, v reference.Verdict) {
	t.Helper()
	only := &trace.Trace{Header: tr.Header, LogOnly: tr.LogOnly}
	for _, e := range tr.Entries {
		if e.Line == v.Line || slices.ContainsFunc(v.Because, func(b reference.Because) bool { return b.Line == e.Line }) {
			only.Entries = append(only.Entries, e)
		}
	}
	again := reference.Check(k, pod, only)
	assert.Equal(t, again.Rule, v.Rule, "%s\nthe named lines alone: %s", v.Text(), again.Text())
	assert.Equal(t, again.Line, v.Line)
}

func TestRuleFilesHaveRules(t *testing.T) {
	n := 0
	err := filepath.WalkDir(filepath.Join("testdata", "rules"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		rel, err := filepath.Rel(filepath.Join("testdata", "rules"), path)
		assert.NilError(t, err)
		_, ok := rules.BySlug(strings.TrimSuffix(filepath.ToSlash(rel), ".txt"))
		assert.Assert(t, ok, "%s belongs to no rule", path)
		return nil
	})
	assert.NilError(t, err)
	assert.Equal(t, n, len(rules.All()))
}
