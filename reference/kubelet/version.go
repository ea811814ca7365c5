package kubelet

import (
	"fmt"

	"github.com/podorder/podorder/reference/trace"
)

// release answers what differs between the kubelets.
type release struct{ trace.Release }

func parseRelease(version string) release {
	v, err := trace.ParseRelease(version)
	if err != nil {
		panic(fmt.Sprintf("kubelet: %v", err)) // the caller writes the version down
	}
	return release{v}
}

// Versions lists the releases whose rules are known.
func Versions() []string {
	return []string{"v1.28.5", "v1.29.6", "v1.30.14", "v1.31.14", "v1.32.13", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0"}
}

// The rows are those of the rule book's table of differences.

func (v release) sidecars() bool         { return v.Minor >= 29 } // row 2
func (v release) sandboxInit() bool      { return v.Minor >= 37 } // row 6: "initialised" looks at the current sandbox only
func (v release) pendingAgain() bool     { return v.Minor >= 32 } // row 7
func (v release) swapsSidecars() bool    { return v.Minor >= 32 } // row 8
func (v release) tickerRestarts() bool   { return v.Minor >= 32 } // row 10
func (v release) startupStops() bool     { return v.Minor >= 32 } // row 11
func (v release) sidecarsSilent() bool   { return v.Minor >= 38 } // row 14
func (v release) keepsReady() bool       { return v.Minor >= 35 } // row 16
func (v release) relistsAtOnce() bool    { return v.Minor >= 36 } // row 17
func (v release) hasReadyToStart() bool  { return v.Minor >= 29 } // row 19
func (v release) earlyReady() bool       { return v.Minor >= 36 } // row 20
func (v release) sleepHook() bool        { return v.Minor >= 30 } // row 21
func (v release) sleepZero() bool        { return v.Minor >= 33 } // row 22
func (v release) restartRules() bool     { return v.Minor >= 35 } // row 24
func (v release) restartAll() bool       { return v.Minor >= 36 } // row 25
func (v release) looksIntoSandbox() bool { return v.Minor >= 33 } // pkg/kubelet/kubelet_pods.go, getPhase
func (v release) infersInits() bool      { return v.Minor >= 36 } // pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses
func (v release) aimedRequeue() bool     { return v.Minor >= 35 } // row 28
func (v release) parallelKills() bool    { return v.Minor >= 38 } // row 29
func (v release) zeroIsOne() bool        { return v.Minor >= 31 } // row 31
func (v release) keepsFailed() bool      { return v.Minor >= 38 } // row 37

// created is the text of the event, R15 and row 32.
func (v release) created(name string) string {
	switch {
	case v.Minor >= 35:
		return "Container created"
	case v.Minor >= 30:
		return "Created container: " + name
	}
	return "Created container " + name
}

func (v release) started(name string) string {
	if v.Minor >= 35 {
		return "Container started"
	}
	return "Started container " + name
}

func (v release) pulled(image string) string {
	if v.Minor >= 35 {
		return fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", image)
	}
	return fmt.Sprintf("Container image %q already present on machine", image)
}
