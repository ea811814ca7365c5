package kubelet

import "fmt"

// startContainer starts one container and returns when its postStart hook has
// ended. The reason for a failure is kept for the next status.
func (k *kubelet) startContainer(p *proc, c int, v snapshot) *syncError {
	reason, left := k.tryStart(p, c, v)
	if reason == "" {
		delete(k.startErrors, c)
		return nil
	}
	k.note("%s is not started: %s", k.specs[c].Name, reason)
	k.startErrors[c] = reason
	return &syncError{left}
}

// tryStart goes through the stages of a start: the back-off, the image, the
// container, its main process, its postStart hook. It returns the reason of a
// failure, and the time left where that is a crash-loop back-off, else -1.
func (k *kubelet) tryStart(p *proc, c int, v snapshot) (reason string, left int) {
	if left, waits := k.inBackoff(c, v); waits {
		return "CrashLoopBackOff", left
	}
	if reason := k.pull(p, c); reason != "" {
		return reason, -1
	}
	p.sleep(k.upTo(80))
	if k.now < k.noCreate[c] && k.release.Minor%2 == 0 { // either reason, so that both are seen
		k.failed(c, `Error: configmap "settings" not found`)
		return "CreateContainerConfigError", -1
	}
	if k.now < k.noCreate[c] || !k.sandboxes[len(k.sandboxes)-1].ready {
		k.failed(c, "Error: failed to create containerd container")
		return "CreateContainerError", -1
	}
	run := k.nextRun(c, v)
	lost := k.event(c, "Normal", "Created", k.release.created(k.specs[c].Name))
	p.sleep(k.upTo(200))
	i := k.start(c, run)
	i.image = k.images[c]
	if i.neverStarted {
		k.failed(c, "Error: failed to start containerd task")
		return "RunContainerError", -1
	}
	p.sleep(k.upTo(30))
	k.startedEvent(c, lost)
	// The main process runs by now. Whether it or the hook writes first is open.
	//
	// hooks/poststart-races-main
	if k.pod.Faults.HookInBackground {
		k.goroutine(func(p *proc) { k.postStart(p, i) })
		return "", -1
	}
	return k.postStart(p, i), -1
}

// nextRun is the number of the next instance of a container, which the status
// shows as restartCount.
//
// start/one-instance-at-a-time
func (k *kubelet) nextRun(c int, v snapshot) int {
	run := k.logs[c]
	if old := v.newest[c]; old != nil {
		run = max(run, old.run+1)
	}
	k.created[c]++ // also where this kubelet does not come to start it
	k.logs[c] = run + 1
	return run
}

// inBackoff reports whether a container has to wait before it is started again,
// and for how long. What counts is the newest instance that the snapshot shows as
// exited: so one that this sync has killed for a probe is started again at once,
// unless an earlier one has ended lately.
//
// restart/backoff
func (k *kubelet) inBackoff(c int, v snapshot) (left int, waits bool) {
	old := v.exited[c]
	if old == nil {
		return 0, false
	}
	key := backoffKey{c, k.images[c]}
	if left, waits := k.backoffs[key].blocks(k.now, old.finished); waits {
		k.event(c, "Warning", "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod simulated", k.specs[c].Name))
		return left, true
	}
	k.backoffs[key] = k.backoffs[key].next(k.now, old.finished)
	return 0, false
}

// pull sees to the image.
func (k *kubelet) pull(p *proc, c int) (reason string) {
	if k.now >= k.noImage[c] {
		k.event(c, "Normal", "Pulled", k.release.pulled(image))
		return ""
	}
	if b := k.pulls[c]; b != nil {
		if _, waits := b.blocks(k.now, b.last); waits {
			k.event(c, "Normal", "BackOff", fmt.Sprintf("Back-off pulling image %q", image))
			k.failed(c, "Error: ImagePullBackOff")
			return "ImagePullBackOff"
		}
	}
	k.event(c, "Normal", "Pulling", fmt.Sprintf("Pulling image %q", image))
	p.sleep(k.upTo(500))
	k.event(c, "Warning", "Failed", fmt.Sprintf("Failed to pull image %q: not found", image))
	k.failed(c, "Error: ErrImagePull")
	since := k.now
	if b := k.pulls[c]; b != nil {
		since = b.last
	}
	k.pulls[c] = k.pulls[c].next(k.now, since)
	return "ErrImagePull"
}
