package karpenter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/warning"
	"whittle/core/api/wellknown"
)

func TestNodePoolDefaults(t *testing.T) {
	pool := &karpenter.NodePool{}
	warnings := pool.SetDefaults()
	want := karpenter.NodePoolSpec{
		Template: karpenter.NodeClaimTemplate{Spec: karpenter.NodeClaimTemplateSpec{
			NodeClassRef: karpenter.NodeClassReference{Group: wellknown.GroupAWS},
			ExpireAfter:  new(karpenter.After(720 * time.Hour)),
		}},
		Disruption: karpenter.Disruption{
			ConsolidateAfter:    new(karpenter.After(0)),
			ConsolidationPolicy: karpenter.ConsolidateWhenEmptyOrUnderutilized,
			Budgets:             []karpenter.Budget{{Nodes: "10%"}},
		},
	}
	if diff := cmp.Diff(want, pool.Spec); diff != "" {
		t.Error(diff)
	}
	wantWarnings := []warning.Warning{{Field: "spec.template.spec.nodeClassRef.group", Message: "not set; read as karpenter.k8s.aws"}}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Error(diff)
	}
}

func TestNodePoolDefaultsKeepWhatIsSet(t *testing.T) {
	pool := validPool()
	pool.Spec.Template.Spec.ExpireAfter = new(karpenter.NeverHappens())
	pool.Spec.Disruption = karpenter.Disruption{
		ConsolidateAfter:    new(karpenter.NeverHappens()),
		ConsolidationPolicy: karpenter.ConsolidateBalanced,
		Budgets:             []karpenter.Budget{},
	}
	want := pool.DeepCopy()
	if warnings := pool.SetDefaults(); warnings != nil {
		t.Errorf("warnings: %v", warnings)
	}
	if diff := cmp.Diff(want, pool); diff != "" {
		t.Error(diff)
	}
}

func TestOlderSpellings(t *testing.T) {
	const never = karpenter.Never
	tests := []struct {
		name     string
		change   func(*karpenter.NodePoolSpec)
		expiry   string
		warnings []warning.Warning
	}{
		{
			"policy", func(s *karpenter.NodePoolSpec) {
				s.Disruption.ConsolidationPolicy = karpenter.ConsolidateWhenUnderutilized
			}, "720h0m0s",
			[]warning.Warning{{Field: "spec.disruption.consolidationPolicy", Message: "WhenUnderutilized is called WhenEmptyOrUnderutilized in v1; read as that"}},
		},
		{
			"expiry in the old place",
			func(s *karpenter.NodePoolSpec) {
				s.Template.Spec.ExpireAfter, s.Disruption.ExpireAfter = nil, new(karpenter.NeverHappens())
			}, never,
			[]warning.Warning{{Field: "spec.disruption.expireAfter", Message: "moved to spec.template.spec.expireAfter in v1; read as if it stood there"}},
		},
		{
			"expiry in both places",
			func(s *karpenter.NodePoolSpec) {
				s.Template.Spec.ExpireAfter, s.Disruption.ExpireAfter = new(karpenter.After(time.Hour)), new(karpenter.NeverHappens())
			}, "1h0m0s",
			[]warning.Warning{{Field: "spec.disruption.expireAfter", Message: "ignored, since spec.template.spec.expireAfter is set, to 1h0m0s"}},
		},
		{
			"schedule without duration beside a budget without schedule",
			func(s *karpenter.NodePoolSpec) {
				s.Disruption.Budgets = []karpenter.Budget{{Nodes: "10%"}, {Nodes: "5", Schedule: new("0 0 1 * *")}}
			}, "720h0m0s",
			[]warning.Warning{{Field: "spec.disruption.budgets[1].duration", Message: `not set: the budget is active for one month from each firing of "0 0 1 * *" (UTC)`}},
		},
		{
			"schedules only",
			func(s *karpenter.NodePoolSpec) {
				s.Disruption.Budgets = []karpenter.Budget{{Nodes: "5", Schedule: new("@daily"), Duration: &metav1.Duration{Duration: time.Hour}}}
			}, "720h0m0s",
			[]warning.Warning{{Field: "spec.disruption.budgets", Message: `every budget for the reasons Drifted, Empty, Underutilized has a schedule, and outside its window nothing caps them; a budget without a schedule, such as {nodes: "10%"}, does`}},
		},
		{
			"schedules only, but for one reason",
			func(s *karpenter.NodePoolSpec) {
				s.Disruption.Budgets = []karpenter.Budget{
					{Nodes: "5", Schedule: new("@daily"), Duration: &metav1.Duration{Duration: time.Hour}},
					{Nodes: "5", Reasons: []karpenter.DisruptionReason{karpenter.ReasonEmpty}},
				}
			}, "720h0m0s",
			[]warning.Warning{{Field: "spec.disruption.budgets", Message: `every budget for the reasons Drifted, Underutilized has a schedule, and outside its window nothing caps them; a budget without a schedule, such as {nodes: "10%"}, does`}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pool := validPool()
			test.change(&pool.Spec)
			if diff := cmp.Diff(test.warnings, pool.SetDefaults()); diff != "" {
				t.Error(diff)
			}
			if pool.Spec.Disruption.ExpireAfter != nil || pool.Spec.Disruption.ConsolidationPolicy == karpenter.ConsolidateWhenUnderutilized {
				t.Errorf("older spelling left over: %+v", pool.Spec.Disruption)
			}
			if got := pool.Spec.Template.Spec.ExpireAfter.String(); got != test.expiry {
				t.Errorf("expires after %s, want %s", got, test.expiry)
			}
			again := pool.DeepCopy()
			again.SetDefaults()
			if diff := cmp.Diff(pool, again); diff != "" {
				t.Errorf("a second call changed: %s", diff)
			}
			if errs := pool.Validate(); len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
		})
	}
}

