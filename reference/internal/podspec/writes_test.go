package podspec

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

func exec(words ...string) corev1.ExecAction { return corev1.ExecAction{Command: words} }

func TestWriting(t *testing.T) {
	recorded := exec("recorder", "post-start-hook", "-container", "app", "-log", "/log/message")
	appended := exec("sh", "-c", `echo "$(date): app / post start hook" >> /log/message`)
	for _, tt := range []struct {
		name string
		hook corev1.LifecycleHandler
		want Writing
	}{
		{"the recorder", corev1.LifecycleHandler{Exec: &recorded}, Writes},
		{"the recorder in another's name", handler("recorder", "post-start-hook", "-container", "other", "-log", "/log/message"), WritesNothing},
		{"the recorder as another actor", handler("recorder", "pre-stop-hook", "-container", "app", "-log", "/log/message"), WritesNothing},
		{"a line that names the actor", corev1.LifecycleHandler{Exec: &appended}, Writes},
		{"a line for another actor", handler("sh", "-c", `echo "$(date): app / main" >> /log/message`), MayWrite},
		{"the file that another writes", handler("sh", "-c", `note started >> /log/shared`), Writes},
		{"the file that another writes, by tee", handler("sh", "-c", `note started | tee -a /log/shared`), Writes},
		{"another file", handler("sh", "-c", `date > /data/file && sleep 30`), MayWrite},
		{"a program", handler("/install"), MayWrite},
		{"a program in a shell", handler("sh", "-c", "sleep 3; /install"), MayWrite},
		{"what only waits", handler("sh", "-c", "until [ -e /tmp/ready ]; do sleep 1; done"), WritesNothing},
		{"what only signals", handler("/usr/sbin/nginx", "-s", "quit"), WritesNothing},
		{"what only sleeps", handler("/bin/sleep", "15"), WritesNothing},
		{"a request", corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}, WritesNothing},
		{"a sleep", corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3}}, WritesNothing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "app", Lifecycle: &corev1.Lifecycle{PostStart: &tt.hook}},
				{Name: "shared", Command: []string{"sh", "-c", `echo "$(date): shared / main" >> /log/shared`}},
			}}}
			p, left := New(pod)
			assert.Equal(t, len(left), 0, "%v", left)
			assert.Equal(t, p.Containers[0].Writing(trace.PostStart), tt.want)
			assert.Equal(t, p.Containers[0].Writing(trace.PreStop), WritesNothing, "it has none")
			assert.Equal(t, p.Containers[0].Writing(trace.Main), MayWrite)
			assert.Equal(t, p.Containers[1].Writing(trace.Main), Writes)
		})
	}
}

func handler(words ...string) corev1.LifecycleHandler {
	e := exec(words...)
	return corev1.LifecycleHandler{Exec: &e}
}

func TestWritingOfTheRecorderImage(t *testing.T) {
	p, _ := New(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "podorder/recorder:1"}, {Name: "other", Image: "app:1"}}}})
	assert.Equal(t, p.Containers[0].Writing(trace.Main), Writes)
	assert.Equal(t, p.Containers[1].Writing(trace.Main), MayWrite)
}

// The annotation is the whole truth: what it does not name writes nothing.
func TestWritesAnnotation(t *testing.T) {
	hook, probe := handler("/install"), corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/probe"}}}}
	of := func(list string) (Pod, []string) {
		return New(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{WritesAnnotation: list}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "app", Lifecycle: &corev1.Lifecycle{PostStart: &hook}, LivenessProbe: &probe},
				{Name: "network", Lifecycle: &corev1.Lifecycle{PostStart: &hook, PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}}},
			}},
		})
	}
	for _, tt := range []struct {
		list                                      string
		main, start, liveness, network, requested Writing
	}{
		{"", WritesNothing, WritesNothing, WritesNothing, WritesNothing, WritesNothing},
		{"app", Writes, Writes, Writes, WritesNothing, WritesNothing},
		{"app/liveness probe, network / post start hook", WritesNothing, WritesNothing, Writes, Writes, WritesNothing},
		{"network", WritesNothing, WritesNothing, WritesNothing, Writes, WritesNothing},
		{"network/pre stop hook", WritesNothing, WritesNothing, WritesNothing, WritesNothing, Writes},
	} {
		p, left := of(tt.list)
		assert.Equal(t, len(left), 0, "%v", left)
		app, network := &p.Containers[0], &p.Containers[1]
		assert.Equal(t, app.Writing(trace.Main), tt.main, tt.list)
		assert.Equal(t, app.Writing(trace.PostStart), tt.start, tt.list)
		assert.Equal(t, app.Writing(trace.LivenessProbe), tt.liveness, tt.list)
		assert.Equal(t, network.Writing(trace.PostStart), tt.network, tt.list)
		assert.Equal(t, network.Writing(trace.PreStop), tt.requested, tt.list)
	}
	for _, wrong := range []string{"web", "app/pre stop hook", "app/hook"} {
		_, left := of(wrong)
		assert.Equal(t, len(left), 1, wrong)
	}
}
