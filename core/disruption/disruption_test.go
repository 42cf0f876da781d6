package disruption_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/disruption"
)

var noon = time.Date(2026, 1, 8, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a fixed clock

// fleet is a cluster with one NodePool and ready nodes of it that have been quiet for an hour.
func fleet(nodes int, change func(pool *karpenter.NodePool)) *cluster.Snapshot {
	s := &cluster.Snapshot{Name: "test", Now: noon, Catalog: &catalog.Catalog{}}
	pool := &karpenter.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption = karpenter.Disruption{
		ConsolidateAfter: new(karpenter.After(30 * time.Second)),
		Budgets:          []karpenter.Budget{{Nodes: "100%"}},
	}
	change(pool)
	s.NodePools = []*karpenter.NodePool{pool}
	for i := range nodes {
		claim, node := readyNode(fmt.Sprintf("node-%d", i))
		s.NodeClaims = append(s.NodeClaims, claim)
		s.Nodes = append(s.Nodes, node)
	}
	return s
}

func readyNode(name string) (*karpenter.NodeClaim, *corev1.Node) {
	labels := map[string]string{wellknown.LabelNodePool: "default"}
	claim := &karpenter.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-of-" + name, Labels: labels, CreationTimestamp: metav1.NewTime(noon.Add(-2 * time.Hour)),
	}}
	claim.Spec.ExpireAfter = new(karpenter.After(720 * time.Hour))
	claim.Status.ProviderID = "aws:///us-east-1a/i-" + name
	for _, kind := range []string{karpenter.ConditionLaunched, karpenter.ConditionRegistered, karpenter.ConditionInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
		})
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return claim, node
}

func podOn(node, name string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	pod.Spec.NodeName = node
	pod.Status.Phase = corev1.PodRunning
	change(pod)
	return pod
}

func ordinary(*corev1.Pod) {}

// removed are the names of the plan's hosts with their reasons.
func removed(plan disruption.Plan) []string {
	var names []string
	for _, r := range plan.Removals {
		names = append(names, r.Host.Name()+" "+r.Reason)
	}
	return names
}

