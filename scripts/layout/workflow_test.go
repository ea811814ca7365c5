package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

var pinned = regexp.MustCompile(`"(v[0-9.]+)":\s+"(sha256:[0-9a-f]{64})"`)

// TestWorkflowImages: the conformance workflow runs on exactly the node images
// that the harness pulls, since only those fit the kind release in go.mod.
func TestWorkflowImages(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "harness", "nodeimage", "digests.go"))
	assert.NilError(t, err)
	want := map[string]string{}
	for _, m := range pinned.FindAllStringSubmatch(string(source), -1) {
		want[m[1]] = fmt.Sprintf("kindest/node:%s@%s", m[1], m[2])
	}
	assert.Assert(t, len(want) > 0, "no digest was found")

	b, err := os.ReadFile(filepath.Join("..", "..", ".github", "workflows", "conformance.yaml"))
	assert.NilError(t, err)
	var workflow struct {
		Jobs struct {
			Suite struct {
				Strategy struct {
					Matrix struct {
						Include []struct{ Kubernetes, Image string }
					}
				}
			}
		}
	}
	assert.NilError(t, yaml.Unmarshal(b, &workflow))
	got := map[string]string{}
	for _, row := range workflow.Jobs.Suite.Strategy.Matrix.Include {
		got[row.Kubernetes] = row.Image
	}
	assert.DeepEqual(t, got, want)
}
