package packing

import "whittle/core/requirement"

// openLabels are requirements on labels whose value a NodePool leaves open (Exists, or In with several
// values). The pods of one node must agree on them.
type openLabels requirement.Set

// and joins what two groups of pods ask; ok is false when they contradict each other.
func (o openLabels) and(other openLabels) (joined openLabels, ok bool) {
	if len(other) == 0 {
		return o, true
	}
	if len(o) == 0 {
		return other, true
	}
	have, wanted := requirement.Set(o), requirement.Set(other)
	if have.Intersects(wanted) != nil {
		return nil, false
	}
	both := have.Clone()
	both.Merge(wanted)
	return openLabels(both), true
}
