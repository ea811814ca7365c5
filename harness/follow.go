package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/podorder/podorder/harness/cluster"
	"github.com/podorder/podorder/harness/record"
)

// The exit codes by which "recorder follow" says that another attempt is of no use.
const (
	followLost  = 1
	followUsage = 2
)

// followEnded is what "recorder follow" complains of once it has read the log to its end, and nothing else does.
const followEnded = "the log has ended"

// follow reads the shared log on its node, through the helper there. It is a record.Follow.
func (r *runner) follow(ctx context.Context, node string, pod types.UID, offset int64, out io.Writer) error {
	h, err := r.cl.Helper(ctx, node, r.o.HelperImage)
	if err != nil {
		return err
	}
	args := []string{
		"-root", cluster.PodsFolder, "-pod-uid", string(pod),
		"-volume", r.c.Log.Volume, "-file", r.c.Log.File, "-offset", strconv.FormatInt(offset, 10),
	}
	if n, ok := r.cl.Node(node); ok && r.c.StopsKubelet() {
		// Once the kubelet is back it may remove the log before a connection through it is made again.
		return n.Stream(ctx, out, "sh", append([]string{"-c", followInNode, h.Pod}, args...)...)
	}
	// An open standard input is how the reader notices that the connection has gone.
	stdin, hold := io.Pipe()
	defer hold.Close()
	var complaint bytes.Buffer
	err = r.cl.Exec(ctx, h, append([]string{"recorder", "follow", "-stdin"}, args...), stdin, out, &complaint)
	if err != nil && ctx.Err() != nil {
		return err // the connection that was given up may still write to complaint
	}
	return followed(err, &complaint)
}

// followInNode runs "recorder follow" in the helper, named first, without the kubelet.
const followInNode = `exec crictl exec "$(crictl ps -q --label io.kubernetes.pod.name="$0")" recorder follow "$@"`

// followed says what the end of "recorder follow" means: err is that of the connection, complaint its standard error.
func followed(err error, complaint *bytes.Buffer) error {
	var exit utilexec.CodeExitError
	switch {
	case errors.As(err, &exit) && (exit.Code == followLost || exit.Code == followUsage):
		return fmt.Errorf("%w: %s", record.ErrLost, clip(complaint))
	case err == nil && !strings.Contains(complaint.String(), followEnded):
		// Where the kubelet speaks SPDY, a connection that breaks off is no error.
		return errors.New("the connection ended before the log did")
	case err != nil && complaint.Len() > 0:
		return fmt.Errorf("%w: %s", err, clip(complaint))
	}
	return err
}
