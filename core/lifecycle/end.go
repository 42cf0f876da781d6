package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/events"
)

// terminate takes a claim that was deleted one step nearer to its end: node tainted, pods moved,
// instance terminated, finalizers off. What comes first must be over before the next begins.
func (h *Handler) terminate(ctx context.Context, s *cluster.Snapshot, host cluster.Host) (time.Duration, error) {
	claim, err := h.setDeadline(ctx, host.Claim)
	if err != nil {
		return done, err
	}
	host.Claim = claim
	instances, err := h.Instances.Instances(ctx)
	if err != nil {
		return done, fmt.Errorf("list instances: %w", err)
	}
	if host.Node != nil && (host.Ready() || !gone(instances, s.Now, host)) {
		if host.Node, err = h.closeNode(ctx, host.Node); err != nil {
			return done, err
		}
		drained, err := h.drain(ctx, s, host)
		if err != nil || !drained {
			return pollDrain, err
		}
		if host.Claim, err = h.setCondition(ctx, s.Now, host.Claim, metav1.Condition{Type: karpenter.ConditionDrained, Status: metav1.ConditionTrue}); err != nil {
			return done, err
		}
	}
	if !gone(instances, s.Now, host) {
		return pollTermination, h.endInstance(ctx, instances, host)
	}
	return done, h.forget(ctx, host)
}

// setDeadline writes down by when the drain must be over, if the claim has a grace period.
func (h *Handler) setDeadline(ctx context.Context, claim *karpenter.NodeClaim) (*karpenter.NodeClaim, error) {
	grace := claim.Spec.TerminationGracePeriod
	if grace == nil || claim.Annotations[wellknown.AnnotationTerminationTimestamp] != "" {
		return claim, nil
	}
	claim = claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[wellknown.AnnotationTerminationTimestamp] = claim.DeletionTimestamp.Add(grace.Duration).UTC().Format(time.RFC3339)
	written, err := h.Claims.UpdateNodeClaim(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("write deadline of NodeClaim %s: %w", claim.Name, err)
	}
	return written, nil
}

// closeNode keeps new pods and load balancers off the node.
func (h *Handler) closeNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	taint := wellknown.DisruptedTaint()
	if cluster.HasTaint(node.Spec.Taints, taint) && node.Labels[wellknown.LabelExcludeFromLoadBalancers] != "" {
		return node, nil
	}
	node = node.DeepCopy()
	if !cluster.HasTaint(node.Spec.Taints, taint) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[wellknown.LabelExcludeFromLoadBalancers] = "karpenter"
	written, err := h.Nodes.UpdateNode(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("taint node %s: %w", node.Name, err)
	}
	return written, nil
}

// stuckAfter is how long a pod may take to end beyond its grace before the drain stops waiting for it
// (upstream pkg/utils/pod/scheduling.go, IsStuckTerminating).
const stuckAfter = time.Minute

// drain moves the node's pods off it, tier by tier, and reports whether none is left. Pods that hold
// the deadline up are deleted so that they end by it.
func (h *Handler) drain(ctx context.Context, s *cluster.Snapshot, host cluster.Host) (bool, error) {
	deadline, forced := deadlineOf(host.Claim)
	var waiting []*corev1.Pod
	for _, pod := range host.Pods {
		if !cluster.Evictable(pod) || pod.DeletionTimestamp != nil && s.Now.Sub(pod.DeletionTimestamp.Time) > stuckAfter {
			continue
		}
		waiting = append(waiting, pod)
		if forced && overdue(pod, s.Now, deadline) {
			if err := h.deletePod(ctx, pod, max(time.Second, deadline.Sub(s.Now))); err != nil {
				return false, err
			}
		}
	}
	if len(waiting) == 0 {
		return true, nil
	}
	tier := slices.MinFunc(waiting, func(a, b *corev1.Pod) int { return tierOf(a) - tierOf(b) })
	for _, pod := range waiting {
		if tierOf(pod) != tierOf(tier) || pod.DeletionTimestamp != nil || cluster.DoNotDisrupt(pod, s.Now) {
			continue
		}
		if err := h.evict(ctx, host, pod); err != nil {
			return false, err
		}
	}
	_, err := h.setCondition(ctx, s.Now, host.Claim, metav1.Condition{
		Type: karpenter.ConditionDrained, Status: metav1.ConditionUnknown, Reason: "Draining",
		Message: fmt.Sprintf("%d pods left, next %s", len(waiting), cluster.PodKey(tier)),
	})
	return false, err
}

// deadlineOf is when the drain must be over; ok is false when there is no such time.
func deadlineOf(claim *karpenter.NodeClaim) (deadline time.Time, ok bool) {
	deadline, err := time.Parse(time.RFC3339, claim.Annotations[wellknown.AnnotationTerminationTimestamp])
	return deadline, err == nil
}

