package requirement_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"whittle/core/api/karpenter"
	"whittle/core/requirement"
)

// universe stands for all values a label can have. An integer has another spelling with a leading zero,
// which no generated requirement lists, and so has the text; hence a complement always keeps a member of
// the universe as it would of all strings.
func universe() []string {
	return []string{"a", "b", "other", "0", "1", "2", "3", "4", "5", "00", "01", "02", "03", "04", "05"}
}

// model is a requirement as the set of those members of the universe that satisfy it.
type model map[string]bool

// modelOf reads an operator as its definition has it, value by value.
func modelOf(operator karpenter.Operator, values []string) model {
	m := model{}
	for _, candidate := range universe() {
		listed := false
		for _, value := range values {
			listed = listed || candidate == value
		}
		var n, bound int
		var err error
		if operator[0] == 'G' || operator[0] == 'L' {
			bound, _ = strconv.Atoi(values[0])
			n, err = strconv.Atoi(candidate)
		}
		switch operator {
		case karpenter.OpIn:
			m[candidate] = listed
		case karpenter.OpNotIn:
			m[candidate] = !listed
		case karpenter.OpExists:
			m[candidate] = true
		case karpenter.OpDoesNotExist:
			m[candidate] = false
		case karpenter.OpGt:
			m[candidate] = err == nil && n > bound
		case karpenter.OpLt:
			m[candidate] = err == nil && n < bound
		case karpenter.OpGte:
			m[candidate] = err == nil && n >= bound
		case karpenter.OpLte:
			m[candidate] = err == nil && n <= bound
		}
	}
	return m
}

func (m model) and(o model) model {
	both := model{}
	for value, has := range m {
		both[value] = has && o[value]
	}
	return both
}

func (m model) empty() bool {
	for _, has := range m {
		if has {
			return false
		}
	}
	return true
}

// modelled is a requirement with its model.
type modelled struct {
	requirement.Requirement
	model model
}

// drawn is a requirement of the key "k" that up to three operators make together.
func drawn(t *rapid.T, label string) modelled {
	one := func() modelled {
		operator := rapid.SampledFrom([]karpenter.Operator{
			karpenter.OpIn, karpenter.OpNotIn, karpenter.OpExists, karpenter.OpDoesNotExist,
			karpenter.OpGt, karpenter.OpLt, karpenter.OpGte, karpenter.OpLte,
		}).Draw(t, label)
		var values []string
		switch operator {
		case karpenter.OpIn, karpenter.OpNotIn:
			values = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "0", "1", "2", "3", "4", "5"}), 0, 7).Draw(t, label)
		case karpenter.OpExists, karpenter.OpDoesNotExist:
		case karpenter.OpGt:
			values = []string{strconv.Itoa(rapid.IntRange(-1, 4).Draw(t, label))}
		case karpenter.OpLt:
			values = []string{strconv.Itoa(rapid.IntRange(1, 6).Draw(t, label))}
		case karpenter.OpGte, karpenter.OpLte:
			values = []string{strconv.Itoa(rapid.IntRange(0, 5).Draw(t, label))}
		}
		return modelled{op(operator, values...), modelOf(operator, values)}
	}
	r := one()
	for range rapid.IntRange(0, 2).Draw(t, label+" more") {
		next := one()
		r = modelled{r.Intersection(next.Requirement), r.model.and(next.model)}
	}
	return r
}

func shown(r requirement.Requirement) model {
	m := model{}
	for _, value := range universe() {
		m[value] = r.Has(value)
	}
	return m
}

func TestIntersectionIsThatOfTheModels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t, "a"), drawn(t, "b")
		both := a.Intersection(b.Requirement)
		if diff := cmp.Diff(a.model.and(b.model), shown(both)); diff != "" {
			t.Fatalf("%s ∩ %s = %s (-want +got):\n%s", a, b, both, diff)
		}
		if both.Empty() != a.model.and(b.model).empty() {
			t.Fatalf("%s ∩ %s = %s: Empty() = %v", a, b, both, both.Empty())
		}
	})
}

func TestIntersectionCommutesAndAssociates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawn(t, "a"), drawn(t, "b"), drawn(t, "c")
		ab, ba := a.Intersection(b.Requirement), b.Intersection(a.Requirement)
		if ab.String() != ba.String() {
			t.Fatalf("%s ∩ %s is %s one way and %s the other", a, b, ab, ba)
		}
		left, right := ab.Intersection(c.Requirement), a.Intersection(b.Intersection(c.Requirement))
		if left.String() != right.String() {
			t.Fatalf("(%s ∩ %s) ∩ %s = %s, but a ∩ (b ∩ c) = %s", a, b, c, left, right)
		}
	})
}

func TestIntersectsWhenSomeValueDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t, "a"), drawn(t, "b")
		want := !a.model.and(b.model).empty() || a.ToleratesAbsence() && b.ToleratesAbsence()
		if got := set(a.Requirement).Intersects(set(b.Requirement)) == nil; got != want {
			t.Fatalf("%s intersects %s: %v, want %v", a, b, got, want)
		}
	})
}

func TestCompatibleIsIntersectsWhereTheKeyIsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := set(drawn(t, "a").Requirement), set(drawn(t, "b").Requirement)
		if got, want := message(a.Compatible(b, nil)), message(a.Intersects(b)); got != want {
			t.Fatalf("Compatible: %q, Intersects: %q", got, want)
		}
	})
}

func TestSpecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawn(t, "r").WithMinValues(rapid.IntRange(0, 3).Draw(t, "minValues"))
		gte, lte := r.Bounds()
		if (gte != nil || lte != nil) && len(r.Values()) > 0 {
			t.Skip("exclusions within bounds cannot be written")
		}
		if r.Contradictory() {
			t.Skip("a contradiction cannot be written")
		}
		if got := requirement.FromSpec(set(r).Spec()).String(); got != r.String() {
			t.Fatalf("%s comes back as %s", r, got)
		}
	})
}
