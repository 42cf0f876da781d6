package packing

import (
	"cmp"
	"slices"
)

// valuation is an idea of what one pod of each class is worth, in dollars per hour, with what filling
// nodes under it needs: the order of the classes for each column.
type valuation struct {
	values []float64
	orders []*order
}

func newValuation(values []float64, columns int) *valuation {
	return &valuation{values: values, orders: make([]*order, columns)}
}

// order is the classes that a column admits, best first, with a bound on what a node can be worth.
type order struct {
	classes []int32
	// prices of the resources under which no class is worth more than it takes, and a full node the
	// least: the dual of filling the node with fractions of pods.
	prices []float64
	// ratio[i] is the most that a class from position i on is worth per dollar of what it takes at these
	// prices; at most 1.
	ratio []float64
}

// orderOf works out the order of the column at a position.
func (s *search) orderOf(v *valuation, at int) *order {
	if v.orders[at] == nil {
		v.orders[at] = s.newOrder(s.columns[at], v.values)
	}
	return v.orders[at]
}

func (s *search) newOrder(c *column, values []float64) *order {
	o := &order{}
	for i := range s.classes {
		if c.admits.has(i) && values[i] > 0 {
			o.classes = append(o.classes, int32(i))
		}
	}
	o.prices = s.fractionalPrices(c, o.classes, values)
	each := make([]float64, len(s.classes))
	for _, i := range o.classes {
		cost := 0.0
		for d, amount := range s.classes[i].requests {
			cost += o.prices[d] * float64(amount)
		}
		each[i] = values[i] / max(cost, values[i])
	}
	slices.SortStableFunc(o.classes, func(a, b int32) int {
		// Those that want company come when it may be there.
		first, second := s.wantsCompany(s.classes[a]), s.wantsCompany(s.classes[b])
		switch {
		case first != second && first:
			return 1
		case first != second:
			return -1
		}
		return cmp.Or(cmp.Compare(each[b], each[a]), cmp.Compare(values[b], values[a]))
	})
	o.ratio = make([]float64, len(o.classes)+1)
	for i := len(o.classes) - 1; i >= 0; i-- {
		o.ratio[i] = max(o.ratio[i+1], each[o.classes[i]])
	}
	return o
}

// knapsack looks for the pods that are worth most on one node, by depth first: as many as fit of each
// class in turn, then fewer, as long as what is left can still beat the best found. The first node it
// finds is the greedy one; steps bound how much longer it looks.
type knapsack struct {
	*search
	order  *order
	values []float64
	supply []int64
	room   vector
	crowd  crowd
	steps  int

	taken []take
	best  []take
	worth float64
}

func (k *knapsack) look(at int, worth float64) {
	var class *class
	n := int64(0)
	for ; at < len(k.order.classes); at++ {
		i := k.order.classes[at]
		if k.supply[i] == 0 {
			continue
		}
		class = k.classes[i]
		if n = min(class.requests.count(k.room), k.supply[i]); n > 0 {
			n = min(n, k.bear(k.crowd, class))
		}
		if n > 0 {
			break
		}
	}
	if worth > k.worth*(1+1e-9) {
		k.worth = worth
		k.best = append(k.best[:0], k.taken...)
	}
	if n <= 0 {
		return
	}
	i := k.order.classes[at]
	left := k.leftover()
	cost := 0.0
	for d, amount := range class.requests {
		cost += k.order.prices[d] * float64(amount)
	}
	for x := n; x >= 0; x-- {
		if k.steps--; k.steps < 0 && x < n {
			return
		}
		if x < n && worth+float64(x)*k.values[i]+(left-float64(x)*cost)*k.order.ratio[at+1] <= k.worth*(1+1e-9) {
			// What may come after fewer of this class cannot make up for them, nor after fewer still.
			return
		}
		if x == 0 {
			k.look(at+1, worth)
			return
		}
		class.requests.take(k.room, x)
		k.crowd.add(class, x)
		k.taken = append(k.taken, take{class: int(i), n: x})
		k.look(at+1, worth+float64(x)*k.values[i])
		k.taken = k.taken[:len(k.taken)-1]
		class.requests.take(k.room, -x)
		k.crowd.add(class, -x)
	}
}

// leftover is what the room that is left costs at the order's prices.
func (k *knapsack) leftover() float64 {
	sum := 0.0
	for d, amount := range k.room {
		sum += k.order.prices[d] * float64(amount)
	}
	return sum
}
