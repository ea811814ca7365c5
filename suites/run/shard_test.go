package run

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/fixtures"
)

// TestTimes: every line of the table is of a case, and nearly every case has one.
func TestTimes(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	by, usual := measured()
	assert.Assert(t, usual > 0 && usual < time.Minute, usual)
	missing := 0
	for _, c := range cases {
		if by[c.ID] == 0 {
			missing++
		}
	}
	assert.Check(t, missing*10 < len(cases), "%d of %d cases have no time: write suites/run/times.txt anew", missing, len(cases))
	for id := range by {
		assert.Check(t, slices.ContainsFunc(cases, func(c fixtures.Case) bool { return c.ID == id }), "times.txt has case %s, which there is not", id)
	}
	for _, text := range []string{"", "# nothing\n", "a\n", "a 0\n", "a b\n", "a 1 2\n"} {
		_, err := parseTimes(text)
		assert.ErrorContains(t, err, "times.txt: ")
	}

	c := caseByID(t, "restart/backoff-doubles")
	assert.Assert(t, takes(c) > 2*time.Minute, takes(c))
	c.ID = "restart/new"
	assert.Assert(t, takes(c) > time.Minute, "a new case that asks for patience takes long: %v", takes(c))
	c = caseByID(t, "hooks/poststart-blocks")
	c.ID = "hooks/new"
	assert.Equal(t, takes(c), usual)
}

// TestShards: all shards together have each case once, and none takes much longer than another.
func TestShards(t *testing.T) {
	cases, err := fixtures.All()
	assert.NilError(t, err)
	var longest time.Duration
	for _, c := range cases {
		longest = max(longest, takes(c))
	}
	for _, n := range []int{1, 2, 3, 7, len(cases)} {
		count := map[string]int{}
		var most, least time.Duration
		for i := 1; i <= n; i++ {
			var load time.Duration
			mine := shard{i, n}.of(cases)
			assert.Assert(t, len(mine) > 0, "%d/%d", i, n)
			assert.Assert(t, slices.IsSortedFunc(mine, func(a, b fixtures.Case) int { return compare(a.ID, b.ID) }))
			for _, c := range mine {
				count[c.ID]++
				load += takes(c)
			}
			if most = max(most, load); i == 1 || load < least {
				least = load
			}
		}
		assert.Equal(t, len(count), len(cases))
		for id, k := range count {
			assert.Equal(t, k, 1, "%s is in %d of %d shards", id, k, n)
		}
		assert.Check(t, most-least <= longest, "%d shards take from %v to %v", n, least, most)
		if n == 3 {
			assert.Check(t, most-least <= 10*time.Second, "3 shards take from %v to %v", least, most)
		}
	}
	// The order in which the cases come changes nothing.
	back := slices.Clone(cases)
	slices.Reverse(back)
	mine := shard{2, 3}.of(back)
	slices.Reverse(mine)
	assert.Equal(t, fmt.Sprint(ids(mine)), fmt.Sprint(ids(shard{2, 3}.of(cases))))
}

func ids(cases []fixtures.Case) (out []string) {
	for _, c := range cases {
		out = append(out, c.ID)
	}
	return out
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func TestParseShard(t *testing.T) {
	for text, want := range map[string]shard{"": {}, "1/1": {1, 1}, "2/3": {2, 3}} {
		got, err := parseShard(text)
		assert.NilError(t, err)
		assert.Equal(t, got, want)
	}
	for _, text := range []string{"0/3", "4/3", "1", "1/", "a/b", "1/0", "-1/2", "1/2/3"} {
		_, err := parseShard(text)
		assert.ErrorContains(t, err, "-shard: ")
	}
}

// TestPart: -short and -shard go by the time of the cases that are selected otherwise.
func TestPart(t *testing.T) {
	s := &Suite{}
	long, short, other := caseByID(t, "restart/backoff-doubles"), caseByID(t, "hooks/poststart-blocks"), caseByID(t, "hooks/poststart-serial")
	cols := []column{{kubelet: "v1.28.5"}, {kubelet: "v1.37.2"}}
	jobs := jobsOf(cols, long, short, other)
	got := func() (out []string) {
		t.Helper()
		left, err := s.part(jobs)
		assert.NilError(t, err)
		for _, j := range left {
			out = append(out, j.c.ID+" on "+j.col.kubelet)
		}
		return out
	}
	assert.Equal(t, len(got()), 6)
	s.short = true
	assert.Equal(t, len(got()), 4)
	s.shard = shard{1, 2}
	first := got()
	assert.Equal(t, len(first), 2, "a case has all its kubelets in one shard")
	s.shard = shard{2, 2}
	assert.Assert(t, first[0] != got()[0])
	s.shard = shard{2, 3}
	_, err := s.part(jobs)
	assert.ErrorContains(t, err, "-shard: 2 selected cases cannot be parted into 3 shards; give at most 2")
	_, err = s.part(jobsOf(cols, long))
	assert.ErrorContains(t, err, "-short: each of the 1 selected case takes 30s or more")
}