func TestDecide(t *testing.T) {
	plain := func(*karpenter.NodePool) {}
	tests := []struct {
		name   string
		pool   func(*karpenter.NodePool)
		change func(s *cluster.Snapshot)
		want   []string
		// blocked is what keeps hosts that would go.
		blocked []string
	}{
		{name: "empty nodes go", pool: plain, want: []string{"node-0 empty", "node-1 empty"}},
		{
			name: "a pod keeps its node", pool: plain,
			change: func(s *cluster.Snapshot) { s.Pods = append(s.Pods, podOn("node-0", "web", ordinary)) },
			want:   []string{"node-1 empty"},
		},
		{
			name: "finished pods and those of DaemonSets keep nothing", pool: plain,
			change: func(s *cluster.Snapshot) {
				s.Pods = append(s.Pods,
					podOn("node-0", "done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
					podOn("node-1", "agent", func(p *corev1.Pod) {
						p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: new(true)}}
					}))
			},
			want: []string{"node-0 empty", "node-1 empty"},
		},
		{
			name: "a pod whose eviction costs nothing keeps nothing", pool: plain,
			change: func(s *cluster.Snapshot) {
				s.Pods = append(s.Pods, podOn("node-0", "cheap", func(p *corev1.Pod) {
					p.Annotations = map[string]string{wellknown.AnnotationPodDeletionCost: "-200000000"}
				}))
			},
			want: []string{"node-0 empty", "node-1 empty"},
		},
		{
			name: "consolidateAfter is not over", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.ConsolidateAfter = new(karpenter.After(2 * time.Hour)) },
		},
		{
			name: "consolidateAfter counts from the last pod change", pool: plain,
			change: func(s *cluster.Snapshot) {
				s.NodeClaims[0].Status.LastPodEventTime = metav1.NewTime(noon.Add(-29 * time.Second))
				s.NodeClaims[1].Status.LastPodEventTime = metav1.NewTime(noon.Add(-30 * time.Second))
			},
			want: []string{"node-1 empty"},
		},
		{name: "Never means never", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.ConsolidateAfter = new(karpenter.NeverHappens()) }},
		{name: "a static pool keeps its nodes", pool: func(p *karpenter.NodePool) { p.Spec.Replicas = new(int64(2)) }},
		{
			name: "a budget of one", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "1"}} },
			want:    []string{"node-0 empty"},
			blocked: []string{"node-1: budget of NodePool default allows 1 of 2 nodes, 0 going"},
		},
		{
			name: "ten percent of two rounds up to one", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "10%"}} },
			want:    []string{"node-0 empty"},
			blocked: []string{"node-1: budget of NodePool default allows 1 of 2 nodes, 0 going"},
		},
		{
			name: "a node that is not ready uses the budget up", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "1"}} },
			change: func(s *cluster.Snapshot) {
				s.Nodes[1].Status.Conditions[0].Status = corev1.ConditionUnknown
				s.Pods = append(s.Pods, podOn("node-1", "web", ordinary))
			},
			blocked: []string{"node-0: budget of NodePool default allows 1 of 2 nodes, 1 going"},
		},
		{
			name: "a node that is going uses the budget up", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "1"}} },
			change:  func(s *cluster.Snapshot) { s.NodeClaims[1].DeletionTimestamp = new(metav1.NewTime(noon)) },
			blocked: []string{"node-0: budget of NodePool default allows 1 of 2 nodes, 1 going"},
		},
		{
			name: "a budget for other reasons does not count", pool: func(p *karpenter.NodePool) {
				p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "0", Reasons: []karpenter.DisruptionReason{karpenter.ReasonDrifted}}}
			},
			want: []string{"node-0 empty", "node-1 empty"},
		},
		{
			name: "a budget that cannot be read allows nothing", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "many"}} },
			blocked: []string{"node-0: NodePool default: ", "node-1: NodePool default: "},
		},
		{
			name: "do-not-disrupt on the node", pool: plain,
			change: func(s *cluster.Snapshot) {
				s.Nodes[0].Annotations = map[string]string{wellknown.AnnotationDoNotDisrupt: "true"}
			},
			want:    []string{"node-1 empty"},
			blocked: []string{"node-0: node has the annotation karpenter.sh/do-not-disrupt"},
		},
		{
			name: "a pod is about to run on it", pool: plain,
			change: func(s *cluster.Snapshot) {
				s.NodeClaims[0].Annotations = map[string]string{wellknown.AnnotationPlannedPods: "default/web"}
				s.NodeClaims[0].Status.LastPodEventTime = metav1.NewTime(noon.Add(-time.Minute))
				s.Pods = append(s.Pods, podOn("", "web", func(p *corev1.Pod) {
					p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: corev1.PodReasonUnschedulable}}
				}))
			},
			want:    []string{"node-1 empty"},
			blocked: []string{"node-0: pod default/web is about to run on it"},
		},
		{
			name: "a node that is not initialized stays", pool: plain,
			change: func(s *cluster.Snapshot) { s.NodeClaims[0].Status.Conditions[2].Status = metav1.ConditionUnknown },
			want:   []string{"node-1 empty"},
		},
		{
			name: "expiry asks no budget", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "0"}} },
			change: func(s *cluster.Snapshot) {
				s.Pods = append(s.Pods, podOn("node-0", "web", ordinary), podOn("node-1", "web-2", ordinary))
				s.NodeClaims[0].Spec.ExpireAfter = new(karpenter.After(2 * time.Hour))
				s.NodeClaims[1].Spec.ExpireAfter = new(karpenter.After(2*time.Hour + time.Second))
			},
			want: []string{"node-0 expired"},
		},
		{
			name: "a node of another class is none of ours", pool: func(p *karpenter.NodePool) { p.Spec.Disruption.Budgets = []karpenter.Budget{{Nodes: "0"}} },
			change: func(s *cluster.Snapshot) {
				s.NodeClaims[0].Spec.NodeClassRef.Group = "eks.amazonaws.com"
				s.NodeClaims[0].Spec.ExpireAfter = new(karpenter.After(time.Hour))
				s.NodeClaims[1].DeletionTimestamp = new(metav1.NewTime(noon))
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fleet(2, test.pool)
			if test.change != nil {
				test.change(s)
			}
			plan := disruption.Decide(s)
			if diff := cmp.Diff(test.want, removed(plan)); diff != "" {
				t.Errorf("removals (-want +got):\n%s", diff)
			}
			var blocked []string
			for i, b := range plan.Blocked {
				text := b.Host.Name() + ": " + b.Message
				// Of a message that somebody else words, the beginning will do.
				if i < len(test.blocked) && len(text) > len(test.blocked[i]) {
					text = text[:len(test.blocked[i])]
				}
				blocked = append(blocked, text)
			}
			if diff := cmp.Diff(test.blocked, blocked); diff != "" {
				t.Errorf("blocked (-want +got):\n%s", diff)
			}
		})
	}
}
