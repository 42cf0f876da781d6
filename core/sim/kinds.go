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
	gvk := func(gv schema.GroupVersion, name string) schema.GroupVersionKind { return gv.WithKind(name) }
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	switch obj.(type) {
	case *karpenter.NodePool:
		return kind{gvk(schema.GroupVersion{Group: wellknown.GroupKarpenter, Version: "v1"}, "NodePool"), "nodepools", false, true}, true
	case *karpenter.NodeClaim:
		return kind{gvk(schema.GroupVersion{Group: wellknown.GroupKarpenter, Version: "v1"}, "NodeClaim"), "nodeclaims", false, true}, true
	case *aws.EC2NodeClass:
		return kind{gvk(schema.GroupVersion{Group: wellknown.GroupAWS, Version: "v1"}, "EC2NodeClass"), "ec2nodeclasses", false, true}, true
	case *corev1.Node:
		return kind{gvk(core, "Node"), "nodes", false, false}, true
	case *corev1.Pod:
		return kind{gvk(core, "Pod"), "pods", true, false}, true
	case *corev1.Namespace:
		return kind{gvk(core, "Namespace"), "namespaces", false, false}, true
	case *corev1.PersistentVolume:
		return kind{gvk(core, "PersistentVolume"), "persistentvolumes", false, false}, true
	case *corev1.PersistentVolumeClaim:
		return kind{gvk(core, "PersistentVolumeClaim"), "persistentvolumeclaims", true, false}, true
	case *appsv1.Deployment:
		return kind{gvk(apps, "Deployment"), "deployments", true, false}, true
	case *appsv1.ReplicaSet:
		return kind{gvk(apps, "ReplicaSet"), "replicasets", true, false}, true
	case *appsv1.StatefulSet:
		return kind{gvk(apps, "StatefulSet"), "statefulsets", true, false}, true
	case *appsv1.DaemonSet:
		return kind{gvk(apps, "DaemonSet"), "daemonsets", true, false}, true
	case *batchv1.Job:
		return kind{gvk(batchv1.SchemeGroupVersion, "Job"), "jobs", true, false}, true
	case *policyv1.PodDisruptionBudget:
		return kind{gvk(policyv1.SchemeGroupVersion, "PodDisruptionBudget"), "poddisruptionbudgets", true, false}, true
	case *storagev1.StorageClass:
		return kind{gvk(storagev1.SchemeGroupVersion, "StorageClass"), "storageclasses", false, false}, true
	case *eventsv1.Event:
		return kind{gvk(eventsv1.SchemeGroupVersion, "Event"), "events", true, false}, true
	default:
		return kind{}, false
	}
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
