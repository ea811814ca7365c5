package harness

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podorder/podorder/reference/trace"
)

func TestMerged(t *testing.T) {
	const was = "kind: KubeletConfiguration\nfeatureGates:\n  A: true\n  B: true\ncgroupRoot: /x\n"
	got, err := merged([]byte(was), &trace.Settings{FeatureGates: map[string]bool{"B": false, "C": true}})
	assert.NilError(t, err)
	assert.Equal(t, string(got), "cgroupRoot: /x\nfeatureGates:\n  A: true\n  B: false\n  C: true\nkind: KubeletConfiguration\n")

	got, err = merged([]byte("kind: KubeletConfiguration\ncrashLoopBackOff: {}\n"), &trace.Settings{
		CrashLoopBackOff: &trace.CrashLoopBackOff{MaxContainerRestartPeriod: metav1.Duration{Duration: 20 * time.Second}},
	})
	assert.NilError(t, err)
	assert.Equal(t, string(got), "crashLoopBackOff:\n  maxContainerRestartPeriod: 20s\nkind: KubeletConfiguration\n")

	_, err = merged([]byte("kind: Pod\n"), &trace.Settings{})
	assert.ErrorContains(t, err, "no KubeletConfiguration")
}

func TestConfigured(t *testing.T) {
	var wrote string
	node := func(fail string) func(context.Context, string, ...string) (string, error) {
		return func(_ context.Context, name string, args ...string) (string, error) {
			text := strings.Join(append([]string{name}, args...), " ")
			if fail != "" && strings.Contains(text, fail) {
				return "", errors.New(fail + " failed")
			}
			if name == "cat" {
				// What it was before any case, even if one was killed.
				assert.Equal(t, args[0], configBefore)
				return "kind: KubeletConfiguration\n", nil
			}
			if strings.Contains(text, "base64") {
				b, err := base64.StdEncoding.DecodeString(args[2])
				assert.NilError(t, err)
				wrote = string(b)
				assert.Assert(t, strings.Contains(text, "systemctl restart kubelet"))
			}
			return "", nil
		}
	}
	s := &trace.Settings{FeatureGates: map[string]bool{"A": true}}
	assert.NilError(t, configured(t.Context(), node(""), s))
	assert.Equal(t, wrote, "featureGates:\n  A: true\nkind: KubeletConfiguration\n")
	for _, fail := range []string{"cp -p", "cat", "base64"} {
		assert.ErrorContains(t, configured(t.Context(), node(fail), s), fail+" failed")
	}
}

func TestInstances(t *testing.T) {
	node := func(out string, err error) func(context.Context, string, ...string) (string, error) {
		return func(_ context.Context, _ string, args ...string) (string, error) {
			assert.Assert(t, strings.Contains(strings.Join(args, " "), "io.kubernetes.pod.uid=u --name ^one$"))
			return out, err
		}
	}
	ids, err := instances(t.Context(), node("a\nb\n", nil), "u", "one")
	assert.NilError(t, err)
	assert.DeepEqual(t, ids, []string{"a", "b"})
	_, err = instances(t.Context(), node("", nil), "u", "one")
	assert.ErrorContains(t, err, "the runtime has none of it")
	_, err = instances(t.Context(), node("", errors.New("down")), "u", "one")
	assert.ErrorContains(t, err, "down")
}
