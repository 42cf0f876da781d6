package cluster

import (
	corev1 "k8s.io/api/core/v1"
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
