package catalog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whittle/core/api/aws"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
)

// m5.large costs $0.096, Spot 66 % less; it is sold in zones a, b, c, d and f.
const (
	m5Large     = 0.096
	m5LargeSpot = 0.03264
)

// lines spells offerings one a line, those not available with a leading minus.
func lines(offerings []catalog.Offering) []string {
	var spelled []string
	for _, o := range offerings {
		sign := "+"
		if !o.Available {
			sign = "-"
		}
		line := fmt.Sprintf("%s %s %s %s %g", sign, o.Zone, o.ZoneID, o.CapacityType, o.USDPerHour)
		if o.ReservationID != "" {
			line += fmt.Sprintf(" %s %s %v %d", o.ReservationID, o.ReservationType, o.ReservationInterruptible, o.Reserved)
		}
		spelled = append(spelled, line)
	}
	return spelled
}

func inZones(zones ...aws.Subnet) func(*aws.EC2NodeClass) {
	return func(c *aws.EC2NodeClass) { c.Status.Subnets = zones }
}

func TestOfferings(t *testing.T) {
	interfaces := func(card, device int32, kind string) func(*aws.EC2NodeClass) {
		return func(c *aws.EC2NodeClass) {
			inZones(aws.Subnet{Zone: "us-east-1a"})(c)
			c.Spec.NetworkInterfaces = []aws.NetworkInterface{
				{InterfaceType: aws.InterfaceTypeInterface},
				{NetworkCardIndex: card, DeviceIndex: device, InterfaceType: kind},
			}
		}
	}
	tracked := func(c *aws.EC2NodeClass) {
		inZones(aws.Subnet{Zone: "us-east-1a"})(c)
		seconds := int32(350)
		c.Spec.ConnectionTracking = &aws.ConnectionTracking{TCPEstablishedTimeout: &seconds}
	}
	soldOut := func(instanceType, zone, capacityType string) bool {
		return instanceType == "m5.large" && zone == "us-east-1b" && capacityType == wellknown.CapacityTypeSpot
	}
	tests := []struct {
		name     string
		give     string
		class    *aws.EC2NodeClass
		settings catalog.Settings
		want     []string
	}{
		{
			"zones of the subnets", "m5.large",
			al2023(inZones(aws.Subnet{ID: "subnet-1", Zone: "us-east-1b", ZoneID: "use1-az9"}, aws.Subnet{ID: "subnet-2", Zone: "us-east-1a"},
				aws.Subnet{ID: "subnet-3", Zone: "us-east-1b"}, aws.Subnet{ID: "subnet-4", Zone: "us-east-1e"})),
			catalog.Settings{},
			[]string{
				"+ us-east-1a use1-az6 on-demand 0.096", "+ us-east-1a use1-az6 spot 0.03264",
				"+ us-east-1b use1-az9 on-demand 0.096", "+ us-east-1b use1-az9 spot 0.03264",
			},
		},
		{
			"sold out", "m5.large", al2023(inZones(aws.Subnet{Zone: "us-east-1b"})),
			catalog.Settings{Unavailable: soldOut},
			[]string{"+ us-east-1b use1-az1 on-demand 0.096", "- us-east-1b use1-az1 spot 0.03264"},
		},
		{
			"no saving known, hence no Spot", "c8i.large", al2023(inZones(aws.Subnet{Zone: "us-east-1a"})),
			catalog.Settings{},
			[]string{"+ us-east-1a use1-az6 on-demand 0.09371", "- us-east-1a use1-az6 spot 0"},
		},
		{
			"on-demand only", "hpc7g.4xlarge", classOf(aws.FamilyAL2023),
			catalog.Settings{},
			[]string{"+ us-east-1c use1-az2 on-demand 1.6832"},
		},
		{"not sold in the region", "p5e.48xlarge", classOf(aws.FamilyAL2023), catalog.Settings{}, nil},
		{
			"a1 does not run AL2023", "a1.medium", al2023(inZones(aws.Subnet{Zone: "us-east-1a"})),
			catalog.Settings{},
			[]string{"- us-east-1a use1-az6 on-demand 0.0255", "- us-east-1a use1-az6 spot 0.0255"},
		},
		{
			"connection tracking on xen", "c3.large", al2023(tracked),
			catalog.Settings{},
			[]string{"- us-east-1a use1-az6 on-demand 0.105", "- us-east-1a use1-az6 spot 0.0315"},
		},
		{
			"connection tracking on nitro", "m5.large", al2023(tracked),
			catalog.Settings{},
			[]string{"+ us-east-1a use1-az6 on-demand 0.096", "+ us-east-1a use1-az6 spot 0.03264"},
		},
		{
			"a card that is not there", "m5.large", al2023(interfaces(1, 1, aws.InterfaceTypeInterface)),
			catalog.Settings{},
			[]string{"- us-east-1a use1-az6 on-demand 0.096", "- us-east-1a use1-az6 spot 0.03264"},
		},
		{
			"more interfaces than the card takes", "m5.large", al2023(interfaces(0, 3, aws.InterfaceTypeInterface)),
			catalog.Settings{},
			[]string{"- us-east-1a use1-az6 on-demand 0.096", "- us-east-1a use1-az6 spot 0.03264"},
		},
		{
			"as many interfaces as the card takes", "m5.large", al2023(interfaces(0, 2, aws.InterfaceTypeInterface)),
			catalog.Settings{},
			[]string{"+ us-east-1a use1-az6 on-demand 0.096", "+ us-east-1a use1-az6 spot 0.03264"},
		},
		{
			"EFA where there is none", "m5.large", al2023(interfaces(0, 1, aws.InterfaceTypeEFAOnly)),
			catalog.Settings{},
			[]string{"- us-east-1a use1-az6 on-demand 0.096", "- us-east-1a use1-az6 spot 0.03264"},
		},
		{
			"EFA on the second card", "p4d.24xlarge", al2023(interfaces(1, 1, aws.InterfaceTypeEFAOnly)),
			catalog.Settings{},
			[]string{"+ us-east-1a use1-az6 on-demand 21.957642", "+ us-east-1a use1-az6 spot 7.246022"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := lines(instanceType(t, tt.give, tt.class, tt.settings).Offerings)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWindowsNeedsAMD64(t *testing.T) {
	for _, o := range instanceType(t, "m7g.medium", classOf(aws.FamilyWindows2022), catalog.Settings{}).Offerings {
		if o.Available {
			t.Errorf("%+v is available", o)
		}
	}
}

func TestReservedOfferings(t *testing.T) {
	class := al2023(func(c *aws.EC2NodeClass) {
		inZones(aws.Subnet{Zone: "us-east-1a"})(c)
		c.Status.CapacityReservations = []aws.CapacityReservation{
			{ID: "cr-4", InstanceType: "m5.large", AvailabilityZone: "us-east-1a", State: "expiring", ReservationType: "capacity-block"},
			{ID: "cr-3", InstanceType: "m5.large", AvailabilityZone: "us-east-1a", State: "active", Interruptible: true},
			{ID: "cr-2", InstanceType: "m5.large", AvailabilityZone: "us-east-1a", State: "active"},
			{ID: "cr-1", InstanceType: "m5.large", AvailabilityZone: "us-east-1b", State: "active"},
			{ID: "cr-0", InstanceType: "m5.xlarge", AvailabilityZone: "us-east-1a", State: "active"},
		}
	})
	room := map[string]int{"cr-1": 5, "cr-2": 5, "cr-4": 5}
	it := instanceType(t, "m5.large", class, catalog.Settings{ReservedCount: func(id string) int { return room[id] }})
	want := []string{
		"+ us-east-1a use1-az6 on-demand 0.096",
		"+ us-east-1a use1-az6 reserved 9.6e-09 cr-2 default false 5",
		"- us-east-1a use1-az6 reserved 9.6e-09 cr-3 default true 0",
		"- us-east-1a use1-az6 reserved 9.6e-09 cr-4 capacity-block false 5",
		"+ us-east-1a use1-az6 spot 0.03264",
	}
	if diff := cmp.Diff(want, lines(it.Offerings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := it.Requirements()[wellknown.LabelReservationID].Values(), []string{"cr-2", "cr-3", "cr-4"}; !cmp.Equal(got, want) {
		t.Errorf("reservation ids %v, want %v", got, want)
	}
	if got, want := it.Requirements()[wellknown.LabelCapacityType].Values(), []string{"on-demand", "reserved", "spot"}; !cmp.Equal(got, want) {
		t.Errorf("capacity types %v, want %v", got, want)
	}
	for _, o := range instanceType(t, "m5.large", class, catalog.Settings{}).Offerings {
		if o.CapacityType == wellknown.CapacityTypeReserved && o.Available {
			t.Errorf("%s is available though its room is not known", o.ReservationID)
		}
	}
}

func TestInterruptionBucketIsOfSpotOnly(t *testing.T) {
	for _, o := range instanceType(t, "m5.large", classOf(aws.FamilyAL2023), catalog.Settings{}).Offerings {
		want := 0
		if o.CapacityType == wellknown.CapacityTypeSpot {
			want = 3
		}
		if o.InterruptionBucket != want {
			t.Errorf("%s %s: bucket %d, want %d", o.Zone, o.CapacityType, o.InterruptionBucket, want)
		}
	}
}

func TestPrice(t *testing.T) {
	c := embedded(t)
	tests := []struct {
		name                             string
		instanceType, zone, capacityType string
		want                             float64
		known                            bool
	}{
		{"on-demand", "m5.large", "us-east-1a", "on-demand", m5Large, true},
		{"Spot", "m5.large", "us-east-1f", "spot", m5LargeSpot, true},
		{"reserved", "m5.large", "us-east-1a", "reserved", m5Large / 10_000_000, true},
		{"zone without the type", "m5.large", "us-east-1e", "on-demand", 0, false},
		{"type without Spot", "u7in-16tb.224xlarge", "us-east-1a", "spot", 0, false},
		{"Spot without a known saving", "c8i.large", "us-east-1a", "spot", 0, false},
		{"no price", "mac2.metal", "us-east-1a", "on-demand", 0, false},
		{"no such type", "m5.enormous", "us-east-1a", "on-demand", 0, false},
		{"no such capacity type", "p5.48xlarge", "us-east-1a", "capacity-block", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, known := c.Price(tt.instanceType, tt.zone, tt.capacityType)
			if got != tt.want || known != tt.known {
				t.Errorf("Price = %g, %v, want %g, %v", got, known, tt.want, tt.known)
			}
		})
	}
}
