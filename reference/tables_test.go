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

// Every number of the rule book is either the origin of a rule, or stands in
// testdata/rulebook.txt with the reason why no trace can show it; none is both.
func TestRuleBookCensus(t *testing.T) {
	where := map[string]string{}
	for _, r := range Rules() {
		for _, number := range strings.Fields(r.From) {
			where[number] = r.Slug
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "rulebook.txt"))
	assert.NilError(t, err)
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		number, reason, _ := strings.Cut(line, " ")
		assert.Assert(t, len(strings.TrimSpace(reason)) > 10, "%s has no reason", number)
		assert.Assert(t, where[number] == "", "%s has a reason and the rule %s", number, where[number])
		where[number] = "testdata/rulebook.txt"
	}
	const last = 90
	for n := range last {
		number := fmt.Sprintf("R%d", n+1)
		assert.Assert(t, where[number] != "", "%s has neither a rule nor a reason", number)
		delete(where, number)
	}
	assert.Equal(t, len(where), 0, "numbers that the rule book does not have: %v", where)
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
