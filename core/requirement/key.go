package requirement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/wellknown"
)

// Normalize is the present name of a label that has had older ones, and key itself for every other
// (upstream NormalizedLabels in pkg/apis/v1/labels.go of both repositories).
func Normalize(key string) string {
	switch key {
	case corev1.LabelFailureDomainBetaZone, "topology.ebs.csi.aws.com/zone":
		return corev1.LabelTopologyZone
	case corev1.LabelFailureDomainBetaRegion:
		return corev1.LabelTopologyRegion
	case "beta.kubernetes.io/arch":
		return corev1.LabelArchStable
	case "beta.kubernetes.io/os":
		return corev1.LabelOSStable
	case corev1.LabelInstanceType:
		return corev1.LabelInstanceTypeStable
	default:
		return key
	}
}

// WellKnown reports whether every NodePool may leave the label open because the cloud gives it to each
// node (upstream WellKnownLabels of both repositories). Such a key may be asked for without being
// defined by the NodePool.
func WellKnown(key string) bool {
	return slices.Contains(wellKnownKeys(), key)
}

// WellKnownKeys are the keys for which WellKnown holds, sorted.
func WellKnownKeys() []string {
	keys := wellKnownKeys()
	slices.Sort(keys)
	return keys
}

func wellKnownKeys() []string {
	return []string{
		corev1.LabelArchStable,
		corev1.LabelInstanceTypeStable,
		corev1.LabelOSStable,
		corev1.LabelTopologyRegion,
		corev1.LabelTopologyZone,
		corev1.LabelWindowsBuild,
		wellknown.LabelAcceleratorCount,
		wellknown.LabelAcceleratorManufacturer,
		wellknown.LabelAcceleratorName,
		wellknown.LabelCPU,
		wellknown.LabelCPUClockSpeed,
		wellknown.LabelCPUManufacturer,
		wellknown.LabelCapabilityFlex,
		wellknown.LabelCapacityType,
		wellknown.LabelCategory,
		wellknown.LabelEBSBandwidth,
		wellknown.LabelEncryptionInTransit,
		wellknown.LabelFamily,
		wellknown.LabelGPUCount,
		wellknown.LabelGPUManufacturer,
		wellknown.LabelGPUMemory,
		wellknown.LabelGPUName,
		wellknown.LabelGeneration,
		wellknown.LabelHypervisor,
		wellknown.LabelLocalNVMe,
		wellknown.LabelMemory,
		wellknown.LabelNetworkBandwidth,
		wellknown.LabelNitroSandbox,
		wellknown.LabelNodePool,
		wellknown.LabelPlacementGroupID,
		wellknown.LabelPlacementGroupPartition,
		wellknown.LabelReservationID,
		wellknown.LabelReservationInterruptible,
		wellknown.LabelReservationType,
		wellknown.LabelSize,
		wellknown.LabelTenancy,
		wellknown.LabelZoneID,
	}
}
