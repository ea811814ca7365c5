package search_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// isShown is a container as an update shows it: the run of its newest instance, -1 where there
// is none, its ID, and when that was started.
type isShown struct {
	name, id string
	run      int
	at       time.Time
}

// shownIn is what an update shows of each container.
func shownIn(st *corev1.PodStatus) (all []isShown) {
	for _, cs := range slices.Concat(st.InitContainerStatuses, st.ContainerStatuses) {
		is := isShown{name: cs.Name, id: cs.ContainerID, run: int(cs.RestartCount)}
		switch {
		case cs.State.Running != nil:
			is.at = cs.State.Running.StartedAt.Time
		case cs.State.Terminated != nil:
			is.at = cs.State.Terminated.StartedAt.Time
		case cs.LastTerminationState.Terminated == nil && cs.RestartCount == 0:
			is.run = -1
		}
		all = append(all, is)
	}
	return all
}

// Where an update shows an instance of a container, it shows what was started before that: no
// container as it was before an instance which another update shows to have been there by then.
func (s *story) oneSnapshot() error {
	if !s.calm() || s.resets() {
		return nil
	}
	started := map[string]map[int]isShown{}
	for _, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		for _, is := range shownIn(&e.Pod.Status) {
			if is.at.Unix() <= 0 {
				continue
			}
			if started[is.name] == nil {
				started[is.name] = map[int]isShown{}
			}
			started[is.name][is.run] = is
		}
	}
	for n, e := range s.tr.Entries {
		if e.Pod == nil {
			continue
		}
		all := shownIn(&e.Pod.Status)
		for _, newer := range all {
			for _, older := range all {
				for run, of := range started[older.name] {
					// Both times are in whole seconds.
					if run > older.run && older.name != newer.name && of.id != older.id && newer.at.After(of.at) {
						return fmt.Errorf("line %d: %s#%d is shown, and not %s#%d, which was started before", n+2, newer.name, newer.run, older.name, run)
					}
				}
			}
		}
	}
	return nil
}
