package run

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/podorder/podorder/fixtures"
)

//go:embed times.txt
var timesText string

// measured are how long the cases took when that was measured, by their paths, and the median of
// it. A line of times.txt that cannot be read is a fault of podorder, which a test finds.
var measured = sync.OnceValues(func() (map[string]time.Duration, time.Duration) {
	by, err := parseTimes(timesText)
	if err != nil {
		panic(err)
	}
	all := slices.Sorted(maps.Values(by))
	return by, all[len(all)/2]
})

func parseTimes(text string) (map[string]time.Duration, error) {
	by := map[string]time.Duration{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 2 {
			return nil, fmt.Errorf("times.txt: %q is not a case and its seconds", line)
		}
		n, err := strconv.Atoi(words[1])
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("times.txt: %q is not a case and its seconds", line)
		}
		by[words[0]] = time.Duration(n) * time.Second
	}
	if len(by) == 0 {
		return nil, errors.New("times.txt: no case")
	}
	return by, nil
}

// takes is how long a case takes: as measured, and for one that was not, as most do or, if
// it asks for patience, that.
func takes(c fixtures.Case) time.Duration {
	by, usual := measured()
	if d, ok := by[c.ID]; ok && !c.Own() {
		return d
	}
	if _, most := patience(c); isLong(c) {
		return time.Duration(most) * time.Second
	}
	return usual
}

// shortest is what go test's -short leaves in: cases that take less.
const shortest = 30 * time.Second

// shard is one of several parts of the cases, counted from 1; the zero value is all of them.
type shard struct{ i, n int }

// parseShard reads "2/3".
func parseShard(text string) (shard, error) {
	if text == "" {
		return shard{}, nil
	}
	left, right, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(left)
	n, err2 := strconv.Atoi(right)
	if err != nil || err2 != nil || i < 1 || i > n {
		return shard{}, fmt.Errorf("-shard: %q is not a part of the cases such as 1/3, 2/3 or 3/3", text)
	}
	return shard{i, n}, nil
}

// of returns the cases of the shard. All shards of the same cases have each of them once, and take
// about as long as each other: the longest case first, each goes to the shard that has least
// until then.
func (s shard) of(cases []fixtures.Case) []fixtures.Case {
	if s.n == 0 {
		return cases
	}
	sorted := slices.Clone(cases)
	slices.SortFunc(sorted, func(a, b fixtures.Case) int {
		return cmp.Or(cmp.Compare(takes(b), takes(a)), cmp.Compare(a.ID, b.ID))
	})
	loads := make([]time.Duration, s.n)
	mine := map[string]bool{}
	for _, c := range sorted {
		least := slices.Index(loads, slices.Min(loads))
		loads[least] += takes(c)
		mine[c.ID] = mine[c.ID] || least == s.i-1
	}
	return slices.DeleteFunc(slices.Clone(cases), func(c fixtures.Case) bool { return !mine[c.ID] })
}

// part returns the jobs that -short and -shard leave of those that are selected.
func (s *Suite) part(jobs []*job) ([]*job, error) {
	var cases []fixtures.Case
	for _, j := range jobs {
		if !slices.ContainsFunc(cases, func(c fixtures.Case) bool { return c.ID == j.c.ID }) {
			cases = append(cases, j.c)
		}
	}
	if len(cases) == 0 {
		return jobs, nil // the flags before these say why
	}
	if s.short {
		all := len(cases)
		cases = slices.DeleteFunc(cases, func(c fixtures.Case) bool { return takes(c) >= shortest })
		if len(cases) == 0 {
			return nil, fmt.Errorf("-short: each of the %s takes %v or more; run them without it", plural(all, "selected case"), shortest)
		}
	}
	if n := s.shard.n; n > len(cases) {
		return nil, fmt.Errorf("-shard: %s cannot be parted into %d shards; give at most %d", plural(len(cases), "selected case"), n, len(cases))
	}
	cases = s.shard.of(cases)
	return slices.DeleteFunc(slices.Clone(jobs), func(j *job) bool {
		return !slices.ContainsFunc(cases, func(c fixtures.Case) bool { return c.ID == j.c.ID })
	}), nil
}
