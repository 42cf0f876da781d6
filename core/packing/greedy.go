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
	// steps is how long a node is filled.
	steps int
	// open marks the pools, by position, on whose nodes pods may have to agree on labels.
	open []bool
}

func newSearch(p *problem, classes []*class, columns []*column) *search {
	s := &search{problem: p, classes: classes, columns: columns, steps: fillSteps, open: make([]bool, len(p.pools))}
	if len(classes) > relaxationClasses {
		s.steps = fillStepsMany
	}
	for _, c := range classes {
		for i := range s.open {
			s.open[i] = s.open[i] || len(c.rule().perPool[i].open) > 0
		}
	}
	return s
}

// nearlyAsCheap is how much dearer a plan with fewer nodes may be and still be preferred.
const nearlyAsCheap = 1.005

// cheapest buys patterns under several valuations, and keeps the best result: of those that place most pods
// the cheapest, or one that is nearly as cheap with fewer nodes.
func (s *search) cheapest() []purchase {
	var plans [][]purchase
	try := func(values []float64, start func(supply []int64, left []vector) []purchase) {
		v := newValuation(values, len(s.columns))
		supply, left := s.supply(), s.limitsLeft()
		bought := start(supply, left)
		bought = s.repair(v, append(bought, s.greedy(v, supply, left)...))
		bought = append(bought, s.greedy(v, s.unserved(bought), s.limitsAfter(bought))...)
		plans = append(plans, bought)
	}
	nothing := func([]int64, []vector) []purchase { return nil }
	alone := s.aloneValues()
	try(alone, nothing)
	if r, ok := s.relax(alone); ok {
		values := floored(r.values, alone)
		try(values, nothing)
		try(values, r.rounded)
	} else {
		try(s.mixedValues(alone), nothing)
	}
	return choosePlan(plans)
}

func choosePlan(plans [][]purchase) []purchase {
	best := 0
	for i := range plans {
		if scoreOf(plans[i]).better(scoreOf(plans[best])) {
			best = i
		}
	}
	cheapest := scoreOf(plans[best])
	for i := range plans {
		s := scoreOf(plans[i])
		if s.placed == cheapest.placed && s.usd <= cheapest.usd*nearlyAsCheap && s.nodes < scoreOf(plans[best]).nodes {
			best = i
		}
	}
	return plans[best]
}

// floored keeps values from falling to nothing, so that no class is left out of a plan as worthless.
func floored(values, alone []float64) []float64 {
	raised := make([]float64, len(values))
	for i := range values {
		raised[i] = max(values[i], alone[i]/100)
	}
	return raised
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

// unserved is what the purchases leave of the supply: a repair may have freed limits for it.
func (s *search) unserved(bought []purchase) []int64 {
	supply := s.supply()
	for _, b := range bought {
		for _, t := range b.takes {
			supply[t.class] -= b.times * t.n
		}
	}
	return supply
}

// limitsAfter are the pools' limits after the purchases.
func (s *search) limitsAfter(bought []purchase) []vector {
	left := s.limitsLeft()
	for _, b := range bought {
		b.column.capacity.take(left[b.column.pool], b.times)
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

// aloneValues value a pod at its share of the cheapest node filled with its like; 0 when no column
// admits its class.
func (s *search) aloneValues() []float64 {
	alone := make([]float64, len(s.classes))
	for i, c := range s.classes {
		least := math.Inf(1)
		for _, column := range s.columns {
			if column.admits.has(i) && !column.reserved && column.anchored([]take{{class: i}}) {
				least = min(least, column.price/float64(s.alone(column, c)))
			}
		}
		if !math.IsInf(least, 1) {
			alone[i] = least
		}
	}
	return alone
}

// alone is how many pods of the class a node of the column takes that carries nothing else; at least one,
// so that a class that the node's DaemonSets keep off still has a value.
func (s *search) alone(column *column, c *class) int64 {
	return max(1, min(c.requests.count(column.room), s.tolerate(s.pools[column.pool].crowd, c)))
}

// mixedValues value a pod's requests at the prices of the resources that the best mix of nodes implies.
// A class confined to dear nodes is worth what these cost, whatever the best mix says.
func (s *search) mixedValues(alone []float64) []float64 {
	prices := resourcePrices(s.demand(), s.columns)
	mixed := make([]float64, len(s.classes))
	for i, c := range s.classes {
		for d, amount := range c.requests {
			mixed[i] += float64(amount) * prices[d]
		}
		mixed[i] = max(mixed[i], alone[i]/2)
	}
	return mixed
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
	// waste is what one node costs beyond what its pods are worth, as a ratio, while plans are repaired.
	waste float64
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
		pat, ratio := s.fill(v, at, supply, left[pool], s.steps)
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

func (o *offers) Len() int { return len(*o) }
func (o *offers) Less(i, j int) bool {
	a, b := (*o)[i], (*o)[j]
	return cmp.Or(cmp.Compare(a.ratio, b.ratio), cmp.Compare(a.column, b.column)) < 0
}
func (o *offers) Swap(i, j int) { (*o)[i], (*o)[j] = (*o)[j], (*o)[i] }
func (o *offers) Push(x any)    { *o = append(*o, x.(offer)) }
func (o *offers) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}

// How long fill looks for a better node than the greedy one: less when there are many classes, of which
// the greedy one makes a full node anyway.
const (
	fillSteps     = 200
	fillStepsMany = 40
)

// fill works out what a node of the column would carry of the supply, and its price per worth; +Inf
// when it would carry nothing or the limits forbid it.
func (s *search) fill(v *valuation, at int, supply []int64, left vector, steps int) (pattern, float64) {
	c := s.columns[at]
	pat := pattern{column: c}
	if !c.capacity.fits(left) {
		return pat, math.Inf(1)
	}
	var worth float64
	if o := s.orderOf(v, at); s.open[c.pool] {
		worth = s.fillOpen(&pat, o, v.values, supply)
	} else {
		k := &knapsack{search: s, order: o, values: v.values, supply: supply, room: slices.Clone(c.room), crowd: slices.Clone(s.pools[c.pool].crowd), steps: steps}
		k.look(0, 0)
		pat.takes, worth = k.best, k.worth
	}
	if worth <= 0 || !c.anchored(pat.takes) {
		return pat, math.Inf(1)
	}
	return pat, c.price / worth
}

// fillOpen fills a node greedily with pods that agree on the labels the pool leaves open.
func (s *search) fillOpen(pat *pattern, o *order, values []float64, supply []int64) (worth float64) {
	room := slices.Clone(pat.column.room)
	crowd := slices.Clone(s.pools[pat.column.pool].crowd)
	for _, i := range o.classes {
		class := s.classes[i]
		n := min(class.requests.count(room), supply[i], s.bear(crowd, class))
		if n <= 0 {
			continue
		}
		open, ok := pat.open.and(class.rule().perPool[pat.column.pool].open)
		if !ok {
			continue
		}
		pat.open = open
		class.requests.take(room, n)
		crowd.add(class, n)
		worth += float64(n) * values[i]
		pat.takes = append(pat.takes, take{class: int(i), n: n})
	}
	return worth
}

// repeats is how many times the pattern can be bought from what is left.
func (pat *pattern) repeats(supply []int64, left vector) int64 {
	times := int64(math.MaxInt64)
	for _, t := range pat.takes {
		times = min(times, supply[t.class]/t.n)
	}
	return max(1, min(times, pat.column.capacity.count(left)))
}
