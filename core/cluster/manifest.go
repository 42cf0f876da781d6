package cluster

import (
	"k8s.io/apimachinery/pkg/runtime"

	"whittle/core/api/manifest"
)

// FromManifests is the cluster that the objects describe: workloads as the pods they will make, none of
// which has found a node. Name, time and catalog are left to the caller.
func FromManifests(objects manifest.Objects) *Snapshot {
	s := &Snapshot{
		NodePools:            pointers(objects.NodePools),
		NodeClasses:          pointers(objects.NodeClasses),
		NodeClaims:           pointers(objects.NodeClaims),
		Nodes:                pointers(objects.Nodes),
		DaemonSets:           pointers(objects.DaemonSets),
		PodDisruptionBudgets: pointers(objects.PodDisruptionBudgets),
		PersistentVolumes:    pointers(objects.PersistentVolumes),
		VolumeClaims:         pointers(objects.PersistentVolumeClaims),
		StorageClasses:       pointers(objects.StorageClasses),
		CSINodes:             pointers(objects.CSINodes),
		Namespaces:           pointers(objects.Namespaces),
	}
	for _, claim := range s.VolumeClaims {
		claim.Namespace = namespaceOf(&claim.ObjectMeta)
	}
	for _, set := range s.DaemonSets {
		set.Namespace = namespaceOf(&set.ObjectMeta)
	}
	for _, workload := range Workloads(objects) {
		s.Pods = append(s.Pods, PodsOf(workload)...)
	}
	return s
}

// Workloads are the objects that make pods for kube-scheduler to place.
func Workloads(objects manifest.Objects) []runtime.Object {
	var workloads []runtime.Object
	for i := range objects.Deployments {
		workloads = append(workloads, &objects.Deployments[i])
	}
	for i := range objects.StatefulSets {
		workloads = append(workloads, &objects.StatefulSets[i])
	}
	for i := range objects.ReplicaSets {
		workloads = append(workloads, &objects.ReplicaSets[i])
	}
	for i := range objects.Jobs {
		workloads = append(workloads, &objects.Jobs[i])
	}
	for i := range objects.Pods {
		workloads = append(workloads, &objects.Pods[i])
	}
	return workloads
}

// pointers are deep enough copies for a snapshot to own: the list is its own, what it points to is not
// changed by anyone.
func pointers[T any](list []T) []*T {
	result := make([]*T, len(list))
	for i := range list {
		one := list[i]
		result[i] = &one
	}
	return result
}
