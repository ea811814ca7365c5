package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/reference/trace"
)

// kubeletUnit is the kubelet as systemd knows it in a kind node.
const kubeletUnit = "kubelet.service"

// checkSteps refuses, before anything is done, what cannot be done. Where only this cluster cannot do it, the error is a *SkipError.
func checkSteps(steps []fixtures.Step, access bool) error {
	for i, s := range steps {
		if s.Act == nil {
			continue
		}
		if err := checkAct(*s.Act, access); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func checkAct(a trace.Act, access bool) error {
	var err error
	switch {
	case a.Name == trace.ActApply || a.Name == fixtures.ActRemove:
		_, err = fixtures.File(a)
	case a.Name == trace.ActDelete || a.Name == fixtures.ActEvict:
		_, err = fixtures.Period(a)
	case a.Name == fixtures.ActPatch:
		_, err = fixtures.Patch(a)
	case a.Name == fixtures.ActDebug:
		_, err = fixtures.Ephemeral(a)
	case a.Name == trace.ActErase || a.Name == trace.ActReplace:
		if !access {
			err = ErrNoNodeAccess
		}
	case fixtures.InNode(a):
		if _, err = fixtures.Target(a); err == nil && !access {
			err = ErrNoNodeAccess
		}
	default:
		return fmt.Errorf("unknown act %q; an act is apply, remove, delete, evict, patch, debug, restart, stop, start, erase or replace", a.Name)
	}
	if err != nil {
		return fmt.Errorf("act %q: %w", a.Name, err)
	}
	return nil
}

// disturbs reports whether a case changes the node under the Pods of other cases.
func disturbs(c fixtures.Case) bool { return c.Disturbs() }

// needs reports whether a step is an act on one of these on the node.
func needs(steps []fixtures.Step, targets ...string) bool {
	return slices.ContainsFunc(steps, func(s fixtures.Step) bool {
		if s.Act == nil {
			return false
		}
		target, err := fixtures.Target(*s.Act)
		return err == nil && slices.Contains(targets, target)
	})
}

// steps does and awaits what the case says.
func (r *runner) steps(ctx context.Context) error {
	for _, file := range r.c.Objects {
		if err := r.applyFile(ctx, file); err != nil {
			return err
		}
	}
	if err := r.apply(ctx); err != nil {
		return err
	}
	for i, s := range r.c.Steps {
		r.o.Progress("step %d of %d: %s", i+1, len(r.c.Steps), s)
		if err := r.step(ctx, s); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, s, err)
		}
	}
	return nil
}

func (r *runner) step(ctx context.Context, s fixtures.Step) error {
	if s.Await != nil {
		return r.await(ctx, func(ctx context.Context) error { return r.rec.Await(ctx, *s.Await, r.o.Patience) })
	}
	if s.Act == nil {
		return errors.New("the step says nothing")
	}
	switch a := *s.Act; a.Name {
	case trace.ActApply:
		file, err := fixtures.File(a)
		if err != nil {
			return err
		}
		return r.applyFile(ctx, file)
	case fixtures.ActRemove:
		file, err := fixtures.File(a)
		if err != nil {
			return err
		}
		return r.removeFile(ctx, file)
	case trace.ActDelete:
		period, err := fixtures.Period(a)
		if err != nil {
			return err
		}
		return r.delete(ctx, period)
	case fixtures.ActEvict:
		period, err := fixtures.Period(a)
		if err != nil {
			return err
		}
		return r.evict(ctx, period)
	case fixtures.ActPatch:
		p, err := fixtures.Patch(a)
		if err != nil {
			return err
		}
		if p.Status != nil {
			return r.patch(ctx, a, a.Param, "status")
		}
		return r.patch(ctx, a, a.Param)
	case fixtures.ActDebug:
		body, err := json.Marshal(map[string]any{"spec": map[string]any{"ephemeralContainers": []json.RawMessage{a.Param}}})
		if err != nil {
			return fmt.Errorf("encoding the ephemeral container: %w", err)
		}
		return r.patch(ctx, a, body, "ephemeralcontainers")
	case trace.ActRestart, trace.ActStop, trace.ActStart:
		return r.inNode(ctx, a)
	case trace.ActErase:
		return r.erase(ctx, a)
	case trace.ActReplace:
		return r.replace(ctx, a)
	}
	return fmt.Errorf("unknown act %q", s.Act.Name)
}

