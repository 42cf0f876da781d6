package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/cluster"
)

// nodeLifecycle keeps the taints that follow from a node's condition, evicts pods that do not tolerate
// NoExecute taints, notices silent kubelets, and deletes the Nodes of instances that are gone.
type nodeLifecycle struct {
	kube  *Kube
	store *store
}

func newNodeLifecycle(k *Kube) *nodeLifecycle {
	n := &nodeLifecycle{kube: k, store: k.store}
	k.store.watch(n.observe)
	return n
}

func (n *nodeLifecycle) observe(c change) {
	switch {
	case c.now == nil:
	case c.kind == "Node":
		n.plan(c.key.name)
	case c.kind == "Pod":
		pod := c.now.(*corev1.Pod)
		if pod.Spec.NodeName != "" && (c.old == nil || c.old.(*corev1.Pod).Spec.NodeName == "") {
			n.plan(pod.Spec.NodeName)
		}
	}
}

func (n *nodeLifecycle) plan(node string) {
	n.kube.world.clock.soon("node taints "+node, func() {
		if current, ok := lookup[*corev1.Node](n.store, "", node); ok {
			n.evictIntolerant(n.syncTaints(current))
		}
	})
}

// syncTaints puts on and takes off the taints that a node's condition and its field unschedulable imply.
func (n *nodeLifecycle) syncTaints(node *corev1.Node) *corev1.Node {
	status := readiness(node)
	wanted := map[string]bool{
		corev1.TaintNodeNotReady:      status == corev1.ConditionFalse,
		corev1.TaintNodeUnreachable:   status == corev1.ConditionUnknown,
		corev1.TaintNodeUnschedulable: node.Spec.Unschedulable,
	}
	return edit(n.store, node, func(current *corev1.Node) {
		var taints []corev1.Taint
		for _, taint := range current.Spec.Taints {
			if want, ours := wanted[taint.Key]; !ours || want {
				taints = append(taints, taint)
			}
		}
		add := func(key string, effect corev1.TaintEffect) {
			taint := corev1.Taint{Key: key, Effect: effect}
			if wanted[key] && !cluster.HasTaint(taints, taint) {
				taints = append(taints, taint)
			}
		}
		add(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)
		add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
		add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule)
		add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
		add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
		current.Spec.Taints = taints
	})
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return corev1.ConditionFalse
}

// evictIntolerant deletes the node's pods that do not tolerate its NoExecute taints: at once, or when the
// shortest time they tolerate them for is over.
func (n *nodeLifecycle) evictIntolerant(node *corev1.Node) {
	for _, pod := range n.store.podsOn(node.Name) {
		if pod.DeletionTimestamp != nil || cluster.Terminal(pod) || cluster.OwnedByNode(pod) {
			continue
		}
		stay, ends := toleratedFor(pod, node)
		switch {
		case !ends:
		case stay <= 0:
			n.kube.deletePod(pod, gracePeriod(pod))
		default:
			n.kube.world.clock.after(stay, func() { n.evictIfStill(pod, node) })
		}
	}
}

// evictIfStill deletes a pod whose time on a tainted node is over, unless the taint went meanwhile.
func (n *nodeLifecycle) evictIfStill(pod *corev1.Pod, node *corev1.Node) {
	current, ok := lookup[*corev1.Node](n.store, "", node.Name)
	if !ok || current.UID != node.UID {
		return
	}
	still, ok := lookup[*corev1.Pod](n.store, pod.Namespace, pod.Name)
	if !ok || still.UID != pod.UID || still.DeletionTimestamp != nil {
		return
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute && !cluster.HasTaint(current.Spec.Taints, taint) {
			return
		}
	}
	n.kube.deletePod(still, gracePeriod(still))
}

// toleratedFor is how long the pod tolerates the node's NoExecute taints; ends is false when it does for
// ever.
func toleratedFor(pod *corev1.Pod, node *corev1.Node) (stay time.Duration, ends bool) {
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if !cluster.Tolerates(pod.Spec.Tolerations, taint) {
			return 0, true
		}
		for i := range pod.Spec.Tolerations {
			toleration := pod.Spec.Tolerations[i]
			if toleration.TolerationSeconds == nil || !cluster.Tolerates([]corev1.Toleration{toleration}, taint) {
				continue
			}
			if limit := time.Duration(*toleration.TolerationSeconds) * time.Second; !ends || limit < stay {
				stay, ends = limit, true
			}
		}
	}
	return stay, ends
}

// kubeletDied notices, after a while, that the instance's kubelet is silent; after another, that the
// instance is gone for good.
func (n *nodeLifecycle) kubeletDied(i *instance) {
	w := n.kube.world
	node, ok := n.kube.kubelets.nodeOf(i)
	if !ok {
		return
	}
	w.clock.after(w.options.KubeletSilence, func() {
		if current, ok := lookup[*corev1.Node](n.store, "", node.Name); !ok || current.UID != node.UID {
			return
		}
		edit(n.store, node, func(current *corev1.Node) {
			setNodeReady(current, corev1.ConditionUnknown, "NodeStatusUnknown", w.clock.now)
		})
		w.occur(NodeUnreachable, node.Name, "%s", i.ID)
		n.planRemoval(node, i)
	})
}

// planRemoval deletes the Node when the cloud controller finds that its instance is terminated.
func (n *nodeLifecycle) planRemoval(node *corev1.Node, i *instance) {
	w := n.kube.world
	w.clock.after(w.options.CloudControllerLag, func() {
		current, ok := lookup[*corev1.Node](n.store, "", node.Name)
		switch {
		case !ok || current.UID != node.UID:
		case i.State == cluster.InstanceTerminated:
			n.store.finish(current)
		default:
			n.planRemoval(node, i)
		}
	})
}
