package cluster

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig writes one with a context "here" for a server.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	c := api.NewConfig()
	c.Clusters["here"] = &api.Cluster{Server: server}
	c.AuthInfos["here"] = &api.AuthInfo{Token: "t"}
	c.Contexts["here"] = &api.Context{Cluster: "here", AuthInfo: "here"}
	c.CurrentContext = "here"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*c, path))
	return path
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage")
	assert.NilError(t, os.WriteFile(garbage, []byte("}{"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	assert.NilError(t, os.WriteFile(empty, nil, 0o600))

	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	assert.NilError(t, err)
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	closed.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()

	for name, c := range map[string]struct {
		file, context string
		want          []string
	}{
		"no file":         {file: "/nonexistent/kubeconfig", want: []string{"kubeconfig /nonexistent/kubeconfig cannot be read", "no such file"}},
		"a folder":        {file: t.TempDir(), want: []string{"cannot be read"}},
		"no kubeconfig":   {file: garbage, want: []string{"kubeconfig " + garbage + " cannot be read"}},
		"an empty file":   {file: empty, want: []string{"has no current context", "none"}},
		"unknown context": {file: kubeconfig(t, "https://127.0.0.1:1"), context: "there", want: []string{`has no context "there"; it has: here`}},
		"silent":          {file: kubeconfig(t, "http://"+silent.Addr().String()), want: []string{`cluster of context "here"`, "does not answer", "no answer within 50ms"}},
		"nobody there":    {file: kubeconfig(t, "http://"+closed.Addr().String()), want: []string{"does not answer", "connection refused"}},
		"not Kubernetes":  {file: kubeconfig(t, other.URL), want: []string{"does not answer", "asking for its version"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t.Context(), c.file, c.context, 50*time.Millisecond)
			assert.Assert(t, err != nil)
			for _, w := range c.want {
				assert.Assert(t, strings.Contains(err.Error(), w), "%v", err)
			}
			assert.Assert(t, !strings.Contains(err.Error(), "\n"), "one error: %v", err)
		})
	}
}
