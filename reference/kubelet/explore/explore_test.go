package explore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/podorder/podorder/reference/kubelet"
	"github.com/podorder/podorder/reference/trace"
)

func neverPod(containers ...kubelet.Container) kubelet.Pod {
	return kubelet.Pod{Policy: corev1.RestartPolicyNever, Grace: 30, Containers: containers}
}

// short writes logs with one word for a line, see TestSmallestPods, in order.
func short(logs map[string]bool) []string {
	words := strings.NewReplacer(
		" / main: begin", "", " / main: end 0", "=", " / main: signal TERM", "!",
		" / post start hook: begin", "+", " / post start hook: end 0", "+=", " / post start hook: end 1", "+x",
		" / pre stop hook: begin", "-", " / pre stop hook: end 0", "-=",
		" / readiness probe: end 0", "r", " / liveness probe: end 1", "lx", " / liveness probe: end 0", "l", " / startup probe: end 0", "s",
		"#0", "", "#1", "1", "\n", " ")
	var list []string
	for log := range logs {
		list = append(list, words.Replace(log))
	}
	slices.Sort(list)
	return list
}

// The logs of the smallest Pods can be listed by hand. In the names of lines
// "a" is the begin of main a, "a=" its end, "a!" its TERM; "a+" and "a+=" are
// begin and end of its postStart hook, "a-" and "a-=" of its preStop hook; "a1"
// is the begin of its second instance.
func TestSmallestPods(t *testing.T) {
	hook := kubelet.Container{Name: "a", PostStart: kubelet.Exec}
	for _, test := range []struct {
		name string
		pod  kubelet.Pod
		o    Options
		want []string
	}{
		// One process that never ends has one line.
		{"one container", neverPod(kubelet.Container{Name: "a"}), Options{}, []string{"", "a"}},
		{"one that exits", neverPod(kubelet.Container{Name: "a", Exits: true}), Options{}, []string{"", "a", "a a="}},
		// TERM may be told or not, and the process may end of it or not. After
		// its end a process writes nothing.
		{"one that is deleted", neverPod(kubelet.Container{Name: "a"}), Options{Deletion: true}, []string{"", "a", "a a!", "a a! a=", "a a="}},
		// The starts are in order, the first lines are not.
		{"two containers", neverPod(kubelet.Container{Name: "a"}, kubelet.Container{Name: "b"}), Options{}, []string{"", "a", "a b", "b", "b a"}},
		// The hook's lines are in order and b comes after them; a comes anywhere.
		{"a hook blocks", neverPod(hook, kubelet.Container{Name: "b"}), Options{}, []string{
			"",
			"a", "a a+", "a a+ a+=", "a a+ a+= b",
			"a+", "a+ a", "a+ a a+=", "a+ a a+= b",
			"a+ a+=", "a+ a+= a", "a+ a+= a b",
			"a+ a+= b", "a+ a+= b a",
		}},
		// A hook that has failed: a gets TERM, may tell it, may end; b comes when
		// a has died, told or not. Before the end of the hook all is as
		// above. After b nothing of a comes any more.
		{"a hook fails", neverPod(kubelet.Container{Name: "a", PostStart: kubelet.Exec, HookFails: true}, kubelet.Container{Name: "b"}), Options{}, append([]string{
			"a a+ a+x", "a a+ a+x a!", "a a+ a+x a! a=", "a a+ a+x a! a= b", "a a+ a+x a! b", "a a+ a+x a=", "a a+ a+x a= b", "a a+ a+x b",
			"a+ a a+x", "a+ a a+x a!", "a+ a a+x a! a=", "a+ a a+x a! a= b", "a+ a a+x a! b", "a+ a a+x a=", "a+ a a+x a= b", "a+ a a+x b",
			"a+ a+x", "a+ a+x b",
			"a+ a+x a", "a+ a+x a a!", "a+ a+x a a! a=", "a+ a+x a a! a= b", "a+ a+x a a! b", "a+ a+x a a=", "a+ a+x a a= b", "a+ a+x a b",
		}, []string{
			"",
			"a", "a a+", "a a+ a+=", "a a+ a+= b",
			"a+", "a+ a", "a+ a a+=", "a+ a a+= b",
			"a+ a+=", "a+ a+= a", "a+ a+= a b",
			"a+ a+= b", "a+ a+= b a",
		}...)},
		// preStop comes only when the Pod is killed; TERM only after its end.
		// The first line of main may come at any time, or never.
		{"preStop", neverPod(kubelet.Container{Name: "a", PreStop: kubelet.Exec}), Options{Deletion: true}, []string{
			"",
			"a", "a a-", "a a- a-=", "a a- a-= a!", "a a- a-= a! a=", "a a- a-= a=",
			"a-", "a- a", "a- a a-=", "a- a a-= a!", "a- a a-= a! a=", "a- a a-= a=",
			"a- a-=", "a- a-= a", "a- a-= a a!", "a- a-= a a! a=", "a- a-= a a=",
		}},
		// An exit is followed by the second instance; a third would show run 2.
		{"a restart", kubelet.Pod{Policy: corev1.RestartPolicyAlways, Containers: []kubelet.Container{{Name: "a", Exits: true}}}, Options{},
			[]string{"", "a", "a a=", "a a= a1", "a a= a1 a1="}},
		// b waits for the end of the init container.
		{"an init container", kubelet.Pod{Policy: corev1.RestartPolicyNever, Init: []kubelet.Container{{Name: "i"}}, Containers: []kubelet.Container{{Name: "b"}}}, Options{},
			[]string{"", "i", "i i=", "i i= b"}},
		// b waits for the start of the sidecar, not for its first line.
		{"a sidecar", kubelet.Pod{Policy: corev1.RestartPolicyNever, Init: []kubelet.Container{{Name: "s", Sidecar: true}}, Containers: []kubelet.Container{{Name: "b"}}}, Options{},
			[]string{"", "b", "b s", "s", "s b"}},
		// At the end of b the sidecar is stopped.
		{"a sidecar at the end", kubelet.Pod{Policy: corev1.RestartPolicyNever, Init: []kubelet.Container{{Name: "s", Sidecar: true}}, Containers: []kubelet.Container{{Name: "b", Exits: true}}}, Options{},
			[]string{
				"", "b", "b b=", "b b= s", "b b= s s!", "b b= s s! s=", "b b= s s=", "b s", "b s b=", "b s b= s!", "b s b= s! s=", "b s b= s=",
				"s", "s b", "s b b=", "s b b= s!", "s b b= s! s=", "s b b= s=",
			}},
		// Its startup probe holds b back; the probe comes in any order with the
		// first line of main, but after the hook.
		{"a sidecar with a startup probe", kubelet.Pod{Policy: corev1.RestartPolicyNever, Init: []kubelet.Container{{Name: "s", Sidecar: true, Startup: &kubelet.Probe{}}}, Containers: []kubelet.Container{{Name: "b"}}}, Options{},
			[]string{"", "s", "s ss", "s ss b", "ss", "ss b", "ss b s", "ss s", "ss s b"}},
		// No probe before the end of the sync: not before the hook of b.
		{"a readiness probe", neverPod(kubelet.Container{Name: "a", Readiness: &kubelet.Probe{}}, withHook("b")), Options{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			logs := Logs(test.pod, test.o, 20)
			if test.want != nil {
				slices.Sort(test.want)
				assert.DeepEqual(t, short(logs), test.want)
			}
			n := 0
			for _, m := range Count(test.pod, test.o, 20) {
				n += m
			}
			assert.Equal(t, n, len(logs))
			if test.name == "a readiness probe" {
				// a, b, b+ < b+= < ar, with a and b anywhere: of 5 lines with that
				// chain of 3 there are 5!/3! = 20 whole logs.
				whole := 0
				for _, log := range short(logs) {
					assert.Assert(t, !strings.Contains(log, "ar") || strings.Contains(log, "b+=") && strings.Index(log, "b+=") < strings.Index(log, "ar"), log)
					if len(strings.Fields(log)) == 5 {
						whole++
					}
				}
				assert.Equal(t, whole, 20)
			}
		})
	}
}

