package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"whittle/core/cluster"
	"whittle/core/resource"
)

// fit judges nodes for one pod, as kube-scheduler's filters do.
type fit struct {
	kube     *Kube
	pod      *corev1.Pod
	requests resource.Amounts
	names    []corev1.ResourceName
	affinity nodeaffinity.RequiredNodeAffinity
	ports    []corev1.ContainerPort
	volumes  []*nodeaffinity.LazyErrorNodeSelector
}

func newFit(k *Kube, pod *corev1.Pod) *fit {
	requests := resource.PodRequests(pod)
	return &fit{
		kube:     k,
		pod:      pod,
		requests: requests,
		names:    requests.Names(),
		affinity: nodeaffinity.GetRequiredNodeAffinity(pod),
		ports:    hostPorts(pod),
		volumes:  k.volumeSelectors(pod),
	}
}

// refusals are the reasons of the first filter that the node does not pass, in kube-scheduler's words; none
// when the pod fits.
func (f *fit) refusals(node *corev1.Node, room, used resource.Amounts) []string {
	unschedulable := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if node.Spec.Unschedulable && !cluster.Tolerates(f.pod.Spec.Tolerations, unschedulable) {
		return []string{"node(s) were unschedulable"}
	}
	if taint := intolerable(f.pod, node, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute); taint != nil {
		return []string{fmt.Sprintf("node(s) had untolerated taint {%s: %s}", taint.Key, taint.Value)}
	}
	if ok, err := f.affinity.Match(node); err != nil || !ok {
		return []string{"node(s) didn't match Pod's node affinity/selector"}
	}
	if len(f.ports) > 0 && f.portTaken(node) {
		return []string{"node(s) didn't have free ports for the requested pod ports"}
	}
	for _, volume := range f.volumes {
		if ok, err := volume.Match(node); err != nil || !ok {
			return []string{"node(s) had volume node affinity conflict"}
		}
	}
	var lacking []string
	for _, name := range f.names {
		if amount := f.requests[name]; amount > 0 && used[name]+amount > room[name] {
			if name == corev1.ResourcePods {
				lacking = append(lacking, "Too many pods")
			} else {
				lacking = append(lacking, "Insufficient "+string(name))
			}
		}
	}
	return lacking
}

// intolerable is the first of the node's taints with one of these effects that the pod does not tolerate.
func intolerable(pod *corev1.Pod, node *corev1.Node, effects ...corev1.TaintEffect) *corev1.Taint {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		for _, effect := range effects {
			if taint.Effect == effect && !cluster.Tolerates(pod.Spec.Tolerations, *taint) {
				return taint
			}
		}
	}
	return nil
}

func hostPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	collect := func(containers []corev1.Container) {
		for _, container := range containers {
			for _, port := range container.Ports {
				if port.HostPort > 0 {
					ports = append(ports, port)
				}
			}
		}
	}
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			collect([]corev1.Container{container})
		}
	}
	collect(pod.Spec.Containers)
	return ports
}

func (f *fit) portTaken(node *corev1.Node) bool {
	for _, other := range f.kube.store.podsOn(node.Name) {
		if cluster.Terminal(other) {
			continue
		}
		for _, taken := range hostPorts(other) {
			for _, wanted := range f.ports {
				if portsClash(wanted, taken) {
					return true
				}
			}
		}
	}
	return false
}

// portsClash reports whether two host ports cannot be had on one node: the same number and protocol, on
// addresses of which one is the other or all.
func portsClash(a, b corev1.ContainerPort) bool {
	everywhere := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return a.HostPort == b.HostPort && a.Protocol == b.Protocol &&
		(a.HostIP == b.HostIP || everywhere(a.HostIP) || everywhere(b.HostIP))
}
