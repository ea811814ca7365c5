package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/trace"
)

// fixedGates are feature gates that affect order, with the minor release from
// which every component refuses to have them set: they are locked to their default,
// and later gone (pkg/features/kube_features.go of each release).
var fixedGates = map[string]int{
	"SidecarContainers":                  33,
	"PodLifecycleSleepAction":            34,
	"PodReadyToStartContainersCondition": 37,
}

// parseGates reads -feature-gates as kind takes them. What is wrong with it is said
// by [checkGates].
func parseGates(list string) map[string]bool {
	gates := map[string]bool{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if on, err := strconv.ParseBool(value); err == nil {
			gates[name] = on
		}
	}
	return gates
}

// checkGates reports gates that do not affect order or that one of the kubelets does
// not have, and, where they are to be set in a cluster that is made, those that it
// would refuse: it would not come up.
func checkGates(list string, versions []string, set bool) error {
	if list == "" {
		return nil
	}
	for _, v := range versions {
		k, err := reference.ParseKubelet(v)
		if err != nil {
			return fmt.Errorf("-feature-gates: %w", err)
		}
		if _, err := k.WithGates(list); err != nil {
			return fmt.Errorf("-feature-gates: %w", err)
		}
		release, err := trace.ParseRelease(v)
		if err != nil {
			return fmt.Errorf("-feature-gates: %w", err)
		}
		for gate := range parseGates(list) {
			if from, fixed := fixedGates[gate]; set && fixed && release.Minor >= from {
				return fmt.Errorf("-feature-gates: Kubernetes %s refuses to have %s set, like every release from 1.%d on; use older kubelets and an older control plane (-kubernetes), or leave it out", v, gate, from)
			}
		}
	}
	return nil
}
