package packing

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// daemon is a DaemonSet as it weighs on nodes: where its pods run, and what one asks for.
type daemon struct {
	namespace, name string
	alternatives    []requirement.Set
	tolerations     []corev1.Toleration
	requests        resource.Amounts
	// pod is one as it will be, to be judged by what its labels and ports are.
	pod *corev1.Pod
}

// newDaemons reads the snapshot's DaemonSets. What LimitRanges add shows in the newest live pod, which is
// weighed in the template's stead when there is one.
func newDaemons(s *cluster.Snapshot) []daemon {
	newest := map[string]*corev1.Pod{}
	for _, pod := range s.Pods {
		owner := cluster.ControllerOf(pod)
		if owner == nil || owner.Kind != "DaemonSet" || cluster.Terminal(pod) {
			continue
		}
		key := pod.Namespace + "/" + owner.Name
		if seen := newest[key]; seen == nil || seen.CreationTimestamp.Before(&pod.CreationTimestamp) ||
			seen.CreationTimestamp.Equal(&pod.CreationTimestamp) && comparePods(pod, seen) < 0 {
			newest[key] = pod
		}
	}
	daemons := make([]daemon, 0, len(s.DaemonSets))
	for _, set := range s.DaemonSets {
		template := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name, Labels: set.Spec.Template.Labels},
			Spec:       *set.Spec.Template.Spec.DeepCopy(),
		}
		resource.DefaultRequests(&template.Spec)
		sized := template
		if live := newest[set.Namespace+"/"+set.Name]; live != nil {
			sized = live
		}
		daemons = append(daemons, daemon{
			namespace:    set.Namespace,
			name:         set.Name,
			alternatives: onceReady(requiredAlternatives(template)),
			tolerations:  template.Spec.Tolerations,
			requests:     resource.PodRequests(sized),
			pod:          template,
		})
	}
	return daemons
}

// onceReady leaves out what every node satisfies in time: that it is registered and initialized, and that
// it has a name.
func onceReady(alternatives []requirement.Set) []requirement.Set {
	for _, set := range alternatives {
		for _, key := range []string{wellknown.LabelRegistered, wellknown.LabelInitialized} {
			if set.Has(key) && set.Get(key).Has("true") {
				delete(set, key)
			}
		}
		if set.Has(corev1.LabelHostname) && set.Get(corev1.LabelHostname).Operator() == karpenter.OpExists {
			delete(set, corev1.LabelHostname)
		}
	}
	return alternatives
}

// awaited is what the DaemonSets that belong on the host but have no pod there yet will ask for.
func (p *problem) awaited(h cluster.Host) resource.Amounts {
	sum := resource.Amounts{}
	for _, daemon := range p.awaitedDaemons(h) {
		sum.Add(daemon.requests)
	}
	return sum
}

// awaitedDaemons are the DaemonSets that belong on the host but have no pod there yet.
func (p *problem) awaitedDaemons(h cluster.Host) []*daemon {
	present := map[string]bool{}
	for _, pod := range h.Pods {
		if owner := cluster.ControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
			present[pod.Namespace+"/"+owner.Name] = true
		}
	}
	labels := requirement.FromLabels(h.Labels())
	var awaited []*daemon
	for i := range p.daemons {
		daemon := &p.daemons[i]
		if present[daemon.namespace+"/"+daemon.name] || !toleratesAll(daemon.tolerations, h.Taints(), true) {
			continue
		}
		if anyCompatible(labels, daemon.alternatives) {
			awaited = append(awaited, daemon)
		}
	}
	return awaited
}

// anyCompatible reports whether a node with these labels satisfies one of the sets. The labels are
// complete: what is not there is not.
func anyCompatible(labels requirement.Set, alternatives []requirement.Set) bool {
	for _, set := range alternatives {
		if labels.Compatible(set, nil) == nil {
			return true
		}
	}
	return false
}
