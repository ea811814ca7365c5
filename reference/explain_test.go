package reference_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/rules"
)

func explain(t *testing.T, kubelet, pod string) reference.Order {
	t.Helper()
	k, err := reference.ParseKubelet(kubelet)
	assert.NilError(t, err)
	o, err := reference.Explain(k, parsePodScript(t, pod))
	assert.NilError(t, err)
	return o
}

func TestExplain(t *testing.T) {
	for name, c := range map[string]struct {
		pod  string
		want []reference.Edge
		free int
	}{
		"nothing waits": {"container1\ncontainer2\n", nil, 0},
		"hook first": {"container1 postStart readiness\ncontainer2\n", []reference.Edge{
			{Before: "container1 / post start hook: end 0", After: "container1 / readiness probe", Rule: "probes/after-sync"},
			{Before: "container1 / post start hook: end 0", After: "container1 / main: signal TERM", Rule: "terminate/after-sync"},
			{Before: "container1 / post start hook: end 0", After: "container2 / main: begin", Rule: "hooks/poststart-blocks-next"},
			{Before: "container1 / post start hook: end 0", After: "status: container1 and container2 running", Rule: "status/between-syncs"},
			{Before: "container1 / readiness probe", After: "status: container1 ready", Rule: "status/ready-after-probe"},
		}, 2},
		"hook last": {"container2\ncontainer1 postStart\n", []reference.Edge{
			{Before: "container1 / post start hook: end 0", After: "container2 / main: signal TERM", Rule: "terminate/after-sync"},
			{Before: "container1 / post start hook: end 0", After: "container1 / main: signal TERM", Rule: "terminate/after-sync"},
			{Before: "container1 / post start hook: end 0", After: "status: container2 and container1 running", Rule: "status/between-syncs"},
		}, 1},
		"startup probe": {"container1 startup liveness\n", []reference.Edge{
			{Before: "container1 / startup probe", After: "container1 / liveness probe", Rule: "probes/startup-gates"},
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := explain(t, "v1.37.2", c.pod)
			assert.DeepEqual(t, o.Edges, c.want)
			assert.Equal(t, len(o.Free), c.free)
			for _, e := range o.Edges {
				_, ok := rules.BySlug(e.Rule)
				assert.Assert(t, ok, e.Rule)
				assert.Assert(t, strings.Contains(o.Text(), e.Rule))
			}
		})
	}
}
