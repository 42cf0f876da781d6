package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/resource"
	"whittle/events"
)

// register joins the claim with the node that came up for it: labels, annotations, taints, finalizer
// and owner are written, and the taint with which the kubelet registered is taken off.
func (h *Handler) register(ctx context.Context, s *cluster.Snapshot, host cluster.Host) (time.Duration, error) {
	if host.Node == nil {
		launched := meta.FindStatusCondition(host.Claim.Status.Conditions, karpenter.ConditionLaunched)
		if s.Now.Sub(launched.LastTransitionTime.Time) > registrationTimeout {
			return h.giveUp(ctx, host.Claim, "registration_timeout", "no node registered within "+registrationTimeout.String())
		}
		return pollRegister, nil
	}
	node, err := h.Nodes.UpdateNode(ctx, registered(host))
	if err != nil {
		return done, fmt.Errorf("register node %s: %w", host.Node.Name, err)
	}
	claim := host.Claim.DeepCopy()
	claim.Status.NodeName = node.Name
	claim, err = h.setCondition(ctx, s.Now, claim, metav1.Condition{Type: karpenter.ConditionRegistered, Status: metav1.ConditionTrue})
	if err != nil {
		return done, err
	}
	h.Log.Info("registered node", slog.String(events.KeyNodeClaim, claim.Name), slog.String(events.KeyNode, node.Name))
	return h.initialize(ctx, s, cluster.Host{Claim: claim, Node: node, Pods: host.Pods})
}

// registered is the node as it is to be once its claim has taken it.
func registered(host cluster.Host) *corev1.Node {
	node, claim := host.Node.DeepCopy(), host.Claim
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	taintsKnown := node.Labels[wellknown.LabelDoNotSyncTaints] == "true"
	maps.Copy(node.Labels, claim.Labels)
	maps.Copy(node.Annotations, nodeAnnotations(claim))
	node.Labels[wellknown.LabelRegistered] = "true"
	if !slices.Contains(node.Finalizers, wellknown.FinalizerTermination) {
		node.Finalizers = append(node.Finalizers, wellknown.FinalizerTermination)
	}
	owner := metav1.OwnerReference{
		APIVersion: wellknown.GroupKarpenter + "/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: new(true),
	}
	if !slices.ContainsFunc(node.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == claim.UID }) {
		node.OwnerReferences = append(node.OwnerReferences, owner)
	}
	if !taintsKnown {
		for _, taint := range slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints) {
			if !cluster.HasTaint(node.Spec.Taints, taint) {
				node.Spec.Taints = append(node.Spec.Taints, taint)
			}
		}
	}
	node.Spec.Taints = withoutTaint(node.Spec.Taints, wellknown.UnregisteredTaint())
	return node
}

// nodeAnnotations are the claim's, save for those that concern the claim alone.
func nodeAnnotations(claim *karpenter.NodeClaim) map[string]string {
	annotations := maps.Clone(claim.Annotations)
	delete(annotations, wellknown.AnnotationPlannedPods)
	delete(annotations, wellknown.AnnotationLaunch)
	return annotations
}

func withoutTaint(taints []corev1.Taint, taint corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
}

// initialize waits until the node can take its pods: ready, rid of the taints it started with, and with
// the devices that were asked for.
func (h *Handler) initialize(ctx context.Context, s *cluster.Snapshot, host cluster.Host) (time.Duration, error) {
	if host.Node == nil {
		return pollInitialize, nil
	}
	if reason, message := notInitialized(host); reason != "" {
		_, err := h.setCondition(ctx, s.Now, host.Claim, metav1.Condition{
			Type: karpenter.ConditionInitialized, Status: metav1.ConditionUnknown, Reason: reason, Message: message,
		})
		return pollInitialize, err
	}
	node := host.Node.DeepCopy()
	node.Labels[wellknown.LabelInitialized] = "true"
	if _, err := h.Nodes.UpdateNode(ctx, node); err != nil {
		return done, fmt.Errorf("label node %s initialized: %w", node.Name, err)
	}
	claim := host.Claim.DeepCopy()
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: karpenter.ConditionReady, Status: metav1.ConditionTrue, Reason: karpenter.ConditionReady, LastTransitionTime: metav1.NewTime(s.Now),
	})
	if _, err := h.setCondition(ctx, s.Now, claim, metav1.Condition{Type: karpenter.ConditionInitialized, Status: metav1.ConditionTrue}); err != nil {
		return done, err
	}
	h.Log.Info("initialized node", slog.String(events.KeyNodeClaim, host.Claim.Name), slog.String(events.KeyNode, node.Name))
	return checkAfter, nil
}

// notInitialized says what the node still lacks; the reasons are upstream's
// (pkg/controllers/nodeclaim/lifecycle/initialization.go).
func notInitialized(host cluster.Host) (reason, message string) {
	if !cluster.NodeReady(host.Node) {
		return "NodeNotReady", "the node is not Ready"
	}
	for _, taint := range host.Node.Spec.Taints {
		if cluster.HasTaint(host.Claim.Spec.StartupTaints, taint) {
			return "StartupTaintsExist", "startup taint " + taint.ToString() + " is still there"
		}
		if cluster.EphemeralTaint(taint) {
			return "KnownEphemeralTaintsExist", "taint " + taint.ToString() + " is still there"
		}
	}
	have := resource.FromList(host.Node.Status.Allocatable)
	wanted := resource.FromList(host.Claim.Spec.Resources.Requests)
	for _, name := range wanted.Names() {
		if wanted[name] > 0 && have[name] == 0 {
			return "ResourceNotRegistered", fmt.Sprintf("the node offers no %s yet", name)
		}
	}
	return "", ""
}
