package kubelet_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference"
	"github.com/podorder/podorder/reference/kubelet"
)

// everyAct is a Pod that has one of everything, and a script that uses all of
// what a script can say.
func everyAct() (kubelet.Pod, kubelet.Script) {
	return kubelet.Pod{
			Init: []kubelet.Container{{Name: "setup"}, {Name: "proxy", Sidecar: true, PostStart: kubelet.Exec, PreStop: kubelet.HTTP, Startup: &kubelet.Probe{Failures: 9}}},
			Containers: []kubelet.Container{
				{Name: "app", PostStart: kubelet.Exec, PreStop: kubelet.Exec, Readiness: &kubelet.Probe{}, Liveness: &kubelet.Probe{Failures: 3}},
				{Name: "job", PreStop: kubelet.Sleep, Seconds: 2},
			},
		}, kubelet.Script{
			Programs: map[string]kubelet.Program{
				"setup": {Runs: time.Second},
				"proxy": {Startup: kubelet.After(time.Second), Stops: time.Second},
				"app": {
					Starts: 200 * time.Millisecond, Readiness: kubelet.After(2 * time.Second), Liveness: kubelet.Until(30 * time.Second),
					PostStart: kubelet.Hook{Takes: 2 * time.Second}, PreStop: kubelet.Hook{Takes: time.Second, ExitCode: 1},
				},
				"job": {Runs: 15 * time.Second, ExitCode: 3},
			},
			Acts: []kubelet.Act{
				kubelet.RestartKubelet(12 * time.Second), kubelet.ChangeImage(25*time.Second, "app"),
				kubelet.StopSandbox(40 * time.Second), kubelet.Delete(70*time.Second, 20), kubelet.Delete(71*time.Second, 5),
			},
			Lasts: 2 * time.Minute,
		}
}

// Whatever the delays are, the judge accepts what a script makes of any release.
func TestPlayedRunsAreAccepted(t *testing.T) {
	pod, script := everyAct()
	evicted := script
	evicted.Acts = []kubelet.Act{kubelet.Evict(20*time.Second, 3)}
	hangs := script
	hangs.Programs = map[string]kubelet.Program{"app": {PostStart: kubelet.Hook{Hangs: true}}, "job": {IgnoresTerm: true}}
	hangs.Acts = []kubelet.Act{kubelet.Delete(5*time.Second, 2)}
	for _, version := range kubelet.Versions()[2:] { // with sleeping hooks
		k, err := reference.ParseKubelet(version)
		assert.NilError(t, err)
		for name, s := range map[string]kubelet.Script{"everything": script, "evicted": evicted, "hangs": hangs} {
			for seed := range uint64(20) {
				choose := kubelet.Seed(seed)
				if seed == 0 {
					choose = kubelet.Prompt()
				}
				r, err := kubelet.Play(pod, version, s, choose)
				assert.NilError(t, err)
				v := reference.Check(k, pod.Manifest(), r.Trace)
				assert.Equal(t, v.Outcome, reference.Pass, "%s, seed %d, kubelet %s: %s\n%s", name, seed, version, v.Text(), r)
			}
		}
	}
}

// All that a script says comes about.
func TestScriptIsPlayed(t *testing.T) {
	pod, script := everyAct()
	r, err := kubelet.Play(pod, "v1.37.2", script, kubelet.Prompt())
	assert.NilError(t, err)
	at := 0
	for _, want := range []string{
		"setup#0 / main: end 0", "proxy#0 / startup probe: end 1", "proxy#0 / startup probe: end 0", "app#0 / post start hook: end 0", "app#0 / readiness probe: end 0",
		`act      restart "kubelet"`, "job#0 / main: end 3", "job#1 / main: begin",
		"act      patch", "kill app, its image was changed; start app", "app#0 / pre stop hook: end 1", "FailedPreStopHook", "app#1 / main: begin",
		`act      stop "sandbox"`, "new sandbox", "setup#1 / main: begin",
		`act      delete {"gracePeriodSeconds":20}`, "terminate the Pod; grace period 20 s", `act      delete {"gracePeriodSeconds":5}`,
		"proxy#1 / main: signal TERM", "the Pod is gone",
	} {
		found := strings.Index(r.String()[at:], want)
		assert.Assert(t, found >= 0, "no %q after the one before it in\n%s", want, r)
		at += found
	}
	// The trace alone tells the same but for what the kubelet did.
	var observed strings.Builder
	for line := range strings.Lines(r.String()) {
		if !strings.Contains(line, " kubelet  ") {
			observed.WriteString(line)
		}
	}
	assert.Equal(t, kubelet.Timeline(r.Trace), observed.String())
}

