package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/podorder/podorder/harness/archive/archivetest"
)

// importer plays the containerd of a node: it takes an archive for all platforms, and fails as containerd does over one that is not complete.
type importer struct {
	nodes.Node // nothing else of a node is needed
	t          *testing.T
	has        map[string]string // IDs by name
	imports    int
}

func (n *importer) String() string { return "node" }

func (n *importer) CommandContext(_ context.Context, name string, args ...string) kindexec.Cmd {
	return &importerCommand{n: n, line: strings.Join(append([]string{name}, args...), " ")}
}

type importerCommand struct {
	n    *importer
	line string
	in   io.Reader
	out  io.Writer
}

func (c *importerCommand) SetEnv(...string) kindexec.Cmd      { return c }
func (c *importerCommand) SetStdin(r io.Reader) kindexec.Cmd  { c.in = r; return c }
func (c *importerCommand) SetStdout(w io.Writer) kindexec.Cmd { c.out = w; return c }
func (c *importerCommand) SetStderr(w io.Writer) kindexec.Cmd { return c }
func (c *importerCommand) failed(text string) error {
	return &kindexec.RunError{Command: []string{c.line}, Output: []byte(text), Inner: errors.New("exit status 1")}
}
func (c *importerCommand) Run() error {
	switch {
	case c.line == "containerd config dump":
		_, err := io.WriteString(c.out, "version = 3\n[plugins.\"io.containerd.cri.v1.images\"]\nsnapshotter = \"overlayfs\"\n")
		return err
	case strings.HasPrefix(c.line, "crictl inspecti "):
		id, has := c.n.has[strings.TrimPrefix(c.line, "crictl inspecti ")]
		if !has {
			return c.failed("no such image")
		}
		return json.NewEncoder(c.out).Encode(map[string]any{"status": map[string]string{"id": id}})
	case strings.HasPrefix(c.line, "ctr --namespace=k8s.io images import --all-platforms "):
		c.n.imports++
		path := filepath.Join(c.n.t.TempDir(), "imported.tar")
		b, err := io.ReadAll(c.in)
		assert.NilError(c.n.t, err)
		assert.NilError(c.n.t, os.WriteFile(path, b, 0o600))
		if missing := archivetest.Missing(c.n.t, path); missing != "" {
			return c.failed("ctr: " + missing)
		}
		open := func() (io.ReadCloser, error) { return os.Open(path) }
		manifest, err := tarball.LoadManifest(open)
		assert.NilError(c.n.t, err)
		for _, d := range manifest {
			for _, ref := range d.RepoTags {
				tag, err := name.NewTag(ref)
				assert.NilError(c.n.t, err)
				img, err := tarball.Image(open, &tag)
				assert.NilError(c.n.t, err)
				id, err := img.ConfigName()
				assert.NilError(c.n.t, err)
				c.n.has[ref] = id.String()
			}
		}
		return nil
	}
	return fmt.Errorf("%s is not played", c.line)
}

func TestANodeGetsWhatIsForItsPlatform(t *testing.T) {
	const ref = "docker.io/library/busybox:1.36.1"
	path := filepath.Join(t.TempDir(), "saved.tar")
	archivetest.Save(t, path, ref, archivetest.Index(t, "linux/arm64", "linux/amd64", "linux/s390x"), []string{"linux/amd64"})
	// Who is killed meanwhile leaves something in the folder of the run, and nowhere else.
	tmp := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(tmp, "nothing"))
	node := &importer{t: t, has: map[string]string{}}
	c := &Cluster{Nodes: []Node{{Name: "a", Platform: "linux/amd64", container: node}}}
	assert.NilError(t, c.LoadArchive(t.Context(), path, tmp))
	id, err := archivetest.Image(t, "linux/amd64").ConfigName()
	assert.NilError(t, err)
	assert.DeepEqual(t, node.has, map[string]string{ref: id.String()})
	assert.NilError(t, c.LoadArchive(t.Context(), path, tmp))
	assert.Equal(t, node.imports, 1, "a node that has the image does not get it again")

	other := &importer{t: t, has: map[string]string{}}
	c.Nodes = append(c.Nodes, Node{Name: "b", Platform: "linux/s390x", container: other})
	err = c.LoadArchive(t.Context(), path, tmp)
	assert.ErrorContains(t, err, "into node b: image "+ref+" in archive "+path+" cannot be used on linux/s390x: its manifest cannot be read: the archive has no blob ")
	assert.Equal(t, other.imports, 0)
	left, err := os.ReadDir(tmp)
	assert.NilError(t, err)
	assert.Assert(t, is.Len(left, 0))

	c.Nodes = append(c.Nodes, Node{Name: "elsewhere"})
	assert.Check(t, is.ErrorContains(c.LoadArchive(t.Context(), path, tmp), "are not containers of this machine"))
}
