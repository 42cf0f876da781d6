package cluster

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/resource"
)

// Host is a place where pods run or will: a node, a NodeClaim that will become one, or both joined by
// their provider id. A NodeClaim is a host from the moment it exists, so that what is on its way is
// never launched twice.
type Host struct {
	// Node is nil until the kubelet has registered.
	Node *corev1.Node
	// Claim is nil for a node that no NodeClaim made.
	Claim *karpenter.NodeClaim
	// Pods are bound to the node and not yet finished.
	Pods []*corev1.Pod
}

// Hosts joins nodes, NodeClaims and bound pods: initialized nodes first, then by name, as upstream
// tries them.
func (s *Snapshot) Hosts() []Host {
	nodeOf := make(map[string]*corev1.Node, len(s.Nodes))
	for _, node := range s.Nodes {
		if node.Spec.ProviderID != "" {
			nodeOf[node.Spec.ProviderID] = node
		}
	}
	podsOn := map[string][]*corev1.Pod{}
	for _, pod := range s.Pods {
		if pod.Spec.NodeName != "" && !Terminal(pod) {
			podsOn[pod.Spec.NodeName] = append(podsOn[pod.Spec.NodeName], pod)
		}
	}
	claimed := map[string]bool{}
	hosts := make([]Host, 0, len(s.Nodes)+len(s.NodeClaims))
	for _, claim := range s.NodeClaims {
		host := Host{Claim: claim}
		if node := nodeOf[claim.Status.ProviderID]; node != nil {
			host.Node = node
			host.Pods = podsOn[node.Name]
			claimed[node.Name] = true
		}
		hosts = append(hosts, host)
	}
	for _, node := range s.Nodes {
		if !claimed[node.Name] {
			hosts = append(hosts, Host{Node: node, Pods: podsOn[node.Name]})
		}
	}
	sort.SliceStable(hosts, func(i, j int) bool {
		if a, b := hosts[i].Initialized(), hosts[j].Initialized(); a != b {
			return a
		}
		return hosts[i].Name() < hosts[j].Name()
	})
	return hosts
}

// Name is the node's, or the NodeClaim's while there is no node.
func (h Host) Name() string {
	if h.Node != nil {
		return h.Node.Name
	}
	return h.Claim.Name
}

// NodePool that owns the host; empty for none.
func (h Host) NodePool() string {
	return h.Labels()[wellknown.LabelNodePool]
}

// Managed reports whether the host is one of Whittle's: made for an EC2NodeClass.
func (h Host) Managed() bool {
	if h.Claim != nil {
		ref := h.Claim.Spec.NodeClassRef
		return ref.Group == "" || ref.Group == wellknown.GroupAWS
	}
	_, labelled := h.Node.Labels[wellknown.LabelNodeClass]
	return labelled
}

// Launched reports whether the host's instance exists.
func (h Host) Launched() bool {
	return h.Node != nil || h.Claim.Status.ProviderID != ""
}

// Registered reports whether the NodeClaim has claimed its node. A node without NodeClaim counts.
func (h Host) Registered() bool {
	if h.Claim == nil {
		return true
	}
	return h.Node != nil && meta.IsStatusConditionTrue(h.Claim.Status.Conditions, karpenter.ConditionRegistered)
}

// Initialized reports whether the node has been ready for pods once. A node without NodeClaim counts.
func (h Host) Initialized() bool {
	if h.Claim == nil {
		return true
	}
	return h.Node != nil && meta.IsStatusConditionTrue(h.Claim.Status.Conditions, karpenter.ConditionInitialized)
}

// Leaving reports whether the host is going away: deleted, or tainted as a candidate for removal.
func (h Host) Leaving() bool {
	if h.Claim != nil && h.Claim.DeletionTimestamp != nil {
		return true
	}
	return h.Node != nil && (h.Node.DeletionTimestamp != nil || HasTaint(h.Node.Spec.Taints, wellknown.DisruptedTaint()))
}

// Ready reports whether the kubelet says that it is.
func (h Host) Ready() bool {
	return h.Node != nil && NodeReady(h.Node)
}

// Labels of the node; until it has registered, those that its NodeClaim promises.
func (h Host) Labels() map[string]string {
	if h.Node != nil && h.Registered() {
		return h.Node.Labels
	}
	labels := make(map[string]string, len(h.Claim.Labels))
	for _, r := range h.Claim.Spec.Requirements {
		if r.Operator == karpenter.OpIn && len(r.Values) == 1 {
			labels[r.Key] = r.Values[0]
		}
	}
	if h.Node != nil {
		maps.Copy(labels, h.Node.Labels)
	}
	maps.Copy(labels, h.Claim.Labels)
	return labels
}

