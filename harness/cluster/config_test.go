package cluster

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"sigs.k8s.io/yaml"
)

func TestConfig(t *testing.T) {
	owner := Owner{Machine: "abcde", Boot: "fghij", PID: 12, Start: 34}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, o := range map[string]Options{
		"single": {Image: "podorder/node:v1.37.2", Version: "v1.37.2"},
		"workers": {
			Image: "podorder/node:v1.37.2", Version: "v1.37.2", Workers: []Worker{{}, {}},
			RuntimeConfig: map[string]string{"scheduling.k8s.io/v1beta1": "true"},
		},
		"kubelets": {
			Image: "podorder/node:v1.37.2", Version: "v1.37.2", Schedulable: true,
			Workers:           []Worker{{Kubelet: "/cache/v1.28.5/kubelet", Kind: "1"}, {Spare: true}},
			FeatureGates:      map[string]bool{"ContainerStopSignals": true},
			ControlPlaneGates: map[string]bool{"GenericWorkload": true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config(fakeRuntime{
				kubeadm: []string{"kind: KubeletConfiguration\nfailCgroupV1: false\n"}, containerd: []string{"restrict_oom_score_adj = true\n"},
			}, o)
			print := fingerprint(c)
			label(c, owner, at, print)
			b, err := yaml.Marshal(c)
			assert.NilError(t, err)
			golden.Assert(t, string(b), name+".yaml")
		})
	}
}

func TestFingerprintTellsOptionsApart(t *testing.T) {
	print := func(o Options) string { return fingerprint(Config(fakeRuntime{}, o)) }
	a := Options{Image: "i", Version: "v1.37.2"}
	b := a
	b.ControlPlaneGates = map[string]bool{"X": true}
	assert.Equal(t, print(a), print(a))
	assert.Assert(t, print(a) != print(b))
}
