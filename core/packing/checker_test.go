package packing_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// selects is a selector over pods in namespaces.
type selects struct {
	selector   labels.Selector
	namespaces map[string]bool
}

func (s selects) matches(pod *corev1.Pod) bool {
	return s.namespaces[pod.Namespace] && s.selector.Matches(labels.Set(pod.Labels))
}

// selectsOf reads a label selector with the pod's own values of the keys that must match or differ; one that
// is absent matches nothing.
func selectsOf(pod *corev1.Pod, selector *metav1.LabelSelector, match, mismatch []string, namespaces ...string) selects {
	result := selects{selector: labels.Nothing(), namespaces: map[string]bool{}}
	for _, name := range namespaces {
		result.namespaces[name] = true
	}
	if selector == nil {
		return result
	}
	selector = selector.DeepCopy()
	for _, key := range slices.Concat(match, mismatch) {
		operator := metav1.LabelSelectorOpIn
		if slices.Contains(mismatch, key) {
			operator = metav1.LabelSelectorOpNotIn
		}
		if value, has := pod.Labels[key]; has {
			selector.MatchExpressions = append(selector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
	if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil {
		result.selector = parsed
	}
	return result
}

// shape is pods that look the same to kube-scheduler, with their constraints read.
type shape struct {
	pod     *corev1.Pod
	spreads []*spread
	// together and apart are the required terms of pod affinity and anti-affinity.
	together, apart []*term
}

// term is a selector over the domains of a topology key.
type term struct {
	key string
	selects
	known map[*shape]bool
}

func (t *term) counts(s *shape) bool {
	if _, known := t.known[s]; !known {
		t.known[s] = t.matches(s.pod)
	}
	return t.known[s]
}

type spread struct {
	term
	constraint corev1.TopologySpreadConstraint
	eligible   map[*seat]bool
}

// seat is a node in the course of a replay, with how many pods of each shape are bound to it.
type seat struct {
	node *corev1.Node
	pods map[*shape]int
}

// group is pods of one shape that the plan puts on one node.
type group struct {
	shape *shape
	at    *seat
	pods  []string
	// harmless pods shut out no others, whenever they are bound.
	harmless bool
}

// replay binds the planned pods, each to its node, in an order in which kube-scheduler's plugins PodTopologySpread
// and InterPodAffinity allow every single one.
type replay struct {
	shapes map[string]*shape
	seats  []*seat
	groups []*group
	// failed are the states, as pods left of each group, from which there is no way on.
	failed map[string]bool
	// steps is how many states may be looked at yet; stuck are the fewest pods that were left of any.
	steps int
	stuck []string
}

// replay returns the pods that no order binds when EC2 picks the cheapest or the dearest offer for every node.
func (c *checker) replay(pick string) []string {
	r := c.newReplay(pick)
	// Where the search loses its way, another order of the shapes often leads straight to the end.
	random := rand.New(rand.NewPCG(1, 1))
	for range 60 {
		r.failed, r.steps = map[string]bool{}, 300
		left := make([]int, len(r.groups))
		for i, g := range r.groups {
			left[i] = len(g.pods)
		}
		if r.bind(left) {
			return nil
		}
		turn := map[*shape]int{}
		for _, g := range r.groups {
			if turn[g.shape] == 0 {
				turn[g.shape] = 1 + random.IntN(1000)
			}
		}
		slices.SortStableFunc(r.groups, func(a, b *group) int { return cmp.Compare(turn[a.shape], turn[b.shape]) })
	}
	return r.stuck
}

func (c *checker) newReplay(pick string) *replay {
	r := &replay{shapes: map[string]*shape{}}
	for _, name := range slices.Sorted(maps.Keys(c.sites)) {
		at := c.sites[name]
		if len(at.versions) == 0 {
			continue
		}
		node := at.versions[0].node
		if pick == "dearest" {
			node = at.versions[len(at.versions)-1].node
		}
		seat := &seat{node: node, pods: map[*shape]int{}}
		for _, pod := range slices.Concat(at.bound, c.daemonPods(at, node)) {
			seat.pods[r.shapeOf(c.snapshot, pod)]++
		}
		byShape := map[*shape]*group{}
		for _, pod := range at.planned {
			s := r.shapeOf(c.snapshot, pod)
			if byShape[s] == nil {
				byShape[s] = &group{shape: s, at: seat}
				r.groups = append(r.groups, byShape[s])
			}
			byShape[s].pods = append(byShape[s].pods, pod.Name)
		}
		r.seats = append(r.seats, seat)
	}
	for _, g := range r.groups {
		g.harmless = len(g.shape.apart) == 0 && !slices.ContainsFunc(r.groups, func(o *group) bool { return o.minds(g.shape) })
	}
	return r
}

// bind binds what is left of each group, and reports whether it could.
func (r *replay) bind(left []int) bool {
	state := fmt.Sprint(left)
	var waiting []string
	for i, g := range r.groups {
		waiting = append(waiting, g.pods[:left[i]]...)
	}
	if len(waiting) == 0 {
		return true
	}
	if r.stuck == nil || len(waiting) < len(r.stuck) {
		r.stuck = waiting
	}
	r.steps--
	if r.failed[state] || r.steps < 0 {
		return false
	}
	r.failed[state] = true
	for _, harmless := range []bool{true, false} {
		for i, g := range r.groups {
			if left[i] == 0 || g.harmless != harmless || !r.allows(g) {
				continue
			}
			left[i]--
			g.at.pods[g.shape]++
			if r.bind(left) {
				return true
			}
			left[i]++
			g.at.pods[g.shape]--
			if harmless {
				return false
			}
		}
	}
	return false
}

// minds reports whether pods of the group may be shut out by one of the shape.
func (g *group) minds(s *shape) bool {
	return slices.ContainsFunc(g.shape.spreads, func(t *spread) bool { return t.counts(s) }) ||
		slices.ContainsFunc(g.shape.apart, func(t *term) bool { return t.counts(s) })
}

// allows reports whether one more pod of the group may be bound now.
func (r *replay) allows(g *group) bool {
	for _, s := range g.shape.spreads {
		if !r.evenWith(g, s) {
			return false
		}
	}
	for _, t := range g.shape.apart {
		if r.inDomain(t, g.at, t.counts) {
			return false
		}
	}
	for _, other := range r.seats {
		for shape, n := range other.pods {
			for _, t := range shape.apart {
				if n > 0 && t.counts(g.shape) && sameDomain(t.key, other, g.at) {
					return false
				}
			}
		}
	}
	return r.hasCompany(g)
}

// evenWith reports whether the spread stays within its skew with one more pod of the group.
func (r *replay) evenWith(g *group, s *spread) bool {
	if _, has := g.at.node.Labels[s.key]; !has {
		return false
	}
	counts := map[string]int{}
	for _, other := range r.seats {
		if !s.includes(g.shape, other) {
			continue
		}
		domain := other.node.Labels[s.key]
		counts[domain] += 0
		for shape, n := range other.pods {
			if shape.pod.DeletionTimestamp == nil && s.counts(shape) {
				counts[domain] += n
			}
		}
	}
	least := 0
	if minDomains := s.constraint.MinDomains; len(counts) > 0 && (minDomains == nil || len(counts) >= int(*minDomains)) {
		least = slices.Min(slices.Collect(maps.Values(counts)))
	}
	self := 0
	if s.counts(g.shape) {
		self = 1
	}
	return counts[g.at.node.Labels[s.key]]+self-least <= int(s.constraint.MaxSkew)
}

// includes reports whether the node counts for the spread of pods of the shape: it has the topology keys of
// all their spreads, and the policies let it in.
func (s *spread) includes(of *shape, at *seat) bool {
	if answer, known := s.eligible[at]; known {
		return answer
	}
	answer := true
	for _, other := range of.spreads {
		_, has := at.node.Labels[other.key]
		answer = answer && has
	}
	if policy := s.constraint.NodeAffinityPolicy; policy == nil || *policy == corev1.NodeInclusionPolicyHonor {
		answer = answer && matchesLabels(of.pod, at.node)
	}
	if policy := s.constraint.NodeTaintsPolicy; policy != nil && *policy == corev1.NodeInclusionPolicyHonor {
		_, bars := barringTaint(of.pod, at.node)
		answer = answer && !bars
	}
	s.eligible[at] = answer
	return answer
}

// hasCompany reports whether pods that all of the group's affinity terms select are in the domain of each. The
// first pod of those that select themselves needs none.
func (r *replay) hasCompany(g *group) bool {
	all := func(s *shape) bool {
		return !slices.ContainsFunc(g.shape.together, func(t *term) bool { return !t.counts(s) })
	}
	alone, found := true, true
	for _, t := range g.shape.together {
		if _, has := g.at.node.Labels[t.key]; !has {
			return false
		}
		found = found && r.inDomain(t, g.at, all)
		for _, other := range r.seats {
			_, has := other.node.Labels[t.key]
			alone = alone && (!has || !other.holds(all))
		}
	}
	return found || alone && all(g.shape)
}

// inDomain reports whether a pod that counts is in the seat's domain of the term.
func (r *replay) inDomain(t *term, at *seat, counts func(*shape) bool) bool {
	return slices.ContainsFunc(r.seats, func(other *seat) bool { return sameDomain(t.key, other, at) && other.holds(counts) })
}

func (s *seat) holds(counts func(*shape) bool) bool {
	for shape, n := range s.pods {
		if n > 0 && counts(shape) {
			return true
		}
	}
	return false
}

func sameDomain(key string, a, b *seat) bool {
	one, hasOne := a.node.Labels[key]
	other, hasOther := b.node.Labels[key]
	return hasOne && hasOther && one == other
}

// shapeOf is the pod's shape, the same one for pods that look the same.
func (r *replay) shapeOf(snapshot *cluster.Snapshot, pod *corev1.Pod) *shape {
	plain := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Labels: pod.Labels, DeletionTimestamp: pod.DeletionTimestamp}, Spec: pod.Spec}
	plain.Spec.NodeName = ""
	text, _ := plain.Marshal()
	key := string(text)
	if r.shapes[key] != nil {
		return r.shapes[key]
	}
	s := &shape{pod: pod}
	r.shapes[key] = s
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		if constraint.WhenUnsatisfiable != corev1.ScheduleAnyway {
			s.spreads = append(s.spreads, &spread{constraint: constraint, eligible: map[*seat]bool{}, term: term{
				key: constraint.TopologyKey, known: map[*shape]bool{},
				selects: selectsOf(pod, constraint.LabelSelector, constraint.MatchLabelKeys, nil, pod.Namespace),
			}})
		}
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAffinity != nil {
		s.together = termsOf(snapshot, pod, affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAntiAffinity != nil {
		s.apart = termsOf(snapshot, pod, affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return s
}

func termsOf(snapshot *cluster.Snapshot, pod *corev1.Pod, required []corev1.PodAffinityTerm) []*term {
	var terms []*term
	for _, t := range required {
		namespaces := t.Namespaces
		if t.NamespaceSelector != nil {
			among, _ := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
			for _, namespace := range snapshot.Namespaces {
				if among.Matches(labels.Set(namespace.Labels)) {
					namespaces = append(slices.Clone(namespaces), namespace.Name)
				}
			}
		} else if len(namespaces) == 0 {
			namespaces = []string{pod.Namespace}
		}
		terms = append(terms, &term{
			key: t.TopologyKey, known: map[*shape]bool{},
			selects: selectsOf(pod, t.LabelSelector, t.MatchLabelKeys, t.MismatchLabelKeys, namespaces...),
		})
	}
	return terms
}
