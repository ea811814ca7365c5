package reference_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/kubelet/explore"
)

// restarted are Pods of several containers that end and are started again. They
// are written in short: "a hook readiness, b hook" are two regular containers, and
// "sidecar x, b" has a sidecar. A word that ends in ! is a hook or a probe that
// may fail, and then has the container stopped.
func restarted(policy corev1.RestartPolicy, text string) kubelet.Pod {
	p := kubelet.Pod{Policy: policy, Grace: 30}
	for one := range strings.SplitSeq(text, ", ") {
		f := strings.Fields(one)
		role := ""
		if f[0] == "sidecar" || f[0] == "init" {
			role, f = f[0], f[1:]
		}
		c := kubelet.Container{Name: f[0], Exits: true, Sidecar: role == "sidecar"}
		for _, has := range f[1:] {
			name, fails := strings.CutSuffix(has, "!")
			probe := &kubelet.Probe{}
			if fails {
				probe.Failures = 1
			}
			switch name {
			case "hook":
				c.PostStart, c.HookFails = kubelet.Exec, fails
			case "preStop":
				c.PreStop = kubelet.Exec
			case "readiness":
				c.Readiness = probe
			case "startup":
				c.Startup, c.StartupFails = probe, fails
			case "liveness":
				c.Liveness, c.LivenessFails = probe, fails
			default:
				panic("no word for a container: " + has)
			}
		}
		if role == "" {
			p.Containers = append(p.Containers, c)
		} else {
			p.Init = append(p.Init, c)
		}
	}
	return p
}

// anything is what may happen to these Pods. Every instance has taken its number: a
// log alone, which cannot show one that wrote nothing, is read as if it had.
var anything = explore.Options{Deletion: true, GraceEnds: true, KillGraceEnds: true, Crashes: true}

// From some way into the life of a Pod all that may follow is tried: its containers
// are started again, wait for the hooks of each other, and are stopped.
func TestAcceptsExactlyWhatCanFollow(t *testing.T) {
	always, never := corev1.RestartPolicyAlways, corev1.RestartPolicyNever
	for _, tt := range []struct {
		name   string
		policy corev1.RestartPolicy
		pod    string
		// log is how it begins, in short: see shortLine.
		log   string
		limit int
	}{
		{"both have hooks", always, "a hook, b hook", "", 5},
		{"the first has a hook", always, "a hook, b", "", 5},
		{"the second has a hook", always, "a, b hook", "", 5},
		{"the hook of a second instance", always, "a hook readiness, b hook", "a0+ a0+=0 b0+ b0+=0", 9},
		{"both are started again", always, "a hook, b hook", "a0 a0+ a0+=0 b0 b0+ b0+=0 a0=0 b0=0", 13},
		{"the other one is started first", always, "a hook readiness, b hook", "a0+ a0+=0 b0+ b0+=0 b1+", 9},
		{"a hook died in the first sync", always, "a hook, b hook readiness", "a0+ a0 b0+", 8},
		{"hooks that fail", always, "a hook!, b hook", "a0+ a0+=1", 7},
		{"a preStop hook", always, "a hook preStop, b hook", "a0 a0+ a0+=0 b0+ b0+=0", 9},
		{"a liveness probe that fails", always, "a liveness!, b hook", "b0+ b0+=0 a0l1", 7},
		{"a startup probe that fails", always, "a hook startup!, b hook", "a0+ a0+=0 b0+ b0+=0 a0s1", 9},
		{"a sidecar beside a hook", always, "sidecar x, b hook", "x0 b0", 7},
		{"a sidecar with a hook", always, "sidecar x hook, b hook", "x0+ x0+=0", 6},
		{"a sidecar with a hook that fails", always, "sidecar x hook!, b hook", "x0+ x0+=1", 6},
		{"sidecars that die", never, "sidecar x, sidecar y hook!, b", "", 4},
		{"three hooks", always, "a hook, b hook, c hook", "a0+ b0+", 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, set := compare(t, restarted(tt.policy, tt.pod), tt.limit)
			var log []string
			for _, short := range strings.Fields(tt.log) {
				line := c.line(short)
				set = set.After(line)
				assert.Assert(t, set != nil, "%s cannot come after %q", line, log)
				log = append(log, line)
			}
			c.walk(log, set)
			t.Logf("%d logs accepted, %d refused", c.accepted, c.refused)
			assert.Assert(t, c.accepted > 8 && c.refused > 8)
		})
	}
}