// overdue reports whether the pod has to be deleted now to be gone by the deadline.
func overdue(pod *corev1.Pod, now, deadline time.Time) bool {
	if pod.DeletionTimestamp != nil {
		return pod.DeletionTimestamp.After(deadline)
	}
	grace := corev1.DefaultTerminationGracePeriodSeconds
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = int(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return now.After(deadline.Add(-time.Duration(grace) * time.Second))
}

// tierOf orders the drain: ordinary pods, ordinary daemons, critical pods, critical daemons; each tier
// only when the one before is gone.
func tierOf(pod *corev1.Pod) int {
	tier := 0
	if cluster.OwnedByDaemonSet(pod) {
		tier++
	}
	if pod.Spec.PriorityClassName == "system-cluster-critical" || pod.Spec.PriorityClassName == "system-node-critical" {
		tier += 2
	}
	return tier
}

func (h *Handler) evict(ctx context.Context, host cluster.Host, pod *corev1.Pod) error {
	err := h.Pods.Evict(ctx, pod)
	switch {
	case err == nil:
		h.Log.Info("evicted pod", slog.String(events.KeyPod, cluster.PodKey(pod)), slog.String(events.KeyNode, host.Node.Name))
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err):
		// A budget forbids it now, or several cover the pod, which the API server never evicts.
		h.Events.Post(ctx, cluster.Event{
			Object: cluster.NodeRef(host.Node), Type: corev1.EventTypeWarning, Reason: "FailedDraining",
			Message: fmt.Sprintf("pod %s cannot be evicted now: %s", cluster.PodKey(pod), err),
		})
		return nil
	default:
		return fmt.Errorf("evict pod %s: %w", cluster.PodKey(pod), err)
	}
}

func (h *Handler) deletePod(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	if err := h.Pods.DeletePod(ctx, pod, grace); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete pod %s: %w", cluster.PodKey(pod), err)
	}
	h.Log.Info("deleted pod before its node's deadline", slog.String(events.KeyPod, cluster.PodKey(pod)), slog.Duration(events.KeyGrace, grace))
	return nil
}

// absenceProof is how long an instance must be missing from EC2's lists before it counts as gone: one
// that was just launched may not be listed yet.
const absenceProof = time.Minute

// gone reports whether the claim's instance no longer exists: it is listed as terminated, or has been
// missing from the lists for long enough.
func gone(instances []cluster.Instance, now time.Time, host cluster.Host) bool {
	listed := false
	for _, instance := range instances {
		if !belongs(instance, host) {
			continue
		}
		if instance.State != cluster.InstanceTerminated {
			return false
		}
		listed = true
	}
	neverLaunched := host.InstanceID() == "" && host.Claim.Annotations[wellknown.AnnotationLaunch] == ""
	return listed || neverLaunched || now.Sub(host.LaunchedAt()) > absenceProof
}

// endInstance terminates the claim's instance, unless it is shutting down already. One that is not listed
// yet is terminated by its id; one that the claim does not know of, because a crash kept it from being
// written down, is found by its tags.
func (h *Handler) endInstance(ctx context.Context, instances []cluster.Instance, host cluster.Host) error {
	listed := false
	for _, instance := range instances {
		if !belongs(instance, host) {
			continue
		}
		listed = true
		if instance.State == cluster.InstanceShuttingDown || instance.State == cluster.InstanceTerminated {
			continue
		}
		if err := h.terminateInstance(ctx, instance.ID, host.Claim.Name); err != nil {
			return err
		}
	}
	if id := host.InstanceID(); id != "" && !listed {
		return h.terminateInstance(ctx, id, host.Claim.Name)
	}
	return nil
}

func (h *Handler) terminateInstance(ctx context.Context, id cluster.InstanceID, claim string) error {
	if err := h.Instances.Terminate(ctx, id); err != nil {
		return fmt.Errorf("terminate instance %s of NodeClaim %s: %w", id, claim, err)
	}
	h.Log.Info("terminated instance", slog.String(events.KeyInstance, string(id)), slog.String(events.KeyNodeClaim, claim))
	return nil
}

// belongs reports whether the instance is the claim's.
func belongs(instance cluster.Instance, host cluster.Host) bool {
	return instance.ID == host.InstanceID() || instance.Tags[wellknown.TagNodeClaim] == host.Claim.Name
}

// forget removes what is left of the claim in the cluster: its node, then itself.
func (h *Handler) forget(ctx context.Context, host cluster.Host) error {
	if host.Node != nil {
		node := host.Node.DeepCopy()
		node.Finalizers = slices.DeleteFunc(node.Finalizers, func(f string) bool { return f == wellknown.FinalizerTermination })
		if _, err := h.Nodes.UpdateNode(ctx, node); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("take finalizer off node %s: %w", node.Name, err)
		}
		if err := h.Nodes.DeleteNode(ctx, node.Name); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete node %s: %w", node.Name, err)
		}
	}
	claim := host.Claim.DeepCopy()
	claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == wellknown.FinalizerTermination })
	if _, err := h.Claims.UpdateNodeClaim(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("take finalizer off NodeClaim %s: %w", claim.Name, err)
	}
	h.Log.Info("removed NodeClaim", slog.String(events.KeyNodeClaim, claim.Name))
	return nil
}
