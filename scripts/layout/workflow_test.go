package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

var pinned = regexp.MustCompile(`"(v[0-9.]+)":\s+"(sha256:[0-9a-f]{64})"`)

// workflow is what the tests read of a workflow.
type workflow struct {
	Concurrency struct {
		Group  string
		Cancel any `json:"cancel-in-progress"`
	}
	Jobs map[string]struct {
		Needs    string
		Env      map[string]string
		Strategy struct {
			Matrix struct {
				Include []struct{ Kubernetes, Image string }
			}
		}
		Steps []step
	}
}

func workflowOf(t *testing.T, name string) (w workflow) {
	t.Helper()
	read(t, "../../.github/workflows/"+name, &w)
	return w
}

// TestWorkflowImages: the conformance workflow runs on exactly the node images
// that the harness pulls, since only those fit the kind release in go.mod, and on the default
// version, for which there may be none.
func TestWorkflowImages(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "harness", "nodeimage", "digests.go"))
	assert.NilError(t, err)
	want := map[string]string{nodeimage.Default: ""}
	for _, m := range pinned.FindAllStringSubmatch(string(source), -1) {
		want[m[1]] = fmt.Sprintf("kindest/node:%s@%s", m[1], m[2])
	}
	assert.Assert(t, len(want) > 1, "no digest was found")
	got := map[string]string{}
	for _, row := range workflowOf(t, "conformance.yaml").Jobs["suite"].Strategy.Matrix.Include {
		got[row.Kubernetes] = row.Image
	}
	assert.DeepEqual(t, got, want)
}

// TestWorkflowsMerge: the jobs of the matrix leave the summary to the one that merges them.
func TestWorkflowsMerge(t *testing.T) {
	w := workflowOf(t, "conformance.yaml")
	runs := slices.ContainsFunc(w.Jobs["suite"].Steps, func(s step) bool {
		return s.Uses == "./.github/actions/conformance" && s.With["summary"] == "false"
	})
	assert.Check(t, runs)
	report := w.Jobs["report"]
	assert.Equal(t, report.Needs, "suite")
	assert.Check(t, slices.ContainsFunc(report.Steps, func(s step) bool { return s.Run == "go run ./scripts/report -out merged artifacts/*" }))
}

// TestNightly: a push, which is another event, is in another group than a nightly run, and nothing
// cancels one.
func TestNightly(t *testing.T) {
	w := workflowOf(t, "conformance.yaml")
	assert.Check(t, is.Contains(w.Concurrency.Group, "${{ github.event_name }}"))
	assert.Equal(t, w.Concurrency.Cancel, "${{ github.event_name != 'schedule' }}")
	assert.Equal(t, workflowOf(t, "compare.yaml").Concurrency.Cancel, false)
}

// TestComparedKubelets: each kubelet of the nightly comparison can be had, and each minor release
// that the model covers is among them.
func TestComparedKubelets(t *testing.T) {
	text := workflowOf(t, "compare.yaml").Jobs["compare"].Env["KUBERNETES"]
	versions := regexp.MustCompile(`v[0-9][-0-9a-z.]*`).FindAllString(text, -1)
	minors := map[int]bool{}
	for _, v := range versions {
		assert.Check(t, nodeimage.CheckKubelet(v))
		r, err := trace.ParseRelease(v)
		assert.NilError(t, err)
		minors[r.Minor] = true
		k, err := reference.ParseKubelet(v)
		assert.NilError(t, err)
		assert.Check(t, k.Known(), v)
	}
	for minor := 28; ; minor++ {
		k, err := reference.ParseKubelet(fmt.Sprintf("v1.%d.0", minor))
		assert.NilError(t, err)
		if !k.Known() {
			break
		}
		assert.Check(t, minors[minor], "no kubelet of 1.%d", minor)
	}
	assert.Check(t, len(versions) > 9)
}

// TestActionsPinned: an action of somebody else is named by the commit of a release, with its tag, and
// by the same one everywhere.
func TestActionsPinned(t *testing.T) {
	uses := regexp.MustCompile(`(?m)^[^#\n]*uses: +([^ \n#]+)(?: +# (\S+))?$`)
	hash, tag := regexp.MustCompile(`^[0-9a-f]{40}$`), regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)
	by := map[string]string{}
	for _, pattern := range []string{"workflows/*.yaml", "actions/*/action.yaml"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", ".github", filepath.FromSlash(pattern)))
		assert.NilError(t, err)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			assert.NilError(t, err)
			for _, m := range uses.FindAllStringSubmatch(string(b), -1) {
				name, commit, ok := strings.Cut(m[1], "@")
				if strings.HasPrefix(name, "./") {
					continue
				}
				assert.Check(t, ok && hash.MatchString(commit) && tag.MatchString(m[2]), "%s: %s", path, m[0])
				name = strings.Join(strings.Split(name, "/")[:2], "/")
				if by[name] == "" {
					by[name] = m[2] + " " + commit
				}
				assert.Check(t, is.Equal(by[name], m[2]+" "+commit), "%s in %s", name, path)
			}
		}
	}
	assert.Check(t, len(by) >= 5, "%v", by)
}
