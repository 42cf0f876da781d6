// Package wellknown spells the labels, annotations, taints, finalizers, tags and extended resources
// that Whittle shares with Karpenter, so that either can take over the other's nodes, and the few of
// its own. It holds constants and small look-ups, nothing else.
package wellknown

import corev1 "k8s.io/api/core/v1"

// API groups of the objects Whittle acts on.
const (
	GroupKarpenter = "karpenter.sh"
	GroupAWS       = "karpenter.k8s.aws"
	GroupWhittle   = "whittle.sh"
)

// Core labels (upstream pkg/apis/v1/labels.go).
const (
	LabelNodePool        = "karpenter.sh/nodepool"
	LabelCapacityType    = "karpenter.sh/capacity-type"
	LabelRegistered      = "karpenter.sh/registered"
	LabelInitialized     = "karpenter.sh/initialized"
	LabelDoNotSyncTaints = "karpenter.sh/do-not-sync-taints"
	LabelNodeClass       = "karpenter.k8s.aws/ec2nodeclass"
	LabelZoneID          = "topology.k8s.aws/zone-id"

	LabelExcludeFromLoadBalancers = corev1.LabelNodeExcludeBalancers
)

// AWS labels of an instance type (upstream AWS provider pkg/apis/v1/labels.go).
const (
	LabelReservationID            = "karpenter.k8s.aws/capacity-reservation-id"
	LabelReservationType          = "karpenter.k8s.aws/capacity-reservation-type"
	LabelReservationInterruptible = "karpenter.k8s.aws/capacity-reservation-interruptible"
	LabelHypervisor               = "karpenter.k8s.aws/instance-hypervisor"
	LabelEncryptionInTransit      = "karpenter.k8s.aws/instance-encryption-in-transit-supported"
	LabelNitroSandbox             = "karpenter.k8s.aws/nitro-sandbox"
	LabelCategory                 = "karpenter.k8s.aws/instance-category"
	LabelCapabilityFlex           = "karpenter.k8s.aws/instance-capability-flex"
	LabelFamily                   = "karpenter.k8s.aws/instance-family"
	LabelGeneration               = "karpenter.k8s.aws/instance-generation"
	LabelSize                     = "karpenter.k8s.aws/instance-size"
	LabelLocalNVMe                = "karpenter.k8s.aws/instance-local-nvme"
	LabelCPU                      = "karpenter.k8s.aws/instance-cpu"
	LabelCPUManufacturer          = "karpenter.k8s.aws/instance-cpu-manufacturer"
	LabelCPUClockSpeed            = "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz"
	LabelMemory                   = "karpenter.k8s.aws/instance-memory"
	LabelEBSBandwidth             = "karpenter.k8s.aws/instance-ebs-bandwidth"
	LabelNetworkBandwidth         = "karpenter.k8s.aws/instance-network-bandwidth"
	LabelGPUName                  = "karpenter.k8s.aws/instance-gpu-name"
	LabelGPUManufacturer          = "karpenter.k8s.aws/instance-gpu-manufacturer"
	LabelGPUCount                 = "karpenter.k8s.aws/instance-gpu-count"
	LabelGPUMemory                = "karpenter.k8s.aws/instance-gpu-memory"
	LabelAcceleratorName          = "karpenter.k8s.aws/instance-accelerator-name"
	LabelAcceleratorManufacturer  = "karpenter.k8s.aws/instance-accelerator-manufacturer"
	LabelAcceleratorCount         = "karpenter.k8s.aws/instance-accelerator-count"
	LabelTenancy                  = "karpenter.k8s.aws/instance-tenancy"
	LabelPlacementGroupID         = "karpenter.k8s.aws/placement-group-id"
	LabelPlacementGroupPartition  = "karpenter.k8s.aws/placement-group-partition"
)

// Values of LabelCapacityType.
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeReserved = "reserved"
)

// Values of LabelTenancy.
const (
	TenancyDefault   = "default"
	TenancyDedicated = "dedicated"
)

// Annotations shared with Karpenter.
const (
	AnnotationDoNotDisrupt         = "karpenter.sh/do-not-disrupt"
	AnnotationNodePoolHash         = "karpenter.sh/nodepool-hash"
	AnnotationNodePoolHashVersion  = "karpenter.sh/nodepool-hash-version"
	AnnotationTerminationTimestamp = "karpenter.sh/nodeclaim-termination-timestamp"
	AnnotationMinValuesRelaxed     = "karpenter.sh/nodeclaim-min-values-relaxed"
	AnnotationNodeClassHash        = "karpenter.k8s.aws/ec2nodeclass-hash"
	AnnotationNodeClassHashVersion = "karpenter.k8s.aws/ec2nodeclass-hash-version"
	AnnotationTagged               = "karpenter.k8s.aws/tagged"
	AnnotationClusterNameTagged    = "compatibility.karpenter.k8s.aws/cluster-name-tagged"
	AnnotationInstanceProfileName  = "karpenter.k8s.aws/instance-profile-name"
	AnnotationPodDeletionCost      = "controller.kubernetes.io/pod-deletion-cost"
)

