package packing_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helpers "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/core/resource"
)

// checkPlan lists what is wrong with a plan by kube-scheduler's rules. It shares no code with the solver: it
// builds the nodes that the plan leads to, whatever EC2 picks, and asks of each what kube-scheduler's plugins
// ask (pkg/scheduler/framework/plugins).
func checkPlan(s *cluster.Snapshot, plan *packing.Plan) []string {
	c := &checker{snapshot: s, sites: map[string]*site{}}
	c.existing()
	for i := range plan.Launches {
		c.launch(&plan.Launches[i])
	}
	for _, placement := range plan.Placements {
		at := c.sites[placement.Host]
		if at == nil {
			c.fault("pod %s is placed on %s, which is no host", placement.Pod.Name, placement.Host)
			continue
		}
		at.planned = append(at.planned, placement.Pod)
	}
	c.everyPodOnce(plan)
	for _, name := range slices.Sorted(maps.Keys(c.sites)) {
		c.eachNode(c.sites[name])
	}
	c.limits(plan)
	for _, pick := range []string{"cheapest", "dearest"} {
		for _, pod := range c.replay(pick) {
			c.fault("with the %s offers, pod %s cannot be bound in any order: topology", pick, pod)
		}
	}
	return c.faults
}

type checker struct {
	snapshot *cluster.Snapshot
	sites    map[string]*site
	faults   []string
}

// site is a node that is there or will be.
type site struct {
	name string
	pool string
	// versions are the nodes that it may become, the one that the plan reckons with first; one for a node that
	// exists.
	versions []version
	// bound are pods that run there, planned those that the plan puts there.
	bound, planned []*corev1.Pod
}

// version is a node as kube-scheduler will see it.
type version struct {
	node *corev1.Node
	// capacity counts against the NodePool's limits.
	capacity resource.Amounts
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// existing adds the nodes of the snapshot, and NodeClaims that may still become anything they ask for.
func (c *checker) existing() {
	for _, h := range c.snapshot.Hosts() {
		at := &site{name: h.Name(), pool: h.NodePool(), bound: h.Pods}
		if h.Node != nil {
			at.versions = []version{{node: h.Node, capacity: resource.FromList(h.Node.Status.Capacity)}}
		} else {
			at.versions = c.versions(h.Claim, nil)
		}
		c.sites[at.name] = at
	}
}

func (c *checker) launch(l *packing.Launch) {
	claim := l.NodeClaim()
	if c.sites[claim.Name] != nil {
		c.fault("two nodes are called %s", claim.Name)
		return
	}
	offers := []cluster.LaunchOverride{{InstanceType: l.Offering.InstanceType, Zone: l.Offering.Zone}}
	for _, candidate := range l.Candidates {
		for _, zone := range candidate.Zones {
			offers = append(offers, cluster.LaunchOverride{InstanceType: candidate.InstanceType, Zone: zone.Zone})
		}
	}
	at := &site{name: claim.Name, pool: l.NodePool.Name, versions: c.versions(claim, offers), planned: l.Pods}
	c.sites[at.name] = at
	for _, v := range at.versions {
		if !meetsNodePool(l.NodePool, v.node) {
			c.fault("launch %s may be a %s, which NodePool %s does not allow", at.name, nameOf(v.node), l.NodePool.Name)
		}
	}
}

// versions are the nodes that a NodeClaim may become: those of the offers, and those that its launch will ask
// EC2 for.
func (c *checker) versions(claim *karpenter.NodeClaim, offers []cluster.LaunchOverride) []version {
	class := c.snapshot.NodeClass(claim.Spec.NodeClassRef.Name)
	offer := packing.OfferFor(c.snapshot, claim, class)
	if len(offer.Overrides) == 0 {
		c.fault("nothing can be launched for NodeClaim %s", claim.Name)
	}
	var versions []version
	for _, o := range slices.Concat(offers, offer.Overrides) {
		instanceType := offer.Types[o.InstanceType]
		if !sold(instanceType, o.Zone, offer.CapacityType) {
			c.fault("launch %s may be a %s in %s as %s, which EC2 does not have", claim.Name, o.InstanceType, o.Zone, offer.CapacityType)
		}
		versions = append(versions, version{
			node:     nodeOf(claim, instanceType, o.Zone, c.snapshot.Catalog.ZoneIDs[o.Zone], offer.CapacityType),
			capacity: instanceType.Capacity,
		})
	}
	return versions
}

func sold(t *catalog.InstanceType, zone, capacityType string) bool {
	return slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool {
		return o.Available && o.Zone == zone && o.CapacityType == capacityType
	})
}

