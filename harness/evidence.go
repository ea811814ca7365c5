package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/podorder/podorder/harness/cluster"
)

// Evidence puts beside the trace what helps to find out why it is as it is: the Pod as it was seen last, its Events, and, where the node can be
// entered, the journals of kubelet and container runtime since the run began and what the runtime has of the Pod. It gets what it can; the error
// says what it could not.
func (r *Recording) Evidence(ctx context.Context) error {
	var errs []error
	if r.pod != nil {
		errs = append(errs, r.saveYAML("pod-last-seen.yaml", r.pod))
	}
	if len(r.events) > 0 {
		for i, e := range r.events {
			e = e.DeepCopy()
			e.ManagedFields = nil // who wrote which field helps nobody
			r.events[i] = e
		}
		errs = append(errs, r.saveYAML("events.yaml", r.events))
	}
	if n, ok := r.cluster.Node(r.Node); ok && n.Access() {
		// journalctl counts in whole seconds.
		since := fmt.Sprintf("@%d", r.Started.Add(-time.Second).Unix())
		for _, unit := range []string{"kubelet", "containerd"} {
			errs = append(errs, r.saveOutput(ctx, unit+".log", n, "journalctl", "--no-pager", "--output=short-precise", "--since", since, "--unit", unit))
		}
		errs = append(errs, r.runtimeState(ctx, "runtime-after.txt", n))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("collecting evidence: %w", err)
	}
	return nil
}

// snapshot keeps the state of the runtime while the Pod is still there.
func (r *Recording) snapshot(ctx context.Context) error {
	n, ok := r.cluster.Node(r.Node)
	if !ok || !n.Access() {
		return nil
	}
	if err := r.runtimeState(ctx, "runtime.txt", n); err != nil {
		return fmt.Errorf("collecting evidence: %w", err)
	}
	return nil
}

// runtimeState writes what the runtime has of the Pod: sandboxes, containers, and each of them in detail.
func (r *Recording) runtimeState(ctx context.Context, file string, n cluster.Node) error {
	return r.save(file, func(w io.Writer) error {
		label := "io.kubernetes.pod.uid=" + r.UID
		var errs []error
		show := func(args ...string) {
			fmt.Fprintf(w, "# crictl %s\n", strings.Join(args, " "))
			errs = append(errs, n.Stream(ctx, w, "crictl", args...))
			fmt.Fprintln(w)
		}
		show("pods", "--label", label)
		show("ps", "-a", "--label", label)
		for _, kind := range []struct{ list, inspect []string }{
			{[]string{"pods", "-q", "--label", label}, []string{"inspectp"}},
			{[]string{"ps", "-a", "-q", "--label", label}, []string{"inspect"}},
		} {
			ids, err := n.Command(ctx, "crictl", kind.list...)
			if err != nil {
				errs = append(errs, err)
			}
			for _, id := range strings.Fields(ids) {
				show(append(kind.inspect, id)...)
			}
		}
		return errors.Join(errs...)
	})
}

// sandbox returns the ID of the Pod's running sandbox.
func sandbox(ctx context.Context, n cluster.Node, uid string) (string, error) {
	out, err := n.Command(ctx, "crictl", "pods", "-q", "--state", "ready", "--label", "io.kubernetes.pod.uid="+uid)
	if err != nil {
		return "", fmt.Errorf("looking for the Pod's sandbox: %w", err)
	}
	ids := strings.Fields(out)
	if len(ids) != 1 {
		return "", fmt.Errorf("looking for the Pod's sandbox: there are %d that are ready, not one", len(ids))
	}
	return ids[0], nil
}

func (r *Recording) saveYAML(name string, v any) error {
	b, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return r.save(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func (r *Recording) saveOutput(ctx context.Context, name string, n cluster.Node, command string, args ...string) error {
	return r.save(name, func(w io.Writer) error { return n.Stream(ctx, w, command, args...) })
}

// save writes a file beside the trace.
func (r *Recording) save(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.Dir, name))
	if err != nil {
		return fmt.Errorf("saving %s: %w", name, err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("saving %s: %w", name, err)
	}
	return nil
}
