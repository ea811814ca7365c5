package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// healthPatience is how long a kept cluster may take to show that it is ready; it has nothing left to start.
const healthPatience = time.Minute

func keepLock(s state, cluster string) string { return filepath.Join(s.root, cluster+".lock") }

// takeUp looks for a kept cluster and takes it up if it is healthy and was made with the same options; otherwise it removes what there is. The
// lock is shared with other runs if the cluster is taken up, and held alone if it is to be made.
func (p *Provider) takeUp(ctx context.Context, name, print string) (_ *lock, reused bool, err error) {
	l, err := tryLock(keepLock(p.state, name))
	alone := err == nil
	if errors.Is(err, errLocked) {
		l, err = tryShareLock(keepLock(p.state, name))
	}
	if errors.Is(err, errLocked) {
		p.o.Progress("waiting for another run that creates cluster %s", name)
		l, err = shareLock(ctx, keepLock(p.state, name))
	}
	if err != nil {
		return nil, false, fmt.Errorf("using kept cluster %s again: %w", name, err)
	}
	defer func() {
		if err != nil {
			l.unlock()
		}
	}()
	nodes, err := containers(ctx, p.rt, name)
	if err != nil {
		return nil, false, err
	}
	var unfit error
	if len(nodes) > 0 {
		unfit = p.health(ctx, name, print, len(nodes))
	}
	switch {
	case len(nodes) > 0 && unfit == nil:
		if alone {
			if err := l.share(); err != nil {
				return nil, false, err
			}
		}
		p.o.Progress("using kept cluster %s", name)
		return l, true, nil
	case !alone && unfit != nil:
		return nil, false, fmt.Errorf("kept cluster %s is in use by another run, and not fit for this one: %w", name, unfit)
	case !alone:
		return nil, false, fmt.Errorf("kept cluster %s: another run was creating it and did not finish; try again", name)
	case unfit != nil:
		p.o.Progress("kept cluster %s cannot be used: %v; creating a new one", name, unfit)
		if err := remove(ctx, p.rt, name); err != nil {
			return nil, false, err
		}
	}
	return l, false, nil
}

// health returns why a kept cluster cannot be used; nil if it can.
func (p *Provider) health(ctx context.Context, name, print string, nodes int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healthPatience, fmt.Errorf("not ready within %v", healthPatience))
	defer cancel()
	path, err := p.writeKubeconfig(name)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(path, "")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := answers(ctx, client); err != nil {
		return err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for _, n := range list.Items {
		if got := n.Labels[labelConfig]; got != print {
			return fmt.Errorf("node %s was made with other options", n.Name)
		}
	}
	return p.waitReady(ctx, cfg, nodes)
}
