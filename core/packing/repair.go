package packing

import (
	"cmp"
	"slices"
)

// How much work a repair may do: so many rounds, each of which takes apart at most so many nodes. The
// budget is in steps, never in time, so that the plan does not depend on the machine. A large plan gains
// little by a few nodes, and gets fewer rounds.
const (
	repairRounds = 120
	largeRepair  = 500
	largeRounds  = 16
	repairNodes  = 8
)

// repair takes a plan apart here and there and buys anew what was taken, and keeps what comes out
// cheaper. Greedy buying leaves its worst nodes for last, so these are taken first, together with
// others that a fixed sequence picks.
func (s *search) repair(v *valuation, bought []purchase) []purchase {
	nodes := single(bought)
	if len(nodes) < 2 {
		return bought
	}
	left := s.limitsAfter(nodes)
	rounds := repairRounds
	if len(nodes) > largeRepair {
		rounds = largeRounds
	}
	pick := sequence(1)
	v.sortByWaste(nodes)
	for round := range rounds {
		better, improved := s.rebuy(v, nodes, choose(len(nodes), round, &pick), left)
		if improved {
			nodes = better
			v.sortByWaste(nodes)
		}
	}
	return nodes
}

// sortByWaste puts the nodes first that cost most beyond what their pods are worth.
func (v *valuation) sortByWaste(nodes []purchase) {
	for i := range nodes {
		nodes[i].waste = v.waste(nodes[i])
	}
	slices.SortStableFunc(nodes, func(a, b purchase) int { return cmp.Compare(b.waste, a.waste) })
}

// rebuy buys anew the pods of the nodes at the positions taken, and returns the plan that results if it is
// cheaper. It keeps left true.
func (s *search) rebuy(v *valuation, nodes []purchase, taken []int, left []vector) (better []purchase, improved bool) {
	supply := make([]int64, len(s.classes))
	var old []purchase
	trial := make([]vector, len(left))
	for i := range left {
		trial[i] = slices.Clone(left[i])
	}
	for _, at := range taken {
		n := nodes[at]
		old = append(old, n)
		n.column.capacity.take(trial[n.column.pool], -1)
		for _, t := range n.takes {
			supply[t.class] += t.n
		}
	}
	fresh := s.whole(supply, trial, scoreOf(old).usd)
	if fresh == nil {
		fresh = single(s.greedy(v, supply, trial))
		if !scoreOf(fresh).better(scoreOf(old)) {
			return nil, false
		}
	}
	for i := range left {
		copy(left[i], trial[i])
	}
	kept := make([]purchase, 0, len(nodes)-len(old)+len(fresh))
	for at, n := range nodes {
		if !slices.Contains(taken, at) {
			kept = append(kept, n)
		}
	}
	return append(kept, fresh...), true
}

// whole is the cheapest single node that holds the whole supply for less than the price; nil when there is
// none. It uses up left when it finds one.
func (s *search) whole(supply []int64, left []vector, below float64) []purchase {
	var takes []take
	sum := make(vector, len(s.names))
	for i, n := range supply {
		if n > 0 {
			takes = append(takes, take{class: i, n: n})
			s.classes[i].requests.take(sum, -n)
		}
	}
	for _, c := range s.columns {
		if c.price >= below-1e-8 {
			return nil
		}
		if !sum.fits(c.room) || !c.capacity.fits(left[c.pool]) || !c.anchored(takes) {
			continue
		}
		if open, ok := s.shareable(c, takes); ok {
			c.capacity.take(left[c.pool], 1)
			return []purchase{{pattern: pattern{column: c, takes: takes, open: open}, times: 1}}
		}
	}
	return nil
}

// shareable reports whether a node of the column may carry all these pods together, their size aside.
func (s *search) shareable(c *column, takes []take) (open openLabels, ok bool) {
	crowd := slices.Clone(s.pools[c.pool].crowd)
	for _, t := range takes {
		class := s.classes[t.class]
		if !c.admits.has(t.class) || s.bear(crowd, class) < t.n {
			return nil, false
		}
		if open, ok = open.and(class.rule().perPool[c.pool].open); !ok {
			return nil, false
		}
		crowd.add(class, t.n)
	}
	return open, true
}

// single spells purchases out, one node each.
func single(bought []purchase) []purchase {
	var nodes []purchase
	for _, b := range bought {
		for range b.times {
			nodes = append(nodes, purchase{pattern: b.pattern, times: 1})
		}
	}
	return nodes
}

// waste is what a node costs beyond what its pods are worth, as a ratio.
func (v *valuation) waste(n purchase) float64 {
	worth := 0.0
	for _, t := range n.takes {
		worth += float64(t.n) * v.values[t.class]
	}
	return n.column.price / worth
}

// choose picks positions to take apart: the first few, which waste most, and as many others.
func choose(nodes, round int, pick *sequence) []int {
	worst := min(1+round%(repairNodes/2), nodes)
	var taken []int
	for at := range worst {
		taken = append(taken, at)
	}
	for range round % (repairNodes/2 + 1) {
		at := int(pick.next() % uint64(nodes))
		if !slices.Contains(taken, at) {
			taken = append(taken, at)
		}
	}
	return taken
}

// sequence is a fixed sequence of numbers that look unrelated (the multiplier is Knuth's for a 64-bit
// linear congruential generator), so that the search is the same every time.
type sequence uint64

func (s *sequence) next() uint64 {
	*s = *s*6364136223846793005 + 1442695040888963407
	return uint64(*s) >> 33
}
