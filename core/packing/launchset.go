package packing

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// maxCandidates is how many instance types one launch may name (upstream truncates to as many before
// it calls CreateFleet).
const maxCandidates = 60

// plan writes down what was decided.
func (p *problem) plan() *Plan {
	plan := &Plan{Placements: p.placements, Unplaced: p.unplaced}
	promised := p.promisedPods()
	slack := p.limitSlack()
	for _, n := range p.nodes {
		l := p.launchOf(n, slack[n.column.pool])
		l.Earlier = earlier(promised, l.Pods)
		plan.Launches = append(plan.Launches, l)
	}
	plan.Launches = append(plan.Launches, p.staticLaunches()...)
	for _, c := range p.roots {
		if len(c.pods) == 0 {
			continue
		}
		reasons := p.explain(c)
		for _, pod := range c.pods {
			plan.Unplaced = append(plan.Unplaced, Unplaced{Pod: pod, Reasons: reasons})
		}
	}
	plan.sort()
	return plan
}

// promisedPods are the NodeClaims that were planned for each pod, whatever became of them.
func (p *problem) promisedPods() map[string][]types.UID {
	promised := map[string][]types.UID{}
	for _, claim := range p.snapshot.NodeClaims {
		for _, key := range (cluster.Host{Claim: claim}).PlannedPods() {
			promised[key] = append(promised[key], claim.UID)
		}
	}
	return promised
}

