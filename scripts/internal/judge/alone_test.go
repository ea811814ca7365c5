package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// drained is a Pod whose hook is given up after five seconds.
const (
	drained = `
apiVersion: v1
kind: Pod
metadata: {name: api}
spec:
  terminationGracePeriodSeconds: 60
  containers:
  - name: api
    image: api
    lifecycle: {preStop: {exec: {command: [/drain]}}}
`
	givenUp = `2026-11-11T03:00:02.000Z: api / main: begin
2026-11-11T03:00:10.000Z: api / pre stop hook: begin
2026-11-11T03:00:15.100Z: api / main: signal TERM
2026-11-11T03:00:16.500Z: api / main: tick
`
	notWaitedFor = `2026-11-11T03:00:02.000Z: api / main: begin
2026-11-11T03:00:10.000Z: api / pre stop hook: begin
2026-11-11T03:00:10.100Z: api / main: signal TERM
2026-11-11T03:00:10.500Z: api / main: end 0
`
)

// TestLogAlone is what a verdict on a log alone assumes, and what flags say of it.
func TestLogAlone(t *testing.T) {
	pod := write(t, "pod.yaml", drained)
	for _, tt := range []struct {
		log, flags string
		status     int
		says       string // in the text
	}{
		{givenUp, "", exitPass, "with another grace period than its own, as the lines show"},
		{givenUp, "-assume ordinary", exitPass, "with another grace period than its own, as the lines show"},
		{givenUp, "-assume nothing", exitPass, "unjudged "},
		{givenUp, "-grace 5s", exitPass, "the Pod was ended with a grace period of 5s"},
		{givenUp, "-grace 60s", exitViolation, "terminate/prestop-before-term"},
		{givenUp, "-deleted-at 2026-11-11T03:00:10Z", exitPass, "the Pod was deleted at 2026-11-11T03:00:10Z"},
		{notWaitedFor, "", exitInconclusive, "explains the Pod was ended with another grace period than its own"},
		{notWaitedFor, "-grace 60s", exitViolation, "terminate/prestop-before-term"},
		{notWaitedFor, "-assume nothing", exitPass, ""},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			args := append(strings.Fields(tt.flags), "-kubernetes", "v1.37.2", "-pod", pod, "-log", write(t, "log", tt.log))
			status, out, errs := call(t, "", args...)
			assert.Equal(t, status, tt.status, out+errs)
			assert.Assert(t, strings.Contains(out, tt.says), out)
			_, out, _ = call(t, "", append(args, "-json")...)
			var v struct{ Assumed, Explained, NotJudged []string }
			assert.NilError(t, json.Unmarshal([]byte(out), &v))
			assert.Assert(t, len(v.NotJudged) > 0)
			assert.Equal(t, len(v.Assumed) == 0, strings.Contains(tt.flags, "nothing"), out)
			assert.Equal(t, len(v.Explained) > 0, status == exitInconclusive, out)
		})
	}
}

func TestLogAloneUsage(t *testing.T) {
	for flags, says := range map[string]string{
		"-trace x -grace 5s":           "-deleted-at, -grace and -assume are for a log alone",
		"-log x -grace five":           "invalid duration",
		"-log x -grace -1s":            "it is negative",
		"-log x -assume all":           "it is neither nothing nor ordinary",
		"-log x -deleted-at yesterday": "is not the output of date(1)",
	} {
		status, _, errs := call(t, "", strings.Fields(flags)...)
		assert.Equal(t, status, exitUsage, errs)
		assert.Assert(t, strings.Contains(errs, says), errs)
	}
}
