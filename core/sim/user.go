package sim

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
)

// Apply creates an object, or updates the one of its name: as kubectl apply does, it leaves alone the
// labels and annotations that others have put on it. A refusal by the admission callback is an error with
// the callback's message.
func (k *Kube) Apply(_ context.Context, obj runtime.Object) error {
	wanted, ok := obj.DeepCopyObject().(object)
	if !ok {
		return fmt.Errorf("apply %T: not an object", obj)
	}
	described, ok := describe(wanted)
	if !ok {
		return fmt.Errorf("apply %T: the world has no such kind", obj)
	}
	if described.namespaced && wanted.GetNamespace() == "" {
		wanted.SetNamespace(metav1.NamespaceDefault)
	}
	current, exists := k.store.objects[described.Kind][keyOf(wanted)]
	if !exists {
		if node, ok := wanted.(*corev1.Node); ok {
			setNodeDefaults(node)
		}
		return k.create(wanted)
	}
	setDefaults(wanted)
	wanted.SetUID(current.GetUID())
	wanted.SetResourceVersion(current.GetResourceVersion())
	wanted.SetLabels(merge(current.GetLabels(), wanted.GetLabels()))
	wanted.SetAnnotations(merge(current.GetAnnotations(), wanted.GetAnnotations()))
	wanted.SetFinalizers(current.GetFinalizers())
	wanted.SetOwnerReferences(current.GetOwnerReferences())
	keepStatus(wanted, current)
	keepAssigned(wanted, current)
	_, err := k.save(current, wanted, "")
	return err
}

// keepAssigned keeps what the cluster has put into a spec since its user wrote it. The spec of a pod
// cannot be changed at all.
func keepAssigned(to, from object) {
	switch o := to.(type) {
	case *corev1.Pod:
		o.Spec = from.(*corev1.Pod).Spec
	case *corev1.PersistentVolumeClaim:
		o.Spec.VolumeName = from.(*corev1.PersistentVolumeClaim).Spec.VolumeName
	case *corev1.Node:
		o.Spec.ProviderID = from.(*corev1.Node).Spec.ProviderID
	}
}

func merge(base, over map[string]string) map[string]string {
	if len(base) == 0 {
		return over
	}
	merged := make(map[string]string, len(base)+len(over))
	maps.Copy(merged, base)
	maps.Copy(merged, over)
	return merged
}

// Delete deletes an object of a kind such as "Deployment". What the object owns goes after it; a pod ends
// with its own grace period.
func (k *Kube) Delete(_ context.Context, kind, namespace, name string) error {
	obj, ok := k.store.objects[kind][key{namespace, name}]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key{namespace, name}.String())
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		k.deletePod(pod, gracePeriod(pod))
		return nil
	}
	k.store.finish(obj)
	return nil
}

// Scale sets the replicas of a Deployment.
func (k *Kube) Scale(_ context.Context, namespace, deployment string, replicas int) error {
	current, err := find[*appsv1.Deployment](k.store, namespace, deployment)
	if err != nil {
		return err
	}
	edit(k.store, current, func(d *appsv1.Deployment) {
		count := int32(replicas)
		d.Spec.Replicas = &count
	})
	return nil
}

// Pods of all namespaces, by namespace and name; copies, as all lists here are.
func (k *Kube) Pods() []*corev1.Pod { return copies(list[*corev1.Pod](k.store)) }

// Nodes by name.
func (k *Kube) Nodes() []*corev1.Node { return copies(list[*corev1.Node](k.store)) }

// NodeClaims by name.
func (k *Kube) NodeClaims() []*karpenter.NodeClaim {
	return copies(list[*karpenter.NodeClaim](k.store))
}

// NodePools by name.
func (k *Kube) NodePools() []*karpenter.NodePool { return copies(list[*karpenter.NodePool](k.store)) }

// NodeClasses by name.
func (k *Kube) NodeClasses() []*aws.EC2NodeClass { return copies(list[*aws.EC2NodeClass](k.store)) }

// Deployments by namespace and name.
func (k *Kube) Deployments() []*appsv1.Deployment { return copies(list[*appsv1.Deployment](k.store)) }

// ReplicaSets by namespace and name.
func (k *Kube) ReplicaSets() []*appsv1.ReplicaSet { return copies(list[*appsv1.ReplicaSet](k.store)) }

// StatefulSets by namespace and name.
func (k *Kube) StatefulSets() []*appsv1.StatefulSet {
	return copies(list[*appsv1.StatefulSet](k.store))
}

// DaemonSets by namespace and name.
func (k *Kube) DaemonSets() []*appsv1.DaemonSet { return copies(list[*appsv1.DaemonSet](k.store)) }

// Jobs by namespace and name.
func (k *Kube) Jobs() []*batchv1.Job { return copies(list[*batchv1.Job](k.store)) }

// PodDisruptionBudgets by namespace and name.
func (k *Kube) PodDisruptionBudgets() []*policyv1.PodDisruptionBudget {
	return copies(list[*policyv1.PodDisruptionBudget](k.store))
}

// VolumeClaims by namespace and name.
func (k *Kube) VolumeClaims() []*corev1.PersistentVolumeClaim {
	return copies(list[*corev1.PersistentVolumeClaim](k.store))
}

// PersistentVolumes by name.
func (k *Kube) PersistentVolumes() []*corev1.PersistentVolume {
	return copies(list[*corev1.PersistentVolume](k.store))
}

// StorageClasses by name.
func (k *Kube) StorageClasses() []*storagev1.StorageClass {
	return copies(list[*storagev1.StorageClass](k.store))
}

// Events of all namespaces, by namespace and name.
func (k *Kube) Events() []*eventsv1.Event { return copies(list[*eventsv1.Event](k.store)) }

// GetPod reads one pod.
func (k *Kube) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return read[*corev1.Pod](k, namespace, name)
}
