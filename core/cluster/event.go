package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
)

// Event is a Kubernetes Event to be written about an object.
type Event struct {
	// Object it is about: kind, name, namespace and UID.
	Object corev1.ObjectReference
	// Type is Normal or Warning.
	Type    string
	Reason  string
	Message string
}

// NodeClaimRef refers to a NodeClaim in an Event.
func NodeClaimRef(claim *karpenter.NodeClaim) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: wellknown.GroupKarpenter + "/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID}
}

// PodRef refers to a pod in an Event.
func PodRef(pod *corev1.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// NodeRef refers to a node in an Event.
func NodeRef(node *corev1.Node) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
}
