package reference_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
)

// TestALogThatWasCutOff: where a recording was ended before the log, as that of a Pod that the kubelet does not stop, only what
// came last may lack a line that explains it.
func TestALogThatWasCutOff(t *testing.T) {
	const stopping = `did apply
container1#0 / main: begin
container1#0 / readiness probe: end 0
did delete 60
container1#0 / main: signal TERM
+39s
`
	for name, tt := range map[string]struct {
		rest string
		want reference.Outcome
	}{
		"a line shows the fault":                        {"container1#0 / main: tick 1 <-\ngap log it was ended\n", reference.Violation},
		"an act shows it, and later lines came":         {"did look <-\n+2s\ncontainer1#0 / main: end 0\ngap log it was ended\n", reference.Violation},
		"only an act shows it":                          {"did look\ngap log it was ended\n", reference.Inconclusive},
		"an act shows it, and a line was on its way":    {"did look\ncontainer1#0 / main: tick 1 <-\ngap log it was ended\n", reference.Violation},
		"the connection was lost before the fault":      {"gap log it was lost\ncontainer1#0 / main: tick 1\n", reference.Inconclusive},
		"it was lost after the fault, and found again":  {"container1#0 / main: tick 1\ngap log it was lost\ncontainer1#0 / main: tick 2\n", reference.Inconclusive},
		"it was lost and found again, and then cut off": {"gap log it was lost\ncontainer1#0 / main: tick 1\ngap log it was ended\n", reference.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			s := clauseScript(t, "container1 readiness", "", stopping+tt.rest)
			v := reference.Check(s.kubelet, s.pod, s.trace)
			assert.Equal(t, v.Outcome, tt.want, v.Text())
			if tt.want == reference.Violation {
				assert.Equal(t, v.Rule, "probes/readiness-until-stopped")
				assert.Assert(t, strings.Contains(tt.rest, refused))
				assert.Equal(t, v.Line, s.line)
			}
		})
	}
}
