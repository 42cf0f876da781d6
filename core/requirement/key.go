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
// node. Such a key may be asked for without being defined by the NodePool.
func WellKnown(key string) bool {
	_, found := slices.BinarySearch(wellknown.Labels(), key)
	return found
}
