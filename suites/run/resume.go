package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/judged"
)

// runFile is what is kept of a run beside its trace as soon as it has ended, so that a run of the
// suite that is interrupted, or killed, can be gone on with.
const runFile = "run.json"

// kept is the content of runFile.
type kept struct {
	// Of tells runs of the same case under the same conditions from others.
	Of  string     `json:"of"`
	Run report.Run `json:"run"`
}

// keep saves what came of a run. One that nothing was recorded of is cheap to have again.
func (s *Suite) keep(c fixtures.Case, kubelet string, run report.Run) error {
	if run.Trace == "" {
		return nil
	}
	run.Observed = nil // found again in the trace
	b, err := json.MarshalIndent(kept{s.conditions(c, kubelet), run}, "", " ")
	if err != nil {
		return fmt.Errorf("encoding what came of the run: %w", err)
	}
	return report.Save(filepath.Dir(filepath.Join(s.artifacts, filepath.FromSlash(run.Trace))), runFile, append(b, '\n'))
}

// conditions is a digest of everything that a user may change about a run of a case between two
// runs of the suite.
func (s *Suite) conditions(c fixtures.Case, kubelet string) string {
	h := sha256.New()
	add := func(format string, args ...any) { fmt.Fprintf(h, format+"\x00", args...) }
	add("%s %s %s", c.ID, kubelet, s.options.FeatureGates)
	add("%s", c.Manifest)
	for _, step := range c.Steps {
		add("%s", step)
	}
	for _, w := range c.Witness {
		add("%s", w)
	}
	add("%q %q %+v %t %q %q %q", c.Title, c.Rules, c.Log, c.Static, c.Writes, c.Workload, c.Select)
	settings, _ := json.Marshal(c.Kubelet) // of strings and numbers
	add("%s", settings)
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		add("%s %s", name, c.Files[name])
	}
	if file := s.files[kubelet]; file != "" {
		if st, err := os.Stat(file); err == nil {
			add("%d %v", st.Size(), st.ModTime())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// resumed returns what an earlier run of the suite recorded of a case, if -resume asks for that
// and it shows anything. It is judged again: the judge may have changed since. number is
// that of a repeated run, as for settle.
func (s *Suite) resumed(c fixtures.Case, kubelet string, number int) (report.Run, bool) {
	if !s.options.Resume {
		return report.Run{}, false
	}
	dir := s.folder(c, kubelet, number)
	b, err := os.ReadFile(filepath.Join(dir, runFile))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.progress.Printf("%s: run again: %v", c.ID, err)
		}
		return report.Run{}, false
	}
	var k kept
	if err := json.Unmarshal(b, &k); err != nil || k.Of != s.conditions(c, kubelet) {
		s.progress.Printf("%s: run again, as what was recorded of it is of another case, other gates or another kubelet", c.ID)
		return report.Run{}, false
	}
	run := k.Run
	run.Kept = true
	rec, err := run.Load(s.artifacts)
	if err != nil {
		s.progress.Printf("%s: run again: %v", c.ID, err)
		return report.Run{}, false
	}
	j := judged.Judge(c, s.options.FeatureGates, rec.Trace, run.Ended)
	s.judged(&run, c, rec.Trace, j)
	if run.Outcome == report.Inconclusive || run.Outcome == report.Broken {
		return report.Run{}, false // it shows nothing
	}
	s.claim(&run, rec.Trace, j.Changes.Containers())
	if err := saveVerdict(dir, &run); err != nil {
		s.progress.Printf("%s: %v", c.ID, err)
	}
	s.progress.Printf("%s: kept from an earlier run: %s", s.named(&run), run.Outcome)
	return run, true
}

// wholly takes the results of jobs that all have run already, so that no cluster is needed; ok is
// false if one has not, or if it is not known yet on which kubelets they run.
func (s *Suite) wholly(jobs []*job) (runs []report.Run, ok bool) {
	if !s.options.Resume {
		return nil, false
	}
	for _, j := range jobs {
		if j.col.kubelet == "" {
			return nil, false
		}
		if !j.meant() {
			continue
		}
		for i := range max(1, s.options.Repeat) {
			dir := s.folder(j.c, j.col.kubelet, s.numbered(i))
			if _, err := os.Stat(filepath.Join(dir, runFile)); err != nil {
				return nil, false // without a look at the others
			}
		}
	}
	for _, j := range jobs {
		if !j.meant() {
			only := runOf(j.c, j.col.kubelet, 0)
			only.Skip("for kubelet " + j.c.Versions.String())
			runs = append(runs, only)
			continue
		}
		for i := range max(1, s.options.Repeat) {
			run, ok := s.resumed(j.c, j.col.kubelet, s.numbered(i))
			if !ok {
				s.outcome.forget()
				return nil, false
			}
			runs = append(runs, run)
		}
	}
	for _, run := range runs {
		if rec, err := run.Load(s.artifacts); err == nil {
			h := rec.Trace.Header
			s.clusters = append(s.clusters, report.Cluster{Kubernetes: h.Kubernetes, Runtime: h.Runtime, Made: !s.target.exists()})
			break
		}
	}
	return runs, true
}

// numbered is the number of a run of a case, counted from 0: 0 for the only one, and from 1 for those of
// a repeated case.
func (s *Suite) numbered(i int) int {
	if s.options.Repeat > 1 {
		return i + 1
	}
	return 0
}
