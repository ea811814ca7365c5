package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestTables(t *testing.T) { assert.NilError(t, checkTables()) }

// testdata/rulebook.txt has every number of the rule book, with the rules that come from
// it, as the table has them, or the reason why no trace can show it.
func TestRuleBookCensus(t *testing.T) {
	want := map[string][]string{}
	for _, r := range Rules() {
		for number := range strings.FieldsSeq(r.From) {
			want[number] = append(want[number], r.Slug)
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "rulebook.txt"))
	assert.NilError(t, err)
	got := map[string][]string{}
	var numbers []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		below, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "#"):
		case !indented:
			number, about, _ := strings.Cut(line, "  ")
			numbers = append(numbers, number)
			assert.Equal(t, number, fmt.Sprintf("R%d", len(numbers)), "the numbers stand in order")
			assert.Assert(t, len(about) > 5, "what is %s about?", number)
		default:
			number := numbers[len(numbers)-1]
			if reason, none := strings.CutPrefix(below, "none: "); none {
				assert.Assert(t, len(reason) > 10, "%s has no reason", number)
				assert.Assert(t, want[number] == nil, "%s has a reason and rules: %s", number, want[number])
				want[number] = strings.Fields(below)
			}
			assert.Assert(t, got[number] == nil, "%s has two lines below it", number)
			got[number] = strings.Fields(below)
		}
	}
	assert.Equal(t, len(got), len(numbers), "each number has a line below it")
	assert.DeepEqual(t, got, want)
}

// Every name in the tables of irrelevant fields is one of the type, stands
// once, and is not one that the model reads.
func TestFieldTables(t *testing.T) {
	for _, c := range []struct {
		of    reflect.Type
		lists [][]string
	}{
		{reflect.TypeFor[corev1.PodSpec](), [][]string{irrelevantInPod, modelledInPod}},
		{reflect.TypeFor[corev1.Container](), [][]string{irrelevantInContainer, modelledInContainer}},
	} {
		all := slices.Concat(c.lists...)
		for i, n := range all {
			_, ok := c.of.FieldByName(n)
			assert.Assert(t, ok, "%s has no field %s", c.of, n)
			assert.Assert(t, !slices.Contains(all[i+1:], n), "%s stands twice", n)
		}
	}
}

// A field that a later API adds is unmodelled until someone reads it: the
// fields outside the tables are listed here, so that a new one shows.
func TestEveryFieldIsPlaced(t *testing.T) {
	names := func(fields []reflect.StructField) []string {
		var out []string
		for _, f := range fields {
			out = append(out, f.Name)
		}
		slices.Sort(out)
		return out
	}
	assert.DeepEqual(t, names(otherInPod), []string{
		"EvictionResponders", "HostPID", "ShareProcessNamespace",
	})
	assert.DeepEqual(t, names(otherInContainer), []string{
		"Lifecycle",
	})
}
