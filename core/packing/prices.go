package packing

// resourcePrices finds prices of resources, in dollars per hour and unit, that no node undercuts and
// that make the demand worth the most: the dual of covering the demand with nodes bought by fractions.
// Their value of the demand is a lower bound of its cost.
//
// It is the linear programme max demand·λ subject to room·λ ≤ price for every column, λ ≥ 0, solved by
// the simplex method with Bland's rule (Bland 1977), which never cycles. There are few resources and
// many columns, and λ = 0 is feasible, so the tableau starts ready.
func resourcePrices(demand []float64, columns []*column) []float64 {
	rows := len(columns)
	dims := len(demand)
	prices := make([]float64, dims)
	if rows == 0 {
		return prices
	}
	scale := scales(demand, columns)
	tableau := make([][]float64, rows)
	basis := make([]int, rows)
	for i, c := range columns {
		row := make([]float64, dims+1)
		for d := range demand {
			row[d] = max(float64(c.room[d]), 0) / scale[d]
		}
		row[dims] = c.price
		tableau[i] = row
		basis[i] = -1
	}
	objective := make([]float64, dims+1)
	for d := range demand {
		objective[d] = demand[d] / scale[d]
	}
	// nonbasic[d] names the variable in position d: a resource when below dims, else a column's slack.
	nonbasic := make([]int, dims)
	for d := range nonbasic {
		nonbasic[d] = d
	}
	for i := range basis {
		basis[i] = dims + i
	}
	for range 50 * (dims + 1) {
		enter := entering(objective, nonbasic)
		if enter < 0 {
			break
		}
		leave := leaving(tableau, basis, enter)
		if leave < 0 {
			break
		}
		pivot(tableau, objective, leave, enter)
		basis[leave], nonbasic[enter] = nonbasic[enter], basis[leave]
	}
	for i, variable := range basis {
		if variable < dims {
			prices[variable] = tableau[i][dims] / scale[variable]
		}
	}
	return prices
}

// scales brings every resource to a size of about one, so that bytes and cores can be compared.
func scales(demand []float64, columns []*column) []float64 {
	scale := make([]float64, len(demand))
	for d := range scale {
		scale[d] = 1
		for _, c := range columns {
			scale[d] = max(scale[d], float64(c.room[d]))
		}
	}
	return scale
}

const epsilon = 1e-12

func entering(objective []float64, nonbasic []int) int {
	enter := -1
	for d := range nonbasic {
		if objective[d] > epsilon && (enter < 0 || nonbasic[d] < nonbasic[enter]) {
			enter = d
		}
	}
	return enter
}

func leaving(tableau [][]float64, basis []int, enter int) int {
	leave, least := -1, 0.0
	for i, row := range tableau {
		if row[enter] <= epsilon {
			continue
		}
		ratio := row[len(row)-1] / row[enter]
		if leave < 0 || ratio < least-epsilon || ratio < least+epsilon && basis[i] < basis[leave] {
			leave, least = i, ratio
		}
	}
	return leave
}

// pivot swaps the variable of a row with that of a column, in place.
func pivot(tableau [][]float64, objective []float64, leave, enter int) {
	row := tableau[leave]
	p := row[enter]
	for j := range row {
		row[j] /= p
	}
	row[enter] = 1 / p
	eliminate := func(other []float64) {
		factor := other[enter]
		if factor == 0 {
			return
		}
		for j := range other {
			other[j] -= factor * row[j]
		}
		other[enter] = -factor / p
	}
	for i := range tableau {
		if i != leave {
			eliminate(tableau[i])
		}
	}
	eliminate(objective)
}