// apply makes the Pod, or the workload that makes it.
func (r *runner) apply(ctx context.Context) error {
	if r.c.Workload != "" {
		if err := r.applyFile(ctx, r.c.Workload); err != nil {
			return err
		}
		r.applied = true
		return nil
	}
	if err := r.rec.Did(trace.ActApply, nil); err != nil {
		return err
	}
	if r.c.Static {
		return r.writeStatic(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if _, err := r.cl.Client.CoreV1().Pods(r.Namespace).Create(ctx, r.pod.DeepCopy(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("applying the Pod: %w", err)
	}
	r.applied = true
	return nil
}

// podName is the name of the Pod that is recorded. A workload gives it one.
func (r *runner) podName() (string, error) {
	switch {
	case r.c.Static:
		return r.mirrorName(), nil
	case r.c.Workload == "":
		return r.pod.Name, nil
	case r.c.Select != "":
		return r.c.Select, nil
	}
	if p := r.rec.Pod(); p != nil {
		return p.Name, nil
	}
	return "", fmt.Errorf("%s has made no Pod yet; await something before", r.c.Workload)
}

func (r *runner) delete(ctx context.Context, period *int64) error {
	name, err := r.podName()
	if err != nil {
		return err
	}
	if err := r.rec.Did(trace.ActDelete, trace.DeleteParam{GracePeriodSeconds: period}); err != nil {
		return err
	}
	r.deleted = true
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if err := r.cl.Client.CoreV1().Pods(r.Namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: period}); err != nil {
		return fmt.Errorf("deleting the Pod: %w", err)
	}
	return nil
}

func (r *runner) evict(ctx context.Context, period *int64) error {
	name, err := r.podName()
	if err != nil {
		return err
	}
	if err := r.rec.Did(fixtures.ActEvict, trace.DeleteParam{GracePeriodSeconds: period}); err != nil {
		return err
	}
	r.deleted = true
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: name, Namespace: r.Namespace},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: period},
	}
	if err := r.cl.Client.PolicyV1().Evictions(r.Namespace).Evict(ctx, eviction); err != nil {
		return fmt.Errorf("evicting the Pod: %w", err)
	}
	return nil
}

// patch does an act by a strategic merge patch of the Pod or of a part of it.
func (r *runner) patch(ctx context.Context, a trace.Act, body []byte, part ...string) error {
	name, err := r.podName()
	if err != nil {
		return err
	}
	if err := r.rec.Did(a.Name, a.Param); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if _, err := r.cl.Client.CoreV1().Pods(r.Namespace).Patch(ctx, name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, part...); err != nil {
		return fmt.Errorf("changing the Pod: %w", err)
	}
	return nil
}

// inNode does an act on the node of the Pod.
func (r *runner) inNode(ctx context.Context, a trace.Act) error {
	target, err := fixtures.Target(a)
	if err != nil {
		return err
	}
	r.note()
	n, ok := r.cl.Node(r.Node)
	if !ok {
		return errors.New("the Pod is not on a node yet; await something before")
	}
	id := ""
	if target == fixtures.Sandbox {
		if id, err = sandbox(ctx, n, r.UID); err != nil {
			return err
		}
	}
	if err := r.rec.Did(a.Name, a.Param); err != nil {
		return err
	}
	switch target {
	case fixtures.Sandbox:
		err = stopSandbox(ctx, n.Command, id)
	case fixtures.Node:
		if err = r.cl.RestartNode(ctx, n); err == nil {
			// What was connected while the node came up may be dead, and nothing says so.
			r.rec.FollowAgain()
		}
	default:
		_, err = n.Command(ctx, "systemctl", a.Name, kubeletUnit)
	}
	return err
}

// stopSandbox stops a sandbox. The kubelet does so as well once it sees that the containers have died with it; of two calls at the same time one may fail on
// what the other has removed, and the sandbox is stopped all the same.
func stopSandbox(ctx context.Context, command func(ctx context.Context, name string, args ...string) (string, error), id string) error {
	_, err := command(ctx, "crictl", "--timeout", callPatience.String(), "stopp", id)
	if err == nil {
		return nil
	}
	if ready, listErr := command(ctx, "crictl", "pods", "-q", "--state", "ready", "--id", id); listErr == nil && strings.TrimSpace(ready) == "" {
		return nil
	}
	return err
}

// nodeBack waits until the node takes Pods again, for the cases that come next.
func (r *runner) nodeBack(ctx context.Context) error {
	if !disturbs(r.c) || r.Node == "" {
		return nil
	}
	if n, ok := r.cl.Node(r.Node); ok && r.c.StopsKubelet() {
		// Where a step failed, it may still be down.
		if _, err := n.Command(ctx, "systemctl", trace.ActStart, kubeletUnit); err != nil {
			return err
		}
	}
	return cluster.WaitNode(ctx, r.cl.Client, r.Node, nodePatience)
}

// nodePatience is how long a node may take to be ready after its kubelet, or all of it, was restarted. Patience, not a rule.
const nodePatience = 2 * time.Minute

// grace is the grace period that the Pod is deleted with where a step says nothing else.
func grace(pod *corev1.Pod) time.Duration {
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	return 30 * time.Second // the API server's default
}
