package packing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/wellknown"
	"whittle/core/requirement"
)

// validate reports what no node can mend about a pod: labels that only Whittle sets, and selectors it
// cannot plan for (upstream pkg/controllers/provisioning/provisioner.go, Validate).
func validate(pod *corev1.Pod) error {
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		if restricted(key) {
			return fmt.Errorf("spec.nodeSelector: label %q is set by Whittle itself, no NodePool can offer it", key)
		}
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	for i, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchFields) > 0 {
			return fmt.Errorf("spec.affinity.nodeAffinity: required term %d uses matchFields, which names one node", i)
		}
		for _, expression := range term.MatchExpressions {
			if restricted(expression.Key) {
				return fmt.Errorf("spec.affinity.nodeAffinity: required term %d: label %q is set by Whittle itself, no NodePool can offer it", i, expression.Key)
			}
		}
	}
	return nil
}

// restricted reports whether the label is in a domain of Karpenter's and not one of those that may be
// asked for.
func restricted(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found || requirement.WellKnown(key) {
		return false
	}
	for _, owned := range []string{wellknown.GroupKarpenter, wellknown.GroupAWS} {
		if domain == owned || strings.HasSuffix(domain, "."+owned) {
			return key != wellknown.LabelNodeClass
		}
	}
	return false
}
