package wellknown

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels are the labels that the cloud gives to every node it makes, sorted: pods may ask for them
// without a NodePool defining them (upstream WellKnownLabels in pkg/apis/v1/labels.go of both repositories).
//
// They are written in their order, so that nobody needs to sort them.
func Labels() []string {
	return []string{
		LabelReservationID,
		LabelReservationInterruptible,
		LabelReservationType,
		LabelAcceleratorCount,
		LabelAcceleratorManufacturer,
		LabelAcceleratorName,
		LabelCapabilityFlex,
		LabelCategory,
		LabelCPU,
		LabelCPUManufacturer,
		LabelCPUClockSpeed,
		LabelEBSBandwidth,
		LabelEncryptionInTransit,
		LabelFamily,
		LabelGeneration,
		LabelGPUCount,
		LabelGPUManufacturer,
		LabelGPUMemory,
		LabelGPUName,
		LabelHypervisor,
		LabelLocalNVMe,
		LabelMemory,
		LabelNetworkBandwidth,
		LabelSize,
		LabelTenancy,
		LabelNitroSandbox,
		LabelPlacementGroupID,
		LabelPlacementGroupPartition,
		LabelCapacityType,
		LabelNodePool,
		corev1.LabelArchStable,
		corev1.LabelOSStable,
		corev1.LabelInstanceTypeStable,
		corev1.LabelWindowsBuild,
		LabelZoneID,
		corev1.LabelTopologyRegion,
		corev1.LabelTopologyZone,
	}
}

// Restricted says why users may not set the label or ask for it: it is the node's own name, or it lies
// in a domain that the autoscaler writes itself and is none of Labels. It is empty for a label they may use.
func Restricted(key string) string {
	if key == corev1.LabelHostname {
		return "differs on every node"
	}
	domain, _, isQualified := strings.Cut(key, "/")
	if !isQualified || slices.Contains(Labels(), key) {
		return ""
	}
	for _, group := range []string{GroupKarpenter, GroupAWS} {
		if domain == group || strings.HasSuffix(domain, "."+group) {
			return "lies in the domain " + group + ", of which only the documented labels may be used"
		}
	}
	return ""
}
