package search_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/trace"
)

// replay makes the given choices one after the other, and after the last of them always
// the first that there is.
func replay(choices []int) kubelet.Chooser {
	return func(n int) int {
		if len(choices) == 0 {
			return 0
		}
		c := min(choices[0], n-1)
		choices = choices[1:]
		return c
	}
}

// shorten tells better of ever shorter choices for which try says ok, until there are none or the
// time is over. Those are better that lead to less, by the size that try gives; then the fewer,
// then the smaller ones.
func shorten(choices []int, deadline time.Time, try func([]int) (size int, ok bool), better func([]int)) {
	size, ok := try(choices)
	if !ok {
		return
	}
	// take goes on with other choices if they are better.
	take := func(other []int) bool {
		for len(other) > 0 && other[len(other)-1] == 0 {
			other = other[:len(other)-1] // replay makes this choice anyway
		}
		if !time.Now().Before(deadline) || len(other) > len(choices) || slices.Equal(other, choices) {
			return false
		}
		s, ok := try(other)
		if !ok || s > size || s == size && len(other) == len(choices) && slices.Compare(other, choices) >= 0 {
			return false
		}
		choices, size = other, s
		better(choices)
		return true
	}
	for again := true; again; {
		again = false
		for block := 1 << 9; block > 0; block /= 2 {
			for at := len(choices) - 1; at >= 0; at-- {
				if at >= len(choices) {
					continue
				}
				end := min(at+block, len(choices))
				without := slices.Concat(choices[:at], choices[end:])
				firsts := slices.Clone(choices)
				clear(firsts[at:end])
				again = take(without) || take(firsts) || again
				if block > 4 {
					at -= block / 4
				}
			}
		}
		for at := 0; at < len(choices); at++ {
			for _, c := range []int{1, choices[at] / 2, choices[at] - 1} {
				if at < len(choices) && c >= 0 && c < choices[at] {
					less := slices.Clone(choices)
					less[at] = c
					again = take(less) || again
				}
			}
		}
	}
}

// What is saved of a run is judged as the run was.
func TestSavedRun(t *testing.T) {
	for n := range uint64(20) {
		j, err := runAndJudge(odd(n))
		assert.NilError(t, err)
		dir := filepath.Join(t.TempDir(), "run")
		assert.NilError(t, j.save(dir))
		manifest, err := os.ReadFile(filepath.Join(dir, "pod.yaml"))
		assert.NilError(t, err)
		pod, err := reference.ParsePod(manifest)
		assert.NilError(t, err)
		f, err := os.Open(filepath.Join(dir, "trace.jsonl"))
		assert.NilError(t, err)
		tr, err := trace.Read(f)
		assert.NilError(t, errors.Join(err, f.Close()))
		k, err := reference.ParseKubelet(tr.Header.Kubelet)
		assert.NilError(t, err)
		assert.Equal(t, reference.Check(k, pod, tr).Text(), j.v.Text())
	}
}

func TestShorten(t *testing.T) {
	// Three choices matter out of a hundred, and the size is what the others add up to.
	try := func(choices []int) (size int, ok bool) {
		choose := replay(choices)
		var found []int
		for range 100 {
			switch c := choose(50); {
			case c >= 40:
				found = append(found, c)
			default:
				size += c
			}
		}
		return size, len(found) >= 3 && found[0] > found[2]
	}
	var choices []int
	for i := range 100 {
		choices = append(choices, (7*i+44)%50)
	}
	size, ok := try(choices)
	assert.Assert(t, ok && size > 0)
	var best []int
	shorten(choices, time.Now().Add(time.Minute), try, func(better []int) {
		_, ok := try(better)
		assert.Assert(t, ok, "%v", better)
		best = better
	})
	assert.DeepEqual(t, best, []int{41, 40, 40})
}
