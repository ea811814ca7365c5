package reference_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/podorder/podorder/reference"
)

// Counted by hand: what is unordered multiplies.
func TestCountByHand(t *testing.T) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	for _, tt := range []struct {
		pod, how string
		want     int
	}{
		{"container1\n", "begin, TERM", 1},
		// Two chains of two, in any interleaving: 4!/(2!2!).
		{"container1\ncontainer2\n", "two independent containers", 6},
		// The end of the hook comes before TERM; begin of main anywhere before
		// TERM: before, between or after the two lines of the hook.
		{"container1 postStart\n", "main races its hook", 3},
		// hook begin, hook end, then begin < TERM of container2 and TERM of
		// container1 (3 orders); begin of container1 anywhere before its TERM:
		// 3, 4 or 5 places.
		{"container1 postStart\ncontainer2\n", "the hook blocks container2", 3 + 4 + 5},
		// begin < TERM < begin of the next < TERM, and begin of the sidecar's
		// main may lag behind: init container first, all in a row.
		{"init setup\ncontainer1\n", "init container, then container", 1},
		{"init one\ninit two\ncontainer1\n", "all in a row", 1},
		// begin of both in either order, TERM of container1 before that of the
		// sidecar: 2 orders of the begins ... times the places of TERM.
		{"sidecar proxy\ncontainer1\n", "the sidecar stops last", 3},
		// The startup probe, then begin and TERM of container1, then TERM of the sidecar, whose
		// begin is anywhere before that: 4 places.
		{"sidecar proxy startup\ncontainer1\n", "its startup probe holds the rest back", 4},
	} {
		t.Run(tt.how, func(t *testing.T) {
			n, err := reference.Count(k, parsePodScript(t, tt.pod), 1000)
			assert.NilError(t, err)
			assert.Equal(t, n, tt.want)
		})
	}
	_, err = reference.Count(k, parsePodScript(t, "container1\ncontainer2\ncontainer3\n"), 10)
	assert.ErrorContains(t, err, "more than 10")
	_, err = reference.Count(k, parsePodScript(t, "container1\n"), 10)
	assert.NilError(t, err)
}

// What Enumerate yields is what the judge accepts: each order passes, and every
// order of the same lines that is left out is refused.
func TestEnumerateIsWhatIsAccepted(t *testing.T) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	for _, script := range []string{"container1 postStart\ncontainer2\n", "init setup\ncontainer1 readiness\n", "container1 preStop\ncontainer2\n"} {
		// A log alone may come from a deletion with a grace period so short that the
		// preStop hook holds up nothing.
		shortGrace := strings.Contains(script, "preStop")
		pod := parsePodScript(t, script)
		all, err := reference.Enumerate(k, pod)
		assert.NilError(t, err)
		allowed := map[string]bool{}
		var lines []string
		for order := range all {
			allowed[strings.Join(order, "\n")] = true
			lines = slices.Clone(order)
		}
		assert.Assert(t, len(allowed) > 1, "%d orders were enumerated", len(allowed))
		slices.Sort(lines)
		passed, refused := 0, 0
		permute(lines, func(order []string) {
			if !ownOrder(order) {
				return
			}
			v := judgeLog(t, k, pod, stamped(order))
			text := strings.Join(order, "\n")
			if v.Outcome == reference.Pass {
				passed++
			} else {
				refused++
			}
			if v.Outcome != reference.Pass && allowed[text] {
				t.Errorf("enumerated and refused:\n%s\n%s", text, v.Text())
			}
			if v.Outcome == reference.Pass && !allowed[text] && !shortGrace {
				t.Errorf("accepted and not enumerated:\n%s", text)
			}
		})
		assert.Assert(t, passed >= len(allowed) && (refused > 0 || shortGrace), "%d orders passed, %d did not", passed, refused)
	}
}

// ownOrder reports whether every main process begins before it is stopped or
// ends: that is its own order, not the kubelet's.
func ownOrder(order []string) bool {
	seen := map[string]bool{}
	for _, l := range order {
		who, mark, _ := strings.Cut(l, ": ")
		if mark == "begin" && seen[who] {
			return false
		}
		seen[who] = true
	}
	return true
}

func permute(items []string, do func([]string)) {
	var rec func(int)
	rec = func(n int) {
		if n == len(items) {
			do(items)
			return
		}
		for i := n; i < len(items); i++ {
			items[n], items[i] = items[i], items[n]
			rec(n + 1)
			items[n], items[i] = items[i], items[n]
		}
	}
	rec(0)
}

// stamped turns names of lines into lines of a first instance.
func stamped(order []string) []string {
	var out []string
	for i, l := range order {
		l = strings.Replace(l, " / ", "#0 / ", 1)
		if strings.HasSuffix(l, " probe") {
			l += ": end 0"
		}
		out = append(out, epoch.Add(0).Format("2006-01-02T15:04:")+twoDigits(i)+"Z: "+l)
	}
	return out
}

func twoDigits(i int) string { return string([]byte{'0' + byte(i/10), '0' + byte(i%10)}) }