// nodeOf is the node that a NodeClaim becomes as an instance of the type.
func nodeOf(claim *karpenter.NodeClaim, t *catalog.InstanceType, zone, zoneID, capacityType string) *corev1.Node {
	all := maps.Clone(t.Labels)
	maps.Copy(all, claim.Labels)
	maps.Copy(all, map[string]string{
		corev1.LabelHostname: claim.Name, corev1.LabelTopologyZone: zone, wellknown.LabelZoneID: zoneID,
		wellknown.LabelCapacityType: capacityType, wellknown.LabelTenancy: wellknown.TenancyDefault,
		wellknown.LabelRegistered: "true", wellknown.LabelInitialized: "true",
	})
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Labels: all},
		Spec:       corev1.NodeSpec{Taints: claim.Spec.Taints},
		Status:     corev1.NodeStatus{Allocatable: t.Allocatable.List()},
	}
}

func nameOf(node *corev1.Node) string {
	return fmt.Sprintf("%s in %s as %s", node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyZone],
		node.Labels[wellknown.LabelCapacityType])
}

// meetsNodePool reports whether the node has the labels that its NodePool promises.
func meetsNodePool(pool *karpenter.NodePool, node *corev1.Node) bool {
	asked := &corev1.Pod{}
	var expressions []corev1.NodeSelectorRequirement
	for _, r := range pool.Spec.Template.Spec.Requirements {
		expressions = append(expressions, expressionOf(r))
	}
	asked.Spec.NodeSelector = pool.Spec.Template.ObjectMeta.Labels
	if len(expressions) > 0 {
		requireTerms(asked, expressions)
	}
	return matchesLabels(asked, node)
}

// expressionOf says a NodePool's requirement in the words of a node selector, which has no Gte and Lte.
func expressionOf(r karpenter.Requirement) corev1.NodeSelectorRequirement {
	beside := func(operator corev1.NodeSelectorOperator, step int) corev1.NodeSelectorRequirement {
		bound, _ := strconv.Atoi(r.Values[0])
		return corev1.NodeSelectorRequirement{Key: r.Key, Operator: operator, Values: []string{strconv.Itoa(bound + step)}}
	}
	switch r.Operator {
	case karpenter.OpGte:
		return beside(corev1.NodeSelectorOpGt, -1)
	case karpenter.OpLte:
		return beside(corev1.NodeSelectorOpLt, 1)
	default:
		return corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values}
	}
}

// requireTerms gives the pod required node affinity: any one of the terms.
func requireTerms(pod *corev1.Pod, terms ...[]corev1.NodeSelectorRequirement) {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	selector := &corev1.NodeSelector{}
	for _, term := range terms {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: term})
	}
	pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}
}

func matchesLabels(pod *corev1.Pod, node *corev1.Node) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return match && err == nil
}

