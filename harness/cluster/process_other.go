//go:build !linux && !darwin

package cluster

import (
	"fmt"
	"runtime"
)

func bootID() (string, error) { return "", fmt.Errorf("how to is not known on %s", runtime.GOOS) }

func processStart(int) (uint64, bool, error) {
	return 0, false, fmt.Errorf("how to ask for a process is not known on %s", runtime.GOOS)
}
