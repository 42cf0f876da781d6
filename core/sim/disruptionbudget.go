package sim

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whittle/core/cluster"
)

var (
	errOtherPod    = errors.New("the UID in the precondition is not that of the pod")
	errManyBudgets = errors.New("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support")
)

// disruptionBudgets keeps the status of PodDisruptionBudgets.
type disruptionBudgets struct {
	kube  *Kube
	store *store
}

func newDisruptionBudgets(k *Kube) {
	b := &disruptionBudgets{kube: k, store: k.store}
	k.store.watch(b.observe)
}

func (b *disruptionBudgets) observe(c change) {
	switch c.kind {
	case "PodDisruptionBudget":
		b.plan(c.key)
	case "Pod":
		pod := podOrNil(c.now)
		if pod == nil {
			pod = podOrNil(c.old)
		}
		for _, budget := range b.kube.budgetsOf(pod) {
			b.plan(keyOf(budget))
		}
	}
}

func (b *disruptionBudgets) plan(k key) {
	b.kube.world.clock.soon("PodDisruptionBudget "+k.String(), func() { b.reconcile(k) })
}

func (b *disruptionBudgets) reconcile(k key) {
	budget, ok := lookup[*policyv1.PodDisruptionBudget](b.store, k.namespace, k.name)
	if !ok {
		return
	}
	edit(b.store, budget, func(current *policyv1.PodDisruptionBudget) { current.Status = b.status(budget) })
}

// status counts a budget's pods (kube-controller-manager, pkg/controller/disruption).
func (b *disruptionBudgets) status(budget *policyv1.PodDisruptionBudget) policyv1.PodDisruptionBudgetStatus {
	status := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, Conditions: budget.Status.Conditions}
	var pods []*corev1.Pod
	for _, pod := range list[*corev1.Pod](b.store) {
		if !cluster.Terminal(pod) && covers(budget, pod) {
			pods = append(pods, pod)
		}
	}
	for _, pod := range pods {
		evicted, going := budget.Status.DisruptedPods[pod.Name]
		if going && pod.DeletionTimestamp == nil {
			if status.DisruptedPods == nil {
				status.DisruptedPods = map[string]metav1.Time{}
			}
			status.DisruptedPods[pod.Name] = evicted
			continue
		}
		if pod.DeletionTimestamp == nil && podReady(pod) {
			status.CurrentHealthy++
		}
	}
	status.ExpectedPods, status.DesiredHealthy = b.expectation(budget, pods)
	if status.ExpectedPods > 0 {
		status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
	}
	return status
}

// expectation is how many pods there should be and how many of them healthy. A number that must be
// available is compared with the pods there are; a share, and any number that may be unavailable, with the
// replicas their workloads ask for.
func (b *disruptionBudgets) expectation(budget *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, healthy int32) {
	least, most := budget.Spec.MinAvailable, budget.Spec.MaxUnavailable
	switch {
	case most != nil:
		expected = b.wanted(pods)
		unavailable, err := intstr.GetScaledValueFromIntOrPercent(most, int(expected), true)
		if err != nil {
			return expected, expected
		}
		return expected, max(0, expected-int32(unavailable))
	case least == nil:
		return int32(len(pods)), int32(len(pods))
	case least.Type == intstr.Int:
		return int32(len(pods)), least.IntVal
	default:
		expected = b.wanted(pods)
		available, err := intstr.GetScaledValueFromIntOrPercent(least, int(expected), true)
		if err != nil {
			return expected, expected
		}
		return expected, int32(available)
	}
}

// wanted is how many replicas the controllers of these pods want together; a pod without controller
// counts for itself.
func (b *disruptionBudgets) wanted(pods []*corev1.Pod) int32 {
	var sum int32
	seen := map[types.UID]bool{}
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			sum++
			continue
		}
		if seen[owner.UID] {
			continue
		}
		seen[owner.UID] = true
		sum += b.replicas(pod.Namespace, owner)
	}
	return sum
}

func (b *disruptionBudgets) replicas(namespace string, owner *metav1.OwnerReference) int32 {
	switch owner.Kind {
	case "ReplicaSet":
		set, ok := lookup[*appsv1.ReplicaSet](b.store, namespace, owner.Name)
		if !ok {
			return 0
		}
		if above := metav1.GetControllerOf(set); above != nil {
			if deployment, ok := lookup[*appsv1.Deployment](b.store, namespace, above.Name); ok {
				return orOne(deployment.Spec.Replicas)
			}
		}
		return orOne(set.Spec.Replicas)
	case "StatefulSet":
		if set, ok := lookup[*appsv1.StatefulSet](b.store, namespace, owner.Name); ok {
			return orOne(set.Spec.Replicas)
		}
	case "Job":
		if job, ok := lookup[*batchv1.Job](b.store, namespace, owner.Name); ok {
			return orOne(job.Spec.Parallelism)
		}
	case "DaemonSet":
		if set, ok := lookup[*appsv1.DaemonSet](b.store, namespace, owner.Name); ok {
			return set.Status.DesiredNumberScheduled
		}
	}
	return 0
}

// budgetsOf are the budgets that cover a pod, by name.
func (k *Kube) budgetsOf(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var budgets []*policyv1.PodDisruptionBudget
	for _, budget := range list[*policyv1.PodDisruptionBudget](k.store) {
		if covers(budget, pod) {
			budgets = append(budgets, budget)
		}
	}
	return budgets
}

// covers reports whether the budget selects the pod; an empty selector selects all of the namespace.
func covers(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if budget.Namespace != pod.Namespace || budget.Spec.Selector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// Evict asks for a pod to end with its own grace period, through the Eviction API: its disruption budget
// must allow it, otherwise the error is TooManyRequests; under more than one budget it is InternalError; a
// pod with another UID than that given is a Conflict (kube-apiserver, pkg/registry/core/pod/storage).
func (k *Kube) Evict(_ context.Context, pod *corev1.Pod) error {
	return k.world.effect("kube.Evict", cluster.PodKey(pod), func() error {
		current, err := k.samePod(pod)
		if err != nil {
			return err
		}
		if cluster.Terminal(current) || current.Status.Phase == corev1.PodPending || current.DeletionTimestamp != nil {
			k.deletePod(current, gracePeriod(current))
			return nil
		}
		budgets := k.budgetsOf(current)
		if len(budgets) > 1 {
			return apierrors.NewInternalError(errManyBudgets)
		}
		if len(budgets) == 1 {
			if err := k.spend(budgets[0], current); err != nil {
				return err
			}
		}
		k.deletePod(current, gracePeriod(current))
		return nil
	})
}

// spend takes one disruption from the budget, unless the pod is not healthy and its end costs nothing.
func (k *Kube) spend(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) error {
	if !podReady(pod) {
		always := budget.Spec.UnhealthyPodEvictionPolicy != nil && *budget.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		if always || budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0 {
			return nil
		}
	}
	switch status := budget.Status; {
	case status.ObservedGeneration < budget.Generation:
		return budgetError("the disruption budget has not been observed since it changed", 10)
	case status.DisruptionsAllowed <= 0:
		return budgetError("the pod's disruption budget does not allow its eviction now", 0)
	}
	edit(k.store, budget, func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptionsAllowed--
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		b.Status.DisruptedPods[pod.Name] = metav1.NewTime(k.world.clock.now)
	})
	return nil
}

func budgetError(message string, retryAfterSeconds int) error {
	err := apierrors.NewTooManyRequests(message, retryAfterSeconds)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause})
	return err
}
