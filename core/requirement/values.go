package requirement

import "slices"

// sortedSet copies values without duplicates, in order.
func sortedSet(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	set := slices.Clone(values)
	slices.Sort(set)
	return slices.Compact(set)
}

// union of two sorted sets; it is one of them when the other is empty.
func union(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	return sortedSet(slices.Concat(a, b))
}

// filter is the values that keep accepts: the same slice when it accepts all, since most do.
func filter(values []string, keep func(string) bool) []string {
	for i, value := range values {
		if keep(value) {
			continue
		}
		kept := slices.Clone(values[:i])
		for _, later := range values[i+1:] {
			if keep(later) {
				kept = append(kept, later)
			}
		}
		return slices.Clip(kept)
	}
	return values
}
