package run

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/podorder/podorder/harness/host"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/harness/shutdown"
)

// stage is a part of a run that takes time. least is what it takes on any machine,
// usual what was measured, on two cores where more of them help. Neither is asserted:
// they only tell whether the time-out of go test is worth beginning with.
type stage struct {
	what         string
	least, usual time.Duration
}

// What stages take. The least are far below anything that was measured.
const (
	leastCase, usualCase = 2 * time.Second, time.Minute
	usualLong            = 4 * time.Minute // the longest case waits for two and a half
	usualRun             = 1100 * time.Millisecond
	leastCluster         = 10 * time.Second
	usualCluster         = time.Minute
	usualWorker          = 15 * time.Second
	leastImage           = 2 * time.Minute
	usualImage           = 16 * time.Minute
	leastKubelet         = 20 * time.Second
	usualKubelet         = 4 * time.Minute
)

// faster is what a time measured on two cores becomes on this machine, where more of
// them help.
func faster(d time.Duration) time.Duration {
	return d * 2 / time.Duration(min(max(runtime.NumCPU(), 2), 8))
}

// forCases is the stage of running cases, each so often. As many run side by side as
// the machine carries.
func forCases(jobs []*job, repeat int) []stage {
	n := 0
	s := stage{}
	for _, j := range jobs {
		if !j.meant() {
			continue
		}
		n += repeat
		s.least = leastCase
		if s.usual = max(s.usual, usualCase); isLong(j.c) {
			s.usual = max(s.usual, usualLong)
		}
	}
	s.usual = max(s.usual, faster(time.Duration(n)*usualRun))
	if s.what = plural(n, "run") + " of cases"; n == 0 {
		return nil
	}
	return []stage{s}
}

// forCluster are the stages of making the clusters for waves of kubelets.
func (s *Suite) forCluster(ctx context.Context, h *host.Host, waves [][]string) (out []stage, err error) {
	version := s.options.Kubernetes
	if version == "" {
		version = nodeimage.Default
	}
	if s.options.NodeImage == "" {
		effort, err := nodeimage.EffortFor(ctx, h, version)
		if err != nil {
			return nil, err
		}
		image := stage{"building the node image of " + version, leastImage, faster(usualImage)}
		switch effort {
		case nodeimage.PullOrMake:
			image.what, image.least = "building the node image of "+version+", if it cannot be pulled", 0
			fallthrough
		case nodeimage.Make:
			out = append(out, image)
		}
	}
	var missing []string
	for _, name := range s.kubelets {
		if s.files[name] != "" || name == version {
			continue
		}
		effort, err := nodeimage.KubeletEffort(ctx, name, nodeimage.Options{})
		if err != nil {
			return nil, err
		}
		if effort != nodeimage.Nothing {
			missing = append(missing, name)
		}
	}
	if n := time.Duration(len(missing)); n > 0 {
		out = append(out, stage{"building the kubelets " + strings.Join(missing, ", "), n * leastKubelet, n * faster(usualKubelet)})
	}
	n := time.Duration(len(waves))
	return append(out, stage{
		"making " + plural(len(waves), "cluster"), n * leastCluster, n*usualCluster + time.Duration(len(s.kubelets))*usualWorker,
	}), nil
}

// inTime holds stages against the time-out of go test. What surely does not fit into
// it is an error; what may not is said, where these are all of the stages.
func (s *Suite) inTime(stages []stage, all bool) error {
	timeout, err := time.ParseDuration(lookup("test.timeout"))
	if err != nil || timeout == 0 {
		return nil // package testing knows no other form
	}
	text, fatal := tooShort(timeout, stages)
	if fatal {
		return usageError{fmt.Errorf("%s", text)}
	}
	if text != "" && all {
		s.progress.Printf("warning: %s", text)
	}
	return nil
}

// tooShort says of a time-out that it does not suffice, surely or where the stages take
// as long as usual; the text is empty where it does.
func tooShort(timeout time.Duration, stages []stage) (text string, surely bool) {
	var least, usual time.Duration
	var words []string
	for _, s := range stages {
		least, usual = least+s.least, usual+s.usual
		words = append(words, fmt.Sprintf("%s (%s)", s.what, about(s.usual)))
	}
	room := timeout - shutdown.Margin(timeout)
	// What make conformance gives, or twice the usual in whole tens of minutes.
	const step = 10 * time.Minute
	enough := max(5*step, (2*usual+step-1)/step*step)
	switch {
	case least > room:
		return fmt.Sprintf("go test ends this run after %s, which is too short for %s: give -timeout=%.0fm", about(timeout), strings.Join(words, ", "), enough.Minutes()), true
	case usual > room:
		return fmt.Sprintf("go test ends this run after %s, which may be too short: what usually takes long is %s; give -timeout=%.0fm", about(timeout), strings.Join(words, ", "), enough.Minutes()), false
	}
	return "", false
}

// about is a time as a person says it.
func about(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
