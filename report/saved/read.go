package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/forms"
)

// Read reads what a run left in a folder. Where that has no report, its verdicts are read,
// and where it has neither, its traces are looked for. The runs are as the run itself judged
// them; those of a folder that has traces alone have no outcome yet.
func Read(dir string) (*report.Report, error) {
	switch st, err := os.Stat(dir); {
	case err != nil:
		return nil, err
	case !st.IsDir():
		return nil, fmt.Errorf("%s is a file; name the folder that a run wrote", dir)
	}
	r, err := report.Read(dir)
	if missing := new(report.NotFoundError); !errors.As(err, &missing) {
		return r, err
	}
	r, err = readVerdicts(filepath.Join(dir, forms.Verdicts))
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	r, err = find(dir)
	if err == nil && len(r.Runs) == 0 {
		err = fmt.Errorf("%s has no %s, no %s and no traces: name the folder that a run wrote; make conformance prints it last, and it is artifacts where nothing else was asked for", dir, report.File, forms.Verdicts)
	}
	return r, err
}

// verdictsCase is a case in verdicts.json.
type verdictsCase struct {
	Case, Kubelet   string
	Seconds         float64
	Skipped, Reason string
	Admission       []string
	Trace, First    string
	Verdict         *reference.Verdict
	Runs            []verdictsCase
}

// readVerdicts reads the verdicts of a run from before there was report.json.
func readVerdicts(path string) (*report.Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var v struct {
		Kubernetes, Runtime, Failed string
		Kubelets                    []string
		ClusterSeconds, WallSeconds float64
		Cases                       []verdictsCase
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%s: it is not the verdicts of a run: %w", path, err)
	}
	if v.Cases == nil {
		return nil, fmt.Errorf("%s: it is not the verdicts of a run: it has no field cases", path)
	}
	r := &report.Report{Version: report.Version, Failed: v.Failed, Seconds: v.WallSeconds, Kubelets: []report.Kubelet{}}
	if v.Kubernetes != "" {
		r.Clusters = []report.Cluster{{Kubernetes: v.Kubernetes, Runtime: v.Runtime, Kubelets: v.Kubelets, Seconds: v.ClusterSeconds}}
	}
	for _, c := range v.Cases {
		if len(c.Runs) == 0 {
			r.Runs = append(r.Runs, c.run())
		}
		for i, one := range c.Runs {
			one.Case, one.Kubelet = c.Case, c.Kubelet
			run := one.run()
			run.Repeat = i + 1
			r.Runs = append(r.Runs, run)
		}
	}
	addKubelets(r)
	return r, nil
}

func (c verdictsCase) run() report.Run {
	group, _, _ := strings.Cut(c.Case, "/")
	run := report.Run{
		Case: c.Case, Group: group, Kubelet: c.Kubelet, Seconds: c.Seconds, First: c.First,
		Admission: c.Admission, Trace: c.Trace,
	}
	if c.Skipped != "" || c.Verdict == nil {
		run.Skip(c.Skipped)
		return run
	}
	run.Set(*c.Verdict)
	run.Ended = endedBy(c.Verdict.Reason)
	return run
}

// endedBy finds in the reason of a verdict what kept the run from its last step; nil if
// the reason does not speak of it.
func endedBy(reason string) *report.Ended {
	if why, ok := strings.CutPrefix(reason, "the run did not end well: "); ok {
		return &report.Ended{Why: strings.TrimSuffix(why, "; everything recorded until then is allowed")}
	}
	if _, why, ok := strings.Cut(reason, "the run did not end well either: "); ok {
		return &report.Ended{Why: why}
	}
	if why, ok := strings.CutPrefix(reason, "the case was ended early for what the rest of the recording explains: "); ok {
		return &report.Ended{Why: "the case was ended, because it is decided: " + why, Decided: why}
	}
	return nil
}

// addKubelets adds the kubelets that the runs have, by their names.
func addKubelets(r *report.Report) {
	for _, run := range r.Runs {
		if slices.ContainsFunc(r.Kubelets, func(k report.Kubelet) bool { return k.Name == run.Kubelet }) {
			continue
		}
		k := report.Kubelet{Name: run.Kubelet, Version: report.VersionOf(run.Kubelet)}
		if known, err := reference.ParseKubelet(k.Version); err == nil {
			k.Uncovered = known.Uncovered()
		}
		r.Kubelets = append(r.Kubelets, k)
	}
	slices.SortStableFunc(r.Kubelets, func(a, b report.Kubelet) int { return report.CompareKubelets(a.Name, b.Name) })
}

// find looks for traces in a folder: those of a run that was killed before it could report.
func find(dir string) (*report.Report, error) {
	r := &report.Report{Version: report.Version, Kubelets: []report.Kubelet{}, Interrupted: "the run was ended before it could report"}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "trace.jsonl" {
			return err
		}
		if strings.HasSuffix(filepath.Dir(path), ".first") {
			return nil // the case ran again
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		head, err := trace.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		// The first folder has the name of the kubelet, and a repeated case one for each run.
		h := head.Header
		name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		if report.VersionOf(name) != h.Kubelet {
			name = h.Kubelet
		}
		group, _, _ := strings.Cut(h.Case, "/")
		run := report.Run{Case: h.Case, Group: group, Kubelet: name, Trace: filepath.ToSlash(rel)}
		if _, err := fmt.Sscanf(filepath.Base(filepath.Dir(path)), "run-%d", &run.Repeat); err != nil {
			run.Repeat = 0
		}
		if !slices.ContainsFunc(r.Clusters, func(c report.Cluster) bool { return c.Kubernetes == h.Kubernetes && c.Runtime == h.Runtime }) {
			r.Clusters = append(r.Clusters, report.Cluster{Kubernetes: h.Kubernetes, Runtime: h.Runtime})
		}
		r.Runs = append(r.Runs, run)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for traces: %w", err)
	}
	addKubelets(r)
	return r, nil
}
