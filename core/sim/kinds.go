package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
)

// object is what the store holds: any of the kinds below.
type object interface {
	metav1.Object
	runtime.Object
}

// kind describes a kind of object as the API server knows it.
type kind struct {
	schema.GroupVersionKind
	// plural is the kind's name in paths and errors.
	plural     string
	namespaced bool
	// custom kinds are ours, defined by CRDs: validated by callback, and updated only with a
	// resourceVersion.
	custom bool
}

func (k kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.plural}
}

// describe knows the kinds of the world; ok is false for any other.
func describe(obj runtime.Object) (k kind, ok bool) {
	if k, ok = describeCustom(obj); ok {
		return k, true
	}
	if k, ok = describeWorkload(obj); ok {
		return k, true
	}
	core := corev1.SchemeGroupVersion
	switch obj.(type) {
	case *corev1.Node:
		return clusterKind(core, "Node", "nodes"), true
	case *corev1.Pod:
		return namespacedKind(core, "Pod", "pods"), true
	case *corev1.Namespace:
		return clusterKind(core, "Namespace", "namespaces"), true
	case *corev1.PersistentVolume:
		return clusterKind(core, "PersistentVolume", "persistentvolumes"), true
	case *corev1.PersistentVolumeClaim:
		return namespacedKind(core, "PersistentVolumeClaim", "persistentvolumeclaims"), true
	case *storagev1.StorageClass:
		return clusterKind(storagev1.SchemeGroupVersion, "StorageClass", "storageclasses"), true
	case *policyv1.PodDisruptionBudget:
		return namespacedKind(policyv1.SchemeGroupVersion, "PodDisruptionBudget", "poddisruptionbudgets"), true
	case *eventsv1.Event:
		return namespacedKind(eventsv1.SchemeGroupVersion, "Event", "events"), true
	default:
		return kind{}, false
	}
}

func describeCustom(obj runtime.Object) (k kind, ok bool) {
	switch obj.(type) {
	case *karpenter.NodePool:
		k = clusterKind(schema.GroupVersion{Group: wellknown.GroupKarpenter, Version: "v1"}, "NodePool", "nodepools")
	case *karpenter.NodeClaim:
		k = clusterKind(schema.GroupVersion{Group: wellknown.GroupKarpenter, Version: "v1"}, "NodeClaim", "nodeclaims")
	case *aws.EC2NodeClass:
		k = clusterKind(schema.GroupVersion{Group: wellknown.GroupAWS, Version: "v1"}, "EC2NodeClass", "ec2nodeclasses")
	default:
		return kind{}, false
	}
	k.custom = true
	return k, true
}

func describeWorkload(obj runtime.Object) (k kind, ok bool) {
	apps := appsv1.SchemeGroupVersion
	switch obj.(type) {
	case *appsv1.Deployment:
		return namespacedKind(apps, "Deployment", "deployments"), true
	case *appsv1.ReplicaSet:
		return namespacedKind(apps, "ReplicaSet", "replicasets"), true
	case *appsv1.StatefulSet:
		return namespacedKind(apps, "StatefulSet", "statefulsets"), true
	case *appsv1.DaemonSet:
		return namespacedKind(apps, "DaemonSet", "daemonsets"), true
	case *batchv1.Job:
		return namespacedKind(batchv1.SchemeGroupVersion, "Job", "jobs"), true
	default:
		return kind{}, false
	}
}

func clusterKind(version schema.GroupVersion, name, plural string) kind {
	return kind{GroupVersionKind: version.WithKind(name), plural: plural}
}

func namespacedKind(version schema.GroupVersion, name, plural string) kind {
	return kind{GroupVersionKind: version.WithKind(name), plural: plural, namespaced: true}
}

// kindOf is describe for an object that is of the world.
func kindOf(obj runtime.Object) kind {
	k, _ := describe(obj)
	return k
}

// specOf is the part of an object that its generation counts the changes of; nil for kinds without one.
func specOf(obj object) any {
	switch o := obj.(type) {
	case *karpenter.NodePool:
		return o.Spec
	case *karpenter.NodeClaim:
		return o.Spec
	case *aws.EC2NodeClass:
		return o.Spec
	case *appsv1.Deployment:
		return o.Spec
	case *appsv1.ReplicaSet:
		return o.Spec
	case *appsv1.StatefulSet:
		return o.Spec
	case *appsv1.DaemonSet:
		return o.Spec
	case *batchv1.Job:
		return o.Spec
	case *policyv1.PodDisruptionBudget:
		return o.Spec
	default:
		return nil
	}
}

// keepStatus gives to the status of from, as the API server does when the object itself is written and
// not its subresource status.
func keepStatus(to, from object) {
	switch o := to.(type) {
	case *karpenter.NodePool:
		o.Status = from.(*karpenter.NodePool).Status
	case *karpenter.NodeClaim:
		o.Status = from.(*karpenter.NodeClaim).Status
	case *aws.EC2NodeClass:
		o.Status = from.(*aws.EC2NodeClass).Status
	case *corev1.Node:
		o.Status = from.(*corev1.Node).Status
	case *corev1.Pod:
		o.Status = from.(*corev1.Pod).Status
	case *corev1.Namespace:
		o.Status = from.(*corev1.Namespace).Status
	case *corev1.PersistentVolume:
		o.Status = from.(*corev1.PersistentVolume).Status
	case *corev1.PersistentVolumeClaim:
		o.Status = from.(*corev1.PersistentVolumeClaim).Status
	case *appsv1.Deployment:
		o.Status = from.(*appsv1.Deployment).Status
	case *appsv1.ReplicaSet:
		o.Status = from.(*appsv1.ReplicaSet).Status
	case *appsv1.StatefulSet:
		o.Status = from.(*appsv1.StatefulSet).Status
	case *appsv1.DaemonSet:
		o.Status = from.(*appsv1.DaemonSet).Status
	case *batchv1.Job:
		o.Status = from.(*batchv1.Job).Status
	case *policyv1.PodDisruptionBudget:
		o.Status = from.(*policyv1.PodDisruptionBudget).Status
	}
}
