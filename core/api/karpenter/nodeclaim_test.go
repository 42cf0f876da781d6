package karpenter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
)

func validClaim() *karpenter.NodeClaim {
	claim := &karpenter.NodeClaim{Spec: karpenter.NodeClaimSpec{
		NodeClassRef: karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"},
		Requirements: []karpenter.Requirement{
			{Key: wellknown.LabelNodePool, Operator: karpenter.OpIn, Values: []string{"default"}},
			{Key: wellknown.LabelNodeClass, Operator: karpenter.OpIn, Values: []string{"default"}},
		},
		Resources: karpenter.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}}
	claim.SetDefaults()
	return claim
}

func TestNodeClaimValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*karpenter.NodeClaimSpec)
		want   []string
	}{
		{"the labels of its pool and class are allowed", func(*karpenter.NodeClaimSpec) {}, nil},
		{
			"hostname", func(s *karpenter.NodeClaimSpec) { s.Requirements[0].Key = corev1.LabelHostname },
			[]string{`spec.requirements[0].key: Invalid value: "kubernetes.io/hostname": this label is restricted: it differs on every node`},
		},
		{
			"requests below 0", func(s *karpenter.NodeClaimSpec) { s.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("-1") },
			[]string{`spec.resources.requests[cpu]: Invalid value: "-1": must be at least 0`},
		},
		{
			"no class", func(s *karpenter.NodeClaimSpec) { s.NodeClassRef.Name = "" },
			[]string{"spec.nodeClassRef.name: Required value: want the name of an EC2NodeClass"},
		},
		{
			"taints", func(s *karpenter.NodeClaimSpec) { s.StartupTaints = []corev1.Taint{{Key: "a", Effect: "No"}} },
			[]string{`spec.startupTaints[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`},
		},
		{
			"expiry", func(s *karpenter.NodeClaimSpec) { s.ExpireAfter = new(karpenter.After(-time.Second)) },
			[]string{`spec.expireAfter: Invalid value: "-1s": want hours, minutes and seconds such as "30s" or "1h30m", or "Never"`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			claim := validClaim()
			test.change(&claim.Spec)
			if diff := cmp.Diff(test.want, texts(claim.Validate())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodeClaimSpecIsImmutable(t *testing.T) {
	forbidden := []string{"spec: Forbidden: may not change; delete the NodeClaim and let a new one be made"}
	tests := []struct {
		name   string
		change func(*karpenter.NodeClaim)
		want   []string
	}{
		{"nothing changed", func(*karpenter.NodeClaim) {}, nil},
		{"only the status and the labels changed", func(c *karpenter.NodeClaim) {
			c.Status.NodeName, c.Labels = "node", map[string]string{"a": "b"}
		}, nil},
		{"the default spelled differently", func(c *karpenter.NodeClaim) {
			if err := c.Spec.ExpireAfter.UnmarshalJSON([]byte(`"43200m"`)); err != nil {
				panic(err)
			}
		}, nil},
		{"the same quantity spelled differently", func(c *karpenter.NodeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1000m")
		}, nil},
		{"another expiry", func(c *karpenter.NodeClaim) { c.Spec.ExpireAfter = new(karpenter.NeverHappens()) }, forbidden},
		{"another requirement", func(c *karpenter.NodeClaim) { c.Spec.Requirements[0].Values[0] = "other" }, forbidden},
		{"other requests", func(c *karpenter.NodeClaim) { c.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2") }, forbidden},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			claim := validClaim()
			test.change(claim)
			if diff := cmp.Diff(test.want, texts(claim.ValidateUpdate(validClaim()))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
