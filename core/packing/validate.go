package packing

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/wellknown"
)

// validate reports what no node can mend about a pod: labels that only Whittle sets, and selectors it
// cannot plan for (upstream pkg/controllers/provisioning/provisioner.go, Validate).
func validate(pod *corev1.Pod) error {
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		if reason := restricted(key); reason != "" {
			return fmt.Errorf("spec.nodeSelector: label %q %s", key, reason)
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
			if reason := restricted(expression.Key); reason != "" {
				return fmt.Errorf("spec.affinity.nodeAffinity: required term %d: label %q %s", i, expression.Key, reason)
			}
		}
	}
	return nil
}

// restricted says why a pod may not ask for the label; a pod may name its node or a class, which only a
// node that exists can satisfy.
func restricted(key string) string {
	if key == corev1.LabelHostname || key == wellknown.LabelNodeClass {
		return ""
	}
	return wellknown.Restricted(key)
}