// barringTaint is the first taint that keeps the pod off the node (plugin TaintToleration).
func barringTaint(pod *corev1.Pod, node *corev1.Node) (string, bool) {
	taints := node.Spec.Taints
	if node.Spec.Unschedulable {
		taints = append(slices.Clone(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	for _, taint := range taints {
		covered := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
				(t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == taint.Value)
		})
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !covered {
			return taint.ToString(), true
		}
	}
	return "", false
}

// everyPodOnce checks that each waiting pod is in the plan once.
func (c *checker) everyPodOnce(plan *packing.Plan) {
	times := map[string]int{}
	for _, at := range c.sites {
		for _, pod := range at.planned {
			times[cluster.PodKey(pod)]++
		}
	}
	for i := range plan.Unplaced {
		times[cluster.PodKey(plan.Unplaced[i].Pod)]++
		if plan.Unplaced[i].Message() == "" {
			c.fault("pod %s is unplaced for no reason", plan.Unplaced[i].Pod.Name)
		}
	}
	for _, pod := range c.snapshot.Pods {
		want := 0
		if cluster.Provisionable(pod) {
			want = 1
		}
		if times[cluster.PodKey(pod)] != want {
			c.fault("pod %s is in the plan %d times, want %d", pod.Name, times[cluster.PodKey(pod)], want)
		}
	}
}

// eachNode checks what depends on one node alone, whichever it becomes.
func (c *checker) eachNode(at *site) {
	if len(at.planned) == 0 {
		return
	}
	for _, v := range at.versions {
		pods := slices.Concat(at.bound, c.daemonPods(at, v.node), at.planned)
		for _, pod := range at.planned {
			if taint, bars := barringTaint(pod, v.node); bars {
				c.fault("pod %s does not tolerate %s of %s", pod.Name, taint, at.name)
			}
			if !matchesLabels(pod, v.node) {
				c.fault("pod %s does not match the labels of %s, a %s", pod.Name, at.name, nameOf(v.node))
			}
			if other := portConflict(pod, pods); other != nil {
				c.fault("pods %s and %s want the same host port of %s", pod.Name, other.Name, at.name)
			}
		}
		sum := resource.Amounts{}
		for _, pod := range pods {
			sum[corev1.ResourcePods]++
			sum.Add(resource.FromList(helpers.PodRequests(pod, helpers.PodResourcesOptions{})))
		}
		if room := resource.FromList(v.node.Status.Allocatable); !sum.Fits(room) {
			c.fault("pods ask for %v of %s, a %s, which has %v", sum, at.name, nameOf(v.node), room)
		}
	}
}

// daemonPods are the pods that DaemonSets will start on the node and have not yet.
func (c *checker) daemonPods(at *site, node *corev1.Node) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, set := range c.snapshot.DaemonSets {
		there := slices.ContainsFunc(at.bound, func(pod *corev1.Pod) bool {
			owner := metav1.GetControllerOf(pod)
			return owner != nil && owner.Name == set.Name && pod.Namespace == set.Namespace
		})
		pod := podOf(set)
		if _, bars := barringTaint(pod, node); !bars && !there && matchesLabels(pod, node) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func podOf(set *appsv1.DaemonSet) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name, Labels: set.Spec.Template.Labels},
		Spec:       set.Spec.Template.Spec,
	}
}

// portConflict finds another pod that takes a host port of the pod's (plugin NodePorts).
func portConflict(pod *corev1.Pod, others []*corev1.Pod) *corev1.Pod {
	ports := func(pod *corev1.Pod) []corev1.ContainerPort {
		var taken []corev1.ContainerPort
		for i := range pod.Spec.Containers {
			for _, port := range pod.Spec.Containers[i].Ports {
				if port.HostPort > 0 {
					port.Protocol = cmp.Or(port.Protocol, corev1.ProtocolTCP)
					port.HostIP = cmp.Or(port.HostIP, "0.0.0.0")
					taken = append(taken, port)
				}
			}
		}
		return taken
	}
	for _, other := range others {
		for _, a := range ports(pod) {
			for _, b := range ports(other) {
				sameAddress := a.HostIP == b.HostIP || a.HostIP == "0.0.0.0" || b.HostIP == "0.0.0.0"
				if other != pod && a.HostPort == b.HostPort && a.Protocol == b.Protocol && sameAddress {
					return other
				}
			}
		}
	}
	return nil
}

// limits checks that NodePools stay within theirs whichever candidates EC2 picks. A pool that is over its
// limit already must launch nothing that counts.
func (c *checker) limits(plan *packing.Plan) {
	launching := map[string]bool{}
	for i := range plan.Launches {
		launching[plan.Launches[i].NodePool.Name] = true
	}
	for _, pool := range c.snapshot.NodePools {
		used := resource.Amounts{}
		for _, at := range c.sites {
			if at.pool != pool.Name {
				continue
			}
			most := resource.Amounts{wellknown.ResourceNodes: 1}
			for _, v := range at.versions {
				for name, amount := range v.capacity {
					most[name] = max(most[name], amount)
				}
			}
			used.Add(most)
		}
		for name, limit := range pool.Spec.Limits {
			if launching[pool.Name] && used[name] > resource.Of(name, limit) {
				c.fault("NodePool %s may use %s %s, the plan makes it %d", pool.Name, limit.String(), name, used[name])
			}
		}
	}
}
