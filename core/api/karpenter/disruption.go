package karpenter

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	// ConsolidationPolicy says which nodes consolidation may touch. WhenUnderutilized is how v1beta1
	// spelled WhenEmptyOrUnderutilized.
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
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || !has(self.duration)",message="a budget with a duration needs a schedule"
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
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// Duration is how long it stays active. Without one, until one step of the schedule's finest
	// varying field later.
	// +kubebuilder:validation:Pattern=`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`
	// +kubebuilder:validation:Type="string"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}
