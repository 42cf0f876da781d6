package cluster

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/karpenter"
	"whittle/core/requirement"
)

// Volumes finds the volumes of pods in a snapshot.
type Volumes struct {
	claims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

// Volumes indexes the snapshot's volumes.
func (s *Snapshot) Volumes() Volumes {
	v := Volumes{
		claims:  make(map[types.NamespacedName]*corev1.PersistentVolumeClaim, len(s.VolumeClaims)),
		volumes: make(map[string]*corev1.PersistentVolume, len(s.PersistentVolumes)),
		classes: make(map[string]*storagev1.StorageClass, len(s.StorageClasses)),
	}
	for _, claim := range s.VolumeClaims {
		v.claims[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}] = claim
	}
	for _, volume := range s.PersistentVolumes {
		v.volumes[volume.Name] = volume
	}
	for _, class := range s.StorageClasses {
		v.classes[class.Name] = class
	}
	return v
}

// Attachments counts the volumes of the pod that a CSI driver has to attach to its node, by driver. A claim
// that several pods of a node share is counted for each of them.
func (v Volumes) Attachments(pod *corev1.Pod) map[string]int64 {
	var counts map[string]int64
	for i := range pod.Spec.Volumes {
		driver := v.driver(pod, &pod.Spec.Volumes[i])
		if driver == "" {
			continue
		}
		if counts == nil {
			counts = map[string]int64{}
		}
		counts[driver]++
	}
	return counts
}

// driver is the CSI driver that attaches the volume; empty for one that is not attached.
func (v Volumes) driver(pod *corev1.Pod, volume *corev1.Volume) string {
	var claim *corev1.PersistentVolumeClaim
	var template *corev1.PersistentVolumeClaimTemplate
	switch {
	case volume.PersistentVolumeClaim != nil:
		claim = v.claims[types.NamespacedName{Namespace: pod.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}]
	case volume.Ephemeral != nil:
		claim = v.claims[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name + "-" + volume.Name}]
		template = volume.Ephemeral.VolumeClaimTemplate
	}
	class := ""
	switch {
	case claim != nil && claim.Spec.VolumeName != "":
		if bound := v.volumes[claim.Spec.VolumeName]; bound != nil && bound.Spec.CSI != nil {
			return bound.Spec.CSI.Driver
		}
		return ""
	case claim != nil:
		class = className(claim.Annotations, claim.Spec.StorageClassName)
	case template != nil:
		class = className(template.Annotations, template.Spec.StorageClassName)
	}
	if known := v.classes[class]; known != nil {
		return csiDriver(known.Provisioner)
	}
	return ""
}

// csiDriver is the driver to which Kubernetes hands an in-tree provisioner's volumes.
func csiDriver(provisioner string) string {
	if provisioner == "kubernetes.io/aws-ebs" {
		return DriverEBS
	}
	if strings.HasPrefix(provisioner, "kubernetes.io/") {
		return ""
	}
	return provisioner
}

// DriverEBS is the CSI driver of EBS volumes.
const DriverEBS = "ebs.csi.aws.com"

// Requirements are the ways in which the pod's volumes constrain its node: one of the returned sets
// must hold; none means any node will do. An error says why no node can help until the volume is
// mended (upstream pkg/controllers/provisioning/scheduling/volumetopology.go).
func (v Volumes) Requirements(pod *corev1.Pod) ([]requirement.Set, error) {
	var alternatives []requirement.Set
	for i := range pod.Spec.Volumes {
		terms, err := v.terms(pod, &pod.Spec.Volumes[i])
		if err != nil {
			return nil, err
		}
		alternatives = requirement.Combine(alternatives, terms)
	}
	return alternatives, nil
}

func (v Volumes) terms(pod *corev1.Pod, volume *corev1.Volume) ([]requirement.Set, error) {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return v.claimTerms(pod.Namespace, volume.PersistentVolumeClaim.ClaimName, nil)
	case volume.Ephemeral != nil:
		return v.claimTerms(pod.Namespace, pod.Name+"-"+volume.Name, volume.Ephemeral.VolumeClaimTemplate)
	default:
		return nil, nil
	}
}

// claimTerms constrains by a claim; template is what the claim will be made from when it does not
// exist yet, nil when nothing will make it.
func (v Volumes) claimTerms(namespace, name string, template *corev1.PersistentVolumeClaimTemplate) ([]requirement.Set, error) {
	claim := v.claims[types.NamespacedName{Namespace: namespace, Name: name}]
	switch {
	case claim == nil && template == nil:
		return nil, fmt.Errorf("persistentvolumeclaim %q not found in namespace %q", name, namespace)
	case claim == nil:
		return v.classTerms(name, className(template.Annotations, template.Spec.StorageClassName))
	case claim.DeletionTimestamp != nil:
		return nil, fmt.Errorf("persistentvolumeclaim %q is being deleted", name)
	case claim.Status.Phase == corev1.ClaimLost:
		return nil, fmt.Errorf("persistentvolumeclaim %q has lost its persistentvolume %q", name, claim.Spec.VolumeName)
	case claim.Spec.VolumeName != "":
		return v.boundTerms(claim)
	default:
		return v.classTerms(name, className(claim.Annotations, claim.Spec.StorageClassName))
	}
}

func (v Volumes) boundTerms(claim *corev1.PersistentVolumeClaim) ([]requirement.Set, error) {
	volume := v.volumes[claim.Spec.VolumeName]
	switch {
	case volume == nil:
		return nil, fmt.Errorf("persistentvolumeclaim %q: persistentvolume %q not found", claim.Name, claim.Spec.VolumeName)
	case volume.DeletionTimestamp != nil:
		return nil, fmt.Errorf("persistentvolumeclaim %q: persistentvolume %q is being deleted", claim.Name, volume.Name)
	case volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil:
		return nil, nil
	}
	var terms []requirement.Set
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		set := requirement.FromNodeSelector(term.MatchExpressions)
		if volume.Spec.Local != nil || volume.Spec.HostPath != nil {
			delete(set, corev1.LabelHostname)
		}
		terms = append(terms, set)
	}
	return terms, nil
}

func (v Volumes) classTerms(claim, name string) ([]requirement.Set, error) {
	if name == "" {
		return nil, fmt.Errorf("persistentvolumeclaim %q is unbound and names no storage class", claim)
	}
	class := v.classes[name]
	if class == nil {
		return nil, fmt.Errorf("persistentvolumeclaim %q: storage class %q not found", claim, name)
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		return nil, fmt.Errorf("persistentvolumeclaim %q waits to be bound: storage class %q binds at once, not to the pod's node", claim, name)
	}
	var terms []requirement.Set
	for _, term := range class.AllowedTopologies {
		set := requirement.Set{}
		for _, expression := range term.MatchLabelExpressions {
			set.Add(requirement.New(expression.Key, karpenter.OpIn, expression.Values...))
		}
		terms = append(terms, set)
	}
	return terms, nil
}

// className reads the storage class of a claim, which older objects keep in an annotation.
func className(annotations map[string]string, spec *string) string {
	if name := annotations[corev1.BetaStorageClassAnnotation]; name != "" {
		return name
	}
	if spec != nil {
		return *spec
	}
	return ""
}
