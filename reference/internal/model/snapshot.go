// One snapshot: the status of a Pod shows its containers as the runtime had them at one time,
// between two syncs (pkg/kubelet/kuberuntime/kuberuntime_manager.go, GetPodStatus). The kubelet starts
// nothing then, so an instance that is shown tells which others have to be. The containers are inspected
// one after another, and each may end meanwhile: ends prove nothing. Rules: status/one-snapshot.

package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/internal/podspec"
	"github.com/podorder/podorder/reference/internal/record"
	"github.com/podorder/podorder/reference/rules"
)

// oneSnapshot says which container an update shows as it was before another one was started, which
// it shows as well.
func (r *Reading) oneSnapshot(st *corev1.PodStatus, n int) *Denial {
	lists := [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses}
	for _, list := range lists {
		for k := range list {
			if i, known := r.p.Index[list[k].Name]; known && record.ShownOf(&list[k]).State != record.Waiting {
				if d := r.othersAreThere(i, &list[k], lists, n); d != nil {
					return d
				}
			}
		}
	}
	return nil
}

// othersAreThere says which of the other containers is shown as it was before the shown instance of
// container i was started.
func (r *Reading) othersAreThere(i int, shown *corev1.ContainerStatus, lists [][]corev1.ContainerStatus, n int) *Denial {
	at, line := record.StartShown(shown), r.lineBeforeStart(i, shown.RestartCount, n)
	for _, list := range lists {
		for k := range list {
			cs := &list[k]
			j, known := r.p.Index[cs.Name]
			if !known || j == i {
				continue
			}
			since := r.shownBefore(j, cs, at, line, n)
			if !since.Known() || r.staticInitForgotten(j, cs, n) {
				continue
			}
			d := deny(rules.OneSnapshot, Cause{since, rules.OneSnapshot}, Cause{line, rules.OneSnapshot})
			return because(d, "container %s#%d is shown, and container %s as it was before that was started: %s, restart count %d", shown.Name, shown.RestartCount, cs.Name, record.StateWord(cs), cs.RestartCount)
		}
	}
	return nil
}

// shownBefore is the sign of an instance of container j that is newer than the one that a status shows,
// and was started before a time of the clock of the node, or before a line was written.
func (r *Reading) shownBefore(j int, cs *corev1.ContainerStatus, at time.Time, line record.Place, n int) record.Place {
	newest := cs.RestartCount
	if newest == 0 && cs.State.Waiting != nil && cs.LastTerminationState.Terminated == nil {
		newest = -1
	}
	if at.Unix() > 0 && !r.excused(rules.SnapshotByStamps, j, n, 0) {
		for _, s := range r.ev.Containers[j].Starts {
			// Its time is the latest at which it can have been started, and the other the earliest.
			if s.Run > newest && !s.By.After(at) && (s.ID == "" || s.ID != cs.ContainerID) {
				return s.Obs
			}
		}
	}
	if line.Known() && !r.excused(rules.SnapshotByOrder, j, n, 0) {
		for k := range r.h[j].runs {
			if x := &r.h[j].runs[k]; x.run > newest && x.first < line {
				return x.first
			}
		}
	}
	return 0
}

// lineBeforeStart is a line after which the shown instance of container i was started, as the order
// of lines tells; the latest of them. What another container had written by then was started before it.
func (r *Reading) lineBeforeStart(i int, run int32, n int) (last record.Place) {
	if r.runIsUncertain(i, run) {
		return 0
	}
	for k := range r.h[i].runs {
		if x := &r.h[i].runs[k]; x.run < run {
			last = max(last, x.last)
		}
	}
	// What the worker starts while a postStart hook runs is the container of that alone.
	if x := r.h[i].at(run); r.p.Containers[i].PostStart && x.hookBegin.Known() {
		last = max(last, x.hookBegin)
	}
	for j := range min(i, r.p.Inits) {
		if r.p.Containers[j].Role != podspec.InitContainer {
			continue
		}
		for k := range r.h[j].runs {
			last = max(last, r.h[j].runs[k].mainEnd)
		}
	}
	return last
}
