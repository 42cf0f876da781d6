// Package requirement is the algebra of label requirements: what a NodePool allows, what a pod asks for
// and what an instance type is, as sets of label values that intersect and agree or conflict. It decides
// nothing else and validates nothing; the rules are those of upstream Karpenter's
// pkg/scheduling/requirement.go and requirements.go.
package requirement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"whittle/core/api/karpenter"
)

// Requirement is the set of values that one label may have. It is an immutable value: a set of strings,
// or the complement of one, within optional inclusive integer bounds. The empty concrete set says that
// the label must be absent.
//
// The zero Requirement has no key and no values.
type Requirement struct {
	key string
	// values is sorted, without duplicates, and shared between copies: never written after it is made.
	values     []string
	complement bool
	bounds     bounds
	minValues  int
	// present says that the label must be there, as all operators but NotIn and DoesNotExist ask. Together
	// with no value left it is a contradiction, which is not the same as DoesNotExist: nothing satisfies it.
	present bool
}

// Contradiction is a requirement that nothing satisfies.
func Contradiction(key string) Requirement {
	return Requirement{key: Normalize(key), present: true}
}

// Contradictory reports whether nothing can satisfy r, with the label or without it.
func (r Requirement) Contradictory() bool { return r.present && r.Empty() }

// New makes the requirement that an operator and its values spell; key is normalised (Normalize).
//
//   - In and NotIn take any number of values; In without values is DoesNotExist.
//   - Gt, Lt, Gte and Lte take one integer and become inclusive bounds; Gt of the largest integer and
//     Lt of the smallest are DoesNotExist.
//   - Exists and DoesNotExist ignore their values.
//
// Validation is the API's business. Here an unknown operator, or a comparison whose only value is not
// one integer, gives DoesNotExist: a requirement that no value satisfies.
func New(key string, op karpenter.Operator, values ...string) Requirement {
	r := Requirement{key: Normalize(key)}
	switch op {
	case karpenter.OpIn:
		r.values = sortedSet(values)
		r.present = len(values) > 0
	case karpenter.OpNotIn:
		r.values, r.complement = sortedSet(values), true
	case karpenter.OpExists:
		r.complement, r.present = true, true
	case karpenter.OpGt, karpenter.OpLt, karpenter.OpGte, karpenter.OpLte:
		r.bounds, r.complement = comparison(op, values)
		r.present = r.complement
	case karpenter.OpDoesNotExist:
	}
	return r
}

// comparison turns an operator with one integer into bounds; ok is false when nothing lies within.
func comparison(op karpenter.Operator, values []string) (b bounds, ok bool) {
	if len(values) != 1 {
		return bounds{}, false
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return bounds{}, false
	}
	switch op {
	case karpenter.OpGt:
		if n == math.MaxInt64 {
			return bounds{}, false
		}
		return bounds{gte: n + 1, hasGTE: true}, true
	case karpenter.OpLt:
		if n == math.MinInt64 {
			return bounds{}, false
		}
		return bounds{lte: n - 1, hasLTE: true}, true
	case karpenter.OpGte:
		return bounds{gte: n, hasGTE: true}, true
	default:
		return bounds{lte: n, hasLTE: true}, true
	}
}

// WithMinValues is r with the demand that candidate instance types keep at least n distinct values of
// its label; 0 takes the demand away.
func (r Requirement) WithMinValues(n int) Requirement {
	r.minValues = max(n, 0)
	return r
}

// Key is the label's name.
func (r Requirement) Key() string { return r.key }

// MinValues is how many distinct values the candidate instance types must keep; 0 is no demand.
func (r Requirement) MinValues() int { return r.minValues }

// Complement reports whether Values are those excluded.
func (r Requirement) Complement() bool { return r.complement }

// Values are the allowed values, or the excluded ones of a complement, sorted. The caller must not
// change them.
func (r Requirement) Values() []string { return r.values }

// Bounds are the inclusive integer bounds, nil where there is none. Only complements have any.
func (r Requirement) Bounds() (gte, lte *int64) {
	if r.bounds.hasGTE {
		gte = &r.bounds.gte
	}
	if r.bounds.hasLTE {
		lte = &r.bounds.lte
	}
	return gte, lte
}