// compare begins a comparison of what may happen to a Pod.
func compare(t *testing.T, p kubelet.Pod, limit int) (*comparison, *explore.Set) {
	k, err := reference.ParseKubelet("v1.37.2")
	assert.NilError(t, err)
	return &comparison{t: t, k: k, pod: p.Manifest(), limit: limit, alphabet: alphabetOf(p)}, explore.Begin(p, anything)
}

// line finds a line of the alphabet by its short form: the container and its run,
// then + for its postStart hook, - for its preStop hook, s, r or l for its probes
// and ! for TERM, with = and the code at an end ("a0+=0").
func (c *comparison) line(short string) string {
	for _, line := range c.alphabet {
		if shortLine.Replace(line) == short {
			return line
		}
	}
	c.t.Fatalf("no line is %q in short", short)
	return ""
}

var shortLine = strings.NewReplacer(
	"#", "", " / main: begin", "", " / main: end ", "=", " / main: signal TERM", "!",
	" / post start hook: begin", "+", " / post start hook: end ", "+=", " / pre stop hook: begin", "-", " / pre stop hook: end ", "-=",
	" / startup probe: end ", "s", " / readiness probe: end ", "r", " / liveness probe: end ", "l",
)

// What the walks above do not reach: logs drawn by chance, and at each line all that
// may come next and all that may not.
func TestAgreesOnLongerRuns(t *testing.T) {
	const walks, lines = 6, 14
	always, never := corev1.RestartPolicyAlways, corev1.RestartPolicyNever
	for _, tt := range []struct {
		policy corev1.RestartPolicy
		pod    string
	}{
		{always, "a hook readiness, b hook"},
		{always, "a hook readiness, b"},
		{always, "a readiness, b hook"},
		{always, "a, b hook readiness"},
		{always, "a hook, b hook readiness"},
		{always, "a hook readiness, b hook readiness"},
		{always, "a hook preStop, b hook"},
		{always, "a hook, b preStop"},
		{always, "a preStop, b preStop"},
		{always, "a startup readiness, b hook"},
		{always, "a hook startup, b hook"},
		{always, "a hook liveness!, b hook"},
		{always, "a liveness!, b hook readiness"},
		{always, "a liveness!, b liveness!"},
		{always, "a hook startup!, b hook"},
		{always, "a hook! readiness, b hook"},
		{always, "a hook!, b hook!"},
		{always, "a hook! preStop, b hook"},
		{always, "a hook, b hook, c hook"},
		{always, "a hook readiness, b, c hook"},
		{always, "sidecar x, b hook"},
		{always, "sidecar x hook readiness, b hook"},
		{always, "sidecar x hook, b hook readiness"},
		{always, "sidecar x hook!, b hook"},
		{always, "sidecar x hook, sidecar y hook, b"},
		{always, "sidecar x hook, init i, b hook"},
		{never, "sidecar x hook readiness, b hook"},
		{never, "sidecar x hook, sidecar y hook, b"},
	} {
		t.Run(string(tt.policy)+" "+tt.pod, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 0))
			p := restarted(tt.policy, tt.pod)
			accepted, refused := 0, 0
			for range walks {
				c, set := compare(t, p, lines)
				var log []string
				for len(log) < lines {
					c.next(log, set, func([]string, *explore.Set) {})
					next := set.Lines()
					if len(next) == 0 {
						break
					}
					line := next[random.IntN(len(next))]
					log, set = append(slices.Clip(log), line), set.After(line)
				}
				accepted, refused = accepted+c.accepted, refused+c.refused
			}
			assert.Assert(t, accepted > 50 && refused > 50, "%d accepted, %d refused", accepted, refused)
		})
	}
}
