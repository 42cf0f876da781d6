package packing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/requirement"
	"whittle/core/resource"
)

// Rule names what excluded a pod from a NodePool.
type Rule string

// The rules, in the order in which they are tried.
const (
	// RulePod is a fault of the pod itself, which no NodePool can mend.
	RulePod Rule = "pod"
	// RuleNodePool means that the NodePool launches nothing at all.
	RuleNodePool Rule = "nodepool"
	// RuleTaint means that the pod does not tolerate a taint of the NodePool.
	RuleTaint Rule = "taint"
	// RuleRequirement means that no allowed instance type or zone satisfies what the pod asks of labels.
	RuleRequirement Rule = "requirement"
	// RuleResources means that the pod is larger than every allowed instance type.
	RuleResources Rule = "resources"
	// RuleCapacity means that EC2 has lately had no capacity for what would fit.
	RuleCapacity Rule = "capacity"
	// RuleTopology means that a topology spread, a pod affinity or anti-affinity, or a host port leaves no
	// place.
	RuleTopology Rule = "topology"
	// RuleMinValues means that too few kinds of instance types fit.
	RuleMinValues Rule = "minValues"
	// RuleLimit means that the NodePool's limits leave no room for a node that fits.
	RuleLimit Rule = "limit"
)

// Reason is the first rule that excluded a pod from a NodePool, with the nearest miss in numbers.
type Reason struct {
	// NodePool is empty for a reason that concerns all of them.
	NodePool string
	Rule     Rule
	Message  string
}

// explain says for each NodePool why it cannot take a pod of the class.
func (p *problem) explain(c *class) []Reason {
	if len(p.pools) == 0 {
		return []Reason{{Rule: RuleNodePool, Message: "there is no NodePool"}}
	}
	reasons := make([]Reason, 0, len(p.pools))
	for i, pool := range p.pools {
		rule, message := p.whyNot(c, i)
		reasons = append(reasons, Reason{NodePool: pool.object.Name, Rule: rule, Message: message})
	}
	return reasons
}

func (p *problem) whyNot(c *class, index int) (Rule, string) {
	pool, r := p.pools[index], c.rule()
	if pool.blocked != "" {
		return RuleNodePool, pool.blocked
	}
	if taint, found := untolerated(r.tolerations, pool.taints, r.ignorePreferred); found {
		return RuleTaint, "does not tolerate the taint " + taint.ToString()
	}
	if !r.perPool[index].admit {
		return RuleRequirement, pool.whyNoOffering(r)
	}
	fits, inStock, smallest := 0, 0, -1
	for t := range pool.types {
		if r.perPool[index].at(t) == 0 || !c.requests.fits(pool.room[t]) {
			continue
		}
		fits++
		if r.perPool[index].at(t)&pool.available[t] != 0 {
			inStock++
			if smallest < 0 || pool.smaller(t, smallest) {
				smallest = t
			}
		}
	}
	switch {
	case fits == 0:
		return RuleResources, p.nearestMiss(c, index)
	case inStock == 0:
		return RuleCapacity, fmt.Sprintf("%d instance types fit, but EC2 has no capacity for any of their offerings now", fits)
	}
	if message := p.whyTooAlike(c, index); message != "" {
		return RuleMinValues, message
	}
	if message := p.whyNowhere(c, pool); message != "" {
		return RuleTopology, message
	}
	return RuleLimit, pool.whyLimited(smallest)
}

// whyNoOffering names the requirement that leaves nothing of the pool.
func (p *pool) whyNoOffering(r *rule) string {
	var parts []string
	for _, set := range r.alternatives {
		parts = append(parts, p.whyNotSet(set))
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "; or ")
}

// whyNotSet names the first requirement of the set that leaves none of the pool's offerings.
func (p *pool) whyNotSet(set requirement.Set) string {
	left := slices.Clone(p.allowed)
	for _, key := range set.Keys() {
		wanted := set.Get(key)
		alone := p.compileSet(requirement.NewSet(wanted), false).masks
		impossible := !alone.and(p.allowed)
		if left.and(alone) {
			continue
		}
		switch {
		case wanted.Contradictory():
			return fmt.Sprintf("what it asks of %s contradicts itself", key)
		case !impossible:
			return fmt.Sprintf("asks for %s, which no instance type offers that satisfies the rest of what it asks", wanted)
		case p.template.Has(key):
			return fmt.Sprintf("asks for %s, the NodePool has %s", wanted, p.template.Get(key))
		case !requirement.WellKnown(key):
			return fmt.Sprintf("asks for %s, the NodePool does not define the label", wanted)
		default:
			return fmt.Sprintf("asks for %s, which no instance type that the NodePool allows offers", wanted)
		}
	}
	return "asks for labels that no instance type offers together"
}