// Taints that a pod must tolerate to be planned for the host. Until it is initialized, taints that are
// known to go away by themselves do not count (upstream pkg/controllers/state/statenode.go).
func (h Host) Taints() []corev1.Taint {
	if h.Claim != nil && !h.Registered() {
		return h.Claim.Spec.Taints
	}
	all := h.Node.Spec.Taints
	if cordon := (corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}); h.Node.Spec.Unschedulable && !HasTaint(all, cordon) {
		all = append(slices.Clone(all), cordon)
	}
	if h.Initialized() {
		return all
	}
	var taints []corev1.Taint
	for _, taint := range all {
		if !EphemeralTaint(taint) && !HasTaint(h.Claim.Spec.StartupTaints, taint) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// Allocatable is what the node offers to pods. Until it is initialized, what the kubelet has not
// reported yet is taken from the NodeClaim. It is empty for a NodeClaim that has not launched.
func (h Host) Allocatable() resource.Amounts {
	amounts := resource.Amounts{}
	if h.Node != nil {
		amounts = resource.FromList(h.Node.Status.Allocatable)
	}
	if h.Claim == nil || h.Initialized() {
		return amounts
	}
	for name, amount := range resource.FromList(h.Claim.Status.Allocatable) {
		if amounts[name] == 0 {
			amounts[name] = amount
		}
	}
	return amounts
}

// Capacity is what counts against the limits of the host's NodePool. It is empty for a NodeClaim that
// has not launched.
func (h Host) Capacity() resource.Amounts {
	amounts := resource.Amounts{}
	if h.Node != nil {
		amounts = resource.FromList(h.Node.Status.Capacity)
	}
	if h.Claim != nil {
		for name, amount := range resource.FromList(h.Claim.Status.Capacity) {
			if amounts[name] == 0 {
				amounts[name] = amount
			}
		}
	}
	return amounts
}

// Requested is what the host's pods ask for together.
func (h Host) Requested() resource.Amounts {
	sum := resource.Amounts{}
	for _, pod := range h.Pods {
		resource.AddPod(sum, pod)
	}
	return sum
}

// PlannedPods are the pods, as namespace/name, that the host's NodeClaim was planned for.
func (h Host) PlannedPods() []string {
	if h.Claim == nil || h.Claim.Annotations[wellknown.AnnotationPlannedPods] == "" {
		return nil
	}
	return strings.Split(h.Claim.Annotations[wellknown.AnnotationPlannedPods], ",")
}

// InstanceID of the host; empty until it is launched.
func (h Host) InstanceID() InstanceID {
	if h.Claim != nil && h.Claim.Status.ProviderID != "" {
		return InstanceIDOf(h.Claim.Status.ProviderID)
	}
	if h.Node != nil {
		return InstanceIDOf(h.Node.Spec.ProviderID)
	}
	return ""
}

// LaunchedAt is when the host's instance was launched, or may have been.
func (h Host) LaunchedAt() time.Time {
	if h.Claim == nil {
		return h.Node.CreationTimestamp.Time
	}
	if launched := meta.FindStatusCondition(h.Claim.Status.Conditions, karpenter.ConditionLaunched); launched != nil {
		return launched.LastTransitionTime.Time
	}
	return h.Claim.CreationTimestamp.Time
}

// Offering that the host runs on, by its labels.
func (h Host) Offering() Offering {
	labels := h.Labels()
	return Offering{
		InstanceType: labels[corev1.LabelInstanceTypeStable],
		Zone:         labels[corev1.LabelTopologyZone],
		CapacityType: labels[wellknown.LabelCapacityType],
	}
}

// EphemeralTaint reports whether a taint is one of those that go away by themselves while a node
// starts.
func EphemeralTaint(taint corev1.Taint) bool {
	if strings.HasPrefix(taint.Key, wellknown.TaintReadinessPrefix) {
		return true
	}
	switch taint.Key {
	case corev1.TaintNodeNotReady:
		return true
	case corev1.TaintNodeUnreachable:
		return taint.Effect == corev1.TaintEffectNoSchedule
	case "node.cloudprovider.kubernetes.io/uninitialized":
		return taint.Effect == corev1.TaintEffectNoSchedule && taint.Value == "true"
	case wellknown.TaintUnregistered:
		return taint.Effect == corev1.TaintEffectNoExecute
	default:
		return false
	}
}

// HasTaint reports whether a taint with the same key and effect is in taints.
func HasTaint(taints []corev1.Taint, taint corev1.Taint) bool {
	for i := range taints {
		if taints[i].MatchTaint(&taint) {
			return true
		}
	}
	return false
}

// NodeReady reports whether the node's condition Ready is true.
func NodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ControllerOf is the object that manages another; nil when there is none.
func ControllerOf(object metav1.Object) *metav1.OwnerReference {
	return metav1.GetControllerOf(object)
}
