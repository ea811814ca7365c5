package saved

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/suites/claims"
)

// Rebase has the paths of a report start at another folder. from is the folder that they
// start at now.
func Rebase(r *report.Report, from, to string) error {
	rebase := func(path string) (string, error) {
		if path == "" {
			return "", nil
		}
		a, err := filepath.Abs(filepath.Join(from, filepath.FromSlash(path)))
		if err != nil {
			return "", err
		}
		b, err := filepath.Abs(to)
		if err != nil {
			return "", err
		}
		rel, err := filepath.Rel(b, a)
		return filepath.ToSlash(rel), err
	}
	var err error
	for i := range r.Runs {
		if r.Runs[i].Trace, err = rebase(r.Runs[i].Trace); err != nil {
			return err
		}
	}
	for _, col := range r.Claims {
		for _, res := range col.Results {
			for i := range res.Evidence {
				if res.Evidence[i].Trace, err = rebase(res.Evidence[i].Trace); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Part is a report that is to be merged with others, and what tells its kubelets from theirs.
type Part struct {
	*report.Report
	Name string
}

// Merge makes one report of several, whose paths start at one folder. Kubelets of the same
// name in several of them get the name of their part as well: "v1.37.2@nightly".
func Merge(parts []Part) *report.Report {
	if len(parts) == 1 {
		return parts[0].Report
	}
	in := map[string]int{}
	for _, p := range parts {
		for _, k := range p.Kubelets {
			in[k.Name]++
		}
	}
	r := merge(parts, func(k string) bool { return in[k] > 1 })
	slices.SortStableFunc(r.Kubelets, func(a, b report.Kubelet) int { return report.CompareKubelets(a.Name, b.Name) })
	sortClaims(r)
	r.Finish()
	return r
}

// Pair makes one report of two runs, so that they can be compared: what both have of one
// kubelet stands side by side, that of the older run first. A kubelet that only one of them
// has is left out, unless each has one alone: then it is those that are compared.
func Pair(older, newer Part) (*report.Report, error) {
	a, b := older.Names(), newer.Names()
	both := slices.DeleteFunc(slices.Clone(a), func(k string) bool { return !slices.Contains(b, k) })
	switch {
	case len(both) > 0:
		older.Report, newer.Report = older.Only(both), newer.Only(both)
	case len(a) != 1 || len(b) != 1:
		return nil, fmt.Errorf("no kubelet has run in both: %s has %s, and %s has %s", older.Name, strings.Join(a, ", "), newer.Name, strings.Join(b, ", "))
	default:
		older.Report, newer.Report = older.Only(a), newer.Only(b)
	}
	r := merge([]Part{older, newer}, func(string) bool { return true })
	kubelets := r.Kubelets
	r.Kubelets = nil
	n := len(kubelets) / 2
	for i := range n {
		r.Kubelets = append(r.Kubelets, kubelets[i], kubelets[n+i])
		r.Compared = append(r.Compared, []string{kubelets[i].Name, kubelets[n+i].Name})
	}
	sortClaims(r)
	r.Finish()
	return r, nil
}

// sortClaims puts the claims into the order of the kubelets.
func sortClaims(r *report.Report) {
	names := r.Names()
	slices.SortStableFunc(r.Claims, func(a, b claims.Column) int {
		return cmp.Compare(slices.Index(names, a.Kubelet), slices.Index(names, b.Kubelet))
	})
}

// merge puts reports together, and renames the kubelets that are to be.
func merge(parts []Part, rename func(kubelet string) bool) *report.Report {
	out := &report.Report{Version: report.Version, Made: parts[0].Made, Judged: parts[0].Judged, Kubelets: []report.Kubelet{}}
	var interrupted []string
	for _, p := range parts {
		name := func(k string) string {
			switch {
			case !rename(k):
				return k
			case strings.Contains(k, report.ByName):
				return k + "-" + p.Name
			}
			return k + report.ByName + p.Name
		}
		out.Strict = out.Strict || p.Strict
		if p.Interrupted != "" {
			interrupted = append(interrupted, p.Name+": "+p.Interrupted)
		}
		for _, c := range p.Clusters {
			c.Kubelets = slices.Clone(c.Kubelets)
			for i := range c.Kubelets {
				c.Kubelets[i] = name(c.Kubelets[i])
			}
			out.Clusters = append(out.Clusters, c)
		}
		for _, k := range p.Kubelets {
			k.Name = name(k.Name)
			out.Kubelets = append(out.Kubelets, k)
		}
		for _, run := range p.Runs {
			run.Kubelet = name(run.Kubelet)
			out.Runs = append(out.Runs, run)
		}
		for _, col := range p.Claims {
			col.Kubelet = name(col.Kubelet)
			out.Claims = append(out.Claims, col)
		}
	}
	out.Interrupted = strings.Join(interrupted, "; ")
	return out
}
