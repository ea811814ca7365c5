package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// network is what this instance has set up so far.
type network struct {
	self   string
	config []byte
	routes map[netip.Prefix]netip.Addr
}

// apply makes the node's CNI configuration and routes what these nodes ask for.
func (s *network) apply(ctx context.Context, nodes []*corev1.Node) error {
	want := map[netip.Prefix]netip.Addr{}
	for _, n := range nodes {
		subnets, err := subnetsOf(n)
		if err != nil {
			return err
		}
		if n.Name == s.self {
			if err := s.configure(n, subnets); err != nil {
				return err
			}
			continue
		}
		for _, p := range subnets {
			if via, ok := addressOf(n, p.Addr().Is6()); ok {
				want[p] = via
			}
		}
	}
	for p, via := range want {
		// Always, not only when it changed: someone else may have removed the route.
		if err := command(ctx, "", "ip", "route", "replace", p.String(), "via", via.String()); err != nil {
			return fmt.Errorf("set a route to the Pods of another node: %w", err)
		}
		if s.routes[p] != via {
			log.Printf("route: %s via %s", p, via)
		}
	}
	for p, via := range s.routes {
		if _, ok := want[p]; !ok {
			log.Printf("route: %s via %s is no longer wanted", p, via)
			if err := command(ctx, "", "ip", "route", "del", p.String(), "via", via.String()); err != nil {
				log.Printf("remove the route of a node that is gone: %v", err)
			}
		}
	}
	s.routes = want
	return nil
}

func subnetsOf(n *corev1.Node) ([]netip.Prefix, error) {
	list := n.Spec.PodCIDRs
	if len(list) == 0 && n.Spec.PodCIDR != "" {
		list = []string{n.Spec.PodCIDR}
	}
	var subnets []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("node %s: Pod subnet: %w", n.Name, err)
		}
		subnets = append(subnets, p)
	}
	return subnets, nil
}

// addressOf is the address of a node in one family.
func addressOf(n *corev1.Node, six bool) (netip.Addr, bool) {
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if ip, err := netip.ParseAddr(a.Address); err == nil && ip.Is6() == six {
			return ip, true
		}
	}
	return netip.Addr{}, false
}

// configure writes the CNI configuration, which is what makes the kubelet call the node's network ready.
func (s *network) configure(n *corev1.Node, subnets []netip.Prefix) error {
	if len(subnets) == 0 {
		return nil // the controller manager has not given this node a subnet yet; its update will bring us back
	}
	config, err := cniConfig(subnets, mtuOf(n))
	if err != nil {
		return err
	}
	if bytes.Equal(config, s.config) {
		return nil
	}
	// The runtime must never read half a file.
	path := filepath.Join(confDir, "10-podnet.conflist")
	if err := os.WriteFile(path+".tmp", config, 0o644); err != nil {
		return fmt.Errorf("write the CNI configuration: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("write the CNI configuration: %w", err)
	}
	log.Printf("CNI configuration: Pod subnets %v", subnets)
	s.config = config
	return nil
}

// mtuOf is the MTU of the interface that carries the node's address; 0, the kernel's default, if there is none.
func mtuOf(n *corev1.Node) int {
	interfaces, err := net.Interfaces()
	if err != nil {
		return 0
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			p, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			if slices.ContainsFunc(n.Status.Addresses, func(na corev1.NodeAddress) bool { return na.Address == p.Addr().String() }) {
				return i.MTU
			}
		}
	}
	return 0
}

// cniConfig is the CNI configuration of a node with these Pod subnets.
func cniConfig(subnets []netip.Prefix, mtu int) ([]byte, error) {
	type object = map[string]any
	var ranges, routes []any
	for _, p := range subnets {
		ranges = append(ranges, []any{object{"subnet": p.String()}})
		everywhere := "0.0.0.0/0"
		if p.Addr().Is6() {
			everywhere = "::/0"
		}
		routes = append(routes, object{"dst": everywhere})
	}
	config, err := json.MarshalIndent(object{
		"cniVersion": "0.4.0",
		"name":       "podnet",
		"plugins": []any{
			object{
				"type": "ptp", "ipMasq": false, "mtu": mtu,
				"ipam": object{"type": "host-local", "dataDir": "/run/cni-ipam-state", "ranges": ranges, "routes": routes},
			},
			object{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the CNI configuration: %w", err)
	}
	return append(config, '\n'), nil
}
