package packing

import (
	"math"
)

// How much work the relaxation may do. It is left out for more classes than relaxationClasses, since a
// pivot takes the square of their number, and stops with what it has when the budget is used up: work is
// counted in multiplications, about a billion of which take a second.
const (
	relaxationClasses = 400
	relaxationWork    = 120_000_000
	quickSteps        = 60
	thoroughSteps     = 1500
	// stepWork is what one step of a knapsack is worth.
	stepWork = 25
)

// relaxation is the configuration relaxation of the search: how often to buy which pattern, fractions
// allowed, so that every pod is covered at the least cost. Its dual values are what a pod of each class
// is worth at the optimum, and its patterns, rounded down, are most of a good plan.
//
// It is solved by column generation (Gilmore and Gomory 1961): a revised simplex on the patterns known
// so far, and a knapsack for each column that looks for a pattern worth more than it costs. The
// knapsacks are filled greedily, so the optimum is approximate.
type relaxation struct {
	*search
	// rows are the classes that some column admits; row i stands for class rows[i].
	rows  []int
	basis []pattern
	// inverse of the basis, row by row; xb are the basic variables' values.
	inverse [][]float64
	xb      []float64
	// values of a pod of each class under the present basis.
	values []float64
	// known are the patterns found so far.
	known []pattern
	work  int

	position  []int
	direction []float64
}

// relax solves the relaxation; ok is false when the search is too large for it.
func (s *search) relax(alone []float64) (r *relaxation, ok bool) {
	r = &relaxation{search: s, values: make([]float64, len(s.classes)), position: make([]int, len(s.classes))}
	for i := range s.classes {
		if alone[i] > 0 && !s.wantsCompany(s.classes[i]) {
			r.position[i] = len(r.rows)
			r.rows = append(r.rows, i)
		}
	}
	if len(r.rows) == 0 || len(r.rows) > relaxationClasses {
		return nil, false
	}
	r.start()
	steps := quickSteps
	for r.work < relaxationWork {
		r.optimize()
		if r.extend(steps) {
			continue
		}
		if steps == thoroughSteps {
			break
		}
		steps = thoroughSteps
	}
	r.optimize()
	return r, true
}

// optimize pivots until no pattern known so far improves the plan.
func (r *relaxation) optimize() {
	for r.work < relaxationWork {
		entering, gain := r.entering()
		if gain <= 0 || !r.pivot(entering, gain) {
			return
		}
	}
}

// extend looks for new patterns that are worth more than they cost, one for each column, and reports
// whether there were any.
func (r *relaxation) extend(steps int) bool {
	v := newValuation(r.values, len(r.columns))
	supply := r.supply()
	found := false
	for at, column := range r.columns {
		if column.reserved {
			continue
		}
		r.work += stepWork*steps/4 + len(r.classes)*len(r.names)*8
		if pat, ratio := r.fill(v, at, supply, column.capacity, steps); ratio < 1-1e-6 {
			r.known = append(r.known, pat)
			found = true
		}
	}
	return found
}

// start makes the first basis: for each class, the cheapest node filled with its like.
func (r *relaxation) start() {
	for at, i := range r.rows {
		class := r.classes[i]
		best, count, price := -1, int64(0), math.Inf(1)
		for j, column := range r.columns {
			if !column.admits.has(i) || column.reserved || !column.anchored([]take{{class: i}}) {
				continue
			}
			n := min(r.alone(column, class), int64(len(class.pods)))
			if each := column.price / float64(n); each < price {
				best, count, price = j, n, each
			}
		}
		r.basis = append(r.basis, pattern{
			column: r.columns[best], takes: []take{{class: i, n: count}},
			open: class.rule().perPool[r.columns[best].pool].open,
		})
		row := make([]float64, len(r.rows))
		row[at] = 1 / float64(count)
		r.inverse = append(r.inverse, row)
		r.xb = append(r.xb, float64(len(class.pods))/float64(count))
		r.values[i] = price
	}
	r.direction = make([]float64, len(r.rows))
}

// entering finds the known pattern that improves the plan most per dollar, and how much it is worth
// beyond its price. A class whose value is negative is served by taking fewer of its pods than the plan
// has room for, which costs nothing.
func (r *relaxation) entering() (entering pattern, gain float64) {
	for _, i := range r.rows {
		if r.values[i] < -1e-9 {
			return pattern{takes: []take{{class: i, n: -1}}}, -r.values[i]
		}
	}
	best := 1 + 1e-7
	r.work += 4 * len(r.known)
	for k := range r.known {
		pat := &r.known[k]
		worth := 0.0
		for _, t := range pat.takes {
			worth += r.values[t.class] * float64(t.n)
		}
		if ratio := worth / pat.column.price; ratio > best {
			best, entering, gain = ratio, *pat, worth-pat.column.price
		}
	}
	return entering, gain
}

// pivot brings the pattern into the basis; ok is false when nothing would leave it.
func (r *relaxation) pivot(entering pattern, gain float64) (ok bool) {
	r.work += len(r.rows) * len(r.rows)
	direction := r.direction
	for b, row := range r.inverse {
		sum := 0.0
		for _, t := range entering.takes {
			sum += row[r.position[t.class]] * float64(t.n)
		}
		direction[b] = sum
	}
	leave, least := -1, math.Inf(1)
	for b, d := range direction {
		if d > 1e-9 && r.xb[b]/d < least {
			leave, least = b, r.xb[b]/d
		}
	}
	if leave < 0 {
		return false
	}
	pivotRow := r.inverse[leave]
	for at := range pivotRow {
		pivotRow[at] /= direction[leave]
		r.values[r.rows[at]] -= gain * pivotRow[at]
	}
	r.xb[leave] = least
	for b, d := range direction {
		if b == leave || d == 0 {
			continue
		}
		row := r.inverse[b]
		for at := range row {
			row[at] -= d * pivotRow[at]
		}
		r.xb[b] = max(0, r.xb[b]-d*least)
	}
	r.basis[leave] = entering
	return true
}

// rounded buys the whole part of the relaxation's plan, as far as pods and limits allow, and takes it
// off supply and left.
func (r *relaxation) rounded(supply []int64, left []vector) []purchase {
	order := make([]int, 0, len(r.basis))
	for b := range r.basis {
		if r.basis[b].column != nil {
			order = append(order, b)
		}
	}
	var bought []purchase
	for _, b := range order {
		pat := r.basis[b]
		times := int64(r.xb[b] + 1e-6)
		for _, t := range pat.takes {
			times = min(times, supply[t.class]/t.n)
		}
		times = min(times, pat.column.capacity.count(left[pat.column.pool]))
		if times <= 0 {
			continue
		}
		for _, t := range pat.takes {
			supply[t.class] -= t.n * times
		}
		pat.column.capacity.take(left[pat.column.pool], times)
		bought = append(bought, purchase{pattern: pat, times: times})
	}
	return bought
}
