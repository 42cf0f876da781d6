package karpenter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
)

// validPool is a pool with a little of everything, and nothing wrong with it.
func validPool() *karpenter.NodePool {
	pool := &karpenter.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: karpenter.NodePoolSpec{
			Template: karpenter.NodeClaimTemplate{
				ObjectMeta: karpenter.TemplateMeta{Labels: map[string]string{"team": "shop", wellknown.LabelFamily: "m7i"}},
				Spec: karpenter.NodeClaimTemplateSpec{
					NodeClassRef: karpenter.NodeClassReference{Group: wellknown.GroupAWS, Kind: "EC2NodeClass", Name: "default"},
					Taints:       []corev1.Taint{{Key: "example.com/dedicated", Value: "true", Effect: corev1.TaintEffectNoSchedule}},
					Requirements: []karpenter.Requirement{
						{Key: wellknown.LabelCapacityType, Operator: karpenter.OpIn, Values: []string{"spot", "on-demand"}, MinValues: new(2)},
						{Key: wellknown.LabelGeneration, Operator: karpenter.OpGte, Values: []string{"0"}},
						{Key: "kubernetes.io/custom", Operator: karpenter.OpExists},
					},
					TerminationGracePeriod: &metav1.Duration{Duration: 48 * time.Hour},
				},
			},
			Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")},
			Weight: new(int32(100)),
		},
	}
	pool.SetDefaults()
	return pool
}

// setRequirement replaces all requirements by one.
func setRequirement(key string, operator karpenter.Operator, values ...string) func(*karpenter.NodePool) {
	return func(p *karpenter.NodePool) {
		p.Spec.Template.Spec.Requirements = []karpenter.Requirement{{Key: key, Operator: operator, Values: values}}
	}
}

func setBudget(budget karpenter.Budget) func(*karpenter.NodePool) {
	return func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{budget} }
}

func setTaints(taints, startup []corev1.Taint) func(*karpenter.NodePool) {
	return func(p *karpenter.NodePool) {
		p.Spec.Template.Spec.Taints, p.Spec.Template.Spec.StartupTaints = taints, startup
	}
}

func setMinValues(least int, key string, values ...string) func(*karpenter.NodePool) {
	return func(p *karpenter.NodePool) {
		p.Spec.Template.Spec.Requirements = []karpenter.Requirement{{Key: key, Operator: karpenter.OpIn, Values: values, MinValues: &least}}
	}
}

func setLabel(key, value string) func(*karpenter.NodePool) {
	return func(p *karpenter.NodePool) { p.Spec.Template.ObjectMeta.Labels = map[string]string{key: value} }
}

func texts(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return lines
}

// many are n distinct requirements.
func many(n int) []karpenter.Requirement {
	requirements := make([]karpenter.Requirement, n)
	for i := range requirements {
		requirements[i] = karpenter.Requirement{Key: fmt.Sprintf("key-%d", i), Operator: karpenter.OpExists}
	}
	return requirements
}

