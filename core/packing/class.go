package packing

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/cluster"
	"whittle/core/requirement"
)

// class is the pods that look the same to the scheduler: what is decided for one holds for all.
type class struct {
	key string
	// pod is one of them, to be judged in the name of all.
	pod      *corev1.Pod
	requests vector
	// levels to try in turn: the first honours every preference, each next one gives one up.
	levels []level
	level  int
	// pods that are not placed yet, in the order in which they are placed.
	pods []*corev1.Pod
	// roles to the terms on nodes, at the present level.
	roles []role

	// parent is the class of which this is the part pinned to a place, the values of keys; nil for none.
	parent *class
	keys   []string
	place  []string
	// assigned are the pods that came to the place in the round, placed or not.
	assigned []*corev1.Pod
}

// level is what a class asks after some of its preferences were given up.
type level struct {
	rule *rule
	// terms that count, of them required those that must hold.
	terms    []*term
	required int
}

func (c *class) rule() *rule { return c.levels[c.level].rule }

// strict is the class's rule without any preference.
func (c *class) strict() *rule { return c.levels[len(c.levels)-1].rule }

func (c *class) owns(t *term) bool { return slices.Contains(c.levels[c.level].terms, t) }

func (c *class) requires(t *term) bool {
	l := c.levels[c.level]
	return slices.Contains(l.terms[:l.required], t)
}

// pop takes n pods off the class.
func (c *class) pop(n int64) []*corev1.Pod {
	taken := c.pods[:n:n]
	c.pods = c.pods[n:]
	return taken
}

// rule is where pods may run: one of the alternatives must hold, and the taints be tolerated.
type rule struct {
	key          string
	alternatives []requirement.Set
	tolerations  []corev1.Toleration
	// ignorePreferred says that taints with PreferNoSchedule need no toleration.
	ignorePreferred bool
	// perPool is what the rule leaves of each pool, in the order of the problem's pools.
	perPool []poolRule
	// places that the pools offer under the rule, by topology keys.
	places map[string][]*place
}

// poolRule is a rule as a pool sees it: the offerings that satisfy it, and the requirements on labels
// that the pool leaves open.
type poolRule struct {
	masks masks
	open  openLabels
	admit bool
}

// addPods sorts the pods into classes, after those that no node can help.
func (p *problem) addPods(pods []*corev1.Pod) {
	planned := p.plannedHosts()
	byKey := map[string]*class{}
	for _, pod := range pods {
		volumes, err := p.volumes.Requirements(pod)
		if err == nil {
			err = validate(pod)
		}
		if err != nil {
			p.unplaced = append(p.unplaced, Unplaced{Pod: pod, Reasons: []Reason{{Rule: RulePod, Message: err.Error()}}})
			continue
		}
		key := p.classKey(pod, volumes)
		c := byKey[key]
		if c == nil {
			c = &class{key: key, pod: pod, requests: p.vector(p.requestsOf(pod)), levels: p.levelsOf(pod, volumes)}
			byKey[key] = c
			p.roots = append(p.roots, c)
		}
		c.pods = append(c.pods, pod)
	}
	p.sortTerms()
	p.crowdHosts()
	p.shareSpot()
	for _, c := range p.roots {
		c.roles = p.rolesOf(c)
		p.keepPromises(c, planned)
		c.pods = interleaved(c.pods)
	}
}

// interleaved puts the pods of different owners in turns, so that nodes, which are filled in this order, get
// as few replicas of one owner as the plan allows.
func interleaved(pods []*corev1.Pod) []*corev1.Pod {
	groups := byOwner(pods)
	if len(groups) < 2 {
		return pods
	}
	mixed := make([]*corev1.Pod, 0, len(pods))
	for round := 0; len(mixed) < len(pods); round++ {
		for _, group := range groups {
			if round < len(group) {
				mixed = append(mixed, group[round])
			}
		}
	}
	return mixed
}

// keepPromises puts pods on the hosts whose NodeClaims were planned for them.
func (p *problem) keepPromises(c *class, planned map[string]*host) {
	if len(planned) == 0 {
		return
	}
	left := c.pods[:0:0]
	for _, pod := range c.pods {
		h := planned[cluster.PodKey(pod)]
		if h == nil || !p.takes(h, c) {
			left = append(left, pod)
			continue
		}
		p.put(h, c, []*corev1.Pod{pod})
		if keys := p.domainKeys(c); len(keys) > 0 {
			p.noteOn(h, c, keys)
		}
	}
	c.pods = left
}

