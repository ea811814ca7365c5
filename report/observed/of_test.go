package observed_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report/observed"

	"gotest.tools/v3/assert"
)

func read(t *testing.T, path string) *trace.Trace {
	t.Helper()
	f, err := os.Open(path)
	assert.NilError(t, err)
	defer f.Close()
	tr, err := trace.Read(f)
	assert.NilError(t, err)
	return tr
}

// A made recording: times are seconds after noon.
const made = `{"trace":1,"kubelet":"v1.37.2"}
{"at":"2026-12-01T12:00:00Z","did":{"apply":{}}}
{"at":"2026-12-01T12:00:00.5Z","type":"ADDED","pod":{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i","lifecycle":{"postStart":{"exec":{}}},"readinessProbe":{"exec":{}}},{"name":"b","image":"i"}]},"status":{"phase":"Pending"}}}
{"at":"2026-12-01T12:00:01Z","log":"2026-12-01T12:00:01Z: a#0 / main: begin"}
{"at":"2026-12-01T12:00:01.1Z","log":"2026-12-01T12:00:01.1Z: a#0 / post start hook: begin"}
{"at":"2026-12-01T12:00:03Z","log":"2026-12-01T12:00:03Z: a#0 / post start hook: end 0"}
{"at":"2026-12-01T12:00:03.4Z","log":"2026-12-01T12:00:03.4Z: b#0 / main: begin"}
{"at":"2026-12-01T12:00:03.3Z","log":"2026-12-01T12:00:03.3Z: b#0 / main: end 1"}
{"at":"2026-12-01T12:00:04Z","log":"2026-12-01T12:00:04Z: a#0 / readiness probe: end 0"}
{"at":"2026-12-01T12:00:04.1Z","type":"MODIFIED","pod":{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"a","ready":true,"started":true,"restartCount":0,"image":"i","imageID":"","state":{"running":{}}},{"name":"b","ready":false,"started":false,"restartCount":0,"image":"i","imageID":"","state":{"terminated":{"exitCode":1}}}]}}}
{"at":"2026-12-01T12:00:04.5Z","log":"2026-12-01T12:00:04.5Z: b#1 / main: begin"}
{"at":"2026-12-01T12:00:05Z","log":"2026-12-01T12:00:05Z: a#0 / readiness probe: end 0"}
{"at":"2026-12-01T12:00:08Z","did":{"delete":{}}}
{"at":"2026-12-01T12:00:08.1Z","log":"2026-12-01T12:00:08.1Z: a#0 / readiness probe: end 0"}
{"at":"2026-12-01T12:00:08.2Z","log":"2026-12-01T12:00:08.2Z: a#0 / main: signal TERM from outside"}
{"at":"2026-12-01T12:00:08.3Z","log":"2026-12-01T12:00:08.3Z: a#0 / readiness probe: end 1"}
{"at":"2026-12-01T12:00:10.3Z","log":"2026-12-01T12:00:10.3Z: a#0 / readiness probe: end 1"}
{"at":"2026-12-01T12:00:11.2Z","type":"DELETED","pod":{"metadata":{"name":"p","deletionTimestamp":"2026-12-01T12:00:38Z"},"spec":{"containers":[{"name":"a","image":"i"}]},"status":{"phase":"Running"}}}
`

func TestOf(t *testing.T) {
	tr, err := trace.Read(strings.NewReader(made))
	assert.NilError(t, err)
	b := observed.Of(nil, tr)
	var names []string
	for _, e := range b.Events {
		names = append(names, e.Name)
	}
	assert.DeepEqual(t, names, []string{
		"phase Pending", "a#0 / main: begin", "a#0 / post start hook: begin", "a#0 / post start hook: end 0",
		"b#0 / main: begin", "b#0 / main: end 1", "a#0 / readiness probe: end 0",
		"a#0 shown running", "a#0 shown started", "a#0 shown ready", "b#0 shown terminated", "phase Running", "condition Ready False",
		"b#1 / main: begin", "did delete", "a#0 / main: signal TERM", "a#0 / readiness probe: end 1", "a#0 / readiness probe while stopping",
		"deletion shown", "object gone",
	})
	assert.Equal(t, b.Count("a#0 / readiness probe: end 0"), 3)
	assert.Equal(t, b.Count("a#0 / readiness probe while stopping"), 1)
	assert.Equal(t, b.Count("a#0 / liveness probe: end 0"), 0)
	assert.DeepEqual(t, b.Figures, []observed.Figure{
		{Name: observed.HookToReady, Value: 1.1},
		{Name: observed.ExitToRestart, Of: "b#1", Value: 1.1},
		{Name: observed.DeleteToTERM, Of: "a#0", Value: 0.2},
		{Name: observed.TERMToGone, Value: 3},
		{Name: observed.EarlyReadiness, Of: "a#0", Value: 2},
	})
}

// A recording gives the same behaviour each time, also after it was written and read again.
func TestBehaviourIsAValue(t *testing.T) {
	path := filepath.Join("..", "..", "reference", "testdata", "background-hook", "poststart-blocks", "trace.jsonl")
	b := observed.Of(nil, read(t, path))
	text, err := json.Marshal(b)
	assert.NilError(t, err)
	var again observed.Behaviour
	assert.NilError(t, json.Unmarshal(text, &again))
	assert.DeepEqual(t, again, b)
	assert.DeepEqual(t, observed.Of(nil, read(t, path)), b)
	assert.Assert(t, len(text) < 4000, "%d bytes", len(text))
	assert.DeepEqual(t, observed.Of(nil, &trace.Trace{}), observed.Behaviour{})
}
