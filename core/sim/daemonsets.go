package sim

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"whittle/core/cluster"
)

// daemonSets keeps one pod of each DaemonSet on every node that its template selects and tolerates. The
// pod is tied to its node by node affinity, and bound by the scheduler, if it fits.
type daemonSets struct {
	kube  *Kube
	store *store
}

func newDaemonSets(k *Kube) {
	d := &daemonSets{kube: k, store: k.store}
	k.store.watch(d.observe)
}

func (d *daemonSets) observe(c change) {
	switch c.kind {
	case "DaemonSet":
		d.plan(c.key)
	case "Node":
		if c.old == nil || c.now == nil || mayHelp(c.old.(*corev1.Node), c.now.(*corev1.Node)) {
			for _, set := range list[*appsv1.DaemonSet](d.store) {
				d.plan(keyOf(set))
			}
		}
	case "Pod":
		pod := podOrNil(c.now)
		if pod == nil {
			pod = podOrNil(c.old)
		}
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
			d.plan(key{c.key.namespace, owner.Name})
		}
	}
}

func (d *daemonSets) plan(k key) {
	d.kube.world.clock.soon("DaemonSet "+k.String(), func() { d.reconcile(k) })
}

func (d *daemonSets) reconcile(k key) {
	set, ok := lookup[*appsv1.DaemonSet](d.store, k.namespace, k.name)
	if !ok || set.DeletionTimestamp != nil {
		return
	}
	pods := map[string][]*corev1.Pod{}
	for _, pod := range ownedBy[*corev1.Pod](d.store, set.UID) {
		node := daemonNode(pod)
		pods[node] = append(pods[node], pod)
	}
	status := appsv1.DaemonSetStatus{ObservedGeneration: set.Generation}
	for _, node := range list[*corev1.Node](d.store) {
		template := daemonPod(set, node)
		start, stay := belongs(template, node)
		present := active(pods[node.Name])
		if start {
			status.DesiredNumberScheduled++
			status.CurrentNumberScheduled += int32(len(present))
			status.NumberReady += countReady(present)
		}
		switch {
		case start && len(pods[node.Name]) == 0:
			template.Name = set.Name + "-" + d.kube.world.ids.suffix()
			if err := d.kube.create(template); err != nil {
				return
			}
		case !stay:
			for _, pod := range present {
				d.kube.deletePod(pod, gracePeriod(pod))
			}
		}
		delete(pods, node.Name)
	}
	d.dropStranded(set, pods)
	edit(d.store, set, func(s *appsv1.DaemonSet) { s.Status = status })
}

// dropStranded deletes the pods for nodes that are gone and that they were never bound to.
func (d *daemonSets) dropStranded(set *appsv1.DaemonSet, stranded map[string][]*corev1.Pod) {
	for _, pod := range ownedBy[*corev1.Pod](d.store, set.UID) {
		if _, gone := stranded[daemonNode(pod)]; gone && pod.Spec.NodeName == "" {
			d.kube.deletePod(pod, 0)
		}
	}
}

// daemonPod is the pod of the set for a node (kube-controller-manager, pkg/controller/daemon/util).
func daemonPod(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Labels: maps.Clone(set.Spec.Template.Labels), Annotations: maps.Clone(set.Spec.Template.Annotations),
			OwnerReferences: []metav1.OwnerReference{controllerReference(set)},
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
	tieToNode(&pod.Spec, node.Name)
	tolerate := func(key string, effect corev1.TaintEffect) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
	}
	tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	tolerate(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	tolerate(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	tolerate(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	tolerate(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if pod.Spec.HostNetwork {
		tolerate(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return pod
}

// tieToNode adds the node's name to every alternative of the pod's required node affinity.
func tieToNode(spec *corev1.PodSpec, node string) {
	name := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range required.NodeSelectorTerms {
		required.NodeSelectorTerms[i].MatchFields = []corev1.NodeSelectorRequirement{name}
	}
	spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
}

// daemonNode is the node that a DaemonSet's pod is for.
func daemonNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	affinity := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return affinity.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

// belongs reports whether a DaemonSet's pod should be started on the node, and whether one that runs there
// may stay.
func belongs(pod *corev1.Pod, node *corev1.Node) (start, stay bool) {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !ok {
		return false, false
	}
	start, stay = true, true
	for _, taint := range node.Spec.Taints {
		if cluster.Tolerates(pod.Spec.Tolerations, taint) {
			continue
		}
		switch taint.Effect {
		case corev1.TaintEffectNoExecute:
			start, stay = false, false
		case corev1.TaintEffectNoSchedule:
			start = false
		case corev1.TaintEffectPreferNoSchedule:
		}
	}
	return start, stay
}
