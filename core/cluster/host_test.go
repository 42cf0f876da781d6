package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/resource"
)

func condition(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue}
}

func claim(name string, conditions ...metav1.Condition) *karpenter.NodeClaim {
	c := &karpenter.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"from": "claim"}}}
	c.Status.Conditions = conditions
	if len(conditions) > 0 {
		c.Status.ProviderID = "aws:///us-east-1a/i-" + name
	}
	c.Status.Allocatable = resource.Amounts{corev1.ResourceCPU: 1900, wellknown.ResourceNVIDIAGPU: 1}.List()
	c.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}}
	return c
}

func node(name, providerID string, taints ...corev1.Taint) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"from": "node"}}}
	n.Spec.ProviderID = providerID
	n.Spec.Taints = taints
	n.Status.Allocatable = resource.Amounts{corev1.ResourceCPU: 1800}.List()
	return n
}

func TestHostsJoinNodesAndClaimsByProviderID(t *testing.T) {
	initialized := claim("c", condition(karpenter.ConditionRegistered), condition(karpenter.ConditionInitialized))
	s := &cluster.Snapshot{
		NodeClaims: []*karpenter.NodeClaim{claim("b"), initialized, claim("a", condition(karpenter.ConditionLaunched))},
		Nodes:      []*corev1.Node{node("z-node", "aws:///us-east-1a/i-c"), node("m-node", ""), node("n-node", "aws:///us-east-1a/i-other")},
		Pods: []*corev1.Pod{
			{ObjectMeta: metav1.ObjectMeta{Name: "on-z"}, Spec: corev1.PodSpec{NodeName: "z-node"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "done"}, Spec: corev1.PodSpec{NodeName: "z-node"}, Status: corev1.PodStatus{Phase: corev1.PodFailed}},
		},
	}
	type joined struct {
		Name, Node, Claim string
		Pods              int
	}
	var got []joined
	for _, h := range s.Hosts() {
		j := joined{Name: h.Name(), Pods: len(h.Pods)}
		if h.Node != nil {
			j.Node = h.Node.Name
		}
		if h.Claim != nil {
			j.Claim = h.Claim.Name
		}
		got = append(got, j)
	}
	want := []joined{
		{Name: "m-node", Node: "m-node"},
		{Name: "n-node", Node: "n-node"},
		{Name: "z-node", Node: "z-node", Claim: "c", Pods: 1},
		{Name: "a", Claim: "a"},
		{Name: "b", Claim: "b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
}

func TestWhatAHostShowsDependsOnHowFarItHasCome(t *testing.T) {
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	startup := corev1.Taint{Key: "cni", Effect: corev1.TaintEffectNoExecute}
	own := corev1.Taint{Key: "own", Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name   string
		host   cluster.Host
		taints []corev1.Taint
		cpu    int64
		gpu    int64
		from   string
	}{
		{
			name: "launched: the claim's promise", host: cluster.Host{Claim: claim("a", condition(karpenter.ConditionLaunched))},
			cpu: 1900, gpu: 1, from: "claim",
		},
		{
			name:   "registered: taints that go by themselves do not count, and what is not reported yet is promised",
			host:   cluster.Host{Claim: claim("a", condition(karpenter.ConditionRegistered)), Node: node("n", "aws:///us-east-1a/i-a", notReady, startup, own)},
			taints: []corev1.Taint{own}, cpu: 1800, gpu: 1, from: "node",
		},
		{
			name: "initialized: the node is what it says",
			host: cluster.Host{
				Claim: claim("a", condition(karpenter.ConditionRegistered), condition(karpenter.ConditionInitialized)),
				Node:  node("n", "aws:///us-east-1a/i-a", notReady, startup, own),
			},
			taints: []corev1.Taint{notReady, startup, own}, cpu: 1800, from: "node",
		},
		{
			name: "without a claim: the same", host: cluster.Host{Node: node("n", "", notReady)},
			taints: []corev1.Taint{notReady}, cpu: 1800, from: "node",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.taints, test.host.Taints()); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			allocatable := test.host.Allocatable()
			if allocatable[corev1.ResourceCPU] != test.cpu || allocatable[wellknown.ResourceNVIDIAGPU] != test.gpu {
				t.Errorf("allocatable is %v, want %d cpu and %d gpu", allocatable, test.cpu, test.gpu)
			}
			if got := test.host.Labels()["from"]; got != test.from {
				t.Errorf("labels are those of the %s, want the %s's", got, test.from)
			}
		})
	}
}

func TestProvisionable(t *testing.T) {
	tests := []struct {
		name   string
		change func(*corev1.Pod)
		want   bool
	}{
		{name: "unschedulable", change: func(*corev1.Pod) {}, want: true},
		{name: "bound", change: func(p *corev1.Pod) { p.Spec.NodeName = "n" }},
		{name: "nominated by preemption", change: func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }},
		{name: "held back by a gate", change: func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }},
		{name: "not looked at yet", change: func(p *corev1.Pod) { p.Status.Conditions = nil }},
		{name: "going", change: func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }},
		{name: "a DaemonSet's", change: func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: new(true)}}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}}}
			test.change(pod)
			if got := cluster.Provisionable(pod); got != test.want {
				t.Errorf("Provisionable is %v, want %v", got, test.want)
			}
		})
	}
}

func TestDoNotDisrupt(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name  string
		value string
		// started is how long ago the pod started; negative for not yet.
		started time.Duration
		want    bool
	}{
		{name: "none", value: "", started: time.Hour},
		{name: "true", value: "true", started: time.Hour, want: true},
		{name: "false", value: "false", started: time.Hour},
		{name: "a duration that is not over", value: "2h", started: time.Hour, want: true},
		{name: "a duration that is just over", value: "1h", started: time.Hour},
		{name: "a duration of a pod that has not started", value: "1h", started: -1, want: true},
		{name: "a negative duration", value: "-1h", started: time.Hour},
		{name: "unreadable", value: "a while", started: time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{wellknown.AnnotationDoNotDisrupt: test.value}}}
			if test.started >= 0 {
				pod.Status.StartTime = new(metav1.NewTime(now.Add(-test.started)))
			}
			if got := cluster.DoNotDisrupt(pod, now); got != test.want {
				t.Errorf("DoNotDisrupt is %v, want %v", got, test.want)
			}
		})
	}
}

func TestTolerates(t *testing.T) {
	taint := corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	tests := []struct {
		name       string
		toleration corev1.Toleration
		want       bool
	}{
		{name: "everything", toleration: corev1.Toleration{Operator: corev1.TolerationOpExists}, want: true},
		{name: "the key", toleration: corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}, want: true},
		{name: "the effect", toleration: corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, want: true},
		{name: "key and value", toleration: corev1.Toleration{Key: "dedicated", Value: "x"}, want: true},
		{name: "another value", toleration: corev1.Toleration{Key: "dedicated", Value: "y"}},
		{name: "another effect", toleration: corev1.Toleration{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoExecute}},
		{name: "another key", toleration: corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists}},
		{name: "no key and no operator is nothing", toleration: corev1.Toleration{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := cluster.Tolerates([]corev1.Toleration{test.toleration}, taint); got != test.want {
				t.Errorf("Tolerates is %v, want %v", got, test.want)
			}
		})
	}
}