// Empty reports whether no value satisfies r: the label must be absent.
func (r Requirement) Empty() bool {
	return !r.complement && len(r.values) == 0
}

// Operator is the operator that describes r best: Exists for every complement without exclusions, bounded
// or not, and never one of the comparisons.
func (r Requirement) Operator() karpenter.Operator {
	switch {
	case r.complement && len(r.values) > 0:
		return karpenter.OpNotIn
	case r.complement:
		return karpenter.OpExists
	case len(r.values) > 0:
		return karpenter.OpIn
	default:
		return karpenter.OpDoesNotExist
	}
}

// Has reports whether a label with this value satisfies r. With a bound set, only integers do.
func (r Requirement) Has(value string) bool {
	return r.listed(value) != r.complement && r.bounds.admit(value)
}

func (r Requirement) listed(value string) bool {
	if len(r.values) <= 4 {
		return slices.Contains(r.values, value)
	}
	_, found := slices.BinarySearch(r.values, value)
	return found
}

// Intersection is the requirement satisfied by exactly the values that satisfy both r and o, and by the
// label's absence only if both are. It has r's key, the larger MinValues, and bounds only when it is a
// complement. Unlike upstream's, it tells requirements that exclude each other from one that the label be
// absent.
func (r Requirement) Intersection(o Requirement) Requirement {
	both := r.common(o)
	both.present = r.present || o.present
	return both
}

// common is the intersection as far as values go.
func (r Requirement) common(o Requirement) Requirement {
	both := Requirement{
		key:        r.key,
		complement: r.complement && o.complement,
		bounds:     r.bounds.intersection(o.bounds),
		minValues:  max(r.minValues, o.minValues),
	}
	switch {
	case both.bounds.empty():
		both.complement, both.bounds = false, bounds{}
		return both
	case r.complement && o.complement:
		both.values = union(r.values, o.values)
	case r.complement:
		both.values = filter(o.values, r.Has)
	default:
		both.values = filter(r.values, o.Has)
	}
	both.values = filter(both.values, both.bounds.admit)
	if !both.complement {
		both.bounds = bounds{}
	}
	return both
}

// overlaps reports whether some value satisfies both r and o, without building their intersection. Two
// complements within common bounds always overlap: their exclusions are finite, spellings of an integer
// are not.
func (r Requirement) overlaps(o Requirement) bool {
	switch {
	case r.complement && o.complement:
		return !r.bounds.intersection(o.bounds).empty()
	case r.complement:
		return slices.ContainsFunc(o.values, r.Has)
	default:
		return slices.ContainsFunc(r.values, o.Has)
	}
}

// ToleratesAbsence reports whether r holds for an object without the label.
func (r Requirement) ToleratesAbsence() bool {
	return !r.present
}

// shownValues is how many values String spells out before it counts the rest.
const shownValues = 8

// String is r for people, such as "karpenter.sh/capacity-type In [on-demand spot]". Long lists are cut.
func (r Requirement) String() string {
	return strings.TrimSpace(r.key + " " + r.condition())
}

// exact is r without anything cut, the same for equal requirements only.
func (r Requirement) exact() string {
	return fmt.Sprintf("%s %t %t %q %v %d", r.key, r.complement, r.present, r.values, r.bounds, r.minValues)
}

// condition is what r asks of its label, without the label's name.
func (r Requirement) condition() string {
	if r.Contradictory() {
		return "contradicts itself"
	}
	var parts []string
	if op := r.Operator(); op != karpenter.OpExists || r.bounds == (bounds{}) {
		parts = append(parts, string(op))
	}
	if n := len(r.values); n > shownValues {
		parts = append(parts, fmt.Sprintf("[%s and %d more]", strings.Join(r.values[:shownValues], " "), n-shownValues))
	} else if n > 0 {
		parts = append(parts, "["+strings.Join(r.values, " ")+"]")
	}
	if r.bounds.hasGTE {
		parts = append(parts, fmt.Sprintf("Gte %d", r.bounds.gte))
	}
	if r.bounds.hasLTE {
		parts = append(parts, fmt.Sprintf("Lte %d", r.bounds.lte))
	}
	if r.minValues > 0 {
		parts = append(parts, fmt.Sprintf("minValues %d", r.minValues))
	}
	return strings.Join(parts, " ")
}
