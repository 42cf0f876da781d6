package karpenter_test

import (
	"encoding/json"
	"testing"
	"time"

	"whittle/core/api/karpenter"
)

func TestNillableDurationKeepsItsText(t *testing.T) {
	for _, text := range []string{`"30s"`, `"1440m"`, `"720h"`, `"Never"`} {
		var duration karpenter.NillableDuration
		if err := json.Unmarshal([]byte(text), &duration); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(duration); err != nil || string(got) != text {
			t.Errorf("wrote %s, %v; want %s", got, err, text)
		}
	}
}

func TestNillableDurationRefuses(t *testing.T) {
	for _, text := range []string{`"never"`, `"30d"`, `30`, `""`, `{}`} {
		var duration karpenter.NillableDuration
		if err := json.Unmarshal([]byte(text), &duration); err == nil {
			t.Errorf("%s was read as %s", text, duration)
		}
	}
}

func TestNillableDurationEqual(t *testing.T) {
	var day karpenter.NillableDuration
	if err := json.Unmarshal([]byte(`"1440m"`), &day); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		a, b karpenter.NillableDuration
		want bool
	}{
		{"spelled differently", day, karpenter.After(24 * time.Hour), true},
		{"both never", karpenter.NeverHappens(), karpenter.NillableDuration{}, true},
		{"never and at once", karpenter.NeverHappens(), karpenter.After(0), false},
		{"different", day, karpenter.After(time.Hour), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a.Equal(test.b); got != test.want {
				t.Errorf("equal: %v, want %v", got, test.want)
			}
		})
	}
}
