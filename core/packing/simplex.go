package packing

// program is a linear programme: the most of objective·x with rows·x ≤ limits and x ≥ 0. Limits are not
// negative, so that x = 0 is a start. It is solved in place by the simplex method on a condensed
// tableau, in which a basic and a nonbasic variable trade places.
type program struct {
	objective []float64
	rows      [][]float64
	limits    []float64
	// inside[i] is the variable of row i, outside[j] that of column j: numbers below the number of
	// columns stand for x, those above for the slacks of rows.
	inside, outside []int
}

const epsilon = 1e-12

// How long the largest gain decides what enters, in pivots for each row and column. After that the
// smallest number does (Bland 1977), which is slower and never cycles.
const greedyPivots = 4

func newProgram(objective []float64, rows [][]float64, limits []float64) *program {
	p := &program{objective: objective, rows: rows, limits: limits}
	for j := range objective {
		p.outside = append(p.outside, j)
	}
	for i := range rows {
		p.inside = append(p.inside, len(objective)+i)
	}
	return p
}

// maximize solves the programme and returns the best x and the duals of the rows: what one unit more of
// each limit would bring.
func (p *program) maximize() (x, duals []float64) {
	columns := len(p.objective)
	budget := greedyPivots * (columns + len(p.rows))
	for pivots := range 4 * budget {
		enter := p.entering(pivots < budget)
		if enter < 0 {
			break
		}
		leave := p.leaving(enter)
		if leave < 0 {
			break
		}
		p.pivot(leave, enter)
	}
	x, duals = make([]float64, columns), make([]float64, len(p.rows))
	for i, variable := range p.inside {
		if variable < columns {
			x[variable] = p.limits[i]
		}
	}
	for j, variable := range p.outside {
		if variable >= columns {
			duals[variable-columns] = max(0, -p.objective[j])
		}
	}
	return x, duals
}

func (p *program) entering(largest bool) int {
	enter := -1
	for j, gain := range p.objective {
		switch {
		case gain <= epsilon:
		case enter < 0,
			largest && gain > p.objective[enter],
			!largest && p.outside[j] < p.outside[enter]:
			enter = j
		}
	}
	return enter
}

func (p *program) leaving(enter int) int {
	leave, least := -1, 0.0
	for i, row := range p.rows {
		if row[enter] <= epsilon {
			continue
		}
		ratio := p.limits[i] / row[enter]
		if leave < 0 || ratio < least-epsilon || ratio < least+epsilon && p.inside[i] < p.inside[leave] {
			leave, least = i, ratio
		}
	}
	return leave
}

func (p *program) pivot(leave, enter int) {
	row := p.rows[leave]
	by := row[enter]
	for j := range row {
		row[j] /= by
	}
	row[enter] = 1 / by
	p.limits[leave] /= by
	for i, other := range p.rows {
		if factor := other[enter]; i != leave && factor != 0 {
			p.limits[i] -= factor * p.limits[leave]
			eliminate(other, row, enter, factor/by)
		}
	}
	if factor := p.objective[enter]; factor != 0 {
		eliminate(p.objective, row, enter, factor/by)
	}
	p.inside[leave], p.outside[enter] = p.outside[enter], p.inside[leave]
}

// eliminate takes the pivot row off another, whose coefficient in the entering column becomes that of
// the variable which left.
func eliminate(other, row []float64, enter int, quotient float64) {
	factor := other[enter]
	for j := range other {
		other[j] -= factor * row[j]
	}
	other[enter] = -quotient
}