// earlier are the UIDs of claims promised to any of the pods, sorted.
func earlier(promised map[string][]types.UID, pods []*corev1.Pod) []types.UID {
	var uids []types.UID
	for _, pod := range pods {
		uids = append(uids, promised[cluster.PodKey(pod)]...)
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// limitSlack is how much each planned node of a pool may exceed its chosen type in what the limits
// count, so that the pool stays within its limits whichever candidates EC2 picks.
func (p *problem) limitSlack() []vector {
	nodes := make([]int64, len(p.pools))
	for _, n := range p.nodes {
		nodes[n.column.pool]++
	}
	slack := make([]vector, len(p.pools))
	for i, pool := range p.pools {
		slack[i] = make(vector, len(pool.limits.remaining))
		for d, left := range pool.limits.remaining {
			if nodes[i] > 0 {
				slack[i][d] = max(left, 0) / nodes[i]
			}
		}
	}
	return slack
}

func (p *problem) launchOf(n *node, slack vector) Launch {
	pool := p.pools[n.column.pool]
	requested := make(vector, len(p.names))
	for d := range requested {
		requested[d] = n.column.room[d] - n.room[d]
	}
	capacityType := p.cheapestSlot(n).CapacityType
	candidates := p.squared(n, p.candidates(n, requested, slack, capacityType), capacityType)

	l := Launch{
		NodePool:   pool.object,
		NodeClass:  pool.class,
		Rivals:     p.rivals(pool),
		Candidates: candidates,
		Pods:       n.pods,
	}
	cheapest := candidates[0]
	l.Offering = cluster.Offering{InstanceType: cheapest.InstanceType, Zone: cheapest.Zones[0].Zone, CapacityType: capacityType}
	l.USDPerHour = cheapest.Zones[0].USDPerHour
	l.ExtraUSDPerHour = pool.extra
	l.Requests = p.amounts(requested)
	for name := range l.Requests {
		if strings.HasPrefix(string(name), attachablePrefix) {
			delete(l.Requests, name)
		}
	}
	l.Requests.Add(pool.leastOverhead(candidates, p.daemons))
	l.Requirements, l.MinValuesRelaxed = pool.relaxed(pool.requirementsOf(n, candidates, capacityType), candidates)
	return l
}

// rivals are the NodePools of the pool's weight that may launch.
func (p *problem) rivals(pool *pool) []string {
	var names []string
	for _, other := range p.pools {
		if other.blocked == "" && other.weight() == pool.weight() {
			names = append(names, other.object.Name)
		}
	}
	return names
}

// cheapestSlot is where the column's instance type costs least for the node's pods.
func (p *problem) cheapestSlot(n *node) slot {
	pool := p.pools[n.column.pool]
	best, price := 0, math.Inf(1)
	for left := n.slots; left != 0; left &= left - 1 {
		at := bits.TrailingZeros64(left)
		if usd := pool.price[n.column.typ][at]; usd < price {
			best, price = at, usd
		}
	}
	return pool.slots[best]
}

// candidates are the instance types on which the node's pods fit and which satisfy all their rules. Types
// are tried from the cheapest on, so that most need not be looked at.
func (p *problem) candidates(n *node, requested, slack vector, capacityType string) []Candidate {
	pool := p.pools[n.column.pool]
	ranked := make([]rankedCandidate, 0, maxCandidates+8)
	asked := pool.varieties()
	for _, t := range pool.byPrice(capacityType) {
		if len(asked) == 0 && len(ranked) >= maxCandidates && pool.least(t, capacityType) > pool.dearest(ranked, capacityType) {
			break
		}
		if pool.exotic[t] && !pool.exotic[n.column.typ] || !requested.fits(pool.room[t]) {
			continue
		}
		allowed := n.allowedAt(pool, t)
		if allowed == 0 || !pool.withinSlack(t, n.column.capacity, slack) {
			continue
		}
		if zones := pool.zonePrices(t, allowed, capacityType); len(zones) > 0 {
			ranked = append(ranked, pool.rank(t, zones, capacityType))
			if len(asked) == 0 && len(ranked) == maxCandidates {
				slices.SortFunc(ranked, rankedCandidate.compare)
			}
		}
	}
	if len(asked) > 0 {
		slices.SortFunc(ranked, rankedCandidate.compare)
		ranked = pool.chooseVaried(ranked, asked)
	} else if capacityType == wellknown.CapacityTypeSpot {
		ranked = mixed(ranked)
	}
	return cheapestFirst(ranked)
}

// dearest is the price beyond which no further type can become a candidate.
func (p *pool) dearest(ranked []rankedCandidate, capacityType string) float64 {
	last := ranked[maxCandidates-1].Zones[0].USDPerHour
	if capacityType == wellknown.CapacityTypeSpot {
		return max(last, ranked[0].Zones[0].USDPerHour*familiarPrice)
	}
	return last
}

// allowedAt are the slots in stock in which type t satisfies all the node's rules.
func (n *node) allowedAt(p *pool, t int) uint64 {
	allowed := p.available[t] & p.alike(bits.TrailingZeros64(n.slots))
	for _, r := range n.rules {
		allowed &= r.perPool[n.column.pool].at(t)
	}
	return allowed
}

// squared leaves of the candidates those whose every zone goes with every type: a NodeClaim asks for a list
// of types and a list of zones, and EC2 may combine them as it likes. The cheapest candidate decides which
// zones stay when not all can.
func (p *problem) squared(n *node, candidates []Candidate, capacityType string) []Candidate {
	zonesOf := func(list []Candidate) []string {
		var zones []string
		for _, c := range list {
			for _, z := range c.Zones {
				if !slices.Contains(zones, z.Zone) {
					zones = append(zones, z.Zone)
				}
			}
		}
		return zones
	}
	tied := slices.ContainsFunc(n.rules, func(r *rule) bool { return len(r.alternatives) > 1 })
	if !tied || p.fillsOut(n, candidates, zonesOf(candidates), capacityType) {
		return candidates
	}
	zones := zonesOf(candidates[:1])
	return slices.DeleteFunc(candidates, func(c Candidate) bool {
		only := slices.DeleteFunc(slices.Clone(c.Zones), func(z ZonePrice) bool { return !slices.Contains(zones, z.Zone) })
		return len(only) < len(c.Zones) || !p.fillsOut(n, []Candidate{c}, zones, capacityType)
	})
}

// fillsOut reports whether each candidate has each of the zones in which EC2 sells it at all.
func (p *problem) fillsOut(n *node, candidates []Candidate, zones []string, capacityType string) bool {
	pool := p.pools[n.column.pool]
	for _, c := range candidates {
		t := pool.index.position(c.InstanceType)
		for _, z := range pool.zonePrices(t, pool.available[t], capacityType) {
			has := slices.ContainsFunc(c.Zones, func(o ZonePrice) bool { return o.Zone == z.Zone })
			if slices.Contains(zones, z.Zone) && !has {
				return false
			}
		}
	}
	return true
}

// byPrice are the pool's types in stock as the capacity type, the cheapest first.
func (p *pool) byPrice(capacityType string) []int {
	if order, known := p.priceOrder[capacityType]; known {
		return order
	}
	var order []int
	for t := range p.types {
		if !math.IsInf(p.least(t, capacityType), 1) {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(p.least(a, capacityType), p.least(b, capacityType))
	})
	if p.priceOrder == nil {
		p.priceOrder = map[string][]int{}
	}
	p.priceOrder[capacityType] = order
	return order
}

// least is the lowest price of the type as the capacity type; +Inf when it is not in stock.
func (p *pool) least(t int, capacityType string) float64 {
	price := math.Inf(1)
	for left := p.available[t]; left != 0; left &= left - 1 {
		at := bits.TrailingZeros64(left)
		if p.slots[at].CapacityType == capacityType {
			price = min(price, p.price[t][at])
		}
	}
	return price
}

// cheapestFirst orders candidates by price; among equals the one interrupted less comes first, then the
// newer generation, then by name. It keeps as many as a launch may name.
func cheapestFirst(ranked []rankedCandidate) []Candidate {
	slices.SortFunc(ranked, rankedCandidate.compare)
	ranked = ranked[:min(len(ranked), maxCandidates)]
	candidates := make([]Candidate, len(ranked))
	for i := range candidates {
		candidates[i] = ranked[i].Candidate
	}
	return candidates
}

// familiarPrice is how much dearer than the cheapest a Spot candidate of a family that is not there yet may be
// and still be taken before another of a family that is.
const familiarPrice = 1.15

// mixed leaves the candidates of a Spot launch with as many families as their prices allow: the pools of
// capacity behind them differ, and so the interruptions.
func mixed(ranked []rankedCandidate) []rankedCandidate {
	if len(ranked) <= maxCandidates {
		return ranked
	}
	slices.SortFunc(ranked, rankedCandidate.compare)
	limit := ranked[0].Zones[0].USDPerHour * familiarPrice
	seen := map[string]bool{}
	var first, rest []rankedCandidate
	for _, r := range ranked {
		family, _, _ := strings.Cut(r.InstanceType, ".")
		if r.Zones[0].USDPerHour <= limit && !seen[family] {
			seen[family] = true
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	return append(first, rest...)[:maxCandidates]
}

type rankedCandidate struct {
	Candidate
	interruption int
	generation   int
}

func (r rankedCandidate) compare(o rankedCandidate) int {
	return cmp.Or(
		cmp.Compare(r.Zones[0].USDPerHour, o.Zones[0].USDPerHour),
		cmp.Compare(r.interruption, o.interruption),
		cmp.Compare(o.generation, r.generation),
		cmp.Compare(r.InstanceType, o.InstanceType),
	)
}

func (p *pool) rank(t int, zones []ZonePrice, capacityType string) rankedCandidate {
	r := rankedCandidate{Candidate: Candidate{InstanceType: p.types[t].Name, Zones: zones}}
	if capacityType == wellknown.CapacityTypeSpot {
		for _, offering := range p.types[t].Offerings {
			if offering.CapacityType == capacityType {
				r.interruption = max(r.interruption, offering.InterruptionBucket)
			}
		}
	}
	// A type whose name has no generation has no label, and counts as oldest.
	r.generation, _ = strconv.Atoi(p.types[t].Labels[wellknown.LabelGeneration])
	return r
}

// zonePrices are the zones of the allowed slots in which the type is had as the capacity type, the cheapest
// first. The list is shared by all who ask for the same and must not be changed.
func (p *pool) zonePrices(t int, allowed uint64, capacityType string) []ZonePrice {
	key := zonePriceKey{t, allowed, capacityType}
	if known, found := p.zones[key]; found {
		return known
	}
	var zones []ZonePrice
	for left := allowed; left != 0; left &= left - 1 {
		at := bits.TrailingZeros64(left)
		if p.slots[at].CapacityType == capacityType {
			zones = append(zones, ZonePrice{Zone: p.slots[at].Zone, USDPerHour: p.price[t][at]})
		}
	}
	slices.SortStableFunc(zones, func(a, b ZonePrice) int { return cmp.Compare(a.USDPerHour, b.USDPerHour) })
	if p.zones == nil {
		p.zones = map[zonePriceKey][]ZonePrice{}
	}
	p.zones[key] = zones
	return zones
}

type zonePriceKey struct {
	typ          int
	allowed      uint64
	capacityType string
}

// withinSlack reports whether the type takes no more of the limits than the chosen one and the slack.
func (p *pool) withinSlack(t int, chosen, slack vector) bool {
	need := p.limits.need(p.types[t].Capacity)
	for d := range need {
		if need[d] > chosen[d]+slack[d] {
			return false
		}
	}
	return true
}

// leastOverhead is what DaemonSets ask for on every candidate.
func (p *pool) leastOverhead(candidates []Candidate, daemons []daemon) resource.Amounts {
	if len(daemons) == 0 {
		return nil
	}
	chosen := map[string]bool{}
	for _, c := range candidates {
		chosen[c.InstanceType] = true
	}
	var least resource.Amounts
	for t := range p.types {
		if !chosen[p.types[t].Name] {
			continue
		}
		if least == nil {
			least = p.overhead[t].Clone()
			continue
		}
		for name := range least {
			least[name] = min(least[name], p.overhead[t][name])
		}
	}
	return least
}

// requirementsOf are what the node's NodeClaim asks for: the template's requirements, narrowed to what
// its pods agreed on and to the candidates.
func (p *pool) requirementsOf(n *node, candidates []Candidate, capacityType string) requirement.Set {
	set := p.template.Clone()
	delete(set, wellknown.LabelNodeClass)
	set.Merge(requirement.Set(n.open))
	var types, zones []string
	for _, c := range candidates {
		types = append(types, c.InstanceType)
		for _, z := range c.Zones {
			if !slices.Contains(zones, z.Zone) {
				zones = append(zones, z.Zone)
			}
		}
	}
	if id := p.slots[bits.TrailingZeros64(n.slots)].ReservationID; id != "" {
		set.Add(requirement.New(wellknown.LabelReservationID, karpenter.OpIn, id))
	}
	set.Add(
		requirement.New(corev1.LabelInstanceTypeStable, karpenter.OpIn, types...),
		requirement.New(corev1.LabelTopologyZone, karpenter.OpIn, zones...),
		requirement.New(wellknown.LabelCapacityType, karpenter.OpIn, capacityType),
	)
	return set
}
