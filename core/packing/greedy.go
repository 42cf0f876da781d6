package packing

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// search looks for the cheapest way to buy nodes of the columns for the pods of the classes.
type search struct {
	*problem
	classes []*class
	columns []*column
}

// valuation is an idea of what one pod of each class is worth, in dollars per hour, and the order in
// which a node of each column is filled under it.
type valuation struct {
	values []float64
	orders [][]int32
}

// cheapest buys patterns under several valuations, and keeps the cheapest result. Of equally many pods
// placed the lower price wins, then the fewer nodes.
func (s *search) cheapest() []purchase {
	var best []purchase
	bestScore := score{placed: -1}
	for _, values := range s.valuations() {
		v := &valuation{values: values, orders: make([][]int32, len(s.columns))}
		bought := s.repair(v, s.greedy(v, s.supply(), s.limitsLeft()))
		if sc := scoreOf(bought); sc.better(bestScore) {
			best, bestScore = bought, sc
		}
	}
	return best
}

func (s *search) supply() []int64 {
	supply := make([]int64, len(s.classes))
	for i, c := range s.classes {
		supply[i] = int64(len(c.pods))
	}
	return supply
}

// limitsLeft are the pools' limits less what is planned already.
func (s *search) limitsLeft() []vector {
	left := make([]vector, len(s.pools))
	for i, pool := range s.pools {
		left[i] = slices.Clone(pool.limits.remaining)
	}
	return left
}

type score struct {
	placed int64
	usd    float64
	nodes  int64
}

func scoreOf(bought []purchase) score {
	var s score
	for _, b := range bought {
		s.nodes += b.times
		s.usd += float64(b.times) * b.column.price
		for _, t := range b.takes {
			s.placed += b.times * t.n
		}
	}
	return s
}

// better reports whether s is the better outcome. Prices that differ by less than a hundred-millionth
// of a dollar are the same, so that the order of additions decides nothing.
func (s score) better(o score) bool {
	const least = 1e-8
	switch {
	case s.placed != o.placed:
		return s.placed > o.placed
	case math.Abs(s.usd-o.usd) > least:
		return s.usd < o.usd
	default:
		return s.nodes < o.nodes
	}
}

// valuations are two ideas of what a pod is worth: its share of the cheapest node filled with its
// like, and its requests at the prices of the resources that the best mix of nodes implies.
func (s *search) valuations() [][]float64 {
	alone := make([]float64, len(s.classes))
	for i, c := range s.classes {
		alone[i] = math.Inf(1)
		for _, column := range s.columns {
			if column.admitsClass(i) {
				alone[i] = min(alone[i], column.price/float64(c.requests.count(column.room)))
			}
		}
		if math.IsInf(alone[i], 1) {
			alone[i] = 0
		}
	}
	prices := resourcePrices(s.demand(), s.columns)
	mixed := make([]float64, len(s.classes))
	for i, c := range s.classes {
		for d, amount := range c.requests {
			mixed[i] += float64(amount) * prices[d]
		}
		// A class confined to dear nodes is worth what these cost, whatever the best mix says.
		mixed[i] = max(mixed[i], alone[i]/2)
	}
	return [][]float64{alone, mixed}
}

// demand is what the pods of the classes ask for together.
func (s *search) demand() []float64 {
	demand := make([]float64, len(s.names))
	for _, c := range s.classes {
		for d, amount := range c.requests {
			demand[d] += float64(amount) * float64(len(c.pods))
		}
	}
	return demand
}

// pattern is what one node of a column carries: numbers of pods by class.
type pattern struct {
	column *column
	takes  []take
	open   openLabels
}

type take struct {
	class int
	n     int64
}

// purchase is a pattern bought a number of times.
type purchase struct {
	pattern
	times int64
}

// greedy buys, again and again, the pattern that costs least per worth of the pods it takes. A pattern
// only gets worse as pods are used up, so one that is still the best after it was worked out anew is
// the best of all. It uses up supply and left.
func (s *search) greedy(v *valuation, supply []int64, left []vector) []purchase {
	queue := make(offers, len(s.columns))
	for i := range s.columns {
		queue[i] = offer{column: i}
	}
	heap.Init(&queue)
	var bought []purchase
	for len(queue) > 0 {
		at := queue[0].column
		pool := s.columns[at].pool
		pat, ratio := s.fill(v, at, supply, left[pool])
		if math.IsInf(ratio, 1) {
			heap.Pop(&queue)
			continue
		}
		queue[0].ratio = ratio
		heap.Fix(&queue, 0)
		if queue[0].column != at {
			continue
		}
		times := pat.repeats(supply, left[pool])
		for _, t := range pat.takes {
			supply[t.class] -= t.n * times
		}
		pat.column.capacity.take(left[pool], times)
		bought = append(bought, purchase{pattern: pat, times: times})
	}
	return bought
}

// offer is a column in the queue, with the ratio of price to worth it last had; columns not tried yet
// have none and come first.
type offer struct {
	column int
	ratio  float64
}

type offers []offer

func (o offers) Len() int { return len(o) }
func (o offers) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(o[i].ratio, o[j].ratio), cmp.Compare(o[i].column, o[j].column)) < 0
}
func (o offers) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *offers) Push(x any)   { *o = append(*o, x.(offer)) }
func (o *offers) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}

// fill works out what a node of the column would carry of the supply, and its price per worth; +Inf
// when it would carry nothing or the limits forbid it.
func (s *search) fill(v *valuation, at int, supply []int64, left vector) (pattern, float64) {
	c := s.columns[at]
	pat := pattern{column: c}
	if !c.capacity.fits(left) {
		return pat, math.Inf(1)
	}
	if v.orders[at] == nil {
		v.orders[at] = s.densest(c, v.values)
	}
	room := slices.Clone(c.room)
	worth := 0.0
	for _, i := range v.orders[at] {
		if supply[i] == 0 {
			continue
		}
		class := s.classes[i]
		n := min(class.requests.count(room), supply[i])
		if n <= 0 {
			continue
		}
		open, ok := pat.open.and(class.rule().perPool[c.pool].open)
		if !ok {
			continue
		}
		pat.open = open
		class.requests.take(room, n)
		worth += float64(n) * v.values[i]
		pat.takes = append(pat.takes, take{class: int(i), n: n})
	}
	if worth <= 0 {
		return pat, math.Inf(1)
	}
	return pat, c.price / worth
}

// densest orders the classes that a column admits by worth per share of the node, the dearest first.
func (s *search) densest(c *column, values []float64) []int32 {
	density := make([]float64, len(s.classes))
	order := make([]int32, 0, len(s.classes))
	for i, class := range s.classes {
		if !c.admitsClass(i) {
			continue
		}
		share := 0.0
		for d, amount := range class.requests {
			if amount > 0 {
				share += float64(amount) / float64(c.room[d])
			}
		}
		density[i] = values[i] / share
		order = append(order, int32(i))
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(density[b], density[a]) })
	return order
}

// repeats is how many times the pattern can be bought from what is left.
func (pat *pattern) repeats(supply []int64, left vector) int64 {
	times := int64(math.MaxInt64)
	for _, t := range pat.takes {
		times = min(times, supply[t.class]/t.n)
	}
	return max(1, min(times, pat.column.capacity.count(left)))
}