func TestHash(t *testing.T) {
	original := validPool().Hash()
	tests := []struct {
		name   string
		change func(*karpenter.NodePoolSpec)
		same   bool
	}{
		{"requirements drift on their own", func(s *karpenter.NodePoolSpec) { s.Template.Spec.Requirements = nil }, true},
		{"disruption", func(s *karpenter.NodePoolSpec) { s.Disruption.Budgets = nil }, true},
		{"limits and weight", func(s *karpenter.NodePoolSpec) { s.Limits, s.Weight = nil, nil }, true},
		{"a default left out", func(s *karpenter.NodePoolSpec) { s.Template.Spec.ExpireAfter = nil }, true},
		{"a default written where v1beta1 had it", func(s *karpenter.NodePoolSpec) {
			s.Template.Spec.ExpireAfter, s.Disruption.ExpireAfter = nil, new(karpenter.After(720*time.Hour))
		}, true},
		{"the group left out", func(s *karpenter.NodePoolSpec) { s.Template.Spec.NodeClassRef.Group = "" }, true},
		{"an empty map", func(s *karpenter.NodePoolSpec) { s.Template.ObjectMeta.Annotations = map[string]string{} }, true},
		{"labels", func(s *karpenter.NodePoolSpec) { s.Template.ObjectMeta.Labels["team"] = "other" }, false},
		{"annotations", func(s *karpenter.NodePoolSpec) { s.Template.ObjectMeta.Annotations = map[string]string{"a": "b"} }, false},
		{"taints", func(s *karpenter.NodePoolSpec) { s.Template.Spec.Taints[0].Value = "false" }, false},
		{"taints that become startup taints", func(s *karpenter.NodePoolSpec) {
			s.Template.Spec.Taints, s.Template.Spec.StartupTaints = nil, s.Template.Spec.Taints
		}, false},
		{"the class's name", func(s *karpenter.NodePoolSpec) { s.Template.Spec.NodeClassRef.Name = "other" }, false},
		{"expiry", func(s *karpenter.NodePoolSpec) { s.Template.Spec.ExpireAfter = new(karpenter.NeverHappens()) }, false},
		{"grace period", func(s *karpenter.NodePoolSpec) { s.Template.Spec.TerminationGracePeriod = nil }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pool := validPool()
			test.change(&pool.Spec)
			before := pool.DeepCopy()
			if same := pool.Hash() == original; same != test.same {
				t.Errorf("same hash: %v, want %v", same, test.same)
			}
			if diff := cmp.Diff(before, pool); diff != "" {
				t.Errorf("hashing changed the pool: %s", diff)
			}
		})
	}
}

func TestWeightOrZero(t *testing.T) {
	pool := validPool()
	if got := pool.WeightOrZero(); got != 100 {
		t.Errorf("weight %d, want 100", got)
	}
	pool.Spec.Weight = nil
	if got := pool.WeightOrZero(); got != 0 {
		t.Errorf("weight %d, want 0", got)
	}
}
