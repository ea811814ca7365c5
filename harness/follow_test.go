package harness

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/podorder/podorder/harness/record"
)

func TestTheEndOfAConnectionIsNotThatOfTheLog(t *testing.T) {
	exit := func(code int) error {
		return utilexec.CodeExitError{Code: code, Err: errors.New("command terminated")}
	}
	for name, tt := range map[string]struct {
		err       error
		complaint string
		want      string // empty: the log was read to its end
		lost      bool
	}{
		"the log has ended":           {complaint: "recorder follow: the log has ended\n"},
		"the connection broke off":    {want: "the connection ended before the log did"},
		"the connection reports it":   {err: errors.New("reset"), want: "reset"},
		"part of the log is lost":     {err: exit(1), complaint: "it was cut", want: "it was cut", lost: true},
		"wrong flags":                 {err: exit(2), complaint: "no such flag", want: "no such flag", lost: true},
		"the reader was stopped":      {err: exit(143), complaint: "bye", want: "command terminated: bye"},
		"the reader lost its readers": {err: exit(141), want: "command terminated"},
	} {
		t.Run(name, func(t *testing.T) {
			err := followed(tt.err, bytes.NewBufferString(tt.complaint))
			if tt.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
			assert.Equal(t, errors.Is(err, record.ErrLost), tt.lost)
		})
	}
}

// The recorder is a program of its own, so that the two texts cannot be one.
func TestTheRecorderSaysThatTheLogHasEnded(t *testing.T) {
	source, err := os.ReadFile("../fixtures/recorder/follow.go")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(source), `followEnded = "recorder follow: `+followEnded+`"`))
}