// smaller reports whether type a takes less of the limits than type b.
func (p *pool) smaller(a, b int) bool {
	return slices.Compare(p.limits.need(p.types[a].Capacity), p.limits.need(p.types[b].Capacity)) < 0
}

func (p *pool) whyLimited(smallest int) string {
	need := p.limits.need(p.types[smallest].Capacity)
	for d, name := range p.limits.names {
		if need[d] <= p.limits.remaining[d] {
			continue
		}
		limit := p.object.Spec.Limits[name]
		inUse := resource.Of(name, limit) - p.limits.remaining[d]
		return fmt.Sprintf("limit %s %s: %s in use or planned, and the smallest instance type that fits, %s, adds %s",
			name, limit.String(), format(name, inUse), p.types[smallest].Name, format(name, need[d]))
	}
	return "the nodes planned so far use up the NodePool's limits"
}

// nearestMiss says which resource the pod needs more of than any allowed instance type has, or else
// which type comes nearest.
func (p *problem) nearestMiss(c *class, index int) string {
	pool, r := p.pools[index], c.rule()
	var short []string
	for d, name := range p.names {
		most, at := int64(-1), -1
		for t := range pool.types {
			if r.perPool[index].at(t) != 0 && pool.room[t][d] > most {
				most, at = pool.room[t][d], t
			}
		}
		if c.requests[d] > 0 && c.requests[d] > most {
			if most <= 0 {
				short = append(short, fmt.Sprintf("needs %s %s, no allowed instance type has any", format(name, c.requests[d]), unit(name)))
				continue
			}
			short = append(short, fmt.Sprintf("needs %s %s, largest allowed type has %s (%s)",
				format(name, c.requests[d]), unit(name), format(name, most), pool.types[at].Name))
		}
	}
	if len(short) > 0 {
		return strings.Join(short, "; ")
	}
	return p.nearestType(c, index)
}

// nearestType names the type that lacks least, as a share of what is asked.
func (p *problem) nearestType(c *class, index int) string {
	pool, r := p.pools[index], c.rule()
	best, lack := -1, math.Inf(1)
	for t := range pool.types {
		if r.perPool[index].at(t) == 0 {
			continue
		}
		sum := 0.0
		for d, amount := range c.requests {
			if missing := amount - pool.room[t][d]; amount > 0 && missing > 0 {
				sum += float64(missing) / float64(amount)
			}
		}
		if sum < lack {
			best, lack = t, sum
		}
	}
	var needs, has []string
	for d, name := range p.names {
		if c.requests[d] > pool.room[best][d] || c.requests[d] > 0 && name != corev1.ResourcePods {
			needs = append(needs, fmt.Sprintf("%s %s", format(name, c.requests[d]), unit(name)))
			has = append(has, format(name, pool.room[best][d]))
		}
	}
	return fmt.Sprintf("needs %s together, nearest allowed type %s has %s",
		strings.Join(needs, " and "), pool.types[best].Name, strings.Join(has, " and "))
}

// format writes an amount as people read it: cores with two decimals at most, memory in Mi or Gi.
func format(name corev1.ResourceName, amount int64) string {
	switch name {
	case corev1.ResourceCPU:
		return strconv.FormatFloat(float64(amount)/1000, 'f', -1, 64)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		const mi, gi = 1 << 20, 1 << 30
		if amount >= gi {
			return strconv.FormatFloat(math.Floor(float64(amount)/gi*100)/100, 'f', -1, 64) + "Gi"
		}
		return strconv.FormatInt(amount/mi, 10) + "Mi"
	default:
		return strconv.FormatInt(amount, 10)
	}
}

func unit(name corev1.ResourceName) string {
	if name == corev1.ResourceCPU {
		return "CPU"
	}
	return string(name)
}
