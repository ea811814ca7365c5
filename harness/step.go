package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/reference/trace"
)

// What restart and stop can be asked for.
const (
	unitKubelet = "kubelet"
	podSandbox  = "sandbox"
)

// checkSteps refuses, before anything is done, what cannot be done.
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
	inNode := false
	switch a.Name {
	case trace.ActApply:
	case trace.ActDelete:
		_, err = a.Delete()
	case trace.ActRestart:
		inNode, err = true, target(a, unitKubelet)
	case trace.ActStop:
		inNode, err = true, target(a, podSandbox)
	default:
		return fmt.Errorf("unknown act %q; an act is apply, delete, restart or stop", a.Name)
	}
	if err == nil && inNode && !access {
		err = fmt.Errorf("act %q takes commands in the node, which only work where the nodes are containers of this machine (kind)", a.Name)
	}
	return err
}

// target checks the only parameter that an act may have.
func target(a trace.Act, want string) error {
	var s string
	if err := json.Unmarshal(a.Param, &s); err != nil || s != want {
		return fmt.Errorf("act %q takes %q, not %s", a.Name, want, a.Param)
	}
	return nil
}

// disturbs reports whether steps change the node under the Pods of other cases.
func disturbs(steps []fixtures.Step) bool {
	return slices.ContainsFunc(steps, func(s fixtures.Step) bool { return s.Act != nil && s.Act.Name == trace.ActRestart })
}

// steps does and awaits what the case says.
func (r *runner) steps(ctx context.Context) error {
	first := slices.IndexFunc(r.c.Steps, func(s fixtures.Step) bool { return s.Act != nil && s.Act.Name == trace.ActApply })
	if first < 0 {
		if err := r.apply(ctx); err != nil {
			return err
		}
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
		return r.rec.Await(ctx, *s.Await, r.o.Patience)
	}
	if s.Act == nil {
		return errors.New("the step says nothing")
	}
	switch s.Act.Name {
	case trace.ActApply:
		return r.apply(ctx)
	case trace.ActDelete:
		p, err := s.Act.Delete()
		if err != nil {
			return err
		}
		return r.delete(ctx, p)
	case trace.ActRestart:
		return r.inNode(ctx, *s.Act, "systemctl", "restart", "kubelet.service")
	case trace.ActStop:
		return r.stopSandbox(ctx, *s.Act)
	}
	return fmt.Errorf("unknown act %q", s.Act.Name)
}

func (r *runner) apply(ctx context.Context) error {
	if err := r.rec.Did(trace.ActApply, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if _, err := r.cl.Client.CoreV1().Pods(r.Namespace).Create(ctx, r.pod.DeepCopy(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("applying the Pod: %w", err)
	}
	r.applied = true
	return nil
}

func (r *runner) delete(ctx context.Context, p trace.DeleteParam) error {
	if err := r.rec.Did(trace.ActDelete, p); err != nil {
		return err
	}
	r.deleted = true
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	err := r.cl.Client.CoreV1().Pods(r.Namespace).Delete(ctx, r.pod.Name, metav1.DeleteOptions{GracePeriodSeconds: p.GracePeriodSeconds})
	if err != nil {
		return fmt.Errorf("deleting the Pod: %w", err)
	}
	return nil
}

// inNode does an act by a command in the node of the Pod.
func (r *runner) inNode(ctx context.Context, a trace.Act, command string, args ...string) error {
	r.note()
	n, ok := r.cl.Node(r.Node)
	if !ok {
		return errors.New("the Pod is not on a node yet; await something before")
	}
	if err := r.rec.Did(a.Name, a.Param); err != nil {
		return err
	}
	_, err := n.Command(ctx, command, args...)
	return err
}

// stopSandbox stops the sandbox of the Pod behind the kubelet's back.
func (r *runner) stopSandbox(ctx context.Context, a trace.Act) error {
	r.note()
	n, ok := r.cl.Node(r.Node)
	if !ok {
		return errors.New("the Pod is not on a node yet; await something before")
	}
	id, err := sandbox(ctx, n, r.UID)
	if err != nil {
		return err
	}
	return r.inNode(ctx, a, "crictl", "stopp", id)
}
