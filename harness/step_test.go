package harness

import (
	"context"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
)

func TestStopSandbox(t *testing.T) {
	failed := errors.New("unknown FS magic")
	for name, tc := range map[string]struct {
		stop  error
		ready string // what is still ready after it
		list  error
		want  error
	}{
		"it stops":                        {},
		"the kubelet was stopping it too": {stop: failed, ready: "\n"},
		"it goes on":                      {stop: failed, ready: "5c99e848\n", want: failed},
		"whether it goes on is not known": {stop: failed, list: errors.New("no answer"), want: failed},
	} {
		t.Run(name, func(t *testing.T) {
			command := func(_ context.Context, _ string, args ...string) (string, error) {
				if args[0] == "pods" {
					assert.Equal(t, args[len(args)-1], "5c99e848")
					return tc.ready, tc.list
				}
				assert.Equal(t, args[len(args)-1], "5c99e848")
				return "", tc.stop
			}
			assert.Equal(t, stopSandbox(t.Context(), command, "5c99e848"), tc.want)
		})
	}
}
