package requirement

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/karpenter"
)

// Set holds requirements by their normalised key, at most one for each; a label without one may have any
// value or be absent.
type Set map[string]Requirement

// NewSet makes a set; requirements of one key intersect.
func NewSet(rs ...Requirement) Set {
	set := make(Set, len(rs))
	set.Add(rs...)
	return set
}

// FromLabels is the set that exactly these labels satisfy, for each of them.
func FromLabels(labels map[string]string) Set {
	set := make(Set, len(labels))
	for key, value := range labels {
		set.Add(New(key, karpenter.OpIn, value))
	}
	return set
}

// FromSpec reads the requirements of a NodePool, a NodeClaim or an AMI.
func FromSpec(requirements []karpenter.Requirement) Set {
	set := make(Set, len(requirements))
	for _, spec := range requirements {
		r := New(spec.Key, spec.Operator, spec.Values...)
		if spec.MinValues != nil {
			r = r.WithMinValues(*spec.MinValues)
		}
		set.Add(r)
	}
	return set
}

// FromNodeSelector reads the matchExpressions of one term of a node selector, which are ANDed.
func FromNodeSelector(expressions []corev1.NodeSelectorRequirement) Set {
	set := make(Set, len(expressions))
	for _, e := range expressions {
		set.Add(New(e.Key, karpenter.Operator(e.Operator), e.Values...))
	}
	return set
}

// Add puts requirements into s; one whose key is there already is intersected with it.
func (s Set) Add(rs ...Requirement) {
	for _, r := range rs {
		if have, ok := s[r.key]; ok {
			r = have.Intersection(r)
		}
		s[r.key] = r
	}
}

// Merge adds every requirement of o to s.
func (s Set) Merge(o Set) {
	for _, r := range o {
		s.Add(r)
	}
}

// Clone is a copy of s that can be added to; the requirements themselves are immutable.
func (s Set) Clone() Set {
	if s == nil {
		return Set{}
	}
	return maps.Clone(s)
}

// Get is the requirement of a normalised key; where there is none it is Exists, any value.
func (s Set) Get(key string) Requirement {
	if r, ok := s[key]; ok {
		return r
	}
	return Requirement{key: key, complement: true}
}

// Has reports whether s says anything about a normalised key.
func (s Set) Has(key string) bool {
	_, ok := s[key]
	return ok
}

// Keys are the keys of s, sorted.
func (s Set) Keys() []string {
	return slices.Sorted(maps.Keys(s))
}

// Spec is s as it is written into a NodeClaim, sorted by key. Of a bounded requirement only the bounds
// are written, one entry each: the API has no way to spell a bound with exclusions.
func (s Set) Spec() []karpenter.Requirement {
	spec := make([]karpenter.Requirement, 0, len(s))
	for _, key := range s.Keys() {
		spec = append(spec, s[key].spec()...)
	}
	return spec
}

func (r Requirement) spec() []karpenter.Requirement {
	var minValues *int
	if r.minValues > 0 {
		minValues = &r.minValues
	}
	entry := func(op karpenter.Operator, values ...string) karpenter.Requirement {
		return karpenter.Requirement{Key: r.key, Operator: op, Values: values, MinValues: minValues}
	}
	var entries []karpenter.Requirement
	if r.bounds.hasGTE {
		entries = append(entries, entry(karpenter.OpGte, strconv.FormatInt(r.bounds.gte, 10)))
	}
	if r.bounds.hasLTE {
		entries = append(entries, entry(karpenter.OpLte, strconv.FormatInt(r.bounds.lte, 10)))
	}
	if entries == nil {
		entries = append(entries, entry(r.Operator(), slices.Clone(r.values)...))
	}
	return entries
}

// String is s for people: its requirements by key, separated by commas.
func (s Set) String() string {
	parts := make([]string, 0, len(s))
	for _, key := range s.Keys() {
		parts = append(parts, s[key].String())
	}
	return strings.Join(parts, ", ")
}

// Combine makes one list of alternatives of two: each of the one with each of the other. An empty list
// stands for no requirement at all. A pair that contradicts itself stays, as a set that nothing satisfies,
// so that whoever asked can be told why.
func Combine(left, right []Set) []Set {
	if len(left) == 0 {
		return right
	}
	if len(right) == 0 {
		return left
	}
	combined := make([]Set, 0, len(left)*len(right))
	for _, l := range left {
		for _, r := range right {
			both := l.Clone()
			both.Merge(r)
			combined = append(combined, both)
		}
	}
	return combined
}

// Identity is a text that is equal for equal sets only. String, which is for people, cuts long lists.
func (s Set) Identity() string {
	var text strings.Builder
	for _, key := range s.Keys() {
		text.WriteString(s[key].exact())
		text.WriteByte('\n')
	}
	return text.String()
}
