package run

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/podorder/podorder/fixtures"
)

// own makes a folder with some cases, each of the Pod of one that is built in.
func own(t *testing.T, ids ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, id := range ids {
		folder := filepath.Join(dir, id)
		assert.NilError(t, os.MkdirAll(folder, 0o755))
		assert.NilError(t, os.WriteFile(filepath.Join(folder, "pod.yaml"), caseByID(t, startup).Manifest, 0o644))
		assert.NilError(t, os.WriteFile(filepath.Join(folder, "case.yaml"), []byte(
			"title: Of a user.\nrules: [hooks/poststart-blocks-next]\nsteps: [await: container2 / main]\nwitness: [container2 / main]\n"), 0o644))
	}
	return dir
}

func TestCasesOf(t *testing.T) {
	all, err := fixtures.All()
	assert.NilError(t, err)
	cases, err := casesOf("/", "")
	assert.NilError(t, err)
	assert.Equal(t, len(cases), len(all))

	dir := own(t, "web", "shop/api")
	cases, err = casesOf(filepath.Dir(dir), filepath.Base(dir))
	assert.NilError(t, err)
	assert.Equal(t, len(cases), 2)
	assert.Equal(t, cases[0].ID+" "+cases[1].ID, "shop/api web")
	cases, err = casesOf("/", dir+", built-in")
	assert.NilError(t, err)
	assert.Equal(t, len(cases), len(all)+2)
	assert.Equal(t, len(builtInOf(cases)), len(all))

	for folders, want := range map[string]string{
		"none":                             "-fixtures: stat /none: no such file or directory",
		dir + ",":                          "names an empty folder",
		dir + "," + own(t, "web"):          "case web is in " + dir + " and in ",
		own(t, startup) + "," + "built-in": "case " + startup + " is in ",
	} {
		_, err = casesOf("/", folders)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, statusOf(err), exitUsage)
	}
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "web", "case.yaml"), []byte("title: A.\nrules:\n- start/listed-order\n- start/none\n"), 0o644))
	_, err = casesOf("/", dir)
	assert.ErrorContains(t, err, `-fixtures: `+filepath.Join(dir, "web/case.yaml")+`:4: field rules[1]: there is no rule "start/none"`)
}

// TestOwn: all cases of -fixtures are run by one test function, and can be replayed, rerun and
// selected.
func TestOwn(t *testing.T) {
	dir := own(t, "web", "shop/api")
	cases, err := casesOf("/", dir)
	assert.NilError(t, err)
	s, printed := suiteFor(t, saved(t, recording(early...), nil, nil))
	s.all = cases
	group, name := testOf(cases[0])
	assert.Equal(t, group+" "+name, "own shop/api")
	assert.DeepEqual(t, groupsOf(cases[0]), []string{"own", "shop"})
	assert.DeepEqual(t, groupsOf(cases[1]), []string{"own"})
	assert.DeepEqual(t, groupsOf(caseByID(t, startup)), []string{"article"})
	s.again = []string{"-fixtures=" + dir}
	s.settle(t.Context(), cases[0], "v1.37.2", "n", 0)
	assert.Check(t, is.Contains(printed.String(), " -fixtures="+dir+"\n  rerun    go test ./suites -count=1 -run 'TestOwn/^shop$/^api$' -fixtures="+dir+"\n"))
	_, err = selectCases(cases, "none")
	assert.ErrorContains(t, err, "their paths begin with shop/, web")
	text := list(jobsOf([]column{{kubelet: "v1.37.2"}}, cases...), []column{{kubelet: "v1.37.2"}}, cases, cases)
	assert.Check(t, is.Contains(text, "web\n    Of a user.\n"))
	assert.Check(t, is.Contains(text, "\n2 cases\n"))
	assert.Check(t, !is.Contains(text, "MUST rules")().Success())
}
