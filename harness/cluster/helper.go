package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/podorder/podorder/harness/internal/listwatch"
)

// DefaultHelperImage is the recorder's image as it is loaded into kind nodes.
const DefaultHelperImage = "podorder/recorder:1"

// PodsFolder is where a kubelet keeps the volumes of Pods, on the node and in a helper.
const PodsFolder = "/var/lib/kubelet/pods"

// helperPatience is how long a helper Pod may take to run. Its image is there, or has to be pulled.
const helperPatience = 3 * time.Minute

// Helper is a Pod of podorder's own on one node that reads the volumes of the other Pods there. It leaves the Pods of cases as their
// manifests have them.
type Helper struct{ Namespace, Pod, Container, Node string }

// helperSlot makes sure that a node gets one helper.
type helperSlot struct {
	mu sync.Mutex
	h  *Helper
}

// Helper returns the helper of a node, which it starts when it is first asked for. image is that of the recorder.
func (c *Cluster) Helper(ctx context.Context, node, image string) (*Helper, error) {
	c.mu.Lock()
	if c.helpers == nil {
		c.helpers = map[string]*helperSlot{}
	}
	slot := c.helpers[node]
	if slot == nil {
		slot = &helperSlot{}
		c.helpers[node] = slot
	}
	c.mu.Unlock()
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.h != nil {
		return slot.h, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, helperPatience, fmt.Errorf("gave up after %v", helperPatience))
	defer cancel()
	h, err := c.startHelper(ctx, node, image)
	if err != nil {
		return nil, fmt.Errorf("starting the log reader on node %s: %w", node, err)
	}
	slot.h = h
	return h, nil
}

func (c *Cluster) startHelper(ctx context.Context, node, image string) (*Helper, error) {
	namespace, err := c.systemNamespace(ctx)
	if err != nil {
		return nil, err
	}
	pods := c.Client.CoreV1().Pods(namespace)
	pod, err := pods.Create(ctx, helperPod(node, image), metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("the cluster does not allow the Pod that reads the shared log (host path %s, root): %w", PodsFolder, err)
	}
	if err != nil {
		return nil, fmt.Errorf("creating its Pod: %w", err)
	}
	err = c.awaitHelper(ctx, namespace, pod.Name, helperState)
	if err != nil {
		// Without it, a second attempt starts from nothing.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		return nil, err
	}
	return &Helper{Namespace: namespace, Pod: pod.Name, Container: helperContainer, Node: node}, nil
}

// awaitHelper waits until a helper is in a state. is also describes the state that it sees, and returns an error if the awaited one will never be.
func (c *Cluster) awaitHelper(ctx context.Context, namespace, name string, is func(*corev1.Pod) (done bool, state string, err error)) error {
	pods := c.Client.CoreV1().Pods(namespace)
	last := "nothing"
	look := func(p *corev1.Pod) (bool, error) {
		done, state, err := is(p)
		last = state
		return done, err
	}
	err := listwatch.Run(ctx, listwatch.Source{
		What:   "Pods",
		Fields: "metadata.name=" + name,
		List:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		Watch:  func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
	}, listwatch.Handler{
		Listed: func(items []runtime.Object, _ string) (bool, error) {
			for _, o := range items {
				return look(o.(*corev1.Pod))
			}
			return false, errors.New("its Pod was deleted")
		},
		Event: func(t watch.EventType, o runtime.Object) (bool, error) {
			if t == watch.Deleted {
				return false, errors.New("its Pod was deleted")
			}
			return look(o.(*corev1.Pod))
		},
	})
	if err != nil {
		return fmt.Errorf("waiting for Pod %s/%s to run: %w; last seen: %s", namespace, name, err, last)
	}
	return nil
}

// helperOf returns the helper that runs on a node; nil if none was started.
func (c *Cluster) helperOf(node string) *Helper {
	c.mu.Lock()
	slot := c.helpers[node]
	c.mu.Unlock()
	if slot == nil {
		return nil
	}
	slot.mu.Lock()
	defer slot.mu.Unlock()
	return slot.h
}

// helperRestarts returns how often the container of the helper on a node was restarted; 0 if there is no helper.
func (c *Cluster) helperRestarts(ctx context.Context, node string) (int32, error) {
	h := c.helperOf(node)
	if h == nil {
		return 0, nil
	}
	p, err := c.Client.CoreV1().Pods(h.Namespace).Get(ctx, h.Pod, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("looking at the log reader there: %w", err)
	}
	return restartsOf(p), nil
}

// helperBack waits until the container of the helper on a node, if there is one, runs again and has been restarted more often than before.
func (c *Cluster) helperBack(ctx context.Context, node string, before int32) error {
	h := c.helperOf(node)
	if h == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, helperPatience, fmt.Errorf("gave up after %v", helperPatience))
	defer cancel()
	return c.awaitHelper(ctx, h.Namespace, h.Pod, func(p *corev1.Pod) (bool, string, error) {
		running, state, err := helperState(p)
		n := restartsOf(p)
		return running && n > before, fmt.Sprintf("%s, restarted %d times", state, n), err
	})
}

func restartsOf(helper *corev1.Pod) int32 {
	var n int32
	for _, s := range helper.Status.ContainerStatuses {
		n = max(n, s.RestartCount)
	}
	return n
}

const helperContainer = "reader"

