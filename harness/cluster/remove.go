package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// kindClusterLabel is the label by which kind knows the containers of a cluster.
const kindClusterLabel = "io.x-k8s.kind.cluster"

// output runs a call of the runtime and returns what it wrote, or an error with what it complained about.
func output(c *exec.Cmd) (string, error) {
	var out, complaint bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaint
	if err := c.Run(); err != nil {
		what := strings.Join(c.Args[:min(len(c.Args), 3)], " ")
		if s := strings.TrimSpace(complaint.String()); s != "" {
			return out.String(), fmt.Errorf("%s: %w: %s", what, err, s)
		}
		return out.String(), fmt.Errorf("%s: %w", what, err)
	}
	return out.String(), nil
}

// containers returns the names of the containers of a cluster, in whatever state they are.
func containers(ctx context.Context, rt Runtime, cluster string) ([]string, error) {
	out, err := output(rt.Command(ctx, "ps", "-a", "--filter", "label="+kindClusterLabel+"="+cluster, "--format", "{{.Names}}"))
	if err != nil {
		return nil, fmt.Errorf("listing the nodes of cluster %s: %w", cluster, err)
	}
	return strings.Fields(out), nil
}

// volume is one that kind made for a node; with Podman they are not removed together with their container if it never came to be.
type volume struct{ name, node string }

// volumes returns the volumes that carry the name of a node of some cluster of podorder, by kind's label for them.
func volumes(ctx context.Context, rt Runtime) ([]volume, error) {
	if rt.Runtime() != "podman" {
		return nil, nil // the others have anonymous ones, which go with their container
	}
	out, err := output(rt.Command(ctx, "volume", "ls", "--format", "json"))
	if err != nil {
		return nil, fmt.Errorf("listing volumes: %w", err)
	}
	var all []struct {
		Name   string
		Labels map[string]string
	}
	if s := strings.TrimSpace(out); s != "" {
		if err := json.Unmarshal([]byte(s), &all); err != nil {
			return nil, fmt.Errorf("listing volumes: %w", err)
		}
	}
	var vs []volume
	for _, v := range all {
		for k, is := range v.Labels {
			if is == "true" && strings.HasPrefix(k, namePrefix) {
				vs = append(vs, volume{v.Name, k})
			}
		}
	}
	return vs, nil
}

// clusterOfNode returns the cluster that a node is one of, by kind's way to name them.
func clusterOfNode(node string) (string, bool) {
	for _, role := range []string{"-control-plane", "-worker", "-external-load-balancer"} {
		if i := strings.LastIndex(node, role); i >= 0 && strings.Trim(node[i+len(role):], "0123456789") == "" {
			return node[:i], true
		}
	}
	return "", false
}

// remove removes the containers and volumes of a cluster. It is no error if there are none.
func remove(ctx context.Context, rt Runtime, cluster string) error {
	names, err := containers(ctx, rt, cluster)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		args := []string{"rm", "-f", "-v"}
		if rt.Runtime() == "podman" {
			args = append(args, "--time", "0") // what is thrown away need not shut down first
		}
		if _, err := output(rt.Command(ctx, append(args, names...)...)); err != nil {
			// Someone else may have been quicker: kind itself, or another way out of the same run.
			if left, e := containers(ctx, rt, cluster); e != nil || len(left) > 0 {
				return fmt.Errorf("removing the nodes of cluster %s: %w", cluster, err)
			}
		}
	}
	mine, err := volumesOf(ctx, rt, cluster)
	if err != nil {
		return err
	}
	if len(mine) > 0 {
		if _, err := output(rt.Command(ctx, append([]string{"volume", "rm", "-f"}, mine...)...)); err != nil {
			// As with the containers; one that was gone may have kept others from being removed.
			for _, v := range mine {
				_, _ = output(rt.Command(ctx, "volume", "rm", "-f", v))
			}
			if left, e := volumesOf(ctx, rt, cluster); e != nil || len(left) > 0 {
				return fmt.Errorf("removing the volumes of cluster %s: %w", cluster, err)
			}
		}
	}
	return nil
}

// volumesOf returns the volumes of the nodes of one cluster.
func volumesOf(ctx context.Context, rt Runtime, cluster string) ([]string, error) {
	vs, err := volumes(ctx, rt)
	if err != nil {
		return nil, err
	}
	var mine []string
	for _, v := range vs {
		if of, ok := clusterOfNode(v.node); ok && of == cluster {
			mine = append(mine, v.name)
		}
	}
	return mine, nil
}

// networkName is that of the network of all clusters of podorder on this machine. kind's own would be shared with other clusters, and so could
// never be removed.
const networkName = "podorder"

// networkVariables make kind use another network than its own.
var networkVariables = []string{"KIND_EXPERIMENTAL_DOCKER_NETWORK", "KIND_EXPERIMENTAL_PODMAN_NETWORK"}

func networkLock(s state) string { return filepath.Join(s.root, "network.lock") }

// joinNetwork makes kind use podorder's network, and keeps others from removing it until the lock is let go of, by when nodes use it. Where nobody
// else is about to use it, the lock is held alone: two kinds that make the network at once would hinder each other. Once kind has made it, the lock
// is to be shared. A network that the user chose is left to the user.
func (p *Provider) joinNetwork(ctx context.Context) (*lock, error) {
	chosen := false
	for _, v := range networkVariables {
		switch os.Getenv(v) {
		case networkName:
		case "":
			if err := os.Setenv(v, networkName); err != nil {
				return nil, fmt.Errorf("choosing the network: setting %s: %w", v, err)
			}
		default:
			chosen = true
		}
	}
	l, err := tryLock(networkLock(p.state))
	if chosen || errors.Is(err, errLocked) {
		l.unlock()
		return shareLock(ctx, networkLock(p.state))
	}
	return l, err
}

func networkExists(ctx context.Context, rt Runtime) (bool, error) {
	out, err := output(rt.Command(ctx, "network", "ls", "--format", "{{.Name}}"))
	if err != nil {
		return false, fmt.Errorf("listing networks: %w", err)
	}
	return slices.Contains(strings.Fields(out), networkName), nil
}

// leaveNetwork removes podorder's network if no node uses it and no run is about to.
func leaveNetwork(ctx context.Context, rt Runtime, s state) error {
	l, err := tryLock(networkLock(s))
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.removeAndUnlock()
	if there, err := networkExists(ctx, rt); err != nil || !there {
		return err
	}
	users, err := output(rt.Command(ctx, "ps", "-a", "--filter", "network="+networkName, "--format", "{{.Names}}"))
	if err != nil {
		return fmt.Errorf("listing the users of network %s: %w", networkName, err)
	}
	if len(strings.Fields(users)) > 0 {
		return nil
	}
	if _, err := output(rt.Command(ctx, "network", "rm", networkName)); err != nil {
		return fmt.Errorf("removing network %s: %w", networkName, err)
	}
	return nil
}
