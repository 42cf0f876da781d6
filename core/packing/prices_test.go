package packing

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The prices must be feasible (no column worth more than it costs) and optimal. Optimality is checked by
// weak duality on problems of two resources, where the best vertex can be found by trying all pairs.
func TestResourcePricesAreTheBestThatNoNodeUndercuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 6).Draw(t, "columns")
		var columns []*column
		for range count {
			columns = append(columns, &column{
				price: float64(rapid.IntRange(1, 100).Draw(t, "price")) / 10,
				room: vector{
					int64(rapid.IntRange(1, 50).Draw(t, "cpu")),
					int64(rapid.IntRange(1, 50).Draw(t, "memory")),
				},
			})
		}
		demand := []float64{float64(rapid.IntRange(0, 100).Draw(t, "wantCPU")), float64(rapid.IntRange(0, 100).Draw(t, "wantMemory"))}

		prices := resourcePrices(demand, columns)

		for _, c := range columns {
			if worth := prices[0]*float64(c.room[0]) + prices[1]*float64(c.room[1]); worth > c.price+1e-9 {
				t.Fatalf("a node of %v is worth %v at prices %v, more than its price %v", c.room, worth, prices, c.price)
			}
		}
		got := prices[0]*demand[0] + prices[1]*demand[1]
		if want := bestVertex(demand, columns); math.Abs(got-want) > 1e-6 {
			t.Fatalf("demand %v is worth %v at prices %v, want %v", demand, got, prices, want)
		}
	})
}

// bestVertex tries every point where two constraints of the dual meet.
func bestVertex(demand []float64, columns []*column) float64 {
	type line struct{ a, b, c float64 } // a·x + b·y = c
	lines := []line{{1, 0, 0}, {0, 1, 0}}
	for _, c := range columns {
		lines = append(lines, line{float64(c.room[0]), float64(c.room[1]), c.price})
	}
	best := 0.0
	for i, l := range lines {
		for _, m := range lines[i+1:] {
			det := l.a*m.b - l.b*m.a
			if math.Abs(det) < 1e-12 {
				continue
			}
			x, y := (l.c*m.b-l.b*m.c)/det, (l.a*m.c-l.c*m.a)/det
			feasible := x >= -1e-12 && y >= -1e-12
			for _, c := range columns {
				feasible = feasible && x*float64(c.room[0])+y*float64(c.room[1]) <= c.price+1e-9
			}
			if feasible {
				best = max(best, x*demand[0]+y*demand[1])
			}
		}
	}
	return best
}
