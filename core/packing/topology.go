package packing

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"whittle/core/api/karpenter"
	"whittle/core/requirement"
)

// place is a combination of domains: one value for each of a list of topology keys.
type place struct {
	name   string
	values []string
	// price is what room for a pod costs there, only to compare places.
	price float64
	// room is how many pods of the class under way existing hosts there still take.
	room int64
}

// spreadOut gives every pod whose place depends on others', or others' on its own, a place: classes with
// terms on zones, capacity types and other labels are split into classes that are pinned to one each.
// Every term is judged as kube-scheduler will when it comes to bind. What finds no valid place stays with
// its class, which takes no part in the round.
func (p *problem) spreadOut() {
	p.classes = p.classes[:0]
	var later []*class
	for _, root := range p.roots {
		root.roles = p.rolesOf(root)
		switch keys := p.domainKeys(root); {
		case len(root.pods) == 0:
		case len(keys) == 0:
			p.classes = append(p.classes, root)
		case root.needsCompany(p):
			later = append(later, root)
		default:
			p.pin(root, keys)
		}
	}
	// Pods that want the company of others come after these; among themselves until nothing changes.
	for placed := true; placed; {
		placed = false
		for _, root := range later {
			before := len(root.pods)
			p.pin(root, p.domainKeys(root))
			placed = placed || len(root.pods) < before
		}
	}
	p.sortClasses()
}

// needsCompany reports whether the class has an affinity term over domains.
func (c *class) needsCompany(p *problem) bool {
	return slices.ContainsFunc(p.domainTerms, func(t *term) bool { return t.kind == termAffinity && c.owns(t) })
}

// domainKeys are the topology keys on which the place of the class's pods has to be known.
func (p *problem) domainKeys(c *class) []string {
	var keys []string
	for _, t := range p.domainTerms {
		if (c.owns(t) || t.matches(c.pod)) && !slices.Contains(keys, t.topologyKey) {
			keys = append(keys, t.topologyKey)
		}
	}
	slices.Sort(keys)
	return keys
}

// pin gives the class's pods places, one after the other, each the emptiest that is valid, then the
// cheapest.
func (p *problem) pin(root *class, keys []string) {
	places := p.placesOf(root, keys)
	bound := p.boundTerms(root, keys)
	children := make([]*class, len(places))
	for len(root.pods) > 0 {
		best := p.bestPlace(bound, places)
		if best < 0 {
			return
		}
		if children[best] == nil {
			children[best] = p.childOf(root, keys, places[best].values)
		}
		taken := root.pop(1)
		children[best].pods = append(children[best].pods, taken...)
		children[best].assigned = append(children[best].assigned, taken...)
		places[best].room--
		for _, b := range bound {
			b.note(places[best].values[b.key], 1)
		}
	}
}

// boundTerm is a term over domains as it concerns one class.
type boundTerm struct {
	*term
	// key is the position of the term's topology key among the class's.
	key int
	role
	// universe are the domains over which a spread takes its minimum.
	universe []string
	// outside are the pods by domain that the selector matches on nodes that do not count for the spread.
	outside map[string]int
}

// count is how many pods of the domain count for the term.
func (b *boundTerm) count(domain string) int { return b.matching[domain] - b.outside[domain] }

func (b *boundTerm) note(domain string, n int) {
	if b.counts {
		b.matching[domain] += n
	}
	if b.hard {
		b.owners[domain] += n
	}
}

func (p *problem) boundTerms(c *class, keys []string) []*boundTerm {
	var bound []*boundTerm
	for _, t := range p.domainTerms {
		b := &boundTerm{term: t, key: slices.Index(keys, t.topologyKey)}
		b.owns, b.counts = c.owns(t), t.matches(c.pod)
		b.hard = b.owns && c.requires(t)
		if !b.owns && !b.counts {
			continue
		}
		if b.owns && t.kind == termSpread {
			b.universe, b.outside = p.universe(c, t), p.outside(c, t)
		}
		bound = append(bound, b)
	}
	return bound
}

// bestPlace is the position of the valid place to use next; -1 when there is none.
func (p *problem) bestPlace(bound []*boundTerm, places []*place) int {
	best, bestLoad := -1, 0
	for i, candidate := range places {
		load, valid := 0, true
		for _, b := range bound {
			domain := candidate.values[b.key]
			if !b.allows(domain) {
				valid = false
				break
			}
			if b.owns && b.kind == termSpread {
				load += b.count(domain)
			}
		}
		if !valid {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(load, bestLoad), candidate.compare(places[best])) < 0 {
			best, bestLoad = i, load
		}
	}
	return best
}