func TestNodePoolValidate(t *testing.T) {
	const (
		requirements = "spec.template.spec.requirements"
		restricted   = "this label is restricted: it "
		domain       = restricted + "lies in the domain %s, of which only the documented labels may be used"
	)
	taint := func(key, value, effect string) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	}
	tests := []struct {
		name   string
		change func(*karpenter.NodePool)
		want   []string
	}{
		{"nothing wrong", func(*karpenter.NodePool) {}, nil},
		{"weight 0", func(p *karpenter.NodePool) { p.Spec.Weight = new(int32(0)) }, []string{"spec.weight: Invalid value: 0: must be 1 to 100"}},
		{"weight 101", func(p *karpenter.NodePool) { p.Spec.Weight = new(int32(101)) }, []string{"spec.weight: Invalid value: 101: must be 1 to 100"}},
		{"limit below 0", func(p *karpenter.NodePool) { p.Spec.Limits[corev1.ResourceCPU] = resource.MustParse("-1") }, []string{`spec.limits[cpu]: Invalid value: "-1": must be at least 0`}},
		{
			"static with weight and another limit than nodes",
			func(p *karpenter.NodePool) {
				p.Spec.Replicas = new(int64(-1))
				p.Spec.Limits[wellknown.ResourceNodes] = resource.MustParse("3")
			},
			[]string{
				"spec.replicas: Invalid value: -1: must be at least 0",
				"spec.limits[cpu]: Forbidden: with replicas, only nodes may be limited",
				"spec.weight: Forbidden: may not be set with replicas",
			},
		},
		{
			"static with a limit of nodes",
			func(p *karpenter.NodePool) {
				p.Spec.Replicas, p.Spec.Weight = new(int64(0)), nil
				p.Spec.Limits = corev1.ResourceList{wellknown.ResourceNodes: resource.MustParse("3")}
			}, nil,
		},

		{
			"empty class reference",
			func(p *karpenter.NodePool) {
				p.Spec.Template.Spec.NodeClassRef = karpenter.NodeClassReference{Group: "karpenter.k8s.aws/v1"}
			},
			[]string{
				`spec.template.spec.nodeClassRef.group: Invalid value: "karpenter.k8s.aws/v1": want the group without a version, such as "karpenter.k8s.aws"`,
				`spec.template.spec.nodeClassRef.kind: Required value: want "EC2NodeClass"`,
				"spec.template.spec.nodeClassRef.name: Required value: want the name of an EC2NodeClass",
			},
		},
		{
			"grace period in fractions of a second",
			func(p *karpenter.NodePool) {
				p.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Millisecond}
			},
			[]string{`spec.template.spec.terminationGracePeriod: Invalid value: "1ms": want hours, minutes and seconds such as "30s" or "1h30m"`},
		},
		{
			"expiry before birth",
			func(p *karpenter.NodePool) { p.Spec.Template.Spec.ExpireAfter = new(karpenter.After(-time.Hour)) },
			[]string{`spec.template.spec.expireAfter: Invalid value: "-1h0m0s": want hours, minutes and seconds such as "30s" or "1h30m", or "Never"`},
		},
		{
			"consolidation before emptiness",
			func(p *karpenter.NodePool) { p.Spec.Disruption.ConsolidateAfter = new(karpenter.After(-time.Second)) },
			[]string{`spec.disruption.consolidateAfter: Invalid value: "-1s": want hours, minutes and seconds such as "30s" or "1h30m", or "Never"`},
		},
		{"never", func(p *karpenter.NodePool) {
			p.Spec.Template.Spec.ExpireAfter = new(karpenter.NeverHappens())
			p.Spec.Disruption.ConsolidateAfter = new(karpenter.NeverHappens())
		}, nil},
		{
			"unknown policy",
			func(p *karpenter.NodePool) { p.Spec.Disruption.ConsolidationPolicy = "WhenBored" },
			[]string{`spec.disruption.consolidationPolicy: Unsupported value: "WhenBored": supported values: "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"`},
		},

		{"hostname label", setLabel("kubernetes.io/hostname", "a"), []string{
			`spec.template.metadata.labels[kubernetes.io/hostname]: Invalid value: "kubernetes.io/hostname": ` + restricted + "differs on every node",
		}},
		{"label of the pool's name", setLabel("karpenter.sh/nodepool", "a"), []string{
			`spec.template.metadata.labels[karpenter.sh/nodepool]: Invalid value: "karpenter.sh/nodepool": ` + restricted + "always holds the name of the NodePool",
		}},
		{"label in our domain", setLabel("karpenter.sh/initialized", "a"), []string{
			`spec.template.metadata.labels[karpenter.sh/initialized]: Invalid value: "karpenter.sh/initialized": ` + fmt.Sprintf(domain, "karpenter.sh"),
		}},
		{"label in a domain below ours", setLabel("x.karpenter.k8s.aws/a", "a"), []string{
			`spec.template.metadata.labels[x.karpenter.k8s.aws/a]: Invalid value: "x.karpenter.k8s.aws/a": ` + fmt.Sprintf(domain, "karpenter.k8s.aws"),
		}},
		{"label in a domain that only ends like ours", setLabel("notkarpenter.sh/a", "a"), nil},
		{"label of Kubernetes' own domains", setLabel("node-role.kubernetes.io/worker", ""), nil},
		{"label value", setLabel("a", "b c"), []string{
			`spec.template.metadata.labels[a]: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
		}},
		{
			"too many labels and requirements together",
			func(p *karpenter.NodePool) { p.Spec.Template.Spec.Requirements = many(99) },
			[]string{requirements + ": Invalid value: 101: labels become requirements: together there may be at most 100"},
		},
		{
			"too many requirements",
			func(p *karpenter.NodePool) { p.Spec.Template.Spec.Requirements = many(101) },
			[]string{requirements + ": Too many: 101: must have at most 100 items"},
		},

		{"taint without key or effect", setTaints([]corev1.Taint{{}}, nil), []string{
			"spec.template.spec.taints[0].key: Required value: want a label key",
			`spec.template.spec.taints[0].effect: Unsupported value: "": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
		}},
		{"same taint twice, once at startup", setTaints([]corev1.Taint{taint("a", "1", "NoSchedule")}, []corev1.Taint{taint("a", "2", "NoSchedule")}), []string{
			`spec.template.spec.startupTaints[0]: Duplicate value: "a:NoSchedule"`,
		}},
		{"same key with another effect", setTaints([]corev1.Taint{taint("a", "", "NoSchedule"), taint("a", "", "NoExecute")}, nil), nil},

		{"unknown operator", setRequirement("a", "Between", "1", "2"), []string{
			requirements + `[0].operator: Unsupported value: "Between": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"`,
		}},
		{"no key", setRequirement("", karpenter.OpExists), []string{requirements + "[0].key: Required value: want a label key"}},
		{"In without values", setRequirement("a", karpenter.OpIn), []string{requirements + "[0].values: Required value: In takes at least one value"}},
		{"NotIn without values", setRequirement("a", karpenter.OpNotIn), nil},
		{"Gt with two values", setRequirement("a", karpenter.OpGt, "1", "2"), []string{
			requirements + `[0].values: Invalid value: ["1","2"]: Gt takes exactly one integer >= 0, got 2 values`,
		}},
		{"Lt without a value", setRequirement("a", karpenter.OpLt), []string{
			requirements + "[0].values: Invalid value: null: Lt takes exactly one integer >= 0, got 0 values",
		}},
		{"Gte of no number", setRequirement("a", karpenter.OpGte, "x"), []string{
			requirements + `[0].values[0]: Invalid value: "x": Gte takes exactly one integer >= 0`,
		}},
		{"Lte below 0", setRequirement("a", karpenter.OpLte, "-1"), []string{
			requirements + `[0].values[0]: Invalid value: "-1": Lte takes exactly one integer >= 0`,
		}},
		{"no such capacity type", setRequirement(wellknown.LabelCapacityType, karpenter.OpIn, "sopt"), []string{
			requirements + `[0].values: Invalid value: ["sopt"]: none of these exists, want at least one of [on-demand reserved spot]`,
		}},
		{"one capacity type exists", setRequirement(wellknown.LabelCapacityType, karpenter.OpIn, "sopt", "spot"), nil},
		{"no such tenancy", setRequirement(wellknown.LabelTenancy, karpenter.OpIn, "host"), []string{
			requirements + `[0].values: Invalid value: ["host"]: none of these exists, want at least one of [dedicated default]`,
		}},
		{"the class's own label", setRequirement(wellknown.LabelNodeClass, karpenter.OpExists), []string{
			requirements + `[0].key: Invalid value: "karpenter.k8s.aws/ec2nodeclass": ` + fmt.Sprintf(domain, "karpenter.k8s.aws"),
		}},
		{"minValues beyond the values", setMinValues(2, "a", "b", "b"), []string{
			requirements + "[0].minValues: Invalid value: 2: In lists only 1 values that can occur",
		}},
		{"minValues beyond the values that exist", setMinValues(2, wellknown.LabelCapacityType, "spot", "sopt"), []string{
			requirements + "[0].minValues: Invalid value: 2: In lists only 1 values that can occur",
		}},
		{"minValues 0", setMinValues(0, "a", "b"), []string{requirements + "[0].minValues: Invalid value: 0: must be 1 to 50"}},
		{"minValues 51", setMinValues(51, "a", "b"), []string{requirements + "[0].minValues: Invalid value: 51: must be 1 to 50"}},

		{"budget that is no number", setBudget(karpenter.Budget{Nodes: "some"}), []string{
			`spec.disruption.budgets[0].nodes: Invalid value: "some": want a number such as "5" or a percentage such as "10%"`,
		}},
		{"budget for an unknown reason", setBudget(karpenter.Budget{Nodes: "5", Reasons: []karpenter.DisruptionReason{"Expired"}}), []string{
			`spec.disruption.budgets[0].reasons[0]: Unsupported value: "Expired": supported values: "Underutilized", "Empty", "Drifted"`,
		}},
		{"budget with a duration only", setBudget(karpenter.Budget{Nodes: "5", Duration: &metav1.Duration{Duration: time.Hour}}), []string{
			"spec.disruption.budgets[0].schedule: Required value: a budget with a duration needs the schedule that starts it",
		}},
		{"budget with a schedule only", setBudget(karpenter.Budget{Nodes: "5", Schedule: new("@daily")}), nil},
		{"budget for some seconds", setBudget(karpenter.Budget{Nodes: "5", Schedule: new("@daily"), Duration: &metav1.Duration{Duration: 90 * time.Second}}), []string{
			`spec.disruption.budgets[0].duration: Invalid value: "1m30s": want hours and minutes such as "8h" or "1h30m"`,
		}},
		{"budget for no time", setBudget(karpenter.Budget{Nodes: "5", Schedule: new("@daily"), Duration: &metav1.Duration{}}), []string{
			`spec.disruption.budgets[0].duration: Invalid value: "0s": want hours and minutes such as "8h" or "1h30m"`,
		}},
		{"budget with four fields", setBudget(karpenter.Budget{Nodes: "5", Schedule: new("0 9 * *")}), []string{
			`spec.disruption.budgets[0].schedule: Invalid value: "0 9 * *": has 4 fields, want five: minute, hour, day of month, month, day of week`,
		}},
		{
			"too many budgets",
			func(p *karpenter.NodePool) {
				p.Spec.Disruption.Budgets = make([]karpenter.Budget, 51)
				p.SetDefaults()
			},
			[]string{"spec.disruption.budgets: Too many: 51: must have at most 50 items"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pool := validPool()
			test.change(pool)
			if diff := cmp.Diff(test.want, texts(pool.Validate())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodePoolValidateUpdate(t *testing.T) {
	tests := []struct {
		name        string
		old, change func(*karpenter.NodePool)
		want        []string
	}{
		{"another name of the class", nil, func(p *karpenter.NodePool) { p.Spec.Template.Spec.NodeClassRef.Name = "other" }, nil},
		{"the group that was meant anyway", func(p *karpenter.NodePool) { p.Spec.Template.Spec.NodeClassRef.Group = "" }, nil, nil},
		{
			"another group and kind", nil,
			func(p *karpenter.NodePool) {
				p.Spec.Template.Spec.NodeClassRef.Group = "example.com"
				p.Spec.Template.Spec.NodeClassRef.Kind = "NodeClass"
			},
			[]string{
				"spec.template.spec.nodeClassRef.group: Forbidden: may not change; make a new NodePool",
				"spec.template.spec.nodeClassRef.kind: Forbidden: may not change; make a new NodePool",
			},
		},
		{
			"replicas added", nil, func(p *karpenter.NodePool) { p.Spec.Replicas = new(int64(1)) },
			[]string{"spec.replicas: Forbidden: may be neither added nor removed; make a new NodePool"},
		},
		{
			"replicas removed", func(p *karpenter.NodePool) { p.Spec.Replicas = new(int64(1)) }, nil,
			[]string{"spec.replicas: Forbidden: may be neither added nor removed; make a new NodePool"},
		},
		{
			"replicas changed", func(p *karpenter.NodePool) { p.Spec.Replicas = new(int64(1)) },
			func(p *karpenter.NodePool) { p.Spec.Replicas = new(int64(2)) }, nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			old, pool := validPool(), validPool()
			if test.old != nil {
				test.old(old)
			}
			if test.change != nil {
				test.change(pool)
			}
			if diff := cmp.Diff(test.want, texts(pool.ValidateUpdate(old))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
