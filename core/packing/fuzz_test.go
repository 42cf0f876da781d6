package packing_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "k8s.io/api/apps/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/packing"
)

// FuzzSolve plans for whatever the bytes describe, sensible or not, and asks of the plan what must hold of any:
// it comes about, places every pod once or says why not, and each launch makes a NodeClaim.
func FuzzSolve(f *testing.F) {
	for _, seed := range []string{
		"", "\x00", "\x01\x02\x03\x04\x05\x06\x07\x08\x09", "whittle", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x02\x00\x01\x05\x03\x09\x04\x00\x07\x02\x01\x06\x05\x08\x01\x03\x02\x09\x0b\x04\x01\x00\x03\x07\x05\x02\x06\x01",
		"\x03\x01\x04\x01\x05\x09\x02\x06\x05\x03\x05\x08\x09\x07\x09\x03\x02\x03\x08\x04\x06\x02\x06\x04\x03\x03\x08\x03\x02\x07",
		"every pod of every kind, in every zone, on every rack, on nodes that are there and nodes that are not",
	} {
		f.Add([]byte(seed))
	}
	c := smallCatalog(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := (&stream{data: data}).snapshot(c)
		plan := packing.Solve(s, packing.Options{IgnorePreferences: len(data)%2 == 1})
		count := len(plan.Placements) + len(plan.Unplaced)
		for i := range plan.Launches {
			count += len(plan.Launches[i].Pods)
			if claim := plan.Launches[i].NodeClaim(); len(claim.Spec.Requirements) == 0 || len(plan.Launches[i].Candidates) == 0 {
				t.Errorf("launch %s may be anything or nothing", claim.Name)
			}
		}
		for i := range plan.Unplaced {
			if plan.Unplaced[i].Message() == "" {
				t.Errorf("pod %s is unplaced for no reason", plan.Unplaced[i].Pod.Name)
			}
		}
		if waiting := waitingPods(s); count != waiting {
			t.Errorf("%d pods wait, the plan has %d", waiting, count)
		}
	})
}

func waitingPods(s *cluster.Snapshot) int {
	count := 0
	for _, pod := range s.Pods {
		if cluster.Provisionable(pod) {
			count++
		}
	}
	return count
}

// stream reads choices from bytes; beyond their end every choice is the first.
type stream struct{ data []byte }

func (f *stream) upTo(n int) int {
	if len(f.data) == 0 {
		return 0
	}
	value := int(f.data[0])
	f.data = f.data[1:]
	return value % (n + 1)
}

// pick is one of the choices, the first one where the bytes have ended.
func pick[T any](f *stream, choices ...T) T { return choices[f.upTo(len(choices)-1)] }

func (f *stream) snapshot(c *catalog.Catalog) *cluster.Snapshot {
	s := &cluster.Snapshot{
		Name: "fuzzed", Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), Catalog: pick(f, c, c, c, &catalog.Catalog{}),
		NodeClasses: []*aws.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{AMIFamily: pick(f, new(aws.FamilyAL2023), nil)}}},
	}
	for i := range f.upTo(3) {
		s.NodePools = append(s.NodePools, f.pool(fmt.Sprintf("pool-%d", i)))
	}
	for i := range f.upTo(3) {
		s.Nodes = append(s.Nodes, f.node(fmt.Sprintf("node-%d", i)))
	}
	for i := range f.upTo(2) {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("daemon-%d", i)}}
		set.Spec.Template.Spec = f.pod("daemon").Spec
		s.DaemonSets = append(s.DaemonSets, set)
	}
	for i := range f.upTo(6) {
		pod := f.pod("pod")
		for j := range f.upTo(5) + 1 {
			one := pod.DeepCopy()
			one.Name = fmt.Sprintf("pod-%d-%d", i, j)
			one.UID = types.UID(one.Name)
			s.Pods = append(s.Pods, one)
		}
	}
	return s
}

func (f *stream) key() string {
	return pick(f, corev1.LabelTopologyZone, corev1.LabelHostname, wellknown.LabelCapacityType, labelRack, wellknown.LabelCPU,
		corev1.LabelInstanceTypeStable, wellknown.LabelNodePool, corev1.LabelArchStable, wellknown.LabelTenancy, "failure-domain.beta.kubernetes.io/zone", "",
		"not a label/at all", wellknown.LabelReservationID, corev1.LabelOSStable)
}

func (f *stream) value() string {
	return pick(f, "us-east-1a", "us-east-1b", "spot", "on-demand", "r1", "4", "0", "-1", "9223372036854775807", "99999999999999999999", "", "m6a.large", "\x00|;")
}

func (f *stream) values() []string {
	var values []string
	for range f.upTo(3) {
		values = append(values, f.value())
	}
	return values
}

func (f *stream) quantity() resource.Quantity {
	return *resource.NewMilliQuantity(pick(f, int64(500), 0, 1, 100, 2000, -1000, 16_000_000, math.MaxInt64, math.MinInt64, 1<<55), resource.DecimalSI)
}

func (f *stream) resources() corev1.ResourceList {
	list := corev1.ResourceList{}
	for range f.upTo(3) {
		list[pick(f, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, wellknown.ResourceNVIDIAGPU, wellknown.ResourceNodes,
			corev1.ResourceEphemeralStorage, "company/widget", "")] = f.quantity()
	}
	return list
}

func (f *stream) taints() []corev1.Taint {
	var taints []corev1.Taint
	for range f.upTo(2) {
		taints = append(taints, corev1.Taint{Key: pick(f, "team", ""), Value: pick(f, "a", ""), Effect: pick(f, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, "Odd")})
	}
	return taints
}

