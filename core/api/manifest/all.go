package manifest

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// All are the objects in the order in which they can be applied: what others refer to comes first.
func (o *Objects) All() []runtime.Object {
	var all []runtime.Object
	all = appendObjects(all, o.Namespaces)
	all = appendObjects(all, o.PriorityClasses)
	all = appendObjects(all, o.StorageClasses)
	all = appendObjects(all, o.PersistentVolumes)
	all = appendObjects(all, o.PersistentVolumeClaims)
	all = appendObjects(all, o.NodeClasses)
	all = appendObjects(all, o.NodePools)
	all = appendObjects(all, o.NodeClaims)
	all = appendObjects(all, o.Nodes)
	all = appendObjects(all, o.PodDisruptionBudgets)
	all = appendObjects(all, o.DaemonSets)
	all = appendObjects(all, o.Deployments)
	all = appendObjects(all, o.StatefulSets)
	all = appendObjects(all, o.ReplicaSets)
	all = appendObjects(all, o.Jobs)
	return appendObjects(all, o.Pods)
}

// appendObjects appends pointers to the items of a list of one kind.
func appendObjects[T any, P interface {
	*T
	runtime.Object
}](all []runtime.Object, items []T) []runtime.Object {
	for i := range items {
		all = append(all, P(&items[i]))
	}
	return all
}
