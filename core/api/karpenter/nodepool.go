package karpenter

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePool says which nodes may be launched and how they are treated while they live.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name",description=""
// +kubebuilder:printcolumn:name="Nodes",type="string",JSONPath=".status.resources.nodes",description=""
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description=""
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",priority=1,description=""
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",priority=1,description=""
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   NodePoolSpec   `json:"spec"`
	Status NodePoolStatus `json:"status,omitempty"`
}

// WeightOrZero is the pool's weight; a pool without one weighs 0.
func (p *NodePool) WeightOrZero() int32 {
	if p.Spec.Weight == nil {
		return 0
	}
	return *p.Spec.Weight
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// NodePoolSpec is what a NodePool's author asks for.
type NodePoolSpec struct {
	// Template is what every NodeClaim of the pool is made from; changing it drifts the pool's nodes.
	// +required
	Template NodeClaimTemplate `json:"template"`
	// Disruption says when and how many nodes may be removed or replaced of Whittle's own will.
	// +kubebuilder:default:={consolidateAfter: "0s"}
	// +optional
	Disruption Disruption `json:"disruption,omitempty"`
	// Limits caps the sum of the capacity of the pool's nodes, by resource; "nodes" counts nodes.
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// Weight orders pools: of those a pod may use, the heaviest is used first. None counts as 0.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// Replicas makes the pool static: this many nodes, whatever the pods.
	// +kubebuilder:validation:Minimum:=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// NodeClaimTemplate is the shape of the NodeClaims a NodePool makes.
type NodeClaimTemplate struct {
	// +optional
	ObjectMeta TemplateMeta `json:"metadata,omitempty"`
	// +required
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// TemplateMeta is the metadata that a template gives to its nodes.
type TemplateMeta struct {
	// Labels become labels of the node and requirements of the pool.
	// +kubebuilder:validation:MaxProperties=100
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are copied to the NodeClaim and the node.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeClaimTemplateSpec is the part of a NodeClaim's spec that its NodePool decides.
type NodeClaimTemplateSpec struct {
	// Taints that pods must tolerate.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// StartupTaints are on the node until something takes them off; pods need not tolerate them.
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Requirements constrain the labels of the nodes.
	// +kubebuilder:validation:MaxItems:=100
	// +required
	Requirements []Requirement `json:"requirements"`
	// +required
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// TerminationGracePeriod is the longest a drain may take before pods are deleted by force.
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type="string"
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// ExpireAfter is the age at which a node is replaced. Default 720h.
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ExpireAfter *NillableDuration `json:"expireAfter,omitempty"`
}

// NodeClassReference names the class that holds the cloud's settings.
type NodeClassReference struct {
	// Group of the class; none means karpenter.k8s.aws.
	// +optional
	Group string `json:"group,omitempty"`
	// +required
	Kind string `json:"kind"`
	// +required
	Name string `json:"name"`
}

// Operator of a Requirement. Gte and Lte exist here only; Kubernetes' own selectors stop at Gt and Lt.
//
// +kubebuilder:validation:Enum:={In,NotIn,Exists,DoesNotExist,Gt,Lt,Gte,Lte}
type Operator string

// The operators of a Requirement.
const (
	OpIn           Operator = "In"
	OpNotIn        Operator = "NotIn"
	OpExists       Operator = "Exists"
	OpDoesNotExist Operator = "DoesNotExist"
	OpGt           Operator = "Gt"
	OpLt           Operator = "Lt"
	OpGte          Operator = "Gte"
	OpLte          Operator = "Lte"
)

// Requirement constrains one label of the nodes.
type Requirement struct {
	// +kubebuilder:validation:MaxLength=316
	// +required
	Key string `json:"key"`
	// +required
	Operator Operator `json:"operator"`
	// +optional
	Values []string `json:"values,omitempty"`
	// MinValues is how many distinct values of the key the candidate instance types must keep.
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=50
	// +optional
	MinValues *int `json:"minValues,omitempty"`
}

// ConsolidationPolicy says which nodes consolidation may touch.
//
// +kubebuilder:validation:Enum:={WhenEmpty,WhenEmptyOrUnderutilized,Balanced,WhenUnderutilized}
type ConsolidationPolicy string

// The consolidation policies. WhenUnderutilized is how v1beta1 spelled WhenEmptyOrUnderutilized.
const (
	ConsolidateWhenEmpty                ConsolidationPolicy = "WhenEmpty"
	ConsolidateWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	ConsolidateBalanced                 ConsolidationPolicy = "Balanced"
	ConsolidateWhenUnderutilized        ConsolidationPolicy = "WhenUnderutilized"
)

// Disruption says when and how many nodes may be removed or replaced.
type Disruption struct {
	// ConsolidateAfter is how long a node must be without pod changes; Never turns consolidation off,
	// that of empty nodes too.
	// +kubebuilder:default:="0s"
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ConsolidateAfter *NillableDuration `json:"consolidateAfter,omitempty"`
	// +kubebuilder:default:="WhenEmptyOrUnderutilized"
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// Budgets cap how many nodes may be going at once; of those active, the tightest wins.
	// +kubebuilder:default:={{nodes: "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Budgets []Budget `json:"budgets,omitzero"`
	// ExpireAfter is where v1beta1 kept template.spec.expireAfter; it is read when that is not set.
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ExpireAfter *NillableDuration `json:"expireAfter,omitempty"`
}

// DisruptionReason is why a node is removed of Whittle's own will.
//
// +kubebuilder:validation:Enum={Underutilized,Empty,Drifted}
type DisruptionReason string

// The reasons that budgets know.
const (
	ReasonUnderutilized DisruptionReason = "Underutilized"
	ReasonEmpty         DisruptionReason = "Empty"
	ReasonDrifted       DisruptionReason = "Drifted"
)

// Budget caps how many of a pool's nodes may be going at once.
type Budget struct {
	// Reasons it holds for; none means all.
	// +kubebuilder:validation:MaxItems=50
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// Nodes is a number, or a percentage of the pool's nodes, rounded up.
	// +kubebuilder:validation:Pattern:="^((100|[0-9]{1,2})%|[0-9]+)$"
	// +kubebuilder:default:="10%"
	Nodes string `json:"nodes"`
	// Schedule is a cron expression in UTC at whose firings the budget becomes active.
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// Duration is how long it stays active. Without one, until one step of the schedule's finest
	// varying field later.
	// +kubebuilder:validation:Pattern=`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`
	// +kubebuilder:validation:Type="string"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// NodePoolStatus is what Whittle found.
type NodePoolStatus struct {
	// Resources is the sum of the capacity of the pool's nodes, and their number as "nodes".
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// +kubebuilder:default:=0
	// +optional
	Nodes *int64 `json:"nodes,omitempty"`
	// NodeClassObservedGeneration is the class's generation when registration health was last reset.
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Condition types and reasons of a NodePool.
const (
	ConditionReady                   = "Ready"
	ConditionValidationSucceeded     = "ValidationSucceeded"
	ConditionNodeClassReady          = "NodeClassReady"
	ConditionNodeRegistrationHealthy = "NodeRegistrationHealthy"
)
