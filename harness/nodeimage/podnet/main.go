// Command podnet is the Pod network of a node image that was built here. One instance runs on each node. It writes the CNI configuration of
// its node (ptp and host-local on the node's Pod subnets), keeps one route to the Pod subnets of every other node through that node's
// address, and hides Pod addresses behind the node's where traffic leaves the Pod network.
//
// It covers what a stock kind node offers to a suite that tests the order of containers: Pods reach Pods, Services and the outside, over
// IPv4 and IPv6. Left out on purpose: network policies, and nodes that do not share one link.
//
// It needs the commands ip and nft, and these variables: NODE_NAME, POD_SUBNET (comma-separated subnets of all Pods), and optionally
// CONTROL_PLANE_ENDPOINT (host:port of the API server, so that it need not wait for the Service network).
//
// It is compiled inside the module of each Kubernetes version, so it keeps to the language of Go 1.20 and the client-go of v1.28.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	confDir = "/etc/cni/net.d"
	// resync bounds how long a route that someone else removed stays away.
	resync = 30 * time.Second
	// retry is how long a failed change waits; the next event of a node tries at once.
	retry = time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Printf("podnet: %v", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	self := os.Getenv("NODE_NAME")
	if self == "" {
		return errors.New("the variable NODE_NAME is not set")
	}
	subnets, err := parseSubnets(os.Getenv("POD_SUBNET"))
	if err != nil {
		return err
	}
	client, err := connect()
	if err != nil {
		return err
	}
	if err := command(ctx, ruleset(subnets), "nft", "-f", "-"); err != nil {
		return fmt.Errorf("set the masquerade rules: %w", err)
	}

	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // a change is already announced
		}
	}
	factory := informers.NewSharedInformerFactory(client, resync)
	nodes := factory.Core().V1().Nodes()
	if _, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	}); err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	factory.Start(ctx.Done())
	log.Printf("waiting for the list of nodes")
	if !cache.WaitForCacheSync(ctx.Done(), nodes.Informer().HasSynced) {
		return nil // told to stop
	}

	state := &network{self: self}
	var again <-chan time.Time
	notify()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-again:
		}
		var all []*corev1.Node
		for _, obj := range nodes.Informer().GetStore().List() {
			if n, ok := obj.(*corev1.Node); ok {
				all = append(all, n)
			}
		}
		again = nil
		if err := state.apply(ctx, all); err != nil && ctx.Err() == nil {
			log.Printf("%v; trying again in %s", err, retry)
			again = time.After(retry)
		}
	}
}

func connect() (kubernetes.Interface, error) {
	if endpoint := os.Getenv("CONTROL_PLANE_ENDPOINT"); endpoint != "" {
		host, port, err := net.SplitHostPort(endpoint)
		if err != nil {
			return nil, fmt.Errorf("CONTROL_PLANE_ENDPOINT: %w", err)
		}
		os.Setenv("KUBERNETES_SERVICE_HOST", host)
		os.Setenv("KUBERNETES_SERVICE_PORT", port)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return client, nil
}

func parseSubnets(list string) ([]netip.Prefix, error) {
	var subnets []netip.Prefix
	for _, s := range strings.Split(list, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(s))
		if err != nil {
			return nil, fmt.Errorf("POD_SUBNET=%q: %w", list, err)
		}
		subnets = append(subnets, p)
	}
	return subnets, nil
}

// ruleset is an nft script that hides the addresses of Pods where traffic leaves the Pod network. Declaring, deleting and declaring the
// table again replaces it in one transaction.
func ruleset(subnets []netip.Prefix) string {
	var b strings.Builder
	for _, p := range subnets {
		family := "ip"
		if p.Addr().Is6() {
			family = "ip6"
		}
		fmt.Fprintf(&b, "table %[1]s podnet\ndelete table %[1]s podnet\ntable %[1]s podnet {\n\tchain postrouting {\n"+
			"\t\ttype nat hook postrouting priority 100; policy accept;\n"+
			"\t\t%[1]s saddr %[2]s %[1]s daddr != %[2]s fib daddr type != local masquerade\n\t}\n}\n", family, p)
	}
	return b.String()
}

func command(ctx context.Context, stdin, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