// The same seed makes the same run, and another one another.
func TestSeeds(t *testing.T) {
	pod, script := everyAct()
	play := func(seed uint64) string {
		r, err := kubelet.Play(pod, "v1.37.2", script, kubelet.Seed(seed))
		assert.NilError(t, err)
		return r.String()
	}
	assert.Equal(t, play(1), play(1))
	assert.Assert(t, play(1) != play(2))
	counts := make([]int, 7)
	for choose := kubelet.Seed(3); counts[0] < 1000; {
		counts[choose(len(counts))]++
	}
	for _, n := range counts {
		assert.Check(t, n > 850 && n < 1150, "%v", counts)
	}
}

func TestPlayRefuses(t *testing.T) {
	one := kubelet.Pod{Containers: []kubelet.Container{{Name: "app"}}}
	with := func(change func(p *kubelet.Pod)) kubelet.Pod {
		p := kubelet.Pod{Init: []kubelet.Container{{Name: "setup"}}, Containers: []kubelet.Container{{Name: "app"}}}
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name, version string
		pod           kubelet.Pod
		script        kubelet.Script
		want          string
	}{
		{"no version", "latest", one, kubelet.Script{}, `"latest" is not a Kubernetes version`},
		{"no container", "v1.37.2", kubelet.Pod{}, kubelet.Script{}, "no regular container"},
		{"a name twice", "v1.37.2", with(func(p *kubelet.Pod) { p.Init[0].Name = "app" }), kubelet.Script{}, `two containers "app"`},
		{"a sidecar too early", "v1.28.5", with(func(p *kubelet.Pod) { p.Init[0].Sidecar = true }), kubelet.Script{}, `"setup" is a sidecar, which v1.28.5 does not know`},
		{"a sidecar in the wrong list", "v1.37.2", with(func(p *kubelet.Pod) { p.Containers[0].Sidecar = true }), kubelet.Script{}, "put it into Init"},
		{"a hook of an init container", "v1.37.2", with(func(p *kubelet.Pod) { p.Init[0].PostStart = kubelet.Exec }), kubelet.Script{}, `init container "setup" has a hook`},
		{"a sleep too early", "v1.29.6", with(func(p *kubelet.Pod) { p.Containers[0].PreStop, p.Containers[0].Seconds = kubelet.Sleep, 1 }), kubelet.Script{}, "sleeps, which v1.29.6 does not know"},
		{"a sleep of nothing too early", "v1.32.13", with(func(p *kubelet.Pod) { p.Containers[0].PreStop = kubelet.Sleep }), kubelet.Script{}, "sleeps for 0 seconds, which v1.32.13 refuses"},
		{"a program for nobody", "v1.37.2", one, kubelet.Script{Programs: map[string]kubelet.Program{"web": {}}}, `a program for container "web"`},
		{"an act on nobody", "v1.37.2", one, kubelet.Script{Acts: []kubelet.Act{kubelet.ChangeImage(0, "web")}}, `acts on container "web"`},
		{"an act on an init container", "v1.37.2", with(func(*kubelet.Pod) {}), kubelet.Script{Acts: []kubelet.Act{kubelet.ChangeImage(0, "setup")}}, `changes the image of "setup"`},
		{"an empty act", "v1.37.2", one, kubelet.Script{Acts: []kubelet.Act{{}}}, "an empty act"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := kubelet.Play(tt.pod, tt.version, tt.script, kubelet.Prompt())
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// A Pod that says nothing else has the defaults of the API.
func TestDefaults(t *testing.T) {
	m := kubelet.Pod{Containers: []kubelet.Container{{Name: "app"}}}.Manifest()
	assert.Equal(t, m.Spec.RestartPolicy, corev1.RestartPolicyAlways)
	assert.Equal(t, *m.Spec.TerminationGracePeriodSeconds, int64(30))
}
