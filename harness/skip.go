package harness

// SkipError says that a case cannot be run on this cluster, and why: the cluster lacks something, and nothing is wrong with either. Nothing was
// recorded.
type SkipError struct{ Why string }

func (e *SkipError) Error() string { return e.Why }

// ErrNoNodeAccess is the reason where a case acts on the node of its Pod, and that node is not a container of this machine.
var ErrNoNodeAccess = &SkipError{"it acts on the node, which only works where the nodes are containers of this machine (kind)"}

// errControlPlane is the reason where a case would restart the node that the API server runs on, or configure its kubelet.
var errControlPlane = &SkipError{"it restarts its node, or configures its kubelet, and no node that takes Pods is without a control plane"}
