package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// volumeBinder makes a PersistentVolume for each claim: at once, or in the zone of the node that its first
// pod is bound to (WaitForFirstConsumer). Attaching volumes is not simulated.
type volumeBinder struct {
	kube *Kube
}

func newVolumeBinder(k *Kube) {
	b := &volumeBinder{kube: k}
	k.store.watch(b.observe)
}

func (b *volumeBinder) observe(c change) {
	clock := b.kube.world.clock
	switch {
	case c.now == nil:
	case c.kind == "PersistentVolumeClaim" && c.old == nil:
		clock.soon("bind volume "+c.key.String(), func() { b.bindAtOnce(c.key) })
	case c.kind == "Pod":
		pod := c.now.(*corev1.Pod)
		if pod.Spec.NodeName != "" && (c.old == nil || c.old.(*corev1.Pod).Spec.NodeName == "") {
			b.bindForPod(pod)
		}
	}
}

func (b *volumeBinder) bindAtOnce(k key) {
	claim, ok := lookup[*corev1.PersistentVolumeClaim](b.kube.store, k.namespace, k.name)
	if !ok || claim.Spec.VolumeName != "" {
		return
	}
	class := b.kube.storageClass(claim)
	if class != nil && *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		b.bind(claim, class, b.kube.world.options.Catalog.Zones()[0])
	}
}

func (b *volumeBinder) bindForPod(pod *corev1.Pod) {
	node, ok := lookup[*corev1.Node](b.kube.store, "", pod.Spec.NodeName)
	if !ok {
		return
	}
	for i := range pod.Spec.Volumes {
		claim, _ := b.kube.volumeClaim(pod, &pod.Spec.Volumes[i])
		if claim == nil || claim.Spec.VolumeName != "" {
			continue
		}
		if class := b.kube.storageClass(claim); class != nil {
			b.bind(claim, class, node.Labels[corev1.LabelTopologyZone])
		}
	}
}

func (b *volumeBinder) bind(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, zone string) {
	filesystem := corev1.PersistentVolumeFilesystem
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:         claim.Spec.Resources.Requests,
			AccessModes:      claim.Spec.AccessModes,
			StorageClassName: class.Name,
			VolumeMode:       &filesystem,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: class.Provisioner, VolumeHandle: "vol-" + b.kube.world.ids.hex("volume", 17),
			}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
				}},
			}}}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if err := b.kube.create(pv); err != nil {
		return
	}
	edit(b.kube.store, claim, func(c *corev1.PersistentVolumeClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
		c.Spec.VolumeName = pv.Name
		c.Status.Phase = corev1.ClaimBound
		c.Status.Capacity = claim.Spec.Resources.Requests
	})
}

// volumeClaim finds the claim that a pod's volume names; problem says that it is missing. Both are empty
// for a volume that needs no claim.
func (k *Kube) volumeClaim(pod *corev1.Pod, v *corev1.Volume) (claim *corev1.PersistentVolumeClaim, problem string) {
	var name string
	switch {
	case v.PersistentVolumeClaim != nil:
		name = v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		name = pod.Name + "-" + v.Name
	default:
		return nil, ""
	}
	claim, ok := lookup[*corev1.PersistentVolumeClaim](k.store, pod.Namespace, name)
	switch {
	case !ok:
		return nil, fmt.Sprintf("persistentvolumeclaim %q not found", name)
	case claim.DeletionTimestamp != nil:
		return nil, fmt.Sprintf("persistentvolumeclaim %q is being deleted", name)
	}
	return claim, ""
}

// volumeProblem is why the pod's volumes let it run on no node at all; empty when they do not.
func (k *Kube) volumeProblem(pod *corev1.Pod) string {
	for i := range pod.Spec.Volumes {
		claim, problem := k.volumeClaim(pod, &pod.Spec.Volumes[i])
		if problem != "" {
			return problem
		}
		if claim == nil || claim.Spec.VolumeName != "" {
			continue
		}
		class := k.storageClass(claim)
		switch {
		case class == nil:
			return fmt.Sprintf("storageclass.storage.k8s.io %q not found", className(claim))
		case *class.VolumeBindingMode == storagev1.VolumeBindingImmediate:
			return "pod has unbound immediate PersistentVolumeClaims"
		}
	}
	return ""
}

// volumeSelectors are where the pod's volumes can be reached from: each selects the nodes for one of them.
func (k *Kube) volumeSelectors(pod *corev1.Pod) []*nodeaffinity.LazyErrorNodeSelector {
	var selectors []*nodeaffinity.LazyErrorNodeSelector
	for i := range pod.Spec.Volumes {
		claim, _ := k.volumeClaim(pod, &pod.Spec.Volumes[i])
		if claim == nil {
			continue
		}
		if selector := k.reach(claim); selector != nil {
			selectors = append(selectors, nodeaffinity.NewLazyErrorNodeSelector(selector))
		}
	}
	return selectors
}

// reach selects the nodes from which a claim's volume can be reached, or may be made; nil means all.
func (k *Kube) reach(claim *corev1.PersistentVolumeClaim) *corev1.NodeSelector {
	if pv, ok := lookup[*corev1.PersistentVolume](k.store, "", claim.Spec.VolumeName); ok {
		if pv.Spec.NodeAffinity == nil {
			return nil
		}
		return pv.Spec.NodeAffinity.Required
	}
	class := k.storageClass(claim)
	if class == nil || len(class.AllowedTopologies) == 0 {
		return nil
	}
	selector := &corev1.NodeSelector{}
	for _, topology := range class.AllowedTopologies {
		var term corev1.NodeSelectorTerm
		for _, expression := range topology.MatchLabelExpressions {
			label := expression.Key
			if label == "topology.ebs.csi.aws.com/zone" {
				label = corev1.LabelTopologyZone
			}
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
				Key: label, Operator: corev1.NodeSelectorOpIn, Values: expression.Values,
			})
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	return selector
}

func (k *Kube) storageClass(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	class, ok := lookup[*storagev1.StorageClass](k.store, "", className(claim))
	if !ok {
		return nil
	}
	return class
}

// className is the storage class that a claim names, in its spec or in the annotation of old.
func className(claim *corev1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}
