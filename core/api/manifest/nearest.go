package manifest

import "strings"

// nearest is the name that was probably meant, or nothing: the same but for its case, or with at most a
// quarter of its letters changed, the fewer the better.
func nearest(name string, names []string) string {
	furthest := max(1, len(name)/4)
	best, bestDistance := "", furthest+1
	for _, candidate := range names {
		if strings.EqualFold(candidate, name) {
			return candidate
		}
		if d := distance(name, candidate); d < bestDistance && d < len(candidate) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or changed to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
