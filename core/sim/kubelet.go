package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
)

// AnnotationRunFor on a pod is how long it runs before it succeeds, as a Go duration. Without it the pods
// of Jobs run for Options.JobTime and all others for ever.
const AnnotationRunFor = "sim.whittle.sh/run-for"

// kubelets register nodes, and start and end the pods bound to theirs.
type kubelets struct {
	kube  *Kube
	store *store
	// instances of the nodes that an instance of the world registered.
	instances map[string]cluster.InstanceID
	names     map[cluster.InstanceID]string
	// hosts counts the addresses given out in each zone.
	hosts map[string]int
}

func newKubelets(k *Kube) *kubelets {
	l := &kubelets{
		kube: k, store: k.store,
		instances: map[string]cluster.InstanceID{}, names: map[cluster.InstanceID]string{}, hosts: map[string]int{},
	}
	k.store.watch(l.observe)
	return l
}

// boot registers the instance's node once it has started.
func (l *kubelets) boot(i *instance) {
	w := l.kube.world
	w.clock.after(w.options.BootTime, func() {
		if i.State != cluster.InstanceRunning || w.ec2.neverJoin(i.Instance) {
			return
		}
		node := l.newNode(i)
		if err := l.kube.create(node); err != nil {
			return
		}
		l.instances[node.Name], l.names[i.ID] = i.ID, node.Name
		w.occur(NodeRegistered, node.Name, "%s %s", i.InstanceType, i.ID)
		w.clock.after(w.options.ReadyAfter, func() { l.becomeReady(node, i) })
	})
}

func (l *kubelets) newNode(i *instance) *corev1.Node {
	name, address := l.address(i.Zone)
	market := l.kube.world.ec2.market
	shape := market.shape(i.request.NodeClass, i.InstanceType)
	labels := merge(shape.Labels, i.request.Labels)
	labels = merge(labels, map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelTopologyZone:       i.Zone,
		corev1.LabelTopologyRegion:     l.kube.world.options.Region,
		corev1.LabelInstanceTypeStable: i.InstanceType,
		wellknown.LabelZoneID:          l.kube.world.options.Catalog.ZoneIDs[i.Zone],
		wellknown.LabelCapacityType:    i.CapacityType,
	})
	for key, fallback := range map[string]string{corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux"} {
		if labels[key] == "" {
			labels[key] = fallback
		}
	}
	capacity, allocatable := market.room(shape)
	now := metav1.NewTime(l.kube.world.clock.now.Truncate(time.Second))
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.NodeSpec{
			ProviderID: i.ProviderID(),
			Taints: append(slices.Clone(i.request.Taints),
				corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}),
		},
		Status: corev1.NodeStatus{
			Capacity: capacity.List(), Allocatable: allocatable.List(),
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
}

// address is the next free one of the zone's subnet, and the node name that EC2 makes of it.
func (l *kubelets) address(zone string) (name, address string) {
	network := slices.Index(l.kube.world.options.Catalog.Zones(), zone)
	host := l.hosts[zone]
	l.hosts[zone]++
	third, fourth := network*16+host/250%16, host%250+4
	domain := "ec2.internal"
	if region := l.kube.world.options.Region; region != "us-east-1" {
		domain = region + ".compute.internal"
	}
	return fmt.Sprintf("ip-10-0-%d-%d.%s", third, fourth, domain), fmt.Sprintf("10.0.%d.%d", third, fourth)
}

// becomeReady reports the node Ready, through admission as any write of a status.
func (l *kubelets) becomeReady(node *corev1.Node, i *instance) {
	current, ok := lookup[*corev1.Node](l.store, "", node.Name)
	if !ok || current.UID != node.UID || i.State != cluster.InstanceRunning {
		return
	}
	update := current.DeepCopy()
	setNodeReady(update, corev1.ConditionTrue, "KubeletReady", l.kube.world.clock.now)
	if _, err := l.kube.save(current, update, "status"); err != nil {
		return
	}
	l.kube.world.occur(NodeReady, node.Name, "")
}

func setNodeReady(node *corev1.Node, status corev1.ConditionStatus, reason string, now time.Time) {
	at := metav1.NewTime(now.Truncate(time.Second))
	condition := corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: reason, LastHeartbeatTime: at, LastTransitionTime: at}
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			node.Status.Conditions[i] = condition
			return
		}
	}
	node.Status.Conditions = append(node.Status.Conditions, condition)
}

// alive reports whether something runs the pods of a node: its instance, or whatever is behind a node that
// the world did not make.
func (l *kubelets) alive(node string) bool {
	if id, ours := l.instances[node]; ours {
		return l.kube.world.ec2.running(id)
	}
	_, exists := lookup[*corev1.Node](l.store, "", node)
	return exists
}

func (l *kubelets) observe(c change) {
	if c.kind != "Pod" || c.now == nil {
		return
	}
	old, pod := podOrNil(c.old), c.now.(*corev1.Pod)
	if pod.Spec.NodeName == "" {
		return
	}
	clock, options := l.kube.world.clock, l.kube.world.options
	if old == nil || old.Spec.NodeName == "" {
		clock.after(options.PodStart, func() { l.start(c.key, pod.UID) })
	}
	if pod.DeletionTimestamp != nil && graceful(pod) && (old == nil || !pod.DeletionTimestamp.Equal(old.DeletionTimestamp)) {
		grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
		clock.after(min(options.PodStop, grace), func() { l.stop(c.key, pod.UID) })
	}
}

// start reports a pod Running and Ready.
func (l *kubelets) start(k key, uid types.UID) {
	pod, ok := l.pod(k, uid)
	if !ok || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	now := metav1.NewTime(l.kube.world.clock.now.Truncate(time.Second))
	pod = edit(l.store, pod, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.StartTime = &now
		for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
			setPodCondition(p, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	})
	l.kube.world.occur(PodRunning, k.String(), "%s", pod.Spec.NodeName)
	if runs, ends := l.runTime(pod); ends {
		l.kube.world.clock.after(runs, func() { l.succeed(k, uid) })
	}
}

// runTime is how long the pod runs; ends is false when it runs until it is stopped.
func (l *kubelets) runTime(pod *corev1.Pod) (runs time.Duration, ends bool) {
	if length, err := time.ParseDuration(pod.Annotations[AnnotationRunFor]); err == nil {
		return length, true
	}
	owner := metav1.GetControllerOf(pod)
	return l.kube.world.options.JobTime, owner != nil && owner.Kind == "Job"
}

func (l *kubelets) succeed(k key, uid types.UID) {
	pod, ok := l.pod(k, uid)
	if !ok || pod.DeletionTimestamp != nil {
		return
	}
	now := metav1.NewTime(l.kube.world.clock.now.Truncate(time.Second))
	edit(l.store, pod, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		setPodCondition(p, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: now,
		})
	})
	l.kube.world.occur(PodFinished, k.String(), "")
}

func (l *kubelets) stop(k key, uid types.UID) {
	if pod, ok := l.pod(k, uid); ok {
		l.kube.endPod(pod)
	}
}

// pod finds a pod that its kubelet still can do something about.
func (l *kubelets) pod(k key, uid types.UID) (*corev1.Pod, bool) {
	pod, ok := lookup[*corev1.Pod](l.store, k.namespace, k.name)
	if !ok || pod.UID != uid || !l.alive(pod.Spec.NodeName) {
		return nil, false
	}
	return pod, true
}

// nodeOf finds the node that an instance registered.
func (l *kubelets) nodeOf(i *instance) (*corev1.Node, bool) {
	return lookup[*corev1.Node](l.store, "", l.names[i.ID])
}
