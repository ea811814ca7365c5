package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SweepOptions say how far Sweep goes.
type SweepOptions struct {
	// Kept has it remove kept clusters as well, those that no run uses.
	Kept bool
	// DryRun has it only tell what it would remove.
	DryRun   bool
	Progress func(format string, args ...any)
}

// Sweep removes the clusters that killed runs left on this machine, with their volumes, their network and their files, puts back a limit that such a
// run had raised, and returns the names of those clusters. A cluster is only touched if its name carries an owner that is known to be dead; those of runs that are still going, of other machines
// and of anyone else are left alone.
func Sweep(ctx context.Context, rt Runtime, o SweepOptions) (removed []string, err error) {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	self, err := Self()
	if err != nil {
		return nil, fmt.Errorf("sweeping: %w", err)
	}
	s, err := openState()
	if err != nil {
		return nil, fmt.Errorf("sweeping: %w", err)
	}
	defer s.prune()
	found, err := leftovers(ctx, rt, s)
	if err != nil {
		return nil, fmt.Errorf("sweeping: %w", err)
	}
	var errs []error
	for _, name := range found {
		var keep *lock
		if owner, ok := ownerOfName(name); ok {
			if l := owner.Liveness(self); l != Dead {
				o.Progress("leaving cluster %s: its owner, process %d, is %s", name, owner.PID, l)
				continue
			}
		} else if strings.HasPrefix(name, keptPrefix) {
			if !o.Kept {
				o.Progress("leaving cluster %s: it is kept", name)
				continue
			}
			if keep, err = tryLock(keepLock(s, name)); err != nil {
				o.Progress("leaving cluster %s: %v", name, err)
				continue
			}
		} else {
			continue
		}
		if !o.DryRun {
			err := errors.Join(remove(ctx, rt, name), s.remove(name))
			if keep != nil && err == nil {
				keep.removeAndUnlock()
			} else {
				keep.unlock()
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
		} else {
			keep.unlock()
		}
		removed = append(removed, name)
	}
	if !o.DryRun {
		errs = append(errs, leaveNetwork(ctx, rt, s), sweepInotify("/proc", s, self))
	}
	return removed, errors.Join(errs...)
}

// leftovers returns the names of all clusters of podorder of which anything is left: containers, volumes, or files.
func leftovers(ctx context.Context, rt Runtime, s state) ([]string, error) {
	names := map[string]bool{}
	nodes, err := output(rt.Command(ctx, "ps", "-a", "--filter", "label="+kindClusterLabel, "--format", "{{.Names}}"))
	if err != nil {
		return nil, fmt.Errorf("listing kind nodes: %w", err)
	}
	for _, node := range strings.Fields(nodes) {
		if name, ok := clusterOfNode(node); ok {
			names[name] = true
		}
	}
	vs, err := volumes(ctx, rt)
	if err != nil {
		return nil, err
	}
	for _, v := range vs {
		if name, ok := clusterOfNode(v.node); ok {
			names[name] = true
		}
	}
	folders, err := s.clusters()
	if err != nil {
		return nil, err
	}
	for _, name := range folders {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// SweepNamespaces deletes the namespaces that killed runs left in an existing cluster, and returns their names. It does not wait until they are
// gone.
func SweepNamespaces(ctx context.Context, c *Cluster, o SweepOptions) (removed []string, err error) {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	list, err := c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: LabelManagedBy + "=" + ManagedBy})
	if err != nil {
		return nil, fmt.Errorf("sweeping: listing namespaces: %w", err)
	}
	var errs []error
	for _, ns := range list.Items {
		owner, err := ParseOwner(ns.Labels[LabelOwner])
		if err != nil {
			o.Progress("leaving namespace %s: %v", ns.Name, err)
			continue
		}
		if l := owner.Liveness(c.Owner); l != Dead {
			o.Progress("leaving namespace %s: its owner, process %d, is %s", ns.Name, owner.PID, l)
			continue
		}
		if !o.DryRun {
			if err := c.DeleteNamespace(ctx, ns.Name); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		removed = append(removed, ns.Name)
	}
	return removed, errors.Join(errs...)
}
