package packing_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/core/resource"
)

func openCluster(t *testing.T) *cluster.Snapshot {
	t.Helper()
	return &cluster.Snapshot{
		Name: "f", Catalog: smallCatalog(t), NodePools: []*karpenter.NodePool{anyPool("default")},
		NodeClasses: []*aws.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: aws.EC2NodeClassSpec{AMIFamily: new(aws.FamilyAL2023)}}},
	}
}

func appPod(name, app string, cpu int64) *corev1.Pod {
	p := pendingPod(name, resource.Amounts{corev1.ResourceCPU: cpu, corev1.ResourceMemory: 1 << 28})
	p.Labels = map[string]string{"app": app}
	return p
}

func beside(p *corev1.Pod, key, app string) *corev1.Pod {
	affinityOf(p).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{termOver(key, "app", app)}}
	return p
}

func zoneNode(name, zone string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone}}}
	n.Status.Allocatable = resource.Amounts{corev1.ResourceCPU: 500, corev1.ResourceMemory: 8 << 30, corev1.ResourcePods: 10}.List()
	return n
}

func runningOn(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeName, p.Status = node, corev1.PodStatus{Phase: corev1.PodRunning}
	return p
}

func checkSolve(t *testing.T, s *cluster.Snapshot) {
	t.Helper()
	plan := packing.Solve(s, packing.Options{})
	if faults := checkPlan(s, plan); len(faults) > 0 {
		t.Errorf("%s\n%s", strings.Join(faults, "\n"), render(plan))
	}
}

func TestTheFirstOfItsKindIsFirstInTheWholeCluster(t *testing.T) {
	s := openCluster(t)
	s.Nodes = []*corev1.Node{zoneNode("n", "us-east-1c")}
	p := beside(appPod("p", "a", 1000), corev1.LabelTopologyZone, "a")
	p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1a"}
	s.Pods = []*corev1.Pod{runningOn(appPod("r", "a", 100), "n"), p}
	checkSolve(t, s)
}

func TestNodeOnItsWayCountsInTheZoneItsClaimNames(t *testing.T) {
	s := openCluster(t)
	first := appPod("first", "a", 1000)
	first.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1a"}
	s.Pods = []*corev1.Pod{first}
	plan := packing.Solve(s, packing.Options{})
	s.NodeClaims = []*karpenter.NodeClaim{plan.Launches[0].NodeClaim()}
	p := appPod("p", "b", 1000)
	p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1a"}
	affinityOf(p).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{termOver(corev1.LabelTopologyZone, "app", "a")}}
	s.Pods = append(s.Pods, p)
	checkSolve(t, s)
}

func TestNodeTooSmallForItsDaemonSetsTakesNoPod(t *testing.T) {
	s := openCluster(t)
	for _, name := range []string{"d", "e"} {
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
		d.Spec.Template.Spec = pendingPod(name, resource.Amounts{corev1.ResourceMemory: 64 << 20}).Spec
		s.DaemonSets = append(s.DaemonSets, d)
	}
	s.Pods = []*corev1.Pod{pendingPod("p", resource.Amounts{corev1.ResourceCPU: 100})}
	checkSolve(t, s)
}

func TestPodIsNotLaunchedBesideCompanyThatFitsNowhere(t *testing.T) {
	s := openCluster(t)
	big := appPod("big", "b", 9_000_000)
	spreadOver(big, corev1.LabelTopologyZone, "x")
	s.Pods = []*corev1.Pod{big, beside(appPod("p", "a", 100), corev1.LabelTopologyZone, "b")}
	checkSolve(t, s)
}

func TestSpreadDoesNotCountPodsOnNodesThatDoNotCount(t *testing.T) {
	s := openCluster(t)
	s.NodePools[0].Spec.Template.Spec.Requirements = []karpenter.Requirement{{Key: corev1.LabelTopologyZone, Operator: karpenter.OpIn, Values: []string{"us-east-1a", "us-east-1b"}}}
	n := zoneNode("n", "us-east-1b")
	n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	s.Nodes = []*corev1.Node{n, zoneNode("m", "us-east-1b")}
	s.Nodes[1].Status.Allocatable[corev1.ResourceCPU] = resource.Quantity(corev1.ResourceCPU, 100)
	r := runningOn(appPod("r", "a", 100), "n")
	r.Labels["spread"] = "x"
	r2 := runningOn(appPod("r2", "a", 100), "n")
	r2.Labels["spread"] = "x"
	s.Pods = []*corev1.Pod{r, r2}
	for _, name := range []string{"p", "q"} {
		p := appPod(name, "a", 1000)
		spreadOver(p, corev1.LabelTopologyZone, "x")
		p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
		s.Pods = append(s.Pods, p)
	}
	checkSolve(t, s)
}