// takes reports whether the host takes a pod of the class, whatever preferences it has to give up: those
// that its plan gave up are given up still.
func (p *problem) takes(h *host, c *class) bool {
	if !c.requests.fits(h.room) {
		return false
	}
	defer func(level int, roles []role) { c.level, c.roles = level, roles }(c.level, c.roles)
	for c.level = range c.levels {
		c.roles = p.rolesOf(c)
		if p.admits(h, c.rule()) && p.bear(h.crowd, c) > 0 {
			return true
		}
	}
	return false
}

// noteOn counts a pod of the class for the terms over the host's domains, as far as these are decided.
func (p *problem) noteOn(h *host, c *class, keys []string) {
	values := h.valuesOf(keys)
	if values == nil {
		return
	}
	for _, b := range p.boundTerms(c, keys) {
		b.note(values[b.key], 1)
	}
}

// plannedHosts maps pods to the hosts whose NodeClaims were planned for them, so that a plan that is
// under way is not packed a second time, and differently.
func (p *problem) plannedHosts() map[string]*host {
	planned := map[string]*host{}
	for _, h := range p.hosts {
		for _, key := range h.PlannedPods() {
			planned[key] = h
		}
	}
	return planned
}

// sortClasses orders classes as pods are tried: the largest first (upstream
// pkg/controllers/provisioning/scheduling/queue.go), equal ones by what they are.
func (p *problem) sortClasses() {
	slices.SortFunc(p.classes, func(a, b *class) int {
		for i := range a.requests {
			if a.requests[i] != b.requests[i] {
				return cmp.Compare(b.requests[i], a.requests[i])
			}
		}
		return cmp.Compare(a.key, b.key)
	})
}

// classKey is equal for pods that look the same to the scheduler.
func (p *problem) classKey(pod *corev1.Pod, volumes []requirement.Set) string {
	var key strings.Builder
	for _, amount := range p.vector(p.requestsOf(pod)) {
		key.WriteString(strconv.FormatInt(amount, 36))
		key.WriteByte(';')
	}
	// The wire form of an API struct is the shortest text that is equal for equal ones.
	write := func(part interface{ Marshal() ([]byte, error) }) {
		text, _ := part.Marshal()
		key.WriteString(strconv.Itoa(len(text)))
		key.Write(text)
	}
	for _, label := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		key.WriteString(label + "=" + pod.Spec.NodeSelector[label] + ";")
	}
	if pod.Spec.Affinity != nil {
		write(pod.Spec.Affinity)
	}
	for i := range pod.Spec.Tolerations {
		write(&pod.Spec.Tolerations[i])
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		write(&pod.Spec.TopologySpreadConstraints[i])
	}
	for _, port := range hostPorts(pod) {
		key.WriteString(port.String())
	}
	if len(p.selectable) > 0 {
		key.WriteString(pod.Namespace)
		for _, label := range p.selectable {
			key.WriteByte(';')
			key.WriteString(pod.Labels[label])
		}
	}
	for _, set := range volumes {
		key.WriteString(set.Identity())
		key.WriteByte('|')
	}
	return key.String()
}

// levelsOf are what the pod asks as its preferences are given up, one at each level: preferred pod
// affinity and anti-affinity, then preferred node affinity, of which the heaviest term counts as required
// until it is dropped, then spreads that need not hold; at last taints with PreferNoSchedule need no
// toleration (upstream pkg/controllers/provisioning/scheduling/preferences.go). The terms of required node
// affinity are alternatives: any of them will do, as kube-scheduler has it.
func (p *problem) levelsOf(pod *corev1.Pod, volumes []requirement.Set) []level {
	required := requirement.Combine(requiredAlternatives(pod), volumes)
	preferred := preferredTerms(pod)
	var terms podTerms
	if hasTerms(pod) {
		terms = p.terms.of(pod)
	}
	if p.ignorePreferences {
		preferred, terms.soft, terms.softSpread = nil, nil, nil
	}
	var levels []level
	add := func(ignorePreferred bool) {
		alternatives := required
		if len(preferred) > 0 {
			set := requirement.FromNodeSelector(preferred[0].Preference.MatchExpressions)
			alternatives = requirement.Combine(required, []requirement.Set{set})
		}
		levels = append(levels, level{
			rule:     p.rule(alternatives, pod.Spec.Tolerations, ignorePreferred),
			terms:    slices.Concat(terms.required, terms.soft, terms.softSpread),
			required: len(terms.required),
		})
	}
	add(false)
	for len(terms.soft)+len(preferred)+len(terms.softSpread) > 0 {
		switch {
		case len(terms.soft) > 0:
			terms.soft = terms.soft[1:]
		case len(preferred) > 0:
			preferred = preferred[1:]
		default:
			terms.softSpread = terms.softSpread[1:]
		}
		add(false)
	}
	if p.anyPreferredTaint() {
		add(true)
	}
	return levels
}