// compare puts places with room on what exists first, then the cheaper, then by name.
func (a *place) compare(b *place) int {
	free := func(x *place) int {
		if x.room > 0 {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(free(a), free(b)), cmp.Compare(a.price, b.price), cmp.Compare(a.name, b.name))
}

// allows reports whether one more pod of the class may go to the domain.
func (b *boundTerm) allows(domain string) bool {
	switch b.kind {
	case termSpread:
		if !b.owns {
			return true
		}
		self := 0
		if b.counts {
			self = 1
		}
		return b.count(domain)+self-b.least() <= b.maxSkew
	case termAntiAffinity:
		return (!b.owns || b.matching[domain] == 0) && (!b.counts || b.owners[domain] == 0)
	case termAffinity:
		if !b.owns || b.matching[domain] > 0 {
			return true
		}
		// The first of pods that want each other's company may go anywhere, as long as there is none in the
		// whole cluster, within the pod's reach or not (kube-scheduler, plugin InterPodAffinity).
		return b.counts && b.nobody()
	case termPort:
		return true
	default:
		return true
	}
}

// nobody reports whether no pod anywhere matches the term.
func (t *term) nobody() bool {
	for _, n := range t.matching {
		if n > 0 {
			return false
		}
	}
	return true
}

// least is the count of the emptiest domain of the spread.
func (b *boundTerm) least() int {
	if len(b.universe) < b.minDomains {
		return 0
	}
	least := math.MaxInt
	for _, domain := range b.universe {
		least = min(least, b.count(domain))
	}
	if least == math.MaxInt {
		return 0
	}
	return least
}

// childOf is the part of a class that is pinned to the place.
func (p *problem) childOf(root *class, keys, values []string) *class {
	pinned := requirement.Set{}
	for i, key := range keys {
		pinned.Add(requirement.New(key, karpenter.OpIn, values[i]))
	}
	rule := root.rule()
	child := &class{
		key: root.key + "@" + strings.Join(values, ","), pod: root.pod, requests: root.requests, roles: root.roles,
		parent: root, place: values, keys: keys,
		levels: []level{{
			rule:  p.rule(requirement.Combine(rule.alternatives, []requirement.Set{pinned}), rule.tolerations, rule.ignorePreferred),
			terms: root.levels[root.level].terms,
		}},
	}
	p.classes = append(p.classes, child)
	return child
}

// gatherUp takes what the round left unplaced back from the pinned classes to those they came from.
func (p *problem) gatherUp() {
	for _, c := range p.classes {
		if c.parent == nil {
			continue
		}
		p.notePinned(c)
		if len(c.pods) == 0 {
			continue
		}
		for _, b := range p.boundTerms(c, c.keys) {
			b.note(c.place[b.key], -len(c.pods))
		}
		c.parent.pods = append(c.parent.pods, c.pods...)
		c.pods = nil
	}
}

// placesOf are the places where pods of the class may go: offerings of pools and hosts.
func (p *problem) placesOf(c *class, keys []string) []*place {
	found := map[string]*place{}
	add := func(values []string, price float64) *place {
		name := strings.Join(values, "\x00")
		at := found[name]
		if at == nil {
			at = &place{name: name, values: slices.Clone(values), price: math.Inf(1)}
			found[name] = at
		}
		at.price = min(at.price, price)
		return at
	}
	for _, option := range p.optionsOf(c.rule(), keys) {
		add(option.values, option.price)
	}
	for _, h := range p.hosts {
		values := h.valuesOf(keys)
		if values == nil || !p.admits(h, c.rule()) {
			continue
		}
		at := add(values, math.Inf(1))
		at.room += min(c.requests.count(h.room), p.bear(h.crowd, c))
	}
	places := make([]*place, 0, len(found))
	for _, at := range found {
		places = append(places, at)
	}
	slices.SortFunc(places, func(a, b *place) int { return cmp.Compare(a.name, b.name) })
	return places
}

// valuesOf are the host's labels for the keys; nil when one is missing.
func (h *host) valuesOf(keys []string) []string {
	labels := h.Labels()
	values := make([]string, len(keys))
	for i, key := range keys {
		value, has := labels[key]
		if !has {
			return nil
		}
		values[i] = value
	}
	return values
}

// optionsOf are the places that the pools offer under a rule, remembered for the rule.
func (p *problem) optionsOf(r *rule, keys []string) []*place {
	name := strings.Join(keys, ",")
	if known, ok := r.places[name]; ok {
		return known
	}
	var options []*place
	for i, pool := range p.pools {
		if r.perPool[i].admit {
			options = pool.addPlaces(options, r.perPool[i], keys)
		}
	}
	if r.places == nil {
		r.places = map[string][]*place{}
	}
	r.places[name] = options
	return options
}

// addPlaces adds the places of the offerings that are in stock.
func (p *pool) addPlaces(options []*place, rule poolRule, keys []string) []*place {
	seen := map[string]int{}
	for i, o := range options {
		seen[o.name] = i
	}
	for t := range p.types {
		offered := rule.at(t) & p.available[t]
		if offered == 0 {
			continue
		}
		for i, s := range p.slots {
			if offered&(1<<i) == 0 {
				continue
			}
			price := p.price[t][i] / float64(max(p.types[t].Shape.VCPUs, 1))
			for _, values := range p.placeValues(t, s, rule, keys) {
				name := strings.Join(values, "\x00")
				at, known := seen[name]
				if !known {
					at = len(options)
					seen[name] = at
					options = append(options, &place{name: name, values: values, price: math.Inf(1)})
				}
				options[at].price = min(options[at].price, price)
			}
		}
	}
	return options
}

// placeValues are the combinations of values that an offering can have for the keys; more than one where
// the pool leaves a label open.
func (p *pool) placeValues(t int, s slot, rule poolRule, keys []string) [][]string {
	combinations := [][]string{{}}
	for _, key := range keys {
		var values []string
		switch {
		case slotLabel(key):
			values = []string{s.Label(key)}
		case typeLabel(key):
			values = []string{p.types[t].Labels[key]}
		default:
			values = p.openValues(rule, key)
		}
		var next [][]string
		for _, c := range combinations {
			for _, value := range values {
				if value != "" {
					next = append(next, append(slices.Clone(c), value))
				}
			}
		}
		combinations = next
	}
	return combinations
}

// openValues are the values that the pool's nodes may have for a label of the template's.
func (p *pool) openValues(rule poolRule, key string) []string {
	r := p.template.Get(key)
	if open := requirement.Set(rule.open); open.Has(key) {
		r = open.Get(key)
	}
	if !p.template.Has(key) || r.Complement() {
		return nil
	}
	return r.Values()
}

// universe are the domains over which the spread takes its minimum: those of nodes that count for the
// pod, existing or to be had. What the pod itself may use decides, unless the constraint says otherwise
// (kube-scheduler, plugin PodTopologySpread: nodeAffinityPolicy and nodeTaintsPolicy).
func (p *problem) universe(c *class, t *term) []string {
	r := p.countingRule(c, t)
	domains := map[string]bool{}
	for _, option := range p.optionsOf(r, []string{t.topologyKey}) {
		domains[option.values[0]] = true
	}
	for _, h := range p.hosts {
		if values := h.valuesOf([]string{t.topologyKey}); values != nil && p.admits(h, r) {
			domains[values[0]] = true
		}
	}
	var list []string
	for domain := range domains {
		list = append(list, domain)
	}
	slices.Sort(list)
	return list
}

// countingRule is what nodes have to satisfy to count for the spread of the class's pods.
func (p *problem) countingRule(c *class, t *term) *rule {
	alternatives, tolerations := c.strict().alternatives, c.strict().tolerations
	if t.ignoreAffinity {
		alternatives = []requirement.Set{{}}
	}
	return p.ruleFor(alternatives, tolerations, !t.honorTaints)
}

// outside counts the running pods that the spread's selector matches on nodes that do not count for it.
func (p *problem) outside(c *class, t *term) map[string]int {
	r := p.countingRule(c, t)
	if known, ok := t.outside[r]; ok {
		return known
	}
	found := map[string]int{}
	for _, h := range p.hosts {
		if values := h.valuesOf([]string{t.topologyKey}); values != nil && !p.admits(h, r) {
			found[values[0]] += p.matchingOn(h, t)
		}
	}
	if t.outside == nil {
		t.outside = map[*rule]map[string]int{}
	}
	t.outside[r] = found
	return found
}

// matchingOn is how many pods that run on the host, and stay, count for the term.
func (p *problem) matchingOn(h *host, t *term) int {
	n := 0
	for _, pod := range h.Pods {
		if !p.moving[pod.UID] && pod.DeletionTimestamp == nil && t.matches(pod) {
			n++
		}
	}
	return n
}

// sortTerms collects the terms of pods under decision and the required anti-affinity of pods that run,
// splits them by the size of their domains, and counts what runs.
func (p *problem) sortTerms() {
	for _, h := range p.hosts {
		for _, pod := range h.Pods {
			if pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAntiAffinity != nil || len(hostPorts(pod)) > 0 && len(p.terms.order) > 0 {
				p.terms.of(pod)
			}
		}
	}
	slices.SortFunc(p.terms.order, func(a, b *term) int { return cmp.Compare(a.key, b.key) })
	for _, t := range p.terms.order {
		if t.onNodes() {
			p.nodeTerms = append(p.nodeTerms, t)
		} else {
			p.domainTerms = append(p.domainTerms, t)
		}
	}
	p.countExisting()
}

// crowdHosts takes stock of the terms on nodes.
func (p *problem) crowdHosts() {
	for _, h := range p.hosts {
		h.crowd = p.crowdOn(h.Host)
	}
	for _, pool := range p.pools {
		pool.crowd = p.crowdOfNew(pool)
	}
}

// countExisting counts the pods that run for the terms over domains.
func (p *problem) countExisting() {
	if len(p.domainTerms) == 0 {
		return
	}
	for _, h := range p.hosts {
		labels := h.Labels()
		for _, pod := range h.Pods {
			if p.moving[pod.UID] {
				continue
			}
			own := p.terms.of(pod).required
			for _, t := range p.domainTerms {
				domain, has := labels[t.topologyKey]
				if !has {
					continue
				}
				if pod.DeletionTimestamp == nil && t.matches(pod) {
					t.matching[domain]++
				}
				if slices.Contains(own, t) {
					t.owners[domain]++
				}
			}
		}
	}
}