func withHook(name string) kubelet.Container {
	return kubelet.Container{Name: name, PostStart: kubelet.Exec}
}

// The order at the end of a Pod with two sidecars: the later one is stopped
// first, unless the grace period is used up.
func TestSidecarsInReverse(t *testing.T) {
	p := kubelet.Pod{Policy: corev1.RestartPolicyNever, Init: []kubelet.Container{{Name: "s", Sidecar: true}, {Name: "u", Sidecar: true}}, Containers: []kubelet.Container{{Name: "b"}}}
	wrong := func(o Options) (n int) {
		for _, log := range short(Logs(p, o, 6)) {
			if s, b := strings.Index(log, "s!"), strings.LastIndex(log, "b="); s >= 0 && b > s {
				n++
			}
			if s, u := strings.Index(log, "s!"), strings.LastIndex(log, "u="); s >= 0 && u > s {
				n++
			}
		}
		return n
	}
	assert.Equal(t, wrong(Options{Deletion: true}), 0)
	assert.Assert(t, wrong(Options{Deletion: true, GraceEnds: true}) > 0)
}

// Whatever a run in time writes down, some schedule without time can write:
// the two readings of the rules agree.
func TestRunsAreExplored(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	choose := func(n int) int { return r.IntN(n) }
	lines := 0
	for range 300 {
		version := kubelet.Versions()[choose(len(kubelet.Versions()))]
		p := tinyPod(version, choose)
		crash := len(p.All()) == 1 && choose(2) == 0
		p.Containers[0].Crashes, p.May.Silent = crash, choose(2) == 0
		tr := kubelet.Run(p, version, choose)
		s := Begin(p, Options{Version: version, Deletion: true, Crashes: crash, Silent: true, GraceEnds: true, KillGraceEnds: true, Runs: 3, Codes: []int{0, 1, 2, 143}})
		once := map[string]bool{}
		for _, e := range tr.Entries {
			if e.Log == nil {
				continue
			}
			l, err := trace.ParseLine(*e.Log)
			assert.NilError(t, err)
			if l.Mark.Kind == trace.Tick {
				continue
			}
			if l.Actor == trace.PreStop && l.Mark.Kind == trace.End {
				l.Mark.N = 0 // how it ends makes no difference
			}
			if l.Run >= 3 {
				break
			}
			if l.Actor == trace.LivenessProbe && l.Mark.N == 0 {
				continue // the one run that is looked at is the one that fails
			}
			if l.Actor.IsProbe() { // the first of each kind that an instance has
				id := fmt.Sprint(l.Container, l.Run, l.Actor)
				if once[id] {
					continue
				}
				once[id] = true
			}
			next := s.After(l.String())
			if next == nil {
				t.Fatalf("%v is not explored; only %q\n%s", l, s.Lines(), kubelet.Timeline(tr))
			}
			s = next
			lines++
		}
	}
	assert.Assert(t, lines > 1500, "%d lines", lines)
}

