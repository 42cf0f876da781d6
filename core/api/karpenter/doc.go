// Package karpenter holds the objects of the API group karpenter.sh/v1: NodePool and NodeClaim, with
// their defaults, their validation and the older spellings that Whittle still accepts.
//
// +kubebuilder:object:generate=true
// +groupName=karpenter.sh
// +versionName=v1
package karpenter