func (f *stream) pool(name string) *karpenter.NodePool {
	pool := anyPool(name)
	pool.Spec.Template.Spec.NodeClassRef.Name = pick(f, "default", "default", "missing", "")
	for range f.upTo(3) {
		pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements, karpenter.Requirement{
			Key:      f.key(),
			Operator: pick(f, karpenter.OpIn, karpenter.OpNotIn, karpenter.OpExists, karpenter.OpDoesNotExist, karpenter.OpGt, karpenter.OpLt, karpenter.OpGte, karpenter.OpLte, "Odd"),
			Values:   f.values(), MinValues: pick(f, nil, nil, nil, new(-1), new(0), new(2), new(1000)),
		})
	}
	if f.upTo(2) > 0 {
		pool.Spec.Template.ObjectMeta.Labels = map[string]string{f.key(): f.value()}
	}
	pool.Spec.Template.Spec.Taints = f.taints()
	pool.Spec.Weight = pick(f, nil, new(int32(0)), new(int32(1)), new(int32(100)), new(int32(-5)))
	pool.Spec.Limits = pick(f, nil, f.resources())
	pool.Spec.Replicas = pick(f, nil, nil, nil, new(int64(-1)))
	pool.Annotations = pick(f, nil, map[string]string{
		wellknown.AnnotationNodeSurcharge: f.value(), wellknown.GroupWhittle + "/spot-percent": f.value(),
	})
	return pool
}

func (f *stream) node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{f.key(): f.value(), f.key(): f.value()}}}
	node.Spec.Taints = f.taints()
	node.Status.Allocatable, node.Status.Capacity = f.resources(), f.resources()
	return node
}

func (f *stream) pod(name string) *corev1.Pod {
	pod := pendingPod(name, nil)
	pod.Spec.Containers[0].Resources.Requests = f.resources()
	pod.Labels = pick(f, map[string]string{"app": "a"}, nil, map[string]string{"": ""})
	for range f.upTo(2) {
		switch f.upTo(7) {
		case 0:
			pod.Spec.NodeSelector = map[string]string{f.key(): f.value()}
		case 1:
			affinityOf(pod).NodeAffinity = f.nodeAffinity()
		case 2, 3:
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, f.spread())
		case 4:
			affinityOf(pod).PodAffinity = &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  f.terms(),
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: int32(f.upTo(9) - 5), PodAffinityTerm: f.term()}},
			}
		case 5:
			affinityOf(pod).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: f.terms()}
		case 6:
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: int32(f.upTo(2) - 1), HostIP: f.value(), Protocol: pick(f, corev1.ProtocolTCP, "", "Odd")}}
		default:
			pod.Spec.Tolerations = []corev1.Toleration{{Key: pick(f, "", "team"), Operator: pick(f, corev1.TolerationOpExists, corev1.TolerationOpEqual, "", "Odd")}}
		}
	}
	return pod
}

func (f *stream) nodeAffinity() *corev1.NodeAffinity {
	affinity := &corev1.NodeAffinity{}
	if f.upTo(3) > 0 {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		for range f.upTo(3) {
			affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = append(
				affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, f.nodeSelectorTerm())
		}
	}
	for range f.upTo(2) {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: int32(f.upTo(9) - 5), Preference: f.nodeSelectorTerm()})
	}
	return affinity
}

func (f *stream) nodeSelectorTerm() corev1.NodeSelectorTerm {
	term := corev1.NodeSelectorTerm{}
	for range f.upTo(3) {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: f.key(), Values: f.values(),
			Operator: pick(f, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
				corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, "Odd", ""),
		})
	}
	if f.upTo(9) == 9 {
		term.MatchFields = term.MatchExpressions
	}
	return term
}

func (f *stream) selector() *metav1.LabelSelector {
	return pick(f, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}, nil, &metav1.LabelSelector{},
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: pick(f, "app", "", "b"), Operator: pick(f, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, "Odd"), Values: f.values(),
		}}})
}

func (f *stream) spread() corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew: pick(f, int32(1), 2, 0, -1, math.MaxInt32), TopologyKey: f.key(), LabelSelector: f.selector(),
		WhenUnsatisfiable:  pick(f, corev1.DoNotSchedule, corev1.ScheduleAnyway, ""),
		MinDomains:         pick(f, nil, new(int32(0)), new(int32(3)), new(int32(-1)), new(int32(math.MaxInt32))),
		NodeAffinityPolicy: pick(f, nil, new(corev1.NodeInclusionPolicyIgnore), new(corev1.NodeInclusionPolicy("Odd"))),
		NodeTaintsPolicy:   pick(f, nil, new(corev1.NodeInclusionPolicyHonor)),
		MatchLabelKeys:     pick(f, nil, []string{"app", ""}),
	}
}

func (f *stream) terms() []corev1.PodAffinityTerm {
	var terms []corev1.PodAffinityTerm
	for range f.upTo(2) {
		terms = append(terms, f.term())
	}
	return terms
}

func (f *stream) term() corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		TopologyKey: f.key(), LabelSelector: f.selector(), NamespaceSelector: pick(f, nil, f.selector()),
		Namespaces: pick(f, nil, []string{"default", ""}), MatchLabelKeys: pick(f, nil, []string{"app"}), MismatchLabelKeys: pick(f, nil, []string{"app"}),
	}
}
