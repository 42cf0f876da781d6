// Package aws holds the object of the API group karpenter.k8s.aws/v1, EC2NodeClass, with its
// defaults, its validation and the older spellings that Whittle still accepts.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.k8s.aws
// +versionName=v1
package aws