func requiredAlternatives(pod *corev1.Pod) []requirement.Set {
	selector := requirement.FromLabels(pod.Spec.NodeSelector)
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []requirement.Set{selector}
	}
	var alternatives []requirement.Set
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			// An empty term matches nothing, and so do no terms at all.
			continue
		}
		set := requirement.FromNodeSelector(term.MatchExpressions)
		set.Merge(selector)
		alternatives = append(alternatives, set)
	}
	if len(alternatives) == 0 {
		return []requirement.Set{requirement.NewSet(requirement.Contradiction("spec.affinity.nodeAffinity"))}
	}
	return alternatives
}

// preferredTerms are the pod's preferred node affinity terms, the heaviest first.
func preferredTerms(pod *corev1.Pod) []corev1.PreferredSchedulingTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	terms := slices.Clone(pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	slices.SortStableFunc(terms, func(a, b corev1.PreferredSchedulingTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	return terms
}

func (p *problem) anyPreferredTaint() bool {
	for _, pool := range p.pools {
		for _, taint := range pool.taints {
			if taint.Effect == corev1.TaintEffectPreferNoSchedule {
				return true
			}
		}
	}
	return false
}

// rule returns the compiled rule, the same one for the same words.
func (p *problem) rule(alternatives []requirement.Set, tolerations []corev1.Toleration, ignorePreferred bool) *rule {
	var key strings.Builder
	for _, set := range alternatives {
		key.WriteString(set.Identity())
		key.WriteByte('|')
	}
	text, _ := json.Marshal(tolerations)
	key.Write(text)
	if ignorePreferred {
		key.WriteByte('!')
	}
	if found := p.rules[key.String()]; found != nil {
		return found
	}
	r := &rule{key: key.String(), alternatives: alternatives, tolerations: tolerations, ignorePreferred: ignorePreferred}
	for _, pool := range p.pools {
		r.perPool = append(r.perPool, r.on(pool))
	}
	p.rules[r.key] = r
	return r
}

// on works out what the rule leaves of a pool.
func (r *rule) on(pool *pool) poolRule {
	if pool.blocked != "" || !toleratesAll(r.tolerations, pool.taints, r.ignorePreferred) {
		return poolRule{}
	}
	result := poolRule{masks: make(masks, len(pool.types))}
	for _, set := range r.alternatives {
		one := pool.compileSet(set, false)
		if !one.masks.and(pool.allowed) {
			continue
		}
		// Alternatives are tried in turn, so the first one decides what the open labels must be; those
		// after it may only widen the offerings when they ask the same of them.
		if result.admit && one.open.Identity() != requirement.Set(result.open).Identity() {
			continue
		}
		result.open, result.admit = openLabels(one.open), true
		result.masks.or(one.masks)
	}
	return result
}

// maskOfAny are the pool's offerings on which one of the sets holds.
func (p *pool) maskOfAny(alternatives []requirement.Set) masks {
	union := make(masks, len(p.types))
	for _, set := range alternatives {
		union.or(p.compileSet(set, false).masks)
	}
	return union
}

// toleratesAll reports whether every taint is tolerated; with ignorePreferred, those that are only a
// preference are.
func toleratesAll(tolerations []corev1.Toleration, taints []corev1.Taint, ignorePreferred bool) bool {
	_, found := untolerated(tolerations, taints, ignorePreferred)
	return !found
}

func untolerated(tolerations []corev1.Toleration, taints []corev1.Taint, ignorePreferred bool) (corev1.Taint, bool) {
	for _, taint := range taints {
		if ignorePreferred && taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !cluster.Tolerates(tolerations, taint) {
			return taint, true
		}
	}
	return corev1.Taint{}, false
}

// ruleFor is the rule of the alternatives, with every taint tolerated if anyTaint is set.
func (p *problem) ruleFor(alternatives []requirement.Set, tolerations []corev1.Toleration, anyTaint bool) *rule {
	if anyTaint {
		tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	return p.rule(alternatives, tolerations, true)
}

// relax gives up one preference of every class that still has pods, and reports whether any was left to
// give up.
func (p *problem) relax() bool {
	relaxed := false
	for _, c := range p.roots {
		if len(c.pods) > 0 && c.level+1 < len(c.levels) {
			c.level++
			relaxed = true
		}
	}
	return relaxed
}
