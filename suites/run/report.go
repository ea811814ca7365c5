package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podorder/podorder/suites/claims"
)

// Report is the outcome of a run.
type Report struct {
	// Kubernetes is the version of the API server, empty if none was reached.
	Kubernetes string
	Runtime    string
	Results    []Result
	Strict     bool
	// Wall is the time from the start of the first case to the last verdict, of
	// all waves together.
	Wall time.Duration
	// Cluster is the time that it took until the clusters could run cases.
	Cluster time.Duration
	// Claims are what each kubelet made of what is said in public.
	Claims []claims.Column
}

// sort puts the worst first.
func (r *Report) sort() {
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Case, b.Case), compareVersions(a.Kubelet, b.Kubelet))
	})
}

// kubelets returns the versions of the kubelets, the oldest first.
func (r *Report) kubelets() []string {
	var out []string
	for _, res := range r.Results {
		if !slices.Contains(out, res.Kubelet) {
			out = append(out, res.Kubelet)
		}
	}
	slices.SortFunc(out, compareVersions)
	return out
}

// of returns the results on one kubelet.
func (r *Report) of(kubelet string) (out []Result) {
	for _, res := range r.Results {
		if res.Kubelet == kubelet {
			out = append(out, res)
		}
	}
	return out
}

// Err says why the run fails; nil if it does not.
func (r *Report) Err() error {
	failed := 0
	for _, res := range r.Results {
		if res.fails(r.Strict) {
			failed++
		}
	}
	switch {
	case len(r.Results) == 0:
		return fmt.Errorf("no case was judged; select at least one with -run, -cases or -labels")
	case judged(r.Results) == 0:
		return fmt.Errorf("no case was judged: all %d were skipped", len(r.Results))
	case failed > 0:
		return fmt.Errorf("%d of %d cases failed", failed, judged(r.Results))
	}
	for _, k := range r.kubelets() {
		if results := r.of(k); judged(results) == 0 {
			return fmt.Errorf("no case was judged on kubelet %s: all %d were skipped", k, len(results))
		}
	}
	return nil
}

// longest returns the result that took longest.
func (r *Report) longest() Result {
	var most Result
	for _, res := range r.Results {
		if res.Took > most.Took {
			most = res
		}
	}
	return most
}

// counts returns the line that sums results up: "2 violation, 5 pass, 1 skipped".
func counts(results []Result) string {
	var words []string
	n := map[string]int{}
	for _, res := range results {
		if n[res.Word()]++; n[res.Word()] == 1 {
			words = append(words, res.Word())
		}
	}
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", n[w], w)
	}
	return strings.Join(words, ", ")
}

// timing returns the figures of a run: a wall time close to that of the longest
// case means that the others cost nothing.
func (r *Report) timing() string {
	most := r.longest()
	if most.Took <= 0 || r.Wall <= 0 {
		return ""
	}
	s := fmt.Sprintf("all cases in %s, the longest (%s) in %s: ratio %.2f", seconds(r.Wall), most.Case, seconds(most.Took), r.Wall.Seconds()/most.Took.Seconds())
	if r.Cluster > 0 {
		s = fmt.Sprintf("cluster ready after %s; %s", seconds(r.Cluster), s)
	}
	return s
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// byCase returns the results of each case, those with the worst first, and
// within a case by kubelet. The results must be sorted.
func (r *Report) byCase() [][]Result {
	at := map[string]int{}
	var out [][]Result
	for _, res := range r.Results {
		i, ok := at[res.Case]
		if !ok {
			i, at[res.Case] = len(out), len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], res)
	}
	for _, results := range out {
		slices.SortStableFunc(results, func(a, b Result) int { return compareVersions(a.Kubelet, b.Kubelet) })
	}
	return out
}

// matrix has a row for each case and a column for each kubelet.
func (r *Report) matrix(kubelets []string) [][]string {
	rows := [][]string{append([]string{"case"}, kubelets...)}
	for _, results := range r.byCase() {
		row := make([]string, len(kubelets)+1)
		row[0] = results[0].Case
		for _, res := range results {
			row[1+slices.Index(kubelets, res.Kubelet)] = res.mark()
		}
		rows = append(rows, row)
	}
	return rows
}

// admitted says what somebody else made of the Pods, once for all cases in which that was the same.
func (r *Report) admitted() (out []string) {
	cases := map[string][]string{}
	for _, res := range r.Results {
		line := res.changes.String()
		if line == "" {
			continue
		}
		if cases[line] == nil {
			out = append(out, line)
		}
		if !slices.Contains(cases[line], res.Case) {
			cases[line] = append(cases[line], res.Case)
		}
	}
	for i, line := range out {
		if ids := cases[line]; len(ids) == 1 {
			out[i] += " (" + ids[0] + ")"
		} else {
			out[i] += fmt.Sprintf(" (%d cases)", len(ids))
		}
	}
	return out
}

// differences names the cases and claims that did not come out the same on all
// kubelets. A case that was skipped on one differs from nothing.
func (r *Report) differences() (out []string) {
	for _, results := range r.byCase() {
		var order []string
		on := map[string][]string{}
		for _, res := range results {
			if res.Skipped != "" {
				continue
			}
			w := res.Word()
			if res.Verdict.Rule != "" {
				w += " " + shared(res)
			}
			if on[w] == nil {
				order = append(order, w)
			}
			on[w] = append(on[w], res.Kubelet)
		}
		if len(order) < 2 {
			continue
		}
		for i, w := range order {
			order[i] = w + " on " + strings.Join(on[w], ", ")
		}
		out = append(out, results[0].Case+": "+strings.Join(order, "; "))
	}
	for _, id := range claims.Differ(r.Claims) {
		var parts []string
		for _, col := range r.Claims {
			for _, res := range col.Results {
				if res.Claim == id && res.Finding != claims.NotSeen {
					parts = append(parts, fmt.Sprintf("%s on %s", res.Finding, col.Kubelet))
				}
			}
		}
		out = append(out, "claim ("+id+"): "+strings.Join(parts, "; "))
	}
	return out
}

// claimsSeen is what came of the claims that the run had something to show of. file
// has all of them. It is empty where no trace was recorded.
func (r *Report) claimsSeen(file string) string {
	if len(r.Claims) == 0 {
		return ""
	}
	all, seen := len(claims.Claims()), claims.Seen(r.Claims)
	n := len(seen[0].Results)
	if n == 0 {
		return fmt.Sprintf("none of the %d public claims was seen: %s\n", all, file)
	}
	text := "public claims, and whether they held\n" + claims.Text(seen)
	if n < all {
		text += fmt.Sprintf("\n%d of %d claims were seen; %s has the others as well\n", n, all, file)
	}
	return text
}
