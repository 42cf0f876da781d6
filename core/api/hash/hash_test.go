package hash_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"whittle/core/api/hash"
)

func TestOfTellsApart(t *testing.T) {
	values := []any{
		nil, "a", "b", false, true, 0, 1, "0", "1", "true", "null",
		[]string{"a", "b"},
		[]string{"a"},
		map[string]string{"a": "b"},
		map[string]string{"b": "a"},
		map[string]any{"a": false},
		map[string]any{"a": 0},
		[]any{"a", map[string]string{"a": "b"}},
		[][]string{{"a"}, {"b"}},
		`["a","b"]`,
	}
	seen := map[string]any{}
	for _, value := range values {
		sum := hash.Of(value)
		if other, taken := seen[sum]; taken {
			t.Errorf("%#v and %#v have the same hash", value, other)
		}
		seen[sum] = value
	}
}

func TestOfIgnoresWhatSaysNothing(t *testing.T) {
	want := hash.Of(map[string]any{"a": 1})
	for name, value := range map[string]any{
		"null":         map[string]any{"a": 1, "b": nil},
		"empty text":   map[string]any{"a": 1, "b": ""},
		"empty list":   map[string]any{"a": 1, "b": []any{}},
		"empty object": map[string]any{"a": 1, "b": map[string]any{"c": map[string]any{}}},
	} {
		if got := hash.Of(value); got != want {
			t.Errorf("%s changes the hash", name)
		}
	}
}

func TestOfTellsPartsApart(t *testing.T) {
	if hash.Of("a", "") == hash.Of("", "a") {
		t.Error("the place of a part does not count")
	}
}

func TestOfIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOf(rapid.StringN(0, 3, -1)).Draw(t, "items")
		want := hash.Of(items)
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffle.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		if got := hash.Of(items); got != want {
			t.Fatalf("%q: %s, want %s", items, got, want)
		}
	})
}
