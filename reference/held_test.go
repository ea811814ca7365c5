package reference_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/rules"
	"github.com/podorder/podorder/reference/trace"
)

// No verdict names a rule that the table does not have for the kubelet: the scripts of the
// rules, of the clauses and of the regressions are judged as each release, and as each with
// one feature gate the other way round.
func TestVerdictsNameRulesThatHold(t *testing.T) {
	kubelets := everyKubelet(t)
	named, without := map[string]bool{}, map[string]bool{}
	eachScript(t, func(where string, pod *corev1.Pod, of func(version string) *trace.Trace) {
		for _, k := range kubelets {
			v := reference.Check(k.Kubelet, pod, of(k.String()))
			slugs := []string{v.Rule}
			for _, b := range v.Because {
				slugs = append(slugs, b.Rule)
			}
			for _, slug := range slugs {
				if slug == "" {
					continue
				}
				named[slug] = true
				if !k.Holds(slug) && !without[k.text+slug] {
					without[k.text+slug] = true
					t.Errorf("%s: kubelet %s does not have rule %s\n%s", where, k.text, slug, v.Text())
				}
			}
		}
	})
	for _, r := range rules.All() {
		assert.Check(t, named[r.Slug] == (r.Level == rules.Must), "verdicts name rule %s: %t", r.Slug, named[r.Slug])
	}
}

// namedKubelet is a kubelet, and what sets it apart.
type namedKubelet struct {
	reference.Kubelet
	text string
}

// everyKubelet is each release that was measured, as it is and with one gate turned round.
func everyKubelet(t *testing.T) []namedKubelet {
	t.Helper()
	var all []namedKubelet
	for _, version := range kubelet.Versions() {
		k, err := reference.ParseKubelet(version)
		assert.NilError(t, err)
		all = append(all, namedKubelet{k, version})
		for _, gate := range rules.Gates() {
			other := gate + "=true"
			if k.Enabled(gate) {
				other = gate + "=false"
			}
			if turned, err := k.WithGates(other); err == nil { // else it came later
				all = append(all, namedKubelet{turned, version + " " + other})
			}
		}
	}
	return all
}

// eachScript calls do with each trace in short form, and where it stands. The updates of a
// kubelet v1.28 lack a condition.
func eachScript(t *testing.T, do func(where string, pod *corev1.Pod, of func(version string) *trace.Trace)) {
	t.Helper()
	scripts := 0
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		a, err := txtar.ParseFile(path)
		if err != nil {
			return err
		}
		var pod *txtar.File
		for i := range a.Files {
			f := &a.Files[i]
			switch word, _, _ := strings.Cut(f.Name, " "); {
			case word == "pod":
				pod = f
			case word == "stored":
				pod = nil
			case pod != nil:
				scripts++
				p := parsePodScript(t, string(pod.Data))
				first, _ := parseSection(t, p, "v1.28.5", string(f.Data))
				later, _ := parseSection(t, p, "v1.37.2", string(f.Data))
				do(path+": "+f.Name, p, func(version string) *trace.Trace {
					if strings.HasPrefix(version, "v1.28.") {
						return first
					}
					return later
				})
			}
		}
		return nil
	})
	assert.NilError(t, err)
	assert.Assert(t, scripts > 0)
}
