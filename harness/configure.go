package harness

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/reference/trace"
)

// The configuration of the kubelet in a kind node, and what it was before a case changed it. The second file is there only while a case runs, or if that
// was killed.
const (
	kubeletConfig = "/var/lib/kubelet/config.yaml"
	configBefore  = kubeletConfig + ".podorder"
)

// restorePatience is how long a kubelet may take to be configured as before. Patience, not a rule.
const restorePatience = time.Minute

// configure restarts the kubelet of the node with the settings of the case. What it returns does so with those of before, and waits for the node.
func (r *runner) configure(ctx context.Context) (restore func() error, err error) {
	if r.c.Kubelet == nil {
		return func() error { return nil }, nil
	}
	n, ok := r.cl.Node(r.nodes[0].name)
	if !ok {
		return nil, fmt.Errorf("configuring the kubelet: no node %s", r.nodes[0].name)
	}
	r.o.Progress("configuring the kubelet of node %s", n.Name)
	restore = func() error {
		// Also where the run was given up: the node is there for others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restorePatience)
		defer cancel()
		_, err := n.Command(ctx, "sh", "-c", fmt.Sprintf("test ! -e %[2]s || { mv %[2]s %[1]s && systemctl restart %[3]s; }", kubeletConfig, configBefore, kubeletUnit))
		if err == nil {
			err = cluster.WaitNode(ctx, r.cl.Client, n.Name, nodePatience)
		}
		if err != nil {
			return fmt.Errorf("configuring the kubelet as before: %w", err)
		}
		return nil
	}
	if err := configured(ctx, n.Command, r.c.Kubelet); err != nil {
		return nil, errors.Join(fmt.Errorf("configuring the kubelet: %w", err), restore())
	}
	if err := cluster.WaitNode(ctx, r.cl.Client, n.Name, nodePatience); err != nil {
		return nil, errors.Join(fmt.Errorf("configuring the kubelet: %w", err), restore())
	}
	return restore, nil
}

// configured writes the settings into the configuration of a kubelet, and restarts it.
func configured(ctx context.Context, command func(ctx context.Context, name string, args ...string) (string, error), s *trace.Settings) error {
	if _, err := command(ctx, "sh", "-c", fmt.Sprintf("test -e %[2]s || cp -p %[1]s %[2]s", kubeletConfig, configBefore)); err != nil {
		return err
	}
	was, err := command(ctx, "cat", configBefore)
	if err != nil {
		return err
	}
	is, err := merged([]byte(was), s)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("base64 -d >%[1]s.new && mv %[1]s.new %[1]s && systemctl restart %[2]s", kubeletConfig, kubeletUnit)
	_, err = command(ctx, "sh", "-c", "printf %s \"$0\" | "+script, base64.StdEncoding.EncodeToString(is))
	return err
}

// merged is a KubeletConfiguration with the settings in it.
func merged(config []byte, s *trace.Settings) ([]byte, error) {
	var fields, set map[string]any
	if err := yaml.Unmarshal(config, &fields); err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeletConfig, err)
	}
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &set)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the settings: %w", err)
	}
	if fields["kind"] != "KubeletConfiguration" {
		return nil, fmt.Errorf("%s is no KubeletConfiguration but %q", kubeletConfig, strings.TrimSpace(fmt.Sprint(fields["kind"])))
	}
	for name, value := range set {
		if old, ok := fields[name].(map[string]any); ok {
			if now, ok := value.(map[string]any); ok {
				both := maps.Clone(old)
				maps.Copy(both, now)
				value = both
			}
		}
		fields[name] = value
	}
	return yaml.Marshal(fields)
}
