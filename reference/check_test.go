package reference_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

func TestX(t *testing.T) {
	files, _ := filepath.Glob("../../shared/traces/S*/*.jsonl")
	for _, f := range files {
		r, err := os.Open(f)
		assert.NilError(t, err)
		tr, err := trace.Read(r)
		assert.NilError(t, err)
		b, err := os.ReadFile(filepath.Join(filepath.Dir(f), "pod.yaml"))
		assert.NilError(t, err)
		pod, err := reference.ParsePod(b)
		assert.NilError(t, err)
		k, err := reference.ParseKubelet(tr.Header.Kubelet)
		assert.NilError(t, err)
		v := reference.Check(k, pod, tr)
		t.Log(f, v.Accepted, "\n"+v.Text())
		// api object as pod
		for _, e := range tr.Entries {
			if e.Pod != nil {
				v = reference.Check(k, e.Pod, tr)
				if v.Outcome != reference.Pass {
					t.Log(v.Text())
				}
				break
			}
		}
		var logs []string
		for _, e := range tr.Entries {
			if e.Log != nil {
				logs = append(logs, *e.Log)
			}
		}
		lt, err := trace.ReadLog(strings.NewReader(strings.Join(logs, "\n")), "v1.37.2")
		assert.NilError(t, err)
		v = reference.Check(k, pod, lt)
		if v.Outcome != reference.Pass {
			t.Log(v.Text())
		}
		// mutate
		for i, e := range lt.Entries {
			if strings.Contains(*e.Log, "container2 / main") {
				x := *lt.Entries[i].Log
				for j := i; j > 20; j-- {
					*lt.Entries[j].Log = *lt.Entries[j-1].Log
				}
				*lt.Entries[20].Log = x
				break
			}
		}
		v = reference.Check(k, pod, lt)
		t.Log(v.Text())
	}
}
