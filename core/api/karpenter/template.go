package karpenter

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeClaimTemplate is the shape of the NodeClaims a NodePool makes.
type NodeClaimTemplate struct {
	// Metadata that the nodes get.
	// +optional
	ObjectMeta TemplateMeta `json:"metadata,omitempty"`
	// Spec of the NodeClaims.
	// +required
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// TemplateMeta is the metadata that a template gives to its nodes.
type TemplateMeta struct {
	// Labels become labels of the node and requirements of the pool.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, x != 'kubernetes.io/hostname')",message="label kubernetes.io/hostname is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x == 'karpenter.sh/capacity-type' || !x.matches('^([^/]+[.])?karpenter[.]sh/'))",message="labels of the domain karpenter.sh are restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !x.matches('^([^/]+[.])?karpenter[.]k8s[.]aws/') || x.matches('^karpenter[.]k8s[.]aws/(nitro-sandbox|capacity-reservation-(id|type|interruptible)|placement-group-(id|partition)|instance-(hypervisor|encryption-in-transit-supported|category|capability-flex|family|generation|size|local-nvme|cpu|cpu-manufacturer|cpu-sustained-clock-speed-mhz|memory|ebs-bandwidth|network-bandwidth|gpu-name|gpu-manufacturer|gpu-count|gpu-memory|accelerator-name|accelerator-manufacturer|accelerator-count|tenancy))$'))",message="undocumented labels of the domain karpenter.k8s.aws are restricted"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are copied to the NodeClaim and the node.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeClaimTemplateSpec is the part of a NodeClaim's spec that its NodePool decides.
type NodeClaimTemplateSpec struct {
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
	// Requirements constrain the labels of the nodes.
	// +kubebuilder:validation:MaxItems:=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || (has(x.values) && size(x.values) > 0))",message="In takes at least one value"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(x.values) && size(x.values) == 1 && x.values[0].matches('^[0-9]+$')))",message="Gt, Lt, Gte and Lte take exactly one integer >= 0"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.operator != 'In' || !has(x.minValues) || (has(x.values) && size(x.values) >= x.minValues))",message="In with minValues must list at least that many values"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.key != 'kubernetes.io/hostname')",message="label kubernetes.io/hostname is restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(x, x.key in ['karpenter.sh/capacity-type'] || !x.key.matches('^([^/]+[.])?karpenter[.]sh/'))",message="labels of the domain karpenter.sh are restricted"
	// +kubebuilder:validation:XValidation:rule="self.all(x, !x.key.matches('^([^/]+[.])?karpenter[.]k8s[.]aws/') || x.key.matches('^karpenter[.]k8s[.]aws/(nitro-sandbox|capacity-reservation-(id|type|interruptible)|placement-group-(id|partition)|instance-(hypervisor|encryption-in-transit-supported|category|capability-flex|family|generation|size|local-nvme|cpu|cpu-manufacturer|cpu-sustained-clock-speed-mhz|memory|ebs-bandwidth|network-bandwidth|gpu-name|gpu-manufacturer|gpu-count|gpu-memory|accelerator-name|accelerator-manufacturer|accelerator-count|tenancy))$'))",message="undocumented labels of the domain karpenter.k8s.aws are restricted"
	// +required
	Requirements []Requirement `json:"requirements"`
	// NodeClassRef names the class that holds the cloud's settings.
	// +required
	NodeClassRef NodeClassReference `json:"nodeClassRef"`
	// TerminationGracePeriod is the longest a drain may take before pods are deleted by force.
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type="string"
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// ExpireAfter is the age at which a node is replaced; none means 720h. The API server fills nothing
	// in: it would hide spec.disruption.expireAfter, where v1beta1 kept it.
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +kubebuilder:validation:Type="string"
	// +kubebuilder:validation:Schemaless
	// +optional
	ExpireAfter *NillableDuration `json:"expireAfter,omitempty"`
}

// NodeClassReference names the class that holds the cloud's settings.
//
// +kubebuilder:validation:XValidation:rule="(has(self.group) ? self.group : 'karpenter.k8s.aws') == (has(oldSelf.group) ? oldSelf.group : 'karpenter.k8s.aws')",message="group is immutable"
// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="kind is immutable"
type NodeClassReference struct {
	// Group of the class, without a version; none means karpenter.k8s.aws.
	// +kubebuilder:validation:Pattern=`^[^/]*$`
	// +optional
	Group string `json:"group,omitempty"`
	// Kind of the class, which is EC2NodeClass.
	// +kubebuilder:validation:MinLength=1
	// +required
	Kind string `json:"kind"`
	// Name of the class.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
}
