package sim

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/cluster"
)

// DeletePod deletes a pod with a grace period, whatever its disruption budgets say. A pod that is ending
// already ends sooner when the new period is shorter, never later.
func (k *Kube) DeletePod(_ context.Context, pod *corev1.Pod, grace time.Duration) error {
	return k.world.effect("kube.DeletePod", cluster.PodKey(pod), func() error {
		current, err := k.samePod(pod)
		if err != nil {
			return err
		}
		k.deletePod(current, grace)
		return nil
	})
}

// samePod finds the pod as it is now: its namesake with another UID is a conflict.
func (k *Kube) samePod(pod *corev1.Pod) (*corev1.Pod, error) {
	current, err := find[*corev1.Pod](k.store, pod.Namespace, pod.Name)
	if err != nil {
		return nil, err
	}
	if pod.UID != "" && pod.UID != current.UID {
		return nil, apierrors.NewConflict(kindOf(pod).resource(), pod.Name, errOtherPod)
	}
	return current, nil
}

// gracePeriod is what the pod itself asks for.
func gracePeriod(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
}

// deletePod begins a pod's end. The kubelet finishes it; a pod that no kubelet runs goes at once.
func (k *Kube) deletePod(pod *corev1.Pod, grace time.Duration) {
	if pod.Spec.NodeName == "" || cluster.Terminal(pod) || grace <= 0 {
		k.endPod(pod)
		return
	}
	seconds := int64((grace + time.Second - 1) / time.Second)
	deadline := metav1.NewTime(k.world.clock.now.Truncate(time.Second).Add(time.Duration(seconds) * time.Second))
	if pod.DeletionTimestamp != nil && !deadline.Time.Before(pod.DeletionTimestamp.Time) {
		return
	}
	edit(k.store, pod, func(p *corev1.Pod) {
		p.DeletionTimestamp = &deadline
		p.DeletionGracePeriodSeconds = &seconds
	})
}

// endPod removes a pod, or leaves it to its finalizers.
func (k *Kube) endPod(pod *corev1.Pod) {
	current, ok := lookup[*corev1.Pod](k.store, pod.Namespace, pod.Name)
	if !ok || current.UID != pod.UID {
		return
	}
	if len(current.Finalizers) == 0 {
		k.store.remove(current)
		return
	}
	edit(k.store, current, func(p *corev1.Pod) {
		none := int64(0)
		if p.DeletionTimestamp == nil {
			now := metav1.NewTime(k.world.clock.now.Truncate(time.Second))
			p.DeletionTimestamp = &now
		}
		p.DeletionGracePeriodSeconds = &none
	})
}
