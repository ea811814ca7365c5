package kubelet_test

import (
	"fmt"
	"time"

	"github.com/podorder/podorder/reference/kubelet"
)

// play prints a run as v1.37.2 makes it, with the shortest delays.
func play(p kubelet.Pod, s kubelet.Script) {
	r, err := kubelet.Play(p, "v1.37.2", s, kubelet.Prompt())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(r)
}

// A postStart hook blocks the next container, and the status of every container
// that the same sync starts: app runs for five seconds before it is shown.
func Example_postStartHook() {
	play(kubelet.Pod{
		Containers: []kubelet.Container{{Name: "app", PostStart: kubelet.Exec}, {Name: "web"}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{"app": {PostStart: kubelet.Hook{Takes: 5 * time.Second}}},
		Lasts:    10 * time.Second,
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start app, web
	// 0.00   status   Pending: app#0 ContainerCreating, web#0 ContainerCreating
	// 0.05   log      app#0 / main: begin
	// 0.05   log      app#0 / post start hook: begin
	// 5.05   log      app#0 / post start hook: end 0
	// 5.05   kubelet  sync 1 ends
	// 5.05   log      web#0 / main: begin
	// 5.05   status   Running: app#0 ready, web#0 ready
}

// In the other order web runs while the hook of app does. But it is shown no
// sooner: a sync publishes nothing of what it does.
func Example_postStartHookOfTheLast() {
	play(kubelet.Pod{
		Containers: []kubelet.Container{{Name: "web"}, {Name: "app", PostStart: kubelet.Exec}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{"app": {PostStart: kubelet.Hook{Takes: 5 * time.Second}}},
		Lasts:    10 * time.Second,
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start web, app
	// 0.00   status   Pending: web#0 ContainerCreating, app#0 ContainerCreating
	// 0.05   log      web#0 / main: begin
	// 0.05   log      app#0 / main: begin
	// 0.05   log      app#0 / post start hook: begin
	// 5.05   log      app#0 / post start hook: end 0
	// 5.05   kubelet  sync 1 ends
	// 5.05   status   Running: web#0 ready, app#0 ready
}

// A hook over the network fails where nobody listens yet, and is not tried again:
// the container, whose server needs a second to start, is killed and restarted. The
// next container starts all the same.
func Example_postStartHookOverHTTP() {
	play(kubelet.Pod{
		Containers: []kubelet.Container{{Name: "app", PostStart: kubelet.HTTP}, {Name: "web"}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{"app": {Starts: time.Second}},
		Lasts:    8 * time.Second,
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start app, web
	// 0.00   status   Pending: app#0 ContainerCreating, web#0 ContainerCreating
	// 0.05   event    FailedPostStartHook: PostStartHook failed
	// 0.05   event    Killing: FailedPostStartHook
	// 1.05   log      app#0 / main: begin
	// 1.05   log      app#0 / main: signal TERM
	// 1.05   log      app#0 / main: end 0
	// 1.05   kubelet  app is not started: PostStartHookError
	// 1.05   kubelet  sync 1 ends
	// 1.05   log      web#0 / main: begin
	// 2.00   kubelet  sync 2: start app
	// 2.00   event    FailedPostStartHook: PostStartHook failed
	// 2.00   event    Killing: FailedPostStartHook
	// 2.00   status   Running: app#0 PostStartHookError, web#0 ready
	// 3.00   log      app#1 / main: begin
	// 3.00   log      app#1 / main: signal TERM
	// 3.00   log      app#1 / main: end 0
	// 3.00   kubelet  app is not started: PostStartHookError
	// 3.00   kubelet  sync 2 ends
	// 3.00   kubelet  sync 3: start app
	// 3.00   event    BackOff: Back-off restarting failed container app in pod simulated
	// 3.00   kubelet  app is not started: CrashLoopBackOff
	// 3.00   kubelet  sync 3 ends
	// 3.00   status   Running: app#1 PostStartHookError, web#0 ready
	// 4.00   kubelet  sync 4: start app
	// 4.00   event    BackOff: Back-off restarting failed container app in pod simulated
	// 4.00   kubelet  app is not started: CrashLoopBackOff
	// 4.00   kubelet  sync 4 ends
	// 4.00   status   Running: app#1 CrashLoopBackOff, web#0 ready
}

// A sidecar lets the next container start when its startup probe has succeeded.
func Example_sidecar() {
	play(kubelet.Pod{
		Init:       []kubelet.Container{{Name: "proxy", Sidecar: true, Startup: &kubelet.Probe{Failures: 10}}},
		Containers: []kubelet.Container{{Name: "app"}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{"proxy": {Startup: kubelet.After(2 * time.Second)}},
		Lasts:    10 * time.Second,
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start proxy
	// 0.00   status   Pending: proxy#0 PodInitializing, app#0 PodInitializing
	// 0.05   kubelet  sync 1 ends
	// 0.05   log      proxy#0 / main: begin
	// 0.05   status   Pending: proxy#0 running, app#0 PodInitializing
	// 1.00   log      proxy#0 / startup probe: end 1
	// 1.00   event    Unhealthy: Startup probe failed: 1
	// 2.00   log      proxy#0 / startup probe: end 1
	// 2.00   event    Unhealthy: Startup probe failed: 1
	// 3.00   log      proxy#0 / startup probe: end 0
	// 3.00   status   Pending: proxy#0 started, app#0 PodInitializing
	// 3.00   kubelet  sync 5: start app
	// 3.00   kubelet  sync 5 ends
	// 3.00   status   Pending: proxy#0 ready, app#0 PodInitializing
	// 3.00   log      app#0 / main: begin
	// 3.00   status   Running: proxy#0 ready, app#0 ready
}

// A failed liveness probe asks for a sync, which kills the container and starts
// it again. The first two restarts come at once, since what counts is the newest
// instance that had exited before the sync; the third one is in back-off.
func Example_livenessProbe() {
	play(kubelet.Pod{
		Containers: []kubelet.Container{{Name: "app", Liveness: &kubelet.Probe{Failures: 2}}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{"app": {Liveness: kubelet.Until(2 * time.Second)}},
		Lasts:    21 * time.Second,
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start app
	// 0.00   status   Pending: app#0 ContainerCreating
	// 0.05   kubelet  sync 1 ends
	// 0.05   log      app#0 / main: begin
	// 0.05   status   Running: app#0 ready
	// 1.00   log      app#0 / liveness probe: end 0
	// 2.00   log      app#0 / liveness probe: end 0
	// 3.00   log      app#0 / liveness probe: end 1
	// 3.00   event    Unhealthy: Liveness probe failed: 1
	// 4.00   log      app#0 / liveness probe: end 1
	// 4.00   event    Unhealthy: Liveness probe failed: 1
	// 4.00   kubelet  the liveness probe of app has failed: a sync is asked for
	// 4.00   kubelet  sync 4: kill app, its liveness probe failed; start app
	// 4.00   event    Killing: Container app failed liveness probe, will be restarted
	// 4.00   log      app#0 / main: signal TERM
	// 4.00   log      app#0 / main: end 0
	// 4.00   kubelet  sync 4 ends
	// 4.00   log      app#1 / main: begin
	// 4.00   status   Running: app#1 ready
	// 5.00   log      app#1 / liveness probe: end 0
	// 6.00   log      app#1 / liveness probe: end 1
	// 6.00   event    Unhealthy: Liveness probe failed: 1
	// 7.00   log      app#1 / liveness probe: end 1
	// 7.00   event    Unhealthy: Liveness probe failed: 1
	// 7.00   kubelet  the liveness probe of app has failed: a sync is asked for
	// 7.00   kubelet  sync 6: kill app, its liveness probe failed; start app
	// 7.00   event    Killing: Container app failed liveness probe, will be restarted
	// 7.00   log      app#1 / main: signal TERM
	// 7.00   log      app#1 / main: end 0
	// 7.00   kubelet  sync 6 ends
	// 7.00   log      app#2 / main: begin
	// 7.00   status   Running: app#2 ready
	// 8.00   log      app#2 / liveness probe: end 0
	// 9.00   log      app#2 / liveness probe: end 1
	// 9.00   event    Unhealthy: Liveness probe failed: 1
	// 10.00  log      app#2 / liveness probe: end 1
	// 10.00  event    Unhealthy: Liveness probe failed: 1
	// 10.00  kubelet  the liveness probe of app has failed: a sync is asked for
	// 10.00  kubelet  sync 8: kill app, its liveness probe failed; start app
	// 10.00  event    Killing: Container app failed liveness probe, will be restarted
	// 10.00  log      app#2 / main: signal TERM
	// 10.00  log      app#2 / main: end 0
	// 10.00  event    BackOff: Back-off restarting failed container app in pod simulated
	// 10.00  kubelet  app is not started: CrashLoopBackOff
	// 10.00  kubelet  sync 8 ends
	// 10.01  kubelet  sync 9: start app
	// 10.01  event    BackOff: Back-off restarting failed container app in pod simulated
	// 10.01  kubelet  app is not started: CrashLoopBackOff
	// 10.01  kubelet  sync 9 ends
	// 10.01  status   Running: app#2 CrashLoopBackOff
	// 20.00  kubelet  sync 10: start app
	// 20.00  kubelet  sync 10 ends
	// 20.00  log      app#3 / main: begin
	// 20.00  status   Running: app#3 ready
}

// The liveness probe of app fails at 13 s, while the postStart hook of web runs.
// The probe only asks for a sync, and the one that runs waits for the hook: app is
// killed when that has ended.
func Example_livenessProbeDuringHook() {
	play(kubelet.Pod{
		Containers: []kubelet.Container{
			{Name: "app", Liveness: &kubelet.Probe{}},
			{Name: "web", PostStart: kubelet.Exec},
		},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{
			"app": {Liveness: kubelet.Until(12 * time.Second)},
			"web": {Runs: 8 * time.Second, ExitCode: 1, PostStart: kubelet.Hook{Takes: 5 * time.Second}},
		},
		Lasts: 15 * time.Second,
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start app, web
	// 0.00   status   Pending: app#0 ContainerCreating, web#0 ContainerCreating
	// 0.05   log      app#0 / main: begin
	// 0.05   log      web#0 / main: begin
	// 0.05   log      web#0 / post start hook: begin
	// 5.05   log      web#0 / post start hook: end 0
	// 5.05   kubelet  sync 1 ends
	// 5.05   status   Running: app#0 ready, web#0 ready
	// 6.00   log      app#0 / liveness probe: end 0
	// 7.00   log      app#0 / liveness probe: end 0
	// 8.00   log      app#0 / liveness probe: end 0
	// 8.05   log      web#0 / main: end 1
	// 9.00   log      app#0 / liveness probe: end 0
	// 9.01   kubelet  sync 3: start web
	// 9.01   status   Running: app#0 ready, web#0 exited 1
	// 9.01   log      web#1 / main: begin
	// 9.01   log      web#1 / post start hook: begin
	// 10.00  log      app#0 / liveness probe: end 0
	// 11.00  log      app#0 / liveness probe: end 0
	// 12.00  log      app#0 / liveness probe: end 0
	// 13.00  log      app#0 / liveness probe: end 1
	// 13.00  event    Unhealthy: Liveness probe failed: 1
	// 13.00  kubelet  the liveness probe of app has failed: a sync is asked for
	// 14.01  log      web#1 / post start hook: end 0
	// 14.01  kubelet  sync 3 ends
	// 14.01  kubelet  sync 4: kill app, its liveness probe failed; start app
	// 14.01  event    Killing: Container app failed liveness probe, will be restarted
	// 14.01  log      app#0 / main: signal TERM
	// 14.01  status   Running: app#0 ready, web#1 ready
	// 14.01  log      app#0 / main: end 0
	// 14.01  kubelet  sync 4 ends
	// 14.01  log      app#1 / main: begin
	// 14.01  status   Running: app#1 ready, web#1 ready
}

// A deletion with a grace period of 10 s. The preStop hook of app takes three of
// them before TERM is sent. The container deaf ignores TERM, so the sidecar, which
// waits for it, gets TERM when the grace period is over, and deaf gets KILL.
func Example_deletion() {
	play(kubelet.Pod{
		Init:       []kubelet.Container{{Name: "proxy", Sidecar: true}},
		Containers: []kubelet.Container{{Name: "app", PreStop: kubelet.Exec}, {Name: "deaf"}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{
			"app":  {PreStop: kubelet.Hook{Takes: 3 * time.Second}, Stops: time.Second},
			"deaf": {IgnoresTerm: true},
		},
		Acts: []kubelet.Act{kubelet.Delete(5*time.Second, 10)},
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start proxy
	// 0.00   status   Pending: proxy#0 PodInitializing, app#0 PodInitializing, deaf#0 PodInitializing
	// 0.05   kubelet  sync 1 ends
	// 0.05   log      proxy#0 / main: begin
	// 0.05   kubelet  sync 2: start app, deaf
	// 0.05   kubelet  sync 2 ends
	// 0.05   status   Pending: proxy#0 ready, app#0 PodInitializing, deaf#0 PodInitializing
	// 0.05   log      app#0 / main: begin
	// 0.05   log      deaf#0 / main: begin
	// 0.05   status   Running: proxy#0 ready, app#0 ready, deaf#0 ready
	// 5.00   act      delete {"gracePeriodSeconds":10}
	// 5.00   kubelet  terminate the Pod; grace period 10 s
	// 5.00   event    Killing: Stopping container proxy
	// 5.00   event    Killing: Stopping container app
	// 5.00   event    Killing: Stopping container deaf
	// 5.00   log      deaf#0 / main: signal TERM
	// 5.00   log      app#0 / pre stop hook: begin
	// 8.00   log      app#0 / pre stop hook: end 0
	// 8.00   log      app#0 / main: signal TERM
	// 9.00   log      app#0 / main: end 0
	// 15.00  log      proxy#0 / main: signal TERM
	// 15.00  log      proxy#0 / main: end 0
	// 15.00  status   Failed: proxy#0 exited 0, app#0 exited 0, deaf#0 exited 137
	// 15.02  status   the Pod is gone
}

// The Pod is deleted while the hook of app runs. The sync goes on to its end, and
// starts even web. Then the grace period begins.
func Example_deletionDuringHook() {
	play(kubelet.Pod{
		Containers: []kubelet.Container{{Name: "app", PostStart: kubelet.Exec}, {Name: "web"}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{"app": {PostStart: kubelet.Hook{Takes: 5 * time.Second}}},
		Acts:     []kubelet.Act{kubelet.Delete(2*time.Second, 10)},
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start app, web
	// 0.00   status   Pending: app#0 ContainerCreating, web#0 ContainerCreating
	// 0.05   log      app#0 / main: begin
	// 0.05   log      app#0 / post start hook: begin
	// 2.00   act      delete {"gracePeriodSeconds":10}
	// 5.05   log      app#0 / post start hook: end 0
	// 5.05   kubelet  sync 1 ends
	// 5.05   log      web#0 / main: begin
	// 5.05   kubelet  terminate the Pod; grace period 10 s
	// 5.05   status   Running: app#0 ready, web#0 ready
	// 5.05   event    Killing: Stopping container app
	// 5.05   log      app#0 / main: signal TERM
	// 5.05   log      app#0 / main: end 0
	// 5.05   event    Killing: Stopping container web
	// 5.05   log      web#0 / main: signal TERM
	// 5.05   log      web#0 / main: end 0
	// 5.05   status   Succeeded: app#0 exited 0, web#0 exited 0
	// 6.01   status   the Pod is gone
}

// The sandbox is lost, as it is when the node is rebooted: the Pod starts over.
func Example_sandbox() {
	play(kubelet.Pod{
		Init:       []kubelet.Container{{Name: "setup"}},
		Containers: []kubelet.Container{{Name: "app"}},
	}, kubelet.Script{
		Programs: map[string]kubelet.Program{"setup": {Runs: time.Second}},
		Acts:     []kubelet.Act{kubelet.StopSandbox(5 * time.Second)},
		Lasts:    15 * time.Second,
	})
	// Output:
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start setup
	// 0.00   status   Pending: setup#0 PodInitializing, app#0 PodInitializing
	// 0.05   kubelet  sync 1 ends
	// 0.05   log      setup#0 / main: begin
	// 0.05   status   Pending: setup#0 started, app#0 PodInitializing
	// 1.05   log      setup#0 / main: end 0
	// 2.00   kubelet  sync 4: start app
	// 2.00   kubelet  sync 4 ends
	// 2.00   status   Pending: setup#0 exited 0, app#0 PodInitializing
	// 2.00   log      app#0 / main: begin
	// 2.00   status   Running: setup#0 exited 0, app#0 ready
	// 5.00   act      stop "sandbox"
	// 5.01   kubelet  sync 6: kill the Pod; new sandbox; start setup
	// 5.01   status   Running: setup#0 exited 0, app#0 exited 137
	// 5.06   event    SandboxChanged: Pod sandbox changed, it will be killed and re-created.
	// 5.06   kubelet  sync 6 ends
	// 5.06   log      setup#1 / main: begin
	// 5.06   status   Pending: setup#1 started, app#0 exited 137
	// 6.06   log      setup#1 / main: end 0
	// 7.01   kubelet  sync 8: start app
	// 7.01   kubelet  sync 8 ends
	// 7.01   status   Running: setup#1 exited 0, app#0 exited 137
	// 7.01   log      app#1 / main: begin
	// 7.01   status   Running: setup#1 exited 0, app#1 ready
}

// An init container has ended at 1 s. Each kubelet sees that with the relist of
// all Pods, which comes once a second. But what follows a sync that did something
// comes at once from 1.36 on, and up to a second later before: here the status.
func Example_releases() {
	for _, version := range []string{"v1.35.4", "v1.36.3"} {
		r, err := kubelet.Play(kubelet.Pod{
			Init:       []kubelet.Container{{Name: "setup"}},
			Containers: []kubelet.Container{{Name: "app"}},
		}, version, kubelet.Script{
			Programs: map[string]kubelet.Program{"setup": {Runs: time.Second}},
			Lasts:    5 * time.Second,
		}, kubelet.Prompt())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n%v", version, r)
	}
	// Output:
	// v1.35.4
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start setup
	// 0.00   status   Pending: setup#0 PodInitializing, app#0 PodInitializing
	// 0.05   kubelet  sync 1 ends
	// 0.05   log      setup#0 / main: begin
	// 1.00   status   Pending: setup#0 started, app#0 PodInitializing
	// 1.05   log      setup#0 / main: end 0
	// 2.00   kubelet  sync 3: start app
	// 2.00   kubelet  sync 3 ends
	// 2.00   status   Pending: setup#0 exited 0, app#0 PodInitializing
	// 2.00   log      app#0 / main: begin
	// 3.00   status   Running: setup#0 exited 0, app#0 ready
	// v1.36.3
	// 0.00   act      apply
	// 0.00   status   Pending
	// 0.00   kubelet  sync 1: new sandbox; start setup
	// 0.00   status   Pending: setup#0 PodInitializing, app#0 PodInitializing
	// 0.05   kubelet  sync 1 ends
	// 0.05   log      setup#0 / main: begin
	// 0.05   status   Pending: setup#0 started, app#0 PodInitializing
	// 1.05   log      setup#0 / main: end 0
	// 2.00   kubelet  sync 4: start app
	// 2.00   kubelet  sync 4 ends
	// 2.00   status   Pending: setup#0 exited 0, app#0 PodInitializing
	// 2.00   log      app#0 / main: begin
	// 2.00   status   Running: setup#0 exited 0, app#0 ready
}

// What 1.36 brought.
func ExampleChanges() {
	for _, d := range kubelet.Changes() {
		if d.Versions == ">=1.36" {
			fmt.Println(d)
		}
	}
	// Output:
	// >=1.36: A sync that did something and met no error asks for a relist of its Pod at once. Before: The next sync waits for the relist of all Pods, which comes once a second. (pkg/kubelet/kubelet.go (SyncPod), pkg/kubelet/pleg/generic.go (RequestRelist))
	// >=1.36: PodReadyToStartContainers turns True as soon as the sandbox is there. Before: It does with the status of the next sync. (pkg/kubelet/kubelet.go (OnPodSandboxReady))
	// >=1.36: A restart rule may restart all containers of the Pod. Before: There is no such action. (pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions, getContainersToReset))
	// >=1.36: An init container of which nothing is left counts as completed where a regular container is there. Before: It is shown as waiting. (pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses))
}
