package wellknown_test

import (
	"slices"
	"testing"

	"whittle/core/api/wellknown"
)

func TestRestricted(t *testing.T) {
	tests := []struct {
		key        string
		restricted bool
	}{
		{"kubernetes.io/hostname", true},
		{"karpenter.sh/registered", true},
		{"karpenter.k8s.aws/ec2nodeclass", true},
		{"a.karpenter.sh/b", true},
		{"a.b.karpenter.k8s.aws/b", true},
		{"karpenter.sh", false},
		{"akarpenter.sh/b", false},
		{"karpenter.sh.example.com/b", false},
		{"kubernetes.io/arch", false},
		{"node-restriction.kubernetes.io/a", false},
		{"team", false},
	}
	for _, test := range tests {
		if got := wellknown.Restricted(test.key) != ""; got != test.restricted {
			t.Errorf("%s: restricted %v, want %v", test.key, got, test.restricted)
		}
	}
	for _, key := range wellknown.Labels() {
		if why := wellknown.Restricted(key); why != "" {
			t.Errorf("well-known label %s is restricted: it %s", key, why)
		}
	}
}

func TestLabelsAreSortedAndUnique(t *testing.T) {
	labels := wellknown.Labels()
	if !slices.IsSorted(labels) || len(slices.Compact(slices.Clone(labels))) != len(labels) {
		t.Errorf("labels are not a sorted set: %v", labels)
	}
}
