package cluster

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"whittle/core/api/wellknown"
)

// PodKey names a pod as namespace/name.
func PodKey(pod *corev1.Pod) string {
	return pod.Namespace + "/" + pod.Name
}

// Terminal reports whether the pod has ended for good.
func Terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Provisionable reports whether the pod waits for a node that kube-scheduler could not find. Pods that
// are held back by scheduling gates, nominated to a node by preemption, or made by a DaemonSet or a
// kubelet are not (upstream pkg/utils/pod/scheduling.go).
func Provisionable(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" &&
		pod.Status.NominatedNodeName == "" &&
		pod.DeletionTimestamp == nil &&
		!Terminal(pod) &&
		!OwnedByDaemonSet(pod) && !OwnedByNode(pod) &&
		unschedulable(pod)
}

func unschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}

// OwnedByDaemonSet reports whether a DaemonSet manages the pod.
func OwnedByDaemonSet(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// OwnedByNode reports whether the pod is a static pod, mirrored by its kubelet.
func OwnedByNode(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Node"
}

// Moves reports whether the pod would have to run elsewhere if its node went away: it is alive and
// neither a DaemonSet's nor a static pod.
func Moves(pod *corev1.Pod) bool {
	return !Terminal(pod) && pod.DeletionTimestamp == nil && !OwnedByDaemonSet(pod) && !OwnedByNode(pod)
}

// DoNotDisrupt reports whether the pod forbids voluntary disruption now. Its annotation is "true", or
// a duration counted from the pod's start; one that cannot be read forbids nothing.
func DoNotDisrupt(pod *corev1.Pod, now time.Time) bool {
	value := pod.Annotations[wellknown.AnnotationDoNotDisrupt]
	if value == "true" {
		return true
	}
	length, err := time.ParseDuration(value)
	if err != nil || length <= 0 {
		return false
	}
	return pod.Status.StartTime == nil || now.Before(pod.Status.StartTime.Add(length))
}

// EvictionCost is how much it takes to move the pod, from -10 to 10; 1 for an ordinary pod. Deletion
// cost and priority raise or lower it (upstream pkg/utils/disruption).
func EvictionCost(pod *corev1.Pod) float64 {
	cost := 1.0
	if deletion, err := strconv.ParseFloat(pod.Annotations[wellknown.AnnotationPodDeletionCost], 64); err == nil {
		cost += deletion / (1 << 27)
	}
	if pod.Spec.Priority != nil {
		cost += float64(*pod.Spec.Priority) / (1 << 25)
	}
	return min(max(cost, -10), 10)
}

// Evictable reports whether a drain evicts the pod: it is alive, no static pod, and does not tolerate
// the taint of a node that is going away.
func Evictable(pod *corev1.Pod) bool {
	return !Terminal(pod) && !OwnedByNode(pod) && !Tolerates(pod.Spec.Tolerations, wellknown.DisruptedTaint())
}

// Tolerates reports whether one of the tolerations covers the taint.
func Tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	for i := range tolerations {
		if toleratesTaint(&tolerations[i], &taint) {
			return true
		}
	}
	return false
}

func toleratesTaint(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect {
		return false
	}
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case corev1.TolerationOpExists:
		return true
	case "", corev1.TolerationOpEqual:
		return toleration.Key != "" && toleration.Value == taint.Value
	default:
		return false
	}
}

// BudgetsOf are the PodDisruptionBudgets that cover the pod.
func (s *Snapshot) BudgetsOf(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var budgets []*policyv1.PodDisruptionBudget
	for _, budget := range s.PodDisruptionBudgets {
		if budget.Namespace != pod.Namespace || budget.Spec.Selector == nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, budget)
		}
	}
	return budgets
}

// BlockedForGood reports whether a PodDisruptionBudget of the pod never allows a disruption, however many
// pods are healthy: maxUnavailable 0, or minAvailable 100 %.
func (s *Snapshot) BlockedForGood(pod *corev1.Pod) bool {
	for _, budget := range s.BudgetsOf(pod) {
		if most := budget.Spec.MaxUnavailable; most != nil && (most.String() == "0" || most.String() == "0%") {
			return true
		}
		if least := budget.Spec.MinAvailable; least != nil && least.String() == "100%" {
			return true
		}
	}
	return false
}

// EvictionBlocked says which PodDisruptionBudget forbids evicting the pod now; it is empty when none does.
func (s *Snapshot) EvictionBlocked(pod *corev1.Pod) string {
	budgets := s.BudgetsOf(pod)
	if len(budgets) > 1 {
		return fmt.Sprintf("%d PodDisruptionBudgets cover it, and the API server evicts no such pod", len(budgets))
	}
	for _, budget := range budgets {
		unhealthy := budget.Spec.UnhealthyPodEvictionPolicy
		if unhealthy != nil && *unhealthy == policyv1.AlwaysAllow && !podReady(pod) {
			continue
		}
		if budget.Status.DisruptionsAllowed == 0 {
			return fmt.Sprintf("PodDisruptionBudget %s allows no disruption now", budget.Name)
		}
	}
	return ""
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
