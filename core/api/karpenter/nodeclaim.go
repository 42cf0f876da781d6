package karpenter

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeClaim asks for one node, and follows it from its launch to its end.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type",description=""
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type",description=""
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone",description=""
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description=""
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="ImageID",type="string",JSONPath=".status.imageID",priority=1,description=""
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.providerID",priority=1,description=""
// +kubebuilder:printcolumn:name="NodePool",type="string",JSONPath=".metadata.labels.karpenter\\.sh/nodepool",priority=1,description=""
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.nodeClassRef.name",priority=1,description=""
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type==\"Drifted\")].status",priority=1,description=""
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the request.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable"
	Spec NodeClaimSpec `json:"spec"`
	// Status is how far the request has come.
	Status NodeClaimStatus `json:"status,omitempty"`
}

// NodeClaimList is a list of NodeClaims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeClaim `json:"items"`
}

// NodeClaimSpec is the request; it never changes.
type NodeClaimSpec struct {
	// Taints that pods must tolerate.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="effect must be NoSchedule, PreferNoSchedule or NoExecute"
	// +kubebuilder:validation:XValidation:rule="self.all(x, size(x.key) > 0)",message="a taint needs a key"
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// StartupTaints are on the node until something takes them off; pods need not tolerate them.
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="effect must be NoSchedule, PreferNoSchedule or NoExecute"
	// +kubebuilder:validation:XValidation:rule="self.all(x, size(x.key) > 0)",message="a taint needs a key"
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Requirements constrain the labels of the node.
	// +kubebuilder:validation:MaxItems:=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || (has(x.values) && size(x.values) > 0))",message="In takes at least one value"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(x.values) && size(x.values) == 1 && x.values[0].matches('^[0-9]+$')))",message="Gt, Lt, Gte and Lte take exactly one integer >= 0"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || !has(x.minValues) || (has(x.values) && size(x.values) >= x.minValues))",message="In with minValues must list at least that many values"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.key != 'kubernetes.io/hostname')",message="label kubernetes.io/hostname is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.key in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || !x.key.matches('^([^/]+[.])?karpenter[.]sh/'))",message="labels of the domain karpenter.sh are restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !x.key.matches('^([^/]+[.])?karpenter[.]k8s[.]aws/') || x.key.matches('^karpenter[.]k8s[.]aws/(ec2nodeclass|nitro-sandbox|capacity-reservation-(id|type|interruptible)|placement-group-(id|partition)|instance-(hypervisor|encryption-in-transit-supported|category|capability-flex|family|generation|size|local-nvme|cpu|cpu-manufacturer|cpu-sustained-clock-speed-mhz|memory|ebs-bandwidth|network-bandwidth|gpu-name|gpu-manufacturer|gpu-count|gpu-memory|accelerator-name|accelerator-manufacturer|accelerator-count|tenancy))$'))",message="undocumented labels of the domain karpenter.k8s.aws are restricted"
	// +required
	Requirements []Requirement `json:"requirements"`
	// Resources is what the pods planned for the node ask for, DaemonSets included.
	// +optional
	Resources ResourceRequirements `json:"resources,omitempty"`
	// NodeClassRef names the class that holds the cloud's settings.
	// +required
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// TerminationGracePeriod is the longest the drain may take before pods are deleted by force.
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type="string"
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// ExpireAfter is the age at which the node is replaced.
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ExpireAfter *NillableDuration `json:"expireAfter,omitempty"`
}

// ResourceRequirements is the least a NodeClaim's node must offer.
type ResourceRequirements struct {
	// Requests by resource.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeClaimStatus is how far the request has come.
type NodeClaimStatus struct {
	// NodeName is the node that registered for the claim.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// ProviderID is aws:///<zone>/<instance id>.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// ImageID of the instance.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// Capacity of the node, as computed at launch.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Allocatable is the part of the capacity that pods can have.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// Conditions are the steps of the claim's life.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastPodEventTime is when a pod last came to the node or left it.
	// +optional
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitempty"`
}

// Condition types of a NodeClaim, in the order of its life.
const (
	ConditionLaunched             = "Launched"
	ConditionRegistered           = "Registered"
	ConditionInitialized          = "Initialized"
	ConditionConsolidatable       = "Consolidatable"
	ConditionDrifted              = "Drifted"
	ConditionDisruptionReason     = "DisruptionReason"
	ConditionDrained              = "Drained"
	ConditionVolumesDetached      = "VolumesDetached"
	ConditionInstanceTerminating  = "InstanceTerminating"
	ConditionConsistentStateFound = "ConsistentStateFound"
)
