package requirement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"whittle/core/api/karpenter"
	"whittle/core/requirement"
)

// in, notIn and so on make requirements of the key "k".
func in(values ...string) requirement.Requirement {
	return requirement.New("k", karpenter.OpIn, values...)
}

func notIn(values ...string) requirement.Requirement {
	return requirement.New("k", karpenter.OpNotIn, values...)
}

func op(operator karpenter.Operator, values ...string) requirement.Requirement {
	return requirement.New("k", operator, values...)
}

func TestNew(t *testing.T) {
	tests := []struct {
		name   string
		give   requirement.Requirement
		want   string
		has    []string
		hasNot []string
	}{
		{"In", in("b", "a", "b"), "k In [a b]", []string{"a", "b"}, []string{"c", ""}},
		{"In nothing is DoesNotExist", in(), "k DoesNotExist", nil, []string{"", "a"}},
		{"NotIn", notIn("b", "a"), "k NotIn [a b]", []string{"c", ""}, []string{"a", "b"}},
		{"NotIn nothing is Exists", notIn(), "k Exists", []string{"a", ""}, nil},
		{"Exists ignores values", op(karpenter.OpExists, "a"), "k Exists", []string{"a", "b", "7"}, nil},
		{"DoesNotExist ignores values", op(karpenter.OpDoesNotExist, "a"), "k DoesNotExist", nil, []string{"a", ""}},
		{"Gt", op(karpenter.OpGt, "4"), "k Gte 5", []string{"5", "6", "005"}, []string{"4", "a", "", "5.5"}},
		{"Lt", op(karpenter.OpLt, "4"), "k Lte 3", []string{"3", "-9"}, []string{"4", "a"}},
		{"Gte", op(karpenter.OpGte, "4"), "k Gte 4", []string{"4", "5"}, []string{"3"}},
		{"Lte", op(karpenter.OpLte, "4"), "k Lte 4", []string{"4", "3"}, []string{"5"}},
		{"Gt of the largest integer", op(karpenter.OpGt, "9223372036854775807"), "k DoesNotExist", nil, []string{"9223372036854775807"}},
		{"Lt of the smallest integer", op(karpenter.OpLt, "-9223372036854775808"), "k DoesNotExist", nil, []string{"-9223372036854775808"}},
		{"Gt of no integer", op(karpenter.OpGt, "four"), "k DoesNotExist", nil, []string{"5"}},
		{"Gt of two values", op(karpenter.OpGt, "4", "5"), "k DoesNotExist", nil, []string{"6"}},
		{"Gte of no value", op(karpenter.OpGte), "k DoesNotExist", nil, []string{"6"}},
		{"unknown operator", op("Near", "4"), "k DoesNotExist", nil, []string{"4"}},
		{"old key", requirement.New("beta.kubernetes.io/arch", karpenter.OpIn, "arm64"), "kubernetes.io/arch In [arm64]", []string{"arm64"}, nil},
		{"minValues", in("a", "b").WithMinValues(2), "k In [a b] minValues 2", nil, nil},
		{"negative minValues are none", in("a").WithMinValues(-1), "k In [a]", nil, nil},
		{"long lists are cut", in("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"), "k In [a b c d e f g h and 2 more]", []string{"a", "e", "j"}, []string{"aa", "k"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.give.String(); got != tt.want {
				t.Errorf("String() = %q, want %q", got, tt.want)
			}
			for _, value := range tt.has {
				if !tt.give.Has(value) {
					t.Errorf("Has(%q) = false", value)
				}
			}
			for _, value := range tt.hasNot {
				if tt.give.Has(value) {
					t.Errorf("Has(%q) = true", value)
				}
			}
		})
	}
}

func TestNewKeepsItsOwnValues(t *testing.T) {
	values := []string{"b", "a"}
	r := in(values...)
	values[0] = "z"
	if diff := cmp.Diff([]string{"a", "b"}, r.Values()); diff != "" {
		t.Errorf("values changed with the caller's slice (-want +got):\n%s", diff)
	}
}

func TestIntersection(t *testing.T) {
	gte, lte := karpenter.OpGte, karpenter.OpLte
	tests := []struct {
		name string
		a, b requirement.Requirement
		want string
	}{
		{"In and In", in("a", "b"), in("b", "c"), "k In [b]"},
		{"In and In apart", in("a"), in("b"), "k contradicts itself"},
		{"In and NotIn", in("a", "b"), notIn("b"), "k In [a]"},
		{"In and NotIn of all", in("a"), notIn("a"), "k contradicts itself"},
		{"In and Exists", in("a", "b"), op(karpenter.OpExists), "k In [a b]"},
		{"In and DoesNotExist", in("a"), op(karpenter.OpDoesNotExist), "k contradicts itself"},
		{"Exists and DoesNotExist", op(karpenter.OpExists), op(karpenter.OpDoesNotExist), "k contradicts itself"},
		{"In forgets bounds", in("3", "5", "x"), op(gte, "4"), "k In [5]"},
		{"NotIn and NotIn", notIn("a"), notIn("b"), "k NotIn [a b]"},
		{"NotIn drops what bounds exclude", notIn("3", "5"), op(gte, "4"), "k NotIn [5] Gte 4"},
		{"only bounds left", notIn("3"), op(gte, "4"), "k Gte 4"},
		{"tightest lower bound", op(gte, "4"), op(gte, "7"), "k Gte 7"},
		{"tightest upper bound", op(lte, "4"), op(lte, "7"), "k Lte 4"},
		{"both bounds", op(gte, "4"), op(lte, "7"), "k Gte 4 Lte 7"},
		{"crossed bounds", op(gte, "7"), op(lte, "4"), "k contradicts itself"},
		{"crossed bounds keep minValues", op(gte, "7").WithMinValues(3), op(lte, "4"), "k contradicts itself"},
		{"larger minValues", in("a", "b").WithMinValues(2), in("a", "b", "c").WithMinValues(3), "k In [a b] minValues 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.a.Intersection(tt.b).String(); got != tt.want {
				t.Errorf("a ∩ b = %q, want %q", got, tt.want)
			}
			if got := tt.b.Intersection(tt.a).String(); got != tt.want {
				t.Errorf("b ∩ a = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOperator(t *testing.T) {
	tests := []struct {
		name string
		give requirement.Requirement
		want karpenter.Operator
	}{
		{"concrete", in("a"), karpenter.OpIn},
		{"concrete empty", in(), karpenter.OpDoesNotExist},
		{"complement with exclusions", notIn("a"), karpenter.OpNotIn},
		{"complement without", op(karpenter.OpExists), karpenter.OpExists},
		{"bounded", op(karpenter.OpGt, "4"), karpenter.OpExists},
		{"bounded with exclusions", op(karpenter.OpGt, "4").Intersection(notIn("9")), karpenter.OpNotIn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.give.Operator(); got != tt.want {
				t.Errorf("Operator() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	gte, lte := op(karpenter.OpGt, "4").Bounds()
	if gte == nil || *gte != 5 || lte != nil {
		t.Errorf("Bounds() = %v, %v, want 5 and none", gte, lte)
	}
	if gte, lte := in("5").Intersection(op(karpenter.OpGt, "4")).Bounds(); gte != nil || lte != nil {
		t.Errorf("Bounds() of a concrete requirement = %v, %v, want none", gte, lte)
	}
}