// HashVersion is what Whittle writes into both hash version annotations. It is its own, since its hashes
// are not computed as upstream's are: a hash of another version says nothing about drift.
const HashVersion = "whittle-v1"

// Annotations of Whittle's own.
const (
	// AnnotationPlannedPods is put on a NodeClaim: the pods it was planned for, as namespace/name
	// joined by commas. A later pass gives them the node first, so that one plan is not packed twice.
	AnnotationPlannedPods = "whittle.sh/planned-pods"
	// AnnotationLaunch is put on a NodeClaim before its instance is launched: the id of the launch in
	// the ledger, which is also its client token and the instance's tag.
	AnnotationLaunch = "whittle.sh/launch"
	// AnnotationPodsSeen is put on a NodeClaim: a hash of the pods that the last sweep saw on its node, by
	// which the next one knows that pods came or went.
	AnnotationPodsSeen = "whittle.sh/pods-seen"
	// AnnotationReplacedBy is put on a NodeClaim that is being disrupted: the names of the NodeClaims
	// that were launched in its stead, joined by commas.
	AnnotationReplacedBy = "whittle.sh/replaced-by"
	// AnnotationNodeSurcharge is put on a NodePool: dollars per hour that each of its nodes costs
	// beside its instance (licences and agents billed per host).
	AnnotationNodeSurcharge = "whittle.sh/node-surcharge"
	// AnnotationSpotPercent is put on a NodePool: the share of its CPU that is to be Spot.
	AnnotationSpotPercent = "whittle.sh/spot-percent"
)

// Taint keys. Unregistered is put on by the kubelet (user data) and taken off at registration,
// Disrupted marks a node that is a candidate for removal or is being removed.
const (
	TaintUnregistered = "karpenter.sh/unregistered"
	TaintDisrupted    = "karpenter.sh/disrupted"
	// TaintReadinessPrefix starts the keys that the Node Readiness Controller owns.
	TaintReadinessPrefix = "readiness.k8s.io/"
)

// Finalizers.
const (
	FinalizerTermination          = "karpenter.sh/termination"
	FinalizerNodeClassTermination = "karpenter.k8s.aws/termination"
)

// EC2 tags, the same as Karpenter's, so that its instances can be adopted in place.
const (
	TagNodePool      = LabelNodePool
	TagNodeClaim     = "karpenter.sh/nodeclaim"
	TagNodeClass     = LabelNodeClass
	TagClusterName   = "eks:eks-cluster-name"
	TagClusterPrefix = "kubernetes.io/cluster/"
	TagClusterOwned  = "owned"
	TagName          = "Name"
	TagDiscovery     = "karpenter.sh/discovery"
	TagLaunch        = "whittle.sh/launch"
	TagProfileRegion = corev1.LabelTopologyRegion
)

// Extended resources that EC2 instance types are known to carry.
const (
	ResourceNVIDIAGPU    corev1.ResourceName = "nvidia.com/gpu"
	ResourceAMDGPU       corev1.ResourceName = "amd.com/gpu"
	ResourceNeuron       corev1.ResourceName = "aws.amazon.com/neuron"
	ResourceNeuronCore   corev1.ResourceName = "aws.amazon.com/neuroncore"
	ResourceGaudi        corev1.ResourceName = "habana.ai/gaudi"
	ResourcePodENI       corev1.ResourceName = "vpc.amazonaws.com/pod-eni"
	ResourcePrivateIPv4  corev1.ResourceName = "vpc.amazonaws.com/PrivateIPv4Address"
	ResourceEFA          corev1.ResourceName = "vpc.amazonaws.com/efa"
	ResourceNitroSandbox corev1.ResourceName = "eks.amazonaws.com/nitro-sandbox"
	// ResourceNodes is the pseudo-resource of NodePool limits that counts nodes.
	ResourceNodes corev1.ResourceName = "nodes"
)

// DisruptedTaint is the taint that keeps new pods off a node that is going away.
func DisruptedTaint() corev1.Taint {
	return corev1.Taint{Key: TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
}

// UnregisteredTaint is the taint with which a kubelet registers until its NodeClaim has claimed it.
func UnregisteredTaint() corev1.Taint {
	return corev1.Taint{Key: TaintUnregistered, Effect: corev1.TaintEffectNoExecute}
}
