package main

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestParseSubnets(t *testing.T) {
	got, err := parseSubnets("10.244.0.0/16, fd00:10:244::/56")
	assert.NilError(t, err)
	assert.Equal(t, len(got), 2)
	assert.Equal(t, got[0].String(), "10.244.0.0/16")
	assert.Equal(t, got[1].String(), "fd00:10:244::/56")
	for _, bad := range []string{"", "10.244.0.0", "10.244.0.0/16,"} {
		_, err := parseSubnets(bad)
		assert.ErrorContains(t, err, "POD_SUBNET")
	}
}

func TestRuleset(t *testing.T) {
	text := ruleset([]netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00::/56")})
	for _, want := range []string{
		"delete table ip podnet",
		"ip saddr 10.244.0.0/16 ip daddr != 10.244.0.0/16 fib daddr type != local masquerade",
		"delete table ip6 podnet",
		"ip6 saddr fd00::/56 ip6 daddr != fd00::/56 fib daddr type != local masquerade",
	} {
		assert.Assert(t, strings.Contains(text, want), "%s\nis missing in\n%s", want, text)
	}
}

func TestCNIConfig(t *testing.T) {
	b, err := cniConfig([]netip.Prefix{netip.MustParsePrefix("10.244.1.0/24"), netip.MustParsePrefix("fd00:1::/64")}, 1400)
	assert.NilError(t, err)
	var got struct {
		Plugins []struct {
			Type string
			MTU  int
			IPAM struct {
				Ranges [][]struct{ Subnet string }
				Routes []struct{ Dst string }
			}
		}
	}
	assert.NilError(t, json.Unmarshal(b, &got))
	assert.Equal(t, got.Plugins[0].Type, "ptp")
	assert.Equal(t, got.Plugins[0].MTU, 1400)
	assert.Equal(t, got.Plugins[0].IPAM.Ranges[0][0].Subnet, "10.244.1.0/24")
	assert.Equal(t, got.Plugins[0].IPAM.Ranges[1][0].Subnet, "fd00:1::/64")
	assert.Equal(t, got.Plugins[0].IPAM.Routes[0].Dst, "0.0.0.0/0")
	assert.Equal(t, got.Plugins[0].IPAM.Routes[1].Dst, "::/0")
}

func TestNodes(t *testing.T) {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker"},
		Spec:       corev1.NodeSpec{PodCIDR: "10.244.1.0/24"},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: "worker"},
			{Type: corev1.NodeInternalIP, Address: "fc00::3"},
			{Type: corev1.NodeInternalIP, Address: "10.89.0.3"},
		}},
	}
	subnets, err := subnetsOf(n)
	assert.NilError(t, err)
	assert.Equal(t, len(subnets), 1)
	four, ok := addressOf(n, false)
	assert.Assert(t, ok)
	assert.Equal(t, four.String(), "10.89.0.3")
	six, ok := addressOf(n, true)
	assert.Assert(t, ok)
	assert.Equal(t, six.String(), "fc00::3")

	n.Spec.PodCIDRs = []string{"nonsense"}
	_, err = subnetsOf(n)
	assert.ErrorContains(t, err, "node worker")
	_, ok = addressOf(&corev1.Node{}, false)
	assert.Assert(t, !ok)
}
