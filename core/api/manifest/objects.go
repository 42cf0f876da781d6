package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
)

// Objects are the objects of one or more files, each kind in the order of the files. NodePools,
// NodeClaims and NodeClasses have their defaults; the others are as written.
type Objects struct {
	NodePools   []karpenter.NodePool
	NodeClaims  []karpenter.NodeClaim
	NodeClasses []aws.EC2NodeClass

	Deployments  []appsv1.Deployment
	StatefulSets []appsv1.StatefulSet
	ReplicaSets  []appsv1.ReplicaSet
	DaemonSets   []appsv1.DaemonSet
	Jobs         []batchv1.Job
	Pods         []corev1.Pod

	Nodes                  []corev1.Node
	PersistentVolumeClaims []corev1.PersistentVolumeClaim
	PersistentVolumes      []corev1.PersistentVolume
	StorageClasses         []storagev1.StorageClass
	CSINodes               []storagev1.CSINode
	PodDisruptionBudgets   []policyv1.PodDisruptionBudget
	Namespaces             []corev1.Namespace
	PriorityClasses        []schedulingv1.PriorityClass

	places map[placeKey]Place
}

type placeKey struct{ kind, name string }

// PlaceOf is where the cluster-scoped object of that kind and name stands; of several, the last.
func (o *Objects) PlaceOf(kind, name string) Place {
	return o.places[placeKey{kind, name}]
}

func (o *Objects) note(at Place) {
	if o.places == nil {
		o.places = map[placeKey]Place{}
	}
	o.places[placeKey{at.Kind, at.Name}] = at
}

// Add appends the objects of another file.
func (o *Objects) Add(other Objects) {
	o.NodePools = append(o.NodePools, other.NodePools...)
	o.NodeClaims = append(o.NodeClaims, other.NodeClaims...)
	o.NodeClasses = append(o.NodeClasses, other.NodeClasses...)
	o.Deployments = append(o.Deployments, other.Deployments...)
	o.StatefulSets = append(o.StatefulSets, other.StatefulSets...)
	o.ReplicaSets = append(o.ReplicaSets, other.ReplicaSets...)
	o.DaemonSets = append(o.DaemonSets, other.DaemonSets...)
	o.Jobs = append(o.Jobs, other.Jobs...)
	o.Pods = append(o.Pods, other.Pods...)
	o.Nodes = append(o.Nodes, other.Nodes...)
	o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, other.PersistentVolumeClaims...)
	o.PersistentVolumes = append(o.PersistentVolumes, other.PersistentVolumes...)
	o.StorageClasses = append(o.StorageClasses, other.StorageClasses...)
	o.CSINodes = append(o.CSINodes, other.CSINodes...)
	o.PodDisruptionBudgets = append(o.PodDisruptionBudgets, other.PodDisruptionBudgets...)
	o.Namespaces = append(o.Namespaces, other.Namespaces...)
	o.PriorityClasses = append(o.PriorityClasses, other.PriorityClasses...)
	for _, place := range other.places {
		o.note(place)
	}
}
