package packing

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/requirement"
)

// NodeClaim is the object that asks for the launch. Its name follows from the NodePool, the pods and the
// NodeClaims that were made for any of them before, so that two passes that plan the same node at once
// create it once, and a pass that plans for them anew does not mistake an earlier attempt for its own.
func (l *Launch) NodeClaim() *karpenter.NodeClaim {
	template := l.NodePool.Spec.Template
	ref := template.Spec.NodeClassRef
	if ref.Group == "" {
		ref.Group = wellknown.GroupAWS
	}
	claim := &karpenter.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: wellknown.GroupKarpenter + "/v1", Kind: "NodeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        l.name(),
			Labels:      l.labels(),
			Annotations: maps.Clone(template.ObjectMeta.Annotations),
			Finalizers:  []string{wellknown.FinalizerTermination},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: wellknown.GroupKarpenter + "/v1", Kind: "NodePool",
				Name: l.NodePool.Name, UID: l.NodePool.UID, BlockOwnerDeletion: new(true),
			}},
		},
		Spec: karpenter.NodeClaimSpec{
			Taints:                 slices.Clone(template.Spec.Taints),
			StartupTaints:          slices.Clone(template.Spec.StartupTaints),
			Requirements:           l.Requirements.Spec(),
			Resources:              karpenter.ResourceRequirements{Requests: l.Requests.List()},
			NodeClassRef:           ref,
			TerminationGracePeriod: template.Spec.TerminationGracePeriod,
			ExpireAfter:            template.Spec.ExpireAfter,
		},
	}
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[wellknown.AnnotationPlannedPods] = strings.Join(l.podKeys(), ",")
	if l.MinValuesRelaxed {
		claim.Annotations[wellknown.AnnotationMinValuesRelaxed] = "true"
	}
	claim.Annotations[wellknown.AnnotationNodePoolHash] = l.NodePool.Hash()
	claim.Annotations[wellknown.AnnotationNodePoolHashVersion] = wellknown.HashVersion
	claim.Annotations[wellknown.AnnotationNodeClassHash] = l.NodeClass.Hash()
	claim.Annotations[wellknown.AnnotationNodeClassHashVersion] = wellknown.HashVersion
	return claim
}

func (l *Launch) podKeys() []string {
	keys := make([]string, len(l.Pods))
	for i, pod := range l.Pods {
		keys[i] = cluster.PodKey(pod)
	}
	return keys
}

func (l *Launch) name() string {
	hash := fnv.New64a()
	for _, pod := range l.Pods {
		fmt.Fprintf(hash, "%s/%s/%s;", pod.Namespace, pod.Name, pod.UID)
	}
	for _, uid := range l.Earlier {
		fmt.Fprintf(hash, "%s;", uid)
	}
	return fmt.Sprintf("%s-%010x", l.NodePool.Name, hash.Sum64()&(1<<40-1))
}

// labels of the NodeClaim, and later of its node: the template's, the names of pool and class, and
// those that the NodePool leaves open, with a value that every pod accepts.
func (l *Launch) labels() map[string]string {
	labels := maps.Clone(l.NodePool.Spec.Template.ObjectMeta.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[wellknown.LabelNodePool] = l.NodePool.Name
	labels[wellknown.LabelNodeClass] = l.NodePool.Spec.Template.Spec.NodeClassRef.Name
	for _, key := range l.Requirements.Keys() {
		if _, set := labels[key]; set || requirement.WellKnown(key) {
			continue
		}
		if value, ok := anyValue(l.Requirements.Get(key)); ok {
			labels[key] = value
		}
	}
	return labels
}

// anyValue is a value that satisfies the requirement: the first of a list, else the smallest number within
// the bounds. Upstream draws one at random; a plan must not. A label that may as well be absent is.
func anyValue(r requirement.Requirement) (string, bool) {
	if r.Empty() {
		return "", false
	}
	if !r.Complement() {
		return r.Values()[0], true
	}
	if r.ToleratesAbsence() {
		return "", false
	}
	number := int64(0)
	if least, _ := r.Bounds(); least != nil {
		number = *least
	}
	for range len(r.Values()) + 1 {
		if value := strconv.FormatInt(number, 10); r.Has(value) {
			return value, true
		}
		number++
	}
	return "", false
}
