package packing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
	"whittle/core/api/wellknown"
	"whittle/core/packing"
	"whittle/core/resource"
)

func TestReservedCapacityFirstAndNoMoreThanThereIs(t *testing.T) {
	s := diverseSnapshot(t, 0)
	s.Catalog = smallCatalog(t)
	s.NodeClasses[0].Status.CapacityReservations = []aws.CapacityReservation{{
		ID: "cr-1", InstanceType: "c6a.xlarge", AvailabilityZone: "us-east-1a", State: "active", OwnerID: "123456789012", InstanceMatchCriteria: "targeted",
	}}
	s.Settings.ReservedCount = func(string) int { return 2 }
	for _, name := range []string{"a", "b", "c"} {
		s.Pods = append(s.Pods, pendingPod(name, resource.Amounts{corev1.ResourceCPU: 3500}))
	}
	got := map[string]int{}
	for _, l := range packing.Solve(s, packing.Options{}).Launches {
		got[l.Offering.CapacityType]++
		if id := l.Requirements.Get(wellknown.LabelReservationID); l.Offering.CapacityType == wellknown.CapacityTypeReserved && !id.Has("cr-1") {
			t.Errorf("a reserved launch asks for %s", id)
		}
	}
	want := map[string]int{wellknown.CapacityTypeReserved: 2, wellknown.CapacityTypeSpot: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("launches by capacity type (-want +got):\n%s", diff)
	}
}

func TestManyReservationsAreNoFault(t *testing.T) {
	s := diverseSnapshot(t, 0)
	s.Catalog = smallCatalog(t)
	for i := range 90 {
		s.NodeClasses[0].Status.CapacityReservations = append(s.NodeClasses[0].Status.CapacityReservations, aws.CapacityReservation{
			ID: "cr-" + string(rune('a'+i%26)) + string(rune('a'+i/26)), InstanceType: "c6a.xlarge", AvailabilityZone: "us-east-1a", State: "active",
		})
	}
	s.Settings.ReservedCount = func(string) int { return 1 }
	s.Pods = []*corev1.Pod{pendingPod("a", resource.Amounts{corev1.ResourceCPU: 500})}
	if plan := packing.Solve(s, packing.Options{}); len(plan.Launches) != 1 {
		t.Errorf("%d launches, want 1", len(plan.Launches))
	}
}
