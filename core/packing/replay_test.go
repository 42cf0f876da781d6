package packing_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"whittle/core/cluster"
)

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
