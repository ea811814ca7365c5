// Command images lists the images that a run of the suite needs, and takes them to where its nodes can get them.
//
//	images                                                     list them
//	images -write images.tar                                   all of them as one archive
//	images -push registry.example/podorder                     push them to a registry
//	images -push registry.example/podorder -from images.tar    the same from the archive, on a site that reaches no other registry
//
// It has them for linux/amd64 and linux/arm64. The recorder is built, the others are taken from their registries. -cases, -fixtures and -kubernetes are
// those of the suite: which cases are to be run, and the version of the cluster that is made, if one is. The suite finds what was pushed with
// -image-mirror=registry.example/podorder. The archive is an OCI layout, which a node imports with "ctr -n k8s.io images import --all-platforms".
//
// The list and the references of what was pushed go to standard output, everything else to standard error. Exit status: 0, 1 if an image cannot be
// had or pushed, 2 for wrong usage.
//
// Start at run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podorder/podorder/fixtures"
	"github.com/podorder/podorder/harness/archive"
	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/nodeimage"
	"github.com/podorder/podorder/reference/rules"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	c := command{out: os.Stdout, progress: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	err := c.run(ctx, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "images:", err)
	}
	os.Exit(status(err))
}

// usageError is an error of who wrote the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func status(err error) int {
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// command is one run of the command.
type command struct {
	out      io.Writer
	progress func(format string, args ...any)

	cases, fixtures, kubernetes string
	platforms                   []v1.Platform
	write, push, from           string
	plainHTTP                   bool
}

func (c *command) run(ctx context.Context, args []string) (err error) {
	if err := c.parse(args); err != nil {
		return err
	}
	var needs []need
	if c.from == "" {
		if needs, err = c.needs(); err != nil {
			return err
		}
	}
	if c.write == "" && c.push == "" {
		list(c.out, needs, c.platforms)
		return nil
	}
	tmp, err := cluster.ScratchForGo("images")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	var set archive.Set
	if c.from != "" {
		set, err = archive.ReadSet(ctx, c.from, tmp)
	} else {
		set, err = c.get(ctx, needs, tmp)
	}
	if err != nil {
		return err
	}
	if c.write != "" {
		if err := archive.WriteSet(c.write, set); err != nil {
			return err
		}
		c.progress("wrote %d images for %s to %s", len(set), names(c.platforms), c.write)
	}
	if c.push != "" {
		there, err := set.Push(ctx, c.push, c.plainHTTP, c.progress)
		for _, ref := range there {
			fmt.Fprintln(c.out, ref)
		}
		if err != nil {
			return err
		}
		c.progress("the suite takes them from there with -image-mirror=%s", c.push)
	}
	return nil
}

func (c *command) parse(args []string) error {
	fs := flag.NewFlagSet("images", flag.ContinueOnError)
	platforms := fs.String("platforms", "linux/amd64,linux/arm64", "`platforms` that the images are for, separated by commas")
	fs.StringVar(&c.cases, "cases", "", "only what the cases need whose path matches the `regexp`")
	fs.StringVar(&c.fixtures, "fixtures", "", "`folders` of cases, separated by commas, instead of those that are built in; \"built-in\" among them keeps these as well")
	fs.StringVar(&c.kubernetes, "kubernetes", "", "also the node image of a cluster of this `version`, which the suite makes")
	fs.StringVar(&c.write, "write", "", "write the images to this `file`, one archive")
	fs.StringVar(&c.push, "push", "", "push the images to a `registry`, or a folder of one (registry.example:5000/podorder)")
	fs.StringVar(&c.from, "from", "", "take the images from this `file`, which -write has made, instead of making and pulling them")
	fs.BoolVar(&c.plainHTTP, "plain-http", false, "the registry of -push speaks no TLS")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	switch {
	case fs.NArg() > 0:
		return usageError{fmt.Errorf("images takes flags only, but was given %q", fs.Args())}
	case c.from != "" && c.push == "":
		return usageError{errors.New("-from says where the images are that -push pushes: give -push as well")}
	case c.from != "" && (c.write != "" || c.cases != "" || c.fixtures != "" || c.kubernetes != ""):
		return usageError{errors.New("-from pushes what is in the archive: leave out -write, -cases, -fixtures and -kubernetes")}
	case c.plainHTTP && c.push == "":
		return usageError{errors.New("-plain-http is for -push")}
	}
	for _, text := range strings.Split(*platforms, ",") {
		p, err := v1.ParsePlatform(strings.TrimSpace(text))
		if err != nil || p.OS != "linux" || p.Architecture == "" {
			return usageError{fmt.Errorf("-platforms: %q is not a platform such as linux/arm64; the suite runs on nodes with Linux", text)}
		}
		c.platforms = append(c.platforms, *p)
	}
	if c.push != "" {
		if _, err := archive.Mirrored(c.push, "image:1"); err != nil {
			return usageError{fmt.Errorf("-push: %w", err)}
		}
	}
	if c.kubernetes != "" {
		if err := nodeimage.CheckVersion(c.kubernetes); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// selected are the cases that the flags select.
func (c *command) selected() (all []fixtures.Case, err error) {
	expr, err := regexp.Compile(c.cases)
	if err != nil {
		return nil, usageError{fmt.Errorf("-cases: %w", err)}
	}
	folders := c.fixtures
	if folders == "" {
		folders = "built-in"
	}
	for dir := range strings.SplitSeq(folders, ",") {
		var cases []fixtures.Case
		if dir = strings.TrimSpace(dir); dir == "built-in" {
			cases, err = fixtures.All()
		} else {
			cases, err = fixtures.LoadDir(dir, func(slug string) bool { _, ok := rules.BySlug(slug); return ok })
		}
		if err != nil {
			return nil, usageError{err}
		}
		all = append(all, cases...)
	}
	if all = fixtures.Select(all, expr); len(all) == 0 {
		return nil, usageError{fmt.Errorf("no case matches %q", c.cases)}
	}
	return all, nil
}

func names(platforms []v1.Platform) string {
	var all []string
	for _, p := range platforms {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}
