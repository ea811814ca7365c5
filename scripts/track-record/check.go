package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podorder/podorder/report"
	"github.com/podorder/podorder/report/observed"
)

// shown is what a case showed on a kubelet.
type shown struct {
	id, kubelet string
	wrong       bool // whether the row says that the kubelet is a wrong one
	// runs are those that were judged and tell; faulty is in how many of them the judge named the fault, and
	// seen in how many the recording has what the row says. mute are those in which what it depends on
	// did not come about.
	runs, faulty, seen, mute int
	// outcomes are those of the other runs; untold are those that were inconclusive, which matters only
	// where no run tells.
	outcomes, untold []string
	bad              string // what is not as listed; empty where everything is
}

// asked are all runs of the cases of a row on its kubelets.
func (e entry) check(r *report.Report) (out []shown) {
	for _, kubelet := range slices.Concat(e.wrong, e.right) {
		var on []shown
		for _, id := range e.cases {
			on = append(on, e.look(r, id, kubelet))
		}
		e.judge(on)
		out = append(out, on...)
	}
	return out
}

// look gathers what a case showed on a kubelet.
func (e entry) look(r *report.Report, id, kubelet string) shown {
	s := shown{id: id, kubelet: kubelet, wrong: slices.Contains(e.wrong, kubelet)}
	feature, err := observed.ParseFeature(e.shows[id])
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Case != id || run.Kubelet != kubelet {
			continue
		}
		if run.Outcome == report.Inconclusive {
			s.untold = append(s.untold, strings.TrimSpace(run.Outcome+" "+run.Reason))
			continue
		}
		if run.Outcome != report.Pass && run.Outcome != report.Known {
			s.outcomes = append(s.outcomes, strings.TrimSpace(run.Outcome+" "+run.Reason))
			continue
		}
		s.runs++
		if v := run.Verdict; v != nil {
			for _, d := range v.Deviations {
				if d.Name == e.fault {
					s.faulty++
					break
				}
			}
		}
		if run.Observed == nil || e.shows[id] == "" || err != nil {
			continue
		}
		switch yes, known := feature.Of(*run.Observed); {
		case known && yes != e.rightly:
			s.seen++
		case !known && e.fault == "" && e.unseen == "" && !e.sometimes:
			s.runs, s.mute = s.runs-1, s.mute+1
		}
	}
	return s
}

// judge says of each case on one kubelet what is not as listed.
func (e entry) judge(on []shown) {
	faulty, seen := 0, 0
	for _, s := range on {
		faulty, seen = faulty+s.faulty, seen+s.seen
	}
	for i := range on {
		s := &on[i]
		asked := e.shows[s.id] != ""
		switch {
		case len(s.outcomes) > 0:
			s.bad = strings.Join(s.outcomes, "; ")
		case s.runs == 0 && len(s.untold) > 0:
			s.bad = strings.Join(s.untold, "; ")
		case s.runs == 0 && s.mute > 0:
			s.bad = "no run tells"
		case s.runs == 0:
			s.bad = "did not run"
		case e.unseen != "":
			if s.seen > 0 {
				s.bad = "it was seen"
			}
		case !s.wrong:
			// An update that the watch did not deliver leaves a run without what the right ones show.
			if s.faulty > 0 || s.seen > 0 && !(e.rightly && s.seen < s.runs) {
				s.bad = "it shows what only the others should"
			}
		case e.sometimes:
			if e.fault != "" && faulty == 0 || e.fault == "" && seen == 0 {
				s.bad = "no run shows it"
			}
		case e.fault != "" && s.faulty < s.runs, asked && s.seen < s.runs:
			s.bad = "it does not show it"
		}
	}
}

// String tells what was seen, in a few words.
func (e entry) String(s shown) string {
	if s.bad != "" {
		return "NOT AS LISTED: " + s.bad
	}
	n := s.seen
	if e.fault != "" {
		n = s.faulty
	}
	switch word := "shown"; {
	case e.unseen != "":
		return "not seen"
	case !s.wrong:
		return "right"
	case e.fault != "":
		word = "known"
		fallthrough
	default:
		if s.runs == 1 && n == 1 {
			return word
		}
		return fmt.Sprintf("%s %d/%d", word, n, s.runs)
	}
}
