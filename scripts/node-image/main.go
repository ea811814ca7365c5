// Command node-image makes sure that this machine has the kind node image of a Kubernetes version, and prints its reference.
//
//	go run ./scripts/node-image [-kubernetes v1.37.2] [-cache DIR] [-no-install]
//	go run ./scripts/node-image -kubelet v1.33.13[,v1.34.4…] [-cache DIR]
//
// It takes an image that is there, else pulls the one that kind's release pins by digest, else builds one from Go modules and Debian
// packages. With -kubelet it prints the path of just a kubelet instead, one line for each version, and builds those that are not in the
// cache. Progress goes to standard error, the result alone to standard output. Exit status: 0, 1 if it cannot be had, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/host"
	"github.com/podorder/podorder/harness/nodeimage"
)

func main() {
	version := flag.String("kubernetes", nodeimage.Default, "Kubernetes `version` of the image")
	cache := flag.String("cache", "", "`folder` for the pieces of builds (default: podorder in the user's cache folder)")
	noInstall := flag.Bool("no-install", false, "never install a package")
	kubelets := flag.String("kubelet", "", "print the path of the kubelet of each of these `versions`, separated by commas, instead")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "node-image takes flags only, but was given %q\n", flag.Args())
		os.Exit(2)
	}
	if err := check(*version, *kubelets); err != nil {
		fmt.Fprintln(os.Stderr, "node-image:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := get(ctx, *version, *kubelets, *cache, *noInstall); err != nil {
		fmt.Fprintln(os.Stderr, "node-image:", err)
		var none *nodeimage.UnavailableError
		if errors.As(err, &none) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// get gets the image, or the kubelets, with a temporary folder that a sweep knows.
func get(ctx context.Context, version, kubelets, cache string, noInstall bool) (err error) {
	tmp, err := cluster.ScratchForGo("image")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if kubelets != "" {
		return runKubelets(ctx, strings.Split(kubelets, ","), cache)
	}
	return run(ctx, version, cache, noInstall)
}

// check reports a version that there is no image or no kubelet of.
func check(version, kubelets string) error {
	if kubelets == "" {
		return nodeimage.CheckVersion(version)
	}
	for v := range strings.SplitSeq(kubelets, ",") {
		if err := nodeimage.CheckKubelet(v); err != nil {
			return err
		}
	}
	return nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func runKubelets(ctx context.Context, versions []string, cache string) error {
	for _, v := range versions {
		path, err := nodeimage.Kubelet(ctx, v, nodeimage.Options{Progress: progress, CacheDir: cache})
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}

func run(ctx context.Context, version, cache string, noInstall bool) (err error) {
	h, err := host.Detect(ctx, host.Options{NoInstall: noInstall, Progress: progress})
	if err != nil {
		return err
	}
	defer func() {
		if e := h.Close(); err == nil {
			err = e
		}
	}()
	img, err := nodeimage.Ensure(ctx, h, version, nodeimage.Options{Progress: progress, CacheDir: cache})
	if err != nil {
		return err
	}
	progress("%s: Kubernetes %s, %s", img.Ref, img.Version, img.Source)
	fmt.Println(img.Ref)
	return nil
}
