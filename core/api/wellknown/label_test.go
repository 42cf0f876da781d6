package wellknown_test

import (
	"slices"
	"testing"

	"whittle/core/api/wellknown"
)

func TestLabelsAreWrittenInTheirOrder(t *testing.T) {
	if !slices.IsSorted(wellknown.Labels()) {
		t.Errorf("Labels() are not sorted: %v", wellknown.Labels())
	}
}
