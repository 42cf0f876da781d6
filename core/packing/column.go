package packing

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// column is a way to buy a node: an instance type of a pool, in the slots that the same classes may
// use, at the cheapest of their prices.
type column struct {
	pool     int
	typ      int
	slots    uint64
	price    float64
	room     vector
	capacity vector
	// reserved marks a column that takes of a capacity reservation, of which there is only so much.
	reserved bool
	// admits are the search's classes that a node of the column may carry.
	admits set
	// anchors are nil, or the classes of which a node must carry one: an exotic type is bought for those
	// who fit on nothing else, and others may only ride along.
	anchors set
}

// anchored reports whether a node of the column may be bought for these pods.
func (c *column) anchored(takes []take) bool {
	if c.anchors == nil {
		return true
	}
	for _, t := range takes {
		if c.anchors.has(t.class) {
			return true
		}
	}
	return false
}

// columnsFor builds the columns that can serve the classes from the pools. A column that another one
// beats on price, room, what it admits and what it takes of the limits is left out.
func (p *problem) columnsFor(pools []int, classes []*class) []*column {
	var columns []*column
	for _, index := range pools {
		if p.pools[index].blocked == "" {
			columns = append(columns, p.columnsOf(index, classes)...)
		}
	}
	slices.SortStableFunc(columns, func(a, b *column) int { return cmp.Compare(a.price, b.price) })
	return undominated(columns)
}

func (p *problem) columnsOf(index int, classes []*class) []*column {
	pool := p.pools[index]
	rules, ruleOf := distinctRules(classes)
	anchors := newSet(len(classes))
	bearable := make([]bool, len(classes))
	for i, c := range classes {
		bearable[i] = p.tolerate(pool.crowd, c) > 0
		if !c.fitsPlain(pool, index) {
			anchors.add(i)
		}
	}
	asked := pool.varieties()
	if p.bestEffort {
		asked = nil
	}
	var columns []*column
	for t := range pool.types {
		fits := fitting(pool, t, classes, bearable)
		if fits.empty() || !pool.varied(t, asked) {
			continue
		}
		for _, slots := range slotGroups(rules, index, t, pool.byCapacityType(pool.available[t])) {
			c := &column{pool: index, typ: t, slots: slots, price: pool.cheapest(t, slots) + pool.extra, room: pool.room[t], admits: newSet(len(classes))}
			c.capacity = pool.limits.need(pool.types[t].Capacity)
			c.reserved = pool.limits.reserve(c.capacity, pool.slots[bits.TrailingZeros64(slots)])
			for i := range classes {
				if fits.has(i) && rules[ruleOf[i]].perPool[index].at(t)&slots != 0 {
					c.admits.add(i)
				}
			}
			if pool.exotic[t] {
				c.anchors = anchors
			}
			if !c.admits.empty() && (c.anchors == nil || c.admits.meets(c.anchors)) {
				columns = append(columns, c)
			}
		}
	}
	return columns
}

// fitting are the classes of which a pod fits on a node of the type, none when it is out of stock.
func fitting(p *pool, t int, classes []*class, bearable []bool) set {
	fits := newSet(len(classes))
	if p.available[t] == 0 {
		return fits
	}
	for i, c := range classes {
		if bearable[i] && c.requests.fits(p.room[t]) {
			fits.add(i)
		}
	}
	return fits
}

// cheapest is the lowest price of a type in the slots.
func (p *pool) cheapest(t int, slots uint64) float64 {
	price := math.Inf(1)
	for left := slots; left != 0; left &= left - 1 {
		price = min(price, p.price[t][bits.TrailingZeros64(left)])
	}
	return price
}

// fitsPlain reports whether the class fits on a type of the pool that is not exotic and is in stock.
func (c *class) fitsPlain(p *pool, index int) bool {
	for t := range p.types {
		if !p.exotic[t] && c.rule().perPool[index].at(t)&p.available[t] != 0 && c.requests.fits(p.room[t]) {
			return true
		}
	}
	return false
}

// at is the slots of type t that the rule allows.
func (r poolRule) at(t int) uint64 {
	if !r.admit {
		return 0
	}
	return r.masks[t]
}

// distinctRules lists the rules that the classes go by now, and each class's place in the list.
func distinctRules(classes []*class) ([]*rule, []int) {
	position := map[*rule]int{}
	var rules []*rule
	of := make([]int, len(classes))
	for i, c := range classes {
		r := c.rule()
		at, seen := position[r]
		if !seen {
			at = len(rules)
			position[r] = at
			rules = append(rules, r)
		}
		of[i] = at
	}
	return rules, of
}

// slotGroups splits groups of a type's slots further, until every rule allows either all slots of a
// group or none.
func slotGroups(rules []*rule, pool, t int, groups []uint64) []uint64 {
	for _, r := range rules {
		allowed := r.perPool[pool].at(t)
		for i := range groups {
			in, out := groups[i]&allowed, groups[i]&^allowed
			if in != 0 && out != 0 {
				groups[i] = in
				groups = append(groups, out)
			}
		}
	}
	return groups
}

// alike are the slots with the capacity type and the reservation of one.
func (p *pool) alike(one int) uint64 {
	word := uint64(0)
	for i, s := range p.slots {
		if s.CapacityType == p.slots[one].CapacityType && s.ReservationID == p.slots[one].ReservationID {
			word |= 1 << i
		}
	}
	return word
}

// byCapacityType splits slots by capacity type and reservation, since a launch is for one.
func (p *pool) byCapacityType(slots uint64) []uint64 {
	var groups []uint64
	for slots != 0 {
		group := slots & p.alike(bits.TrailingZeros64(slots))
		groups = append(groups, group)
		slots &^= group
	}
	return groups
}

// undominated keeps the columns that no other one, at most as dear, beats in every way. Columns come
// sorted by price.
func undominated(columns []*column) []*column {
	var kept []*column
	for _, c := range columns {
		beaten := false
		for _, k := range kept {
			if k.beats(c) {
				beaten = true
				break
			}
		}
		if !beaten {
			kept = append(kept, c)
		}
	}
	return kept
}

// beats reports whether the column offers at least what the other does for at most what it takes; the
// caller knows that it costs no more.
func (c *column) beats(o *column) bool {
	if c.pool != o.pool || c.reserved != o.reserved || c.anchors != nil && o.anchors == nil {
		return false
	}
	for i := range c.room {
		if c.room[i] < o.room[i] {
			return false
		}
	}
	for i := range c.capacity {
		if c.capacity[i] > o.capacity[i] {
			return false
		}
	}
	return c.admits.covers(o.admits)
}
