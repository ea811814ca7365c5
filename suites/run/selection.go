package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/report"
)

// selection collects what the flags select, instead of running it.
type selection struct {
	mu   sync.Mutex
	jobs []*job
}

func (s *selection) add(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, j)
}

// selects goes through the tests as a run does, with the same flags of go test and
// of e2e-framework, and returns the cases that would be run, each on each of some
// kubelets; those that are not meant for a kubelet, and so skipped, are among them.
func (s *Suite) selects(ctx context.Context, m *testing.M, cfg *envconf.Config, cols []column) (jobs []*job, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("selecting cases: %w", err)
	}
	defer null.Close()
	stdout := os.Stdout
	os.Stdout = null // package testing says of each test that it passed
	defer func() { os.Stdout = stdout }()
	if s.env, err = env.NewWithContext(ctx, cfg); err != nil {
		return nil, fmt.Errorf("selecting cases: %w", err)
	}
	several := s.several
	s.selection, s.columns, s.queue, s.several = &selection{}, cols, newQueue(1, 1, 1), s.several || len(cols) > 1
	defer func() { s.selection, s.columns, s.queue, s.several, s.env = nil, nil, nil, several, nil }()
	// A test main may run its tests several times, one after the other.
	if status := m.Run(); status != 0 {
		return nil, fmt.Errorf("selecting cases: the tests ended with status %d", status)
	}
	return s.selection.jobs, nil
}

// foreseen are the kubelets that a run will have, as far as the flags tell. The
// empty name stands for one that is known only once there is a cluster.
func (s *Suite) foreseen() []column {
	names := s.kubelets
	switch {
	case names != nil:
	case s.target.exists():
		names = []string{""}
	case s.options.Kubernetes != "":
		names = []string{s.options.Kubernetes}
	case s.options.NodeImage != "":
		names = []string{""}
	default:
		names = []string{nodeimage.Default}
	}
	var out []column
	for _, n := range names {
		out = append(out, column{kubelet: n})
	}
	return out
}

// there are the kubelets of the cluster that the flags name.
func (s *Suite) there(ctx context.Context) ([]column, error) {
	cl, err := cluster.Open(ctx, s.target.kubeconfig, s.target.context)
	if err != nil {
		return nil, err
	}
	if err := s.agrees(cl); err != nil {
		return nil, err
	}
	nodes, _, err := s.takers(ctx, cl)
	if err != nil {
		return nil, err
	}
	cols, err := columns(nodes, s.kubelets)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cl.Name, err)
	}
	return cols, nil
}

// meant reports whether a case is meant for the kubelet of a job. What is not known
// yet excludes nothing.
func (j *job) meant() bool {
	return j.col.kubelet == "" || j.c.Versions.Includes(report.VersionOf(j.col.kubelet))
}

// narrow keeps the cases that are selected. Selecting nothing, or nothing for one of
// the kubelets, is an error: a run that judges nothing fails, and that can be known
// before a cluster is made.
func (s *Suite) narrow(jobs []*job, cols []column) error {
	if len(jobs) == 0 {
		return errors.New("no case is selected: -cases, -run, -skip, -labels, -skip-labels, -feature and -skip-features exclude all of them; -args -list with the same flags prints what they select")
	}
	for _, col := range cols {
		var on []*job
		for _, j := range jobs {
			if j.col.kubelet == col.kubelet {
				on = append(on, j)
			}
		}
		if len(on) > 0 && !slices.ContainsFunc(on, (*job).meant) {
			return fmt.Errorf("none of the %s is for kubelet %s: %s is for %s", plural(len(on), "selected case"), col.kubelet, on[0].c.ID, on[0].c.Versions)
		}
	}
	var cases []fixtures.Case
	for _, c := range s.cases {
		if slices.ContainsFunc(jobs, func(j *job) bool { return j.c.ID == c.ID }) {
			cases = append(cases, c)
		}
	}
	s.cases = cases
	return nil
}

// kubeletsOf are the names of the kubelets of columns.
func kubeletsOf(cols []column) []string {
	var out []string
	for _, c := range cols {
		out = append(out, c.kubelet)
	}
	return out
}

// names joins the kubelets of columns.
func names(cols []column) string { return strings.Join(kubeletsOf(cols), ", ") }
