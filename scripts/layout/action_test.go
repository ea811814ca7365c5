package layout

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"sigs.k8s.io/yaml"
)

const action = "../../.github/actions/conformance"

type input struct {
	Description string
	Default     any
}

type step struct {
	ID, Uses, Run string
	Env, With     map[string]string
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(path))
	assert.NilError(t, err)
	assert.NilError(t, yaml.Unmarshal(b, into))
}

// withoutLocal is what only an action has an input for, as a workflow has a machine of its own.
var withoutLocal = []string{"kubeconfig", "artifacts"}

// TestActionInputs: the action and the workflow take the same, each input reaches the script as a
// variable, and the script gives each output.
func TestActionInputs(t *testing.T) {
	var a struct {
		Inputs  map[string]input
		Outputs map[string]struct{ Value string }
		Runs    struct{ Steps []step }
	}
	read(t, action+"/action.yaml", &a)
	var w struct {
		On struct {
			Call struct {
				Inputs map[string]input
			} `json:"workflow_call"`
		}
		Jobs struct{ Suite struct{ Steps []step } }
	}
	// A key "on" is true in YAML 1.1.
	b, err := os.ReadFile(filepath.FromSlash("../../.github/workflows/suite.yaml"))
	assert.NilError(t, err)
	assert.NilError(t, yaml.Unmarshal([]byte(strings.Replace(string(b), "\non:\n", "\n\"on\":\n", 1)), &w))
	script, err := os.ReadFile(filepath.FromSlash(action + "/run.sh"))
	assert.NilError(t, err)
	assert.Assert(t, len(a.Inputs) > 8)

	variables := func(steps []step) map[string]string {
		i := slices.IndexFunc(steps, func(s step) bool { return s.ID == "run" })
		assert.Assert(t, i >= 0)
		assert.Check(t, is.Contains(steps[i].Run, "run.sh"))
		assert.Check(t, !strings.Contains(steps[i].Run, "${{"), "an input is part of a command")
		return steps[i].Env
	}
	ofAction, ofWorkflow := variables(a.Runs.Steps), variables(w.Jobs.Suite.Steps)
	for name, in := range a.Inputs {
		variable := "PODORDER_" + strings.ToUpper(name)
		assert.Check(t, is.Equal(ofAction[variable], "${{ inputs."+name+" }}"))
		assert.Check(t, is.Contains(string(script), "${"+variable+":"))
		if slices.Contains(withoutLocal, name) {
			continue
		}
		other, ok := w.On.Call.Inputs[name]
		assert.Check(t, ok, "the workflow has no input %s", name)
		assert.Check(t, is.Equal(ofWorkflow[variable], "${{ inputs."+name+" }}"))
		assert.Check(t, is.Contains(other.Description, strings.Split(in.Description, ", separated")[0]))
	}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(a.Outputs)), []string{"artifacts", "junit", "name", "report", "summary"})
	for name, out := range a.Outputs {
		assert.Check(t, is.Equal(out.Value, "${{ steps.run.outputs."+name+" }}"))
		assert.Check(t, is.Contains(string(script), "'"+name+"=%s\\n'"))
	}
}

// TestActionScript runs the script of the action as a runner does, with a go command that only says
// how it was called.
func TestActionScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	bin, workspace := t.TempDir(), t.TempDir()
	fake := "#!/bin/sh\nfor a; do echo \"$a\"; done\nmkdir -p \"$WRITES\" && touch \"$WRITES/junit.xml\"\nif [ -n \"$SUMMARY\" ]; then [ \"${GITHUB_STEP_SUMMARY-none}\" = \"$SUMMARY\" ] || exit 3; fi\n[ -z \"$PAGE\" ] || touch \"$WRITES/report.html\"\nexit $STATUS\n"
	assert.NilError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(fake), 0o755))
	for _, tt := range []struct {
		name    string
		env     []string
		args    []string
		outputs []string
		status  int
		errs    string
	}{
		{
			"nothing is said", []string{"STATUS=0", "SUMMARY=the file"},
			[]string{"-timeout=50m", "-args", "-artifacts=" + workspace + "/artifacts"},
			[]string{"junit=" + workspace + "/artifacts/junit.xml", "summary=" + workspace + "/artifacts/summary.md", "report=" + workspace + "/artifacts/report.json", "artifacts=" + workspace + "/artifacts", "name=podorder"},
			0, "",
		},
		{
			"everything is said, and the run fails",
			[]string{
				"STATUS=1", "SUMMARY=none", "PAGE=1", "PODORDER_KUBERNETES=v1.37.2", "PODORDER_KUBELETS=v1.28.5,v1.37.2", "PODORDER_KUBECONFIG=my kube/config", "PODORDER_CASES=^hooks/(a|b)$", "PODORDER_FIXTURES=mine,built-in,/srv/cases",
				"PODORDER_SHARD=1/3", "PODORDER_STRICT=true", "PODORDER_FLAGS=-repeat=2  -keep", "PODORDER_TIMEOUT=2h", "PODORDER_SUMMARY=false", "PODORDER_ARTIFACTS=out",
			},
			[]string{
				"-timeout=2h", "-kubernetes=v1.37.2", "-kubelets=v1.28.5,v1.37.2", "-kubeconfig=" + workspace + "/my kube/config", "-cases=^hooks/(a|b)$", "-fixtures=" + workspace + "/mine,built-in,/srv/cases",
				"-shard=1/3", "-strict", "-repeat=2", "-keep", "-args", "-artifacts=" + workspace + "/out",
			},
			[]string{"junit=" + workspace + "/out/junit.xml", "summary=" + workspace + "/out/summary.md", "report=" + workspace + "/out/report.html", "artifacts=" + workspace + "/out", "name=podorder-v1.37.2-v1.28.5-v1.37.2-shard-1-3"},
			1, "",
		},
		{"what is neither true nor false", []string{"STATUS=0", "PODORDER_STRICT=yes"}, nil, nil, 2, `strict is true or false, not "yes"`},
		{"a summary that is neither", []string{"STATUS=0", "PODORDER_SUMMARY=no"}, nil, nil, 2, `summary is true or false, not "no"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "output")
			script, err := filepath.Abs(filepath.FromSlash(action + "/run.sh"))
			assert.NilError(t, err)
			cmd := exec.CommandContext(t.Context(), bash, script)
			cmd.Dir = t.TempDir()
			writes := "artifacts"
			if slices.Contains(tt.env, "PODORDER_ARTIFACTS=out") {
				writes = "out"
			}
			cmd.Env = append([]string{
				"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "GITHUB_WORKSPACE=" + workspace, "GITHUB_OUTPUT=" + out, "WRITES=" + filepath.Join(workspace, writes), "GITHUB_STEP_SUMMARY=the file",
			}, tt.env...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); cmd.ProcessState == nil {
				t.Fatal(err)
			}
			assert.Equal(t, cmd.ProcessState.ExitCode(), tt.status, stderr.String())
			assert.Check(t, is.Contains(stderr.String(), tt.errs))
			if tt.args == nil {
				assert.Equal(t, stdout.String(), "")
				return
			}
			assert.DeepEqual(t, strings.Split(strings.TrimSpace(stdout.String()), "\n"), append([]string{"test", "-C", "suites", "-count=1"}, tt.args...))
			b, err := os.ReadFile(out)
			assert.NilError(t, err)
			assert.DeepEqual(t, strings.Split(strings.TrimSpace(string(b)), "\n"), tt.outputs)
		})
	}
}