func helperPod(node, image string) *corev1.Pod {
	root, propagation, folder, now := int64(0), corev1.MountPropagationHostToContainer, corev1.HostPathDirectory, int64(0)
	no := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "log-reader-", Labels: map[string]string{LabelManagedBy: ManagedBy}},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			TerminationGracePeriodSeconds: &now,
			Containers: []corev1.Container{{
				Name:            helperContainer,
				Image:           image,
				ImagePullPolicy: corev1.PullIfNotPresent,
				Command:         []string{"recorder", "main", "-container", helperContainer, "-log", "/reader.log"},
				SecurityContext: &corev1.SecurityContext{RunAsUser: &root},
				VolumeMounts: []corev1.VolumeMount{{
					Name: "pods", MountPath: PodsFolder, ReadOnly: true, MountPropagation: &propagation,
				}},
			}},
			Volumes: []corev1.Volume{{
				Name: "pods", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: PodsFolder, Type: &folder}},
			}},
		},
	}
}

// helperState reports whether a helper runs, what it is at, and an error if it never will.
func helperState(p *corev1.Pod) (running bool, state string, err error) {
	state = string(p.Status.Phase)
	for _, s := range p.Status.ContainerStatuses {
		switch {
		case s.State.Running != nil:
			return true, "running", nil
		case s.State.Waiting != nil:
			w := s.State.Waiting
			state = strings.TrimSpace(w.Reason + " " + w.Message)
			switch w.Reason {
			case "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
				return false, state, fmt.Errorf("image %s is not available there: %s", s.Image, state)
			}
		case s.State.Terminated != nil:
			state = fmt.Sprintf("exited with %d %s", s.State.Terminated.ExitCode, s.State.Terminated.Message)
		}
	}
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		return false, state, fmt.Errorf("the Pod ended: %s %s %s", p.Status.Reason, p.Status.Message, state)
	}
	return false, state, nil
}

// systemNamespace returns the namespace of this run's helpers; each run has its own, so that the end of one does not take them from another.
func (c *Cluster) systemNamespace(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.system != "" {
		return c.system, nil
	}
	name := "podorder-system-" + strings.ToLower(rand.Text()[:whichLen])
	if err := c.CreateNamespace(ctx, name, nil); err != nil {
		return "", err
	}
	c.system = name
	return name, nil
}

// CreateNamespace makes a namespace that belongs to this run and in which any Pod may be created.
func (c *Cluster) CreateNamespace(ctx context.Context, name string, labels map[string]string) error {
	all := c.Owner.Labels(time.Now())
	all["pod-security.kubernetes.io/enforce"] = "privileged"
	maps.Copy(all, labels)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all}}
	if _, err := c.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	// No Pod can be created without the default service account. The control plane makes one where there is none, which takes
	// long where it has much to do. Nothing in a case talks to the API, so no Pod has to wait for a token.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}, AutomountServiceAccountToken: new(bool)}
	_, err := c.Client.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the default service account of namespace %s: %w", name, err)
	}
	return nil
}

// DeleteNamespace asks for the deletion of a namespace and does not wait for it.
func (c *Cluster) DeleteNamespace(ctx context.Context, name string) error {
	err := c.Client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting namespace %s: %w", name, err)
	}
	return nil
}

// Cleanup deletes every namespace that this run made and waits until they are gone. A cluster that is about to be destroyed needs none.
func (c *Cluster) Cleanup(ctx context.Context) error {
	c.mu.Lock()
	c.system, c.helpers = "", nil
	c.mu.Unlock()
	return c.removeNamespaces(ctx, LabelOwner+"="+c.Owner.String())
}

// removeNamespaces deletes the namespaces that a label selects and waits until they are gone.
func (c *Cluster) removeNamespaces(ctx context.Context, labels string) error {
	namespaces := c.Client.CoreV1().Namespaces()
	list, err := namespaces.List(ctx, metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return fmt.Errorf("listing the namespaces of this run: %w", err)
	}
	// What an interrupted run left is thrown away, so nobody waits out its grace periods. A second still lets the kubelet see the containers
	// end before the objects go.
	second := int64(1)
	for _, ns := range list.Items {
		if err := c.Client.CoreV1().Pods(ns.Name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &second}, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("deleting the Pods of namespace %s: %w", ns.Name, err)
		}
		if err := c.DeleteNamespace(ctx, ns.Name); err != nil {
			return err
		}
	}
	return await(ctx, "the namespaces of this run to be gone", listwatch.Source{
		What:   "Namespaces",
		Labels: labels,
		List: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return namespaces.List(ctx, o)
		},
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return namespaces.Watch(ctx, o)
		},
	}, func(seen objects) (bool, string) { return len(seen) == 0, strings.Join(seen.names(), ", ") })
}

// Exec runs a command in the container of a Pod. The context ends the connection; whether it ends the command is up to the command.
func (c *Cluster) Exec(ctx context.Context, h *Helper, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	req := c.Client.CoreV1().RESTClient().Post().Namespace(h.Namespace).Resource("pods").Name(h.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: h.Container, Command: command, Stdin: stdin != nil, Stdout: stdout != nil, Stderr: stderr != nil,
		}, scheme.ParameterCodec)
	websocket, err := remotecommand.NewWebSocketExecutor(c.Config, "GET", req.URL().String())
	if err != nil {
		return fmt.Errorf("connecting to Pod %s/%s: %w", h.Namespace, h.Pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.Config, "POST", req.URL())
	if err != nil {
		return fmt.Errorf("connecting to Pod %s/%s: %w", h.Namespace, h.Pod, err)
	}
	// API servers before 1.30 speak SPDY only.
	e, err := remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return fmt.Errorf("connecting to Pod %s/%s: %w", h.Namespace, h.Pod, err)
	}
	// client-go also prints what it returns.
	ctx = klog.NewContext(ctx, klog.Logger{})
	if err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: stderr}); err != nil {
		return fmt.Errorf("running %s in Pod %s/%s: %w", command[0], h.Namespace, h.Pod, err)
	}
	return nil
}
