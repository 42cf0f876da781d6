package packing

// resourcePrices finds prices of resources, in dollars per hour and unit, that no node undercuts and
// that make the demand worth the most: the dual of covering the demand with nodes bought by fractions.
// Their value of the demand is a lower bound of its cost.
func resourcePrices(demand []float64, columns []*column) []float64 {
	scale := scales(len(demand), columns)
	objective := make([]float64, len(demand))
	for d := range demand {
		objective[d] = demand[d] / scale[d]
	}
	rows := make([][]float64, len(columns))
	limits := make([]float64, len(columns))
	for i, c := range columns {
		rows[i] = make([]float64, len(demand))
		for d := range demand {
			rows[i][d] = max(float64(c.room[d]), 0) / scale[d]
		}
		limits[i] = c.price
	}
	prices, _ := newProgram(objective, rows, limits).maximize()
	for d := range prices {
		prices[d] /= scale[d]
	}
	return prices
}

// scales brings every resource to a size of about one, so that bytes and cores can be compared.
func scales(dims int, columns []*column) []float64 {
	scale := make([]float64, dims)
	for d := range scale {
		scale[d] = 1
		for _, c := range columns {
			scale[d] = max(scale[d], float64(c.room[d]))
		}
	}
	return scale
}

// fractionalPrices are prices of resources under which no class is worth more than what it takes costs,
// and a node of the column costs the least: the dual of filling the node with fractions of pods.
func (s *search) fractionalPrices(c *column, classes []int32, values []float64) []float64 {
	objective := make([]float64, len(classes))
	for k, i := range classes {
		objective[k] = values[i]
	}
	rows := make([][]float64, len(c.room))
	limits := make([]float64, len(c.room))
	for d := range rows {
		rows[d] = make([]float64, len(classes))
		for k, i := range classes {
			rows[d][k] = float64(s.classes[i].requests[d]) / unitOf(c, d)
		}
		limits[d] = 1
	}
	_, prices := newProgram(objective, rows, limits).maximize()
	for d := range prices {
		prices[d] /= unitOf(c, d)
	}
	return prices
}

// unitOf is the column's room for a resource; a node without any gets a unit so small that nothing that
// asks for it fits.
func unitOf(c *column, d int) float64 {
	return max(float64(c.room[d]), 1e-9)
}