// And what a schedule without time can write, some run in time writes: all of
// it for the smallest Pods.
func TestExploredIsRun(t *testing.T) {
	for _, test := range []struct {
		name  string
		pod   kubelet.Pod
		limit int
	}{
		{"one container", neverPod(kubelet.Container{Name: "a"}), 3},
		{"two containers", neverPod(kubelet.Container{Name: "a"}, kubelet.Container{Name: "b"}), 2},
		{"a hook", neverPod(withHook("a"), kubelet.Container{Name: "b"}), 3},
		{"an init container", kubelet.Pod{Policy: corev1.RestartPolicyNever, Grace: 30, Init: []kubelet.Container{{Name: "i"}}, Containers: []kubelet.Container{{Name: "b"}}}, 5},
		{"a restart", kubelet.Pod{Policy: corev1.RestartPolicyAlways, Grace: 30, Containers: []kubelet.Container{{Name: "a", Exits: true}}}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			choose := func(n int) int { return r.IntN(n) }
			left := Logs(test.pod, Options{Deletion: true}, test.limit)
			runs := 0
			for ; runs < 3000 && len(left) > 0; runs++ {
				var log []string
				delete(left, "")
				for _, e := range kubelet.Run(test.pod, "v1.37.2", choose).Entries {
					if e.Log == nil {
						continue
					}
					l, err := trace.ParseLine(*e.Log)
					assert.NilError(t, err)
					if l.Mark.Kind == trace.Tick {
						continue
					}
					if l.Mark.Kind == trace.End {
						l.Mark.N = 0
					}
					log = append(log, l.String())
					delete(left, strings.Join(log, "\n"))
				}
			}
			t.Logf("%d runs", runs)
			assert.Equal(t, len(left), 0, "%q", short(left))
		})
	}
}

// tinyPod draws a Pod that both readings know: exec only, thresholds that one
// run does not reach unless they are 1.
func tinyPod(version string, choose kubelet.Chooser) kubelet.Pod {
	flag := func() bool { return choose(2) == 1 }
	hook := func() kubelet.Handler { return kubelet.Handler(choose(2)) }
	p := kubelet.Pod{Policy: []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}[choose(3)], Grace: 1 + choose(3)}
	container := func(name string) kubelet.Container {
		c := kubelet.Container{Name: name, Exits: flag(), PostStart: hook(), PreStop: hook(), HookFails: choose(4) == 0, Deaf: choose(4) == 0}
		if choose(4) == 0 {
			c.Startup, c.StartupFails = &kubelet.Probe{}, true
		}
		if choose(4) == 0 {
			c.Liveness, c.LivenessFails = &kubelet.Probe{}, true
		}
		return c
	}
	if choose(2) == 0 {
		p.Init = []kubelet.Container{{Name: "i", Exits: flag()}}
		if kubelet.MustParseRelease(version).Has(kubelet.Sidecars) && flag() {
			p.Init[0] = container("s")
			p.Init[0].Sidecar = true
		}
	}
	for _, name := range []string{"a", "b"}[:1+choose(2)] {
		c := container(name)
		if flag() {
			c.Readiness = &kubelet.Probe{}
		}
		p.Containers = append(p.Containers, c)
	}
	return p
}

// The lines of a set are what After accepts, and nothing else.
func TestSets(t *testing.T) {
	s := Begin(neverPod(kubelet.Container{Name: "a", PostStart: kubelet.Exec}), Options{Deletion: true})
	assert.DeepEqual(t, s.Lines(), []string{"a#0 / main: begin", "a#0 / post start hook: begin"})
	assert.Assert(t, s.After("a#0 / main: end 0") == nil)
	a := s.After("a#0 / main: begin").After("a#0 / post start hook: begin")
	b := s.After("a#0 / post start hook: begin").After("a#0 / main: begin")
	assert.Equal(t, a.Key(), b.Key())
	assert.Assert(t, a.Key() != s.Key())
	assert.DeepEqual(t, slices.Collect(maps.Keys(Logs(neverPod(kubelet.Container{Name: "a"}), Options{}, 0))), []string{""})
}
