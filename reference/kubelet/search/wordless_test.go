package search_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// A container that never writes, such as one that a webhook adds to every Pod, does what any other
// does: without its lines each run is accepted all the same, as nothing follows from silence.
func TestRunsWithAContainerThatNeverWritesAreAccepted(t *testing.T) {
	silenced := 0
	for number := range uint64(2500) {
		j, err := runAndJudge(odd(number + 1))
		assert.NilError(t, err)
		k, err := reference.ParseKubelet(j.trace.Header.Kubelet)
		assert.NilError(t, err)
		manifest := j.pod.Manifest()
		all := append(manifest.Spec.InitContainers, manifest.Spec.Containers...)
		for _, c := range all {
			var others []string
			for _, other := range all {
				if other.Name != c.Name {
					others = append(others, other.Name)
				}
			}
			pod := reference.WithWrites(manifest, strings.Join(others, ","))
			quiet := &trace.Trace{Header: j.trace.Header}
			for _, e := range j.trace.Entries {
				if e.Log != nil {
					line, err := trace.ParseLine(*e.Log)
					assert.NilError(t, err)
					if line.Container == c.Name {
						continue
					}
				}
				quiet.Entries = append(quiet.Entries, e)
			}
			if len(quiet.Entries) == len(j.trace.Entries) {
				continue
			}
			silenced++
			if v := reference.Check(k, pod, quiet); refused(v, quiet) {
				t.Errorf("run %d, kubelet %s, without the lines of %s:\n%s", number+1, k, c.Name, v.Text())
			}
		}
	}
	assert.Assert(t, silenced > 100, "only %d containers were silenced", silenced)
}
