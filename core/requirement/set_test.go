package requirement_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/requirement"
)

func set(rs ...requirement.Requirement) requirement.Set { return requirement.NewSet(rs...) }

func TestSetSources(t *testing.T) {
	two := 2
	tests := []struct {
		name string
		give requirement.Set
		want string
	}{
		{"labels", requirement.FromLabels(map[string]string{"b": "2", "a": "1"}), "a In [1], b In [2]"},
		{
			"labels under both names", requirement.FromLabels(map[string]string{"beta.kubernetes.io/arch": "arm64", "kubernetes.io/arch": "arm64"}),
			"kubernetes.io/arch In [arm64]",
		},
		{
			"spec", requirement.FromSpec([]karpenter.Requirement{
				{Key: "a", Operator: karpenter.OpGte, Values: []string{"2"}},
				{Key: "a", Operator: karpenter.OpLt, Values: []string{"9"}, MinValues: &two},
			}), "a Gte 2 Lte 8 minValues 2",
		},
		{
			"node selector", requirement.FromNodeSelector([]corev1.NodeSelectorRequirement{
				{Key: "topology.ebs.csi.aws.com/zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"us-east-1a", "us-east-1b"}},
				{Key: "topology.kubernetes.io/zone", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"us-east-1b"}},
				{Key: "n", Operator: corev1.NodeSelectorOpGt, Values: []string{"3"}},
			}), "n Gte 4, topology.kubernetes.io/zone In [us-east-1a]",
		},
		{"nothing", requirement.FromLabels(nil), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.give.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCloneIsApart(t *testing.T) {
	original := set(in("a", "b"))
	clone := original.Clone()
	clone.Add(in("b"))
	clone.Merge(set(requirement.New("other", karpenter.OpExists)))
	if got, want := original.String(), "k In [a b]"; got != want {
		t.Errorf("original became %q, want %q", got, want)
	}
	if got, want := clone.String(), "k In [b], other Exists"; got != want {
		t.Errorf("clone is %q, want %q", got, want)
	}
	requirement.Set(nil).Clone().Add(in("a"))
}

func TestAbsentKeyIsExists(t *testing.T) {
	s := set()
	if got, want := s.Get("k").String(), "k Exists"; got != want || s.Has("k") {
		t.Errorf("Get = %q, Has = %v, want %q, false", got, s.Has("k"), want)
	}
}

func TestIntersects(t *testing.T) {
	exists, absent := op(karpenter.OpExists), op(karpenter.OpDoesNotExist)
	tests := []struct {
		name string
		a, b requirement.Set
		want string
	}{
		{"overlap", set(in("a", "b")), set(in("b")), ""},
		{"apart", set(in("a")), set(in("b")), `label "k": wanted In [b], possible In [a]`},
		{"other keys", set(in("a")), set(requirement.New("other", karpenter.OpIn, "b")), ""},
		{"absence on both sides", set(absent), set(absent), ""},
		{"absence and exclusion", set(absent), set(notIn("a")), ""},
		{"exclusion and absence", set(notIn("a")), set(absent), ""},
		{"exclusions with crossed bounds", set(notIn("9").Intersection(op(karpenter.OpGte, "8"))), set(notIn("1").Intersection(op(karpenter.OpLte, "2"))), `label "k": wanted NotIn [1] Lte 2, possible NotIn [9] Gte 8`},
		{"absence and existence", set(absent), set(exists), `label "k": wanted Exists, possible DoesNotExist`},
		{"existence and absence", set(exists), set(absent), `label "k": wanted DoesNotExist, possible Exists`},
		{"value and absence", set(in("a")), set(absent), `label "k": wanted DoesNotExist, possible In [a]`},
		{"value and its exclusion", set(in("a")), set(notIn("a")), `label "k": wanted NotIn [a], possible In [a]`},
		{"crossed bounds", set(op(karpenter.OpGt, "4")), set(op(karpenter.OpLt, "4")), `label "k": wanted Lte 3, possible Gte 5`},
		{"bound and value", set(in("3", "x")), set(op(karpenter.OpGt, "4")), `label "k": wanted Gte 5, possible In [3 x]`},
		{
			"the first of several keys", requirement.FromLabels(map[string]string{"c": "1", "a": "1", "b": "1"}),
			requirement.FromLabels(map[string]string{"c": "2", "b": "2", "d": "2"}), `label "b": wanted In [2], possible In [1]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message(tt.a.Intersects(tt.b))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompatible(t *testing.T) {
	team := func(o karpenter.Operator, values ...string) requirement.Set {
		return set(requirement.New("company/team", o, values...))
	}
	zone := set(requirement.New(corev1.LabelTopologyZone, karpenter.OpIn, "us-east-1a"))
	tests := []struct {
		name          string
		have, want    requirement.Set
		allowed       func(string) bool
		wantError     string
		wantUndefined bool
	}{
		{"custom label the pool does not define", set(), team(karpenter.OpIn, "red"), requirement.WellKnown, `label "company/team" does not have known values: wanted In [red]`, true},
		{"custom label that has to exist", set(), team(karpenter.OpExists), requirement.WellKnown, `label "company/team" does not have known values: wanted Exists`, true},
		{"custom label excluded", set(), team(karpenter.OpNotIn, "red"), requirement.WellKnown, "", false},
		{"custom label that must not exist", set(), team(karpenter.OpDoesNotExist), requirement.WellKnown, "", false},
		{"custom label left open by the pool", team(karpenter.OpExists), team(karpenter.OpIn, "red"), requirement.WellKnown, "", false},
		{"custom label of another value", team(karpenter.OpIn, "blue"), team(karpenter.OpIn, "red"), requirement.WellKnown, `label "company/team": wanted In [red], possible In [blue]`, false},
		{"well-known label the pool does not define", set(), zone, requirement.WellKnown, "", false},
		{"well-known label a real node lacks", set(), zone, nil, `label "topology.kubernetes.io/zone" does not have known values: wanted In [us-east-1a]`, true},
		{
			"typo of a well-known label", set(), set(requirement.New("karpenter.sh/capacity", karpenter.OpIn, "spot")), requirement.WellKnown,
			`label "karpenter.sh/capacity" does not have known values: wanted In [spot] (typo of "karpenter.sh/capacity-type"?)`, true,
		},
		{
			"wrong domain", set(), set(requirement.New("example.com/zone", karpenter.OpIn, "us-east-1a")), requirement.WellKnown,
			`label "example.com/zone" does not have known values: wanted In [us-east-1a] (typo of "topology.kubernetes.io/zone"?)`, true,
		},
		{
			"bare name", set(), set(requirement.New("zone", karpenter.OpIn, "us-east-1a")), requirement.WellKnown,
			`label "zone" does not have known values: wanted In [us-east-1a] (typo of "topology.kubernetes.io/zone"?)`, true,
		},
		{
			"typo of a label of the pool", team(karpenter.OpIn, "red"), set(requirement.New("company.io/team", karpenter.OpIn, "red")), requirement.WellKnown,
			`label "company.io/team" does not have known values: wanted In [red] (typo of "company/team"?)`, true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.have.Compatible(tt.want, tt.allowed)
			if diff := cmp.Diff(tt.wantError, message(err)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			var conflict *requirement.ConflictError
			if errors.As(err, &conflict) && conflict.Undefined != tt.wantUndefined {
				t.Errorf("Undefined = %v, want %v", conflict.Undefined, tt.wantUndefined)
			}
		})
	}
}

func TestSpec(t *testing.T) {
	two := 2
	got := set(
		requirement.New("z", karpenter.OpIn, "b", "a").WithMinValues(2),
		requirement.New("y", karpenter.OpGt, "4"), requirement.New("y", karpenter.OpLt, "9"), requirement.New("y", karpenter.OpNotIn, "6"),
		requirement.New("x", karpenter.OpNotIn, "b"),
		requirement.New("w", karpenter.OpDoesNotExist),
		requirement.New("v", karpenter.OpExists),
	).Spec()
	want := []karpenter.Requirement{
		{Key: "v", Operator: karpenter.OpExists},
		{Key: "w", Operator: karpenter.OpDoesNotExist},
		{Key: "x", Operator: karpenter.OpNotIn, Values: []string{"b"}},
		{Key: "y", Operator: karpenter.OpGte, Values: []string{"5"}},
		{Key: "y", Operator: karpenter.OpLte, Values: []string{"8"}},
		{Key: "z", Operator: karpenter.OpIn, Values: []string{"a", "b"}, MinValues: &two},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWellKnown(t *testing.T) {
	for _, key := range []string{corev1.LabelTopologyZone, wellknown.LabelZoneID, wellknown.LabelGPUCount, corev1.LabelWindowsBuild, wellknown.LabelNodePool} {
		if !requirement.WellKnown(key) {
			t.Errorf("WellKnown(%q) = false", key)
		}
	}
	for _, key := range []string{corev1.LabelHostname, wellknown.LabelNodeClass, wellknown.LabelRegistered, "company/team", ""} {
		if requirement.WellKnown(key) {
			t.Errorf("WellKnown(%q) = true", key)
		}
	}
	if keys := wellknown.Labels(); len(keys) != 37 || !slices.IsSorted(keys) {
		t.Errorf("Labels() has %d keys, sorted %v; want 37 sorted", len(keys), slices.IsSorted(keys))
	}
}

func TestNormalize(t *testing.T) {
	for old, want := range map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   "topology.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
		"topology.ebs.csi.aws.com/zone":            "topology.kubernetes.io/zone",
		"beta.kubernetes.io/arch":                  "kubernetes.io/arch",
		"beta.kubernetes.io/os":                    "kubernetes.io/os",
		"beta.kubernetes.io/instance-type":         "node.kubernetes.io/instance-type",
		"company/team":                             "company/team",
	} {
		if got := requirement.Normalize(old); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", old, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
