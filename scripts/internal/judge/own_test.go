package judge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/report/judged/judgedtest"
)

// TestOwnCase: the witnesses come from a folder of the user.
func TestOwnCase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine", "web")
	assert.NilError(t, os.MkdirAll(dir, 0o755))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "pod.yaml"), judgedtest.CaseByID(t, startup).Manifest, 0o644))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "case.yaml"), []byte(
		"title: Of a user.\nrules: [start/listed-order]\nsteps: [await: container2 / main]\nwitness: [\"container1#1 / main\"]\n"), 0o644))
	trace := `{"trace":1,"case":"web","kubernetes":"v1.37.2","kubelet":"v1.37.2"}` + "\n"
	admitted, err := json.Marshal(judgedtest.CaseByID(t, startup).Pod())
	assert.NilError(t, err)
	trace += `{"at":"2023-12-21T10:40:30Z","type":"ADDED","pod":` + string(admitted) + "}\n"
	for line := range strings.Lines(log(ordered...)) {
		trace += `{"at":"2023-12-21T10:41:30Z","log":"` + strings.TrimSpace(line) + "\"}\n"
	}
	pod := filepath.Join(dir, "pod.yaml")
	file := write(t, "trace.jsonl", trace)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"its case is unknown", []string{"-pod", pod, "-trace", file}, exitPass, ""},
		{"its case is in the folder above", []string{"-fixtures", filepath.Dir(dir), "-trace", file}, exitInconclusive, "container1#1 / main"},
		{"its case is the folder", []string{"-fixtures", dir, "-trace", file}, exitInconclusive, "container1#1 / main"},
		{"no case of the folder", []string{"-fixtures", dir, "-case", "shop", "-trace", file}, exitUsage, `there is no case "shop"; the cases are web`},
		{"no folder", []string{"-fixtures", dir + "s", "-trace", file}, exitUsage, "-fixtures: "},
		{"nothing that has a case", []string{"-fixtures", dir, "-kubernetes", "v1.37.2", "-pod", pod, "-log", file}, exitUsage, "-fixtures says where a case is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := call(t, "", tt.args...)
			assert.Equal(t, status, tt.status, "%s%s", out, errs)
			assert.Check(t, is.Contains(out+errs, tt.want))
		})
	}
}
