package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"whittle/core/api/karpenter"
)

// setDefaults fills in what the API server and its built-in admission plugins would, as far as the world
// reads it.
func setDefaults(obj object) {
	one := int32(1)
	switch o := obj.(type) {
	case *karpenter.NodePool:
		setDisruptionDefaults(&o.Spec.Disruption)
	case *karpenter.NodeClaim:
		setIfNil(&o.Spec.ExpireAfter, new(karpenter.After(karpenter.DefaultExpireAfter)))
	case *corev1.Pod:
		setPodDefaults(&o.Spec)
		setTolerationDefaults(&o.Spec)
		setPriority(&o.Spec)
		if o.Status.Phase == "" {
			o.Status.Phase = corev1.PodPending
		}
	case *appsv1.Deployment:
		setIfNil(&o.Spec.Replicas, &one)
		setPodDefaults(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		setIfNil(&o.Spec.Replicas, &one)
		setPodDefaults(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		setIfNil(&o.Spec.Replicas, &one)
		setPodDefaults(&o.Spec.Template.Spec)
	case *appsv1.DaemonSet:
		setPodDefaults(&o.Spec.Template.Spec)
	case *batchv1.Job:
		setIfNil(&o.Spec.Parallelism, &one)
		setPodDefaults(&o.Spec.Template.Spec)
	case *storagev1.StorageClass:
		immediate := storagev1.VolumeBindingImmediate
		setIfNil(&o.VolumeBindingMode, &immediate)
	case *corev1.PersistentVolumeClaim:
		if o.Status.Phase == "" {
			o.Status.Phase = corev1.ClaimPending
		}
	}
}

// setDisruptionDefaults fills in the defaults of the NodePool's CRD; translating older spellings is not the
// API server's business.
func setDisruptionDefaults(disruption *karpenter.Disruption) {
	setIfNil(&disruption.ConsolidateAfter, new(karpenter.After(0)))
	if disruption.ConsolidationPolicy == "" {
		disruption.ConsolidationPolicy = karpenter.ConsolidateWhenEmptyOrUnderutilized
	}
	if disruption.Budgets == nil {
		disruption.Budgets = []karpenter.Budget{{Nodes: karpenter.DefaultBudget}}
	}
}

func setIfNil[T any](to **T, value *T) {
	if *to == nil {
		*to = value
	}
}

func setPodDefaults(spec *corev1.PodSpec) {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	setIfNil(&spec.TerminationGracePeriodSeconds, &grace)
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	for i := range spec.InitContainers {
		setContainerDefaults(&spec.InitContainers[i], spec.HostNetwork)
	}
	for i := range spec.Containers {
		setContainerDefaults(&spec.Containers[i], spec.HostNetwork)
	}
}

// setContainerDefaults requests what is limited and not requested, and gives ports their protocol.
func setContainerDefaults(container *corev1.Container, hostNetwork bool) {
	for name, limit := range container.Resources.Limits {
		if _, requested := container.Resources.Requests[name]; requested {
			continue
		}
		if container.Resources.Requests == nil {
			container.Resources.Requests = corev1.ResourceList{}
		}
		container.Resources.Requests[name] = limit.DeepCopy()
	}
	for i := range container.Ports {
		port := &container.Ports[i]
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if hostNetwork && port.HostPort == 0 {
			port.HostPort = port.ContainerPort
		}
	}
}

// setTolerationDefaults lets a pod stay for five minutes on a node that is in trouble (admission plugin
// DefaultTolerationSeconds).
func setTolerationDefaults(spec *corev1.PodSpec) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerated := false
		for _, toleration := range spec.Tolerations {
			matches := toleration.Key == key || toleration.Key == "" && toleration.Operator == corev1.TolerationOpExists
			effect := toleration.Effect == "" || toleration.Effect == corev1.TaintEffectNoExecute
			tolerated = tolerated || matches && effect
		}
		if !tolerated {
			seconds := int64(300)
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
			})
		}
	}
}

// setPriority resolves the two priority classes that every cluster has (admission plugin Priority).
func setPriority(spec *corev1.PodSpec) {
	if spec.Priority != nil {
		return
	}
	var priority int32
	switch spec.PriorityClassName {
	case "system-cluster-critical":
		priority = 2000000000
	case "system-node-critical":
		priority = 2000001000
	}
	spec.Priority = &priority
}

// setNodeDefaults makes a node that a user brings, and no kubelet of the world's, one that works: Ready,
// with all its capacity for pods.
func setNodeDefaults(node *corev1.Node) {
	if len(node.Status.Conditions) == 0 {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	}
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
}
