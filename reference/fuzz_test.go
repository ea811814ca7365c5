package reference_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// FuzzCheck judges whatever can be read as a trace. There is always a verdict,
// and what it points at exists.
func FuzzCheck(f *testing.F) {
	manifest, err := os.ReadFile(filepath.Join("testdata", "background-hook", "poststart-blocks", "pod.yaml"))
	assert.NilError(f, err)
	pod, err := reference.ParsePod(manifest)
	assert.NilError(f, err)
	// Short ones: what a recorder writes is too long to be changed often.
	const head = `{"trace":1,"kubelet":"v1.37.2"}` + "\n"
	f.Add([]byte(head + `{"at":"2026-01-02T03:04:05Z","did":{"apply":{}}}
{"at":"2026-01-02T03:04:06Z","log":"2026-01-02T03:04:06Z: container1#0 / post start hook: begin"}
{"at":"2026-01-02T03:04:07Z","event":{"reason":"Started","fieldPath":"spec.containers{container2}"}}
{"at":"2026-01-02T03:04:08Z","log":"2026-01-02T03:04:08Z: container1#0 / post start hook: end 0"}
`))
	f.Add([]byte(head + `{"at":"2026-01-02T03:04:05Z","type":"MODIFIED","pod":{"status":{"phase":"Running","containerStatuses":[{"name":"container1","ready":true,"started":true,"state":{"running":{}}}]}}}
{"at":"2026-01-02T03:04:06Z","did":{"delete":{"gracePeriodSeconds":1}}}
{"at":"2026-01-02T03:04:07Z","log":"2026-01-02T03:04:07Z: container2 / main: signal TERM"}
`))
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := trace.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		v := reference.Check(k, pod, tr)
		if v.Outcome.String() == "no verdict" {
			t.Fatal("no verdict")
		}
		lines := len(tr.Entries) + 1
		if v.Line < 0 || v.Line > lines || v.Accepted > len(tr.Entries) {
			t.Fatalf("line %d and %d accepted, of %d lines", v.Line, v.Accepted, lines)
		}
		for _, w := range v.Because {
			if w.Line < 2 || w.Line > lines {
				t.Fatalf("an explanation names line %d of %d", w.Line, lines)
			}
		}
		_ = v.Text()
	})
}
