package packing_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/core/resource"
)

// smallSnapshot is a cluster with a NodePool without requirements and a few instance types.
func smallSnapshot(t *testing.T, pods ...*corev1.Pod) *cluster.Snapshot {
	t.Helper()
	s := diverseSnapshot(t, 0)
	s.Catalog = smallCatalog(t)
	s.Pods = pods
	return s
}

func instanceTypes(names ...string) karpenter.Requirement {
	return karpenter.Requirement{Key: corev1.LabelInstanceTypeStable, Operator: karpenter.OpIn, Values: names}
}

func amiNamed(id string) aws.AMI { return aws.AMI{ID: id} }

func TestC30PreferencesMakeTenNodesUnlessTheyAreIgnored(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 10 {
		pod := pendingPod(fmt.Sprintf("web-%d", i), resource.Amounts{corev1.ResourceCPU: 100})
		pod.Labels = map[string]string{"app": "web"}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 1, PodAffinityTerm: termOver(corev1.LabelHostname, "app", "web"),
			}},
		}}
		pods = append(pods, pod)
	}
	if got := len(packing.Solve(smallSnapshot(t, pods...), packing.Options{}).Launches); got != 10 {
		t.Errorf("%d nodes with preferences respected, want 10", got)
	}
	if got := len(packing.Solve(smallSnapshot(t, pods...), packing.Options{IgnorePreferences: true}).Launches); got != 1 {
		t.Errorf("%d nodes with preferences ignored, want 1", got)
	}
}

func TestC05MemoryThatNodesTaughtReplacesTheEstimate(t *testing.T) {
	// An r6a.large has 16384 MiB, of which the estimate leaves 14440 to pods.
	pod := pendingPod("db", resource.Amounts{corev1.ResourceCPU: 500, corev1.ResourceMemory: 15000 << 20})
	s := smallSnapshot(t, pod)
	s.NodePools[0].Spec.Template.Spec.Requirements = append(s.NodePools[0].Spec.Template.Spec.Requirements, instanceTypes("r6a.large", "r6a.xlarge"))
	s.NodeClasses[0].Status.AMIs = append(s.NodeClasses[0].Status.AMIs, amiNamed("ami-1"))
	launched := func() string { return packing.Solve(s, packing.Options{}).Launches[0].Offering.InstanceType }
	if got := launched(); got != "r6a.xlarge" {
		t.Errorf("by the estimate %s is launched, want r6a.xlarge", got)
	}
	s.Settings.ObservedMemory = func(instanceType, ami string) (int64, bool) {
		return 16000 << 20, instanceType == "r6a.large" && ami == "ami-1"
	}
	if got := launched(); got != "r6a.large" {
		t.Errorf("by what a node taught %s is launched, want r6a.large", got)
	}
}

func TestRoomThatKubeSchedulerHasPromisedIsTaken(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Labels: map[string]string{corev1.LabelHostname: "node-a"}}}
	node.Status.Allocatable = resource.Amounts{corev1.ResourceCPU: 2000, corev1.ResourceMemory: 8 << 30, corev1.ResourcePods: 10}.List()
	preempting := pendingPod("preempting", resource.Amounts{corev1.ResourceCPU: 1500})
	preempting.Status.NominatedNodeName = "node-a"
	s := smallSnapshot(t, preempting, pendingPod("web", resource.Amounts{corev1.ResourceCPU: 1000}))
	s.Nodes = []*corev1.Node{node}
	plan := packing.Solve(s, packing.Options{})
	if len(plan.Launches) != 1 || len(plan.Placements) != 0 {
		t.Errorf("%d launches and %d placements, want 1 and none: node-a is promised to another pod", len(plan.Launches), len(plan.Placements))
	}
}

func TestReplicasOfOneOwnerAreSpreadOverNodesThatAreEqual(t *testing.T) {
	var pods []*corev1.Pod
	for _, owner := range []string{"api", "web"} {
		for i := range 2 {
			pod := pendingPod(fmt.Sprintf("%s-%d", owner, i), resource.Amounts{corev1.ResourceCPU: 900})
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true)}}
			pods = append(pods, pod)
		}
	}
	s := smallSnapshot(t, pods...)
	s.NodePools[0].Spec.Template.Spec.Requirements = append(s.NodePools[0].Spec.Template.Spec.Requirements, instanceTypes("c6a.large"))
	plan := packing.Solve(s, packing.Options{})
	if len(plan.Launches) != 2 {
		t.Fatalf("%d nodes, want 2", len(plan.Launches))
	}
	for _, l := range plan.Launches {
		if len(l.Pods) == 2 && l.Pods[0].OwnerReferences[0].UID == l.Pods[1].OwnerReferences[0].UID {
			t.Errorf("both replicas of %s are on one node", l.Pods[0].OwnerReferences[0].Name)
		}
	}
}

func TestMinValuesAreLoweredWithBestEffort(t *testing.T) {
	s := smallSnapshot(t, pendingPod("web", resource.Amounts{corev1.ResourceCPU: 500, corev1.ResourceMemory: 1 << 30}))
	families := karpenter.Requirement{Key: wellknown.LabelFamily, Operator: karpenter.OpIn, Values: []string{"c6a", "m6a", "nosuch"}, MinValues: new(3)}
	s.NodePools[0].Spec.Template.Spec.Requirements = append(s.NodePools[0].Spec.Template.Spec.Requirements, families)

	strict := packing.Solve(s, packing.Options{})
	if len(strict.Launches) != 0 || strict.Unplaced[0].Reasons[0].Rule != packing.RuleMinValues {
		t.Errorf("strict: %d launches, want none for want of variety: %v", len(strict.Launches), strict.Unplaced)
	}
	plan := packing.Solve(s, packing.Options{BestEffortMinValues: true})
	if len(plan.Launches) != 1 || !plan.Launches[0].MinValuesRelaxed {
		t.Fatalf("best effort: %d launches, want one with minValues relaxed", len(plan.Launches))
	}
	claim := plan.Launches[0].NodeClaim()
	for _, r := range claim.Spec.Requirements {
		if r.Key == wellknown.LabelFamily && *r.MinValues != 2 {
			t.Errorf("the claim asks for %d families, want the 2 there are", *r.MinValues)
		}
	}
	if claim.Annotations[wellknown.AnnotationMinValuesRelaxed] != "true" {
		t.Errorf("the claim does not say that its minValues were relaxed")
	}
}
