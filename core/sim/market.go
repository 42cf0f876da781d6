package sim

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/resource"
)

// market is what EC2 sells: instance types in zones, at the catalog's prices, while there is capacity.
type market struct {
	catalog    *catalog.Catalog
	rules      []*capacityRule
	realMemory func(instanceType string) float64
}

// capacityRule says how many more instances of what it matches can be launched; -1 is any number.
type capacityRule struct {
	offering cluster.Offering
	left     int
}

// offer is one override of a launch at EC2's own price.
type offer struct {
	cluster.Offering
	usdPerHour float64
}

// SetCapacity says how many more instances can be launched of an offering; -1, which is how the world
// begins, is any number. An empty field of the offering stands for all. The latest rule that matches is
// the one that holds.
func (e *EC2) SetCapacity(offering cluster.Offering, n int) {
	e.market.rules = append(e.market.rules, &capacityRule{offering: offering, left: n})
}

// RealMemory makes the memory of instances differ from what the catalog says, by the factor for their
// type; 1 is as the catalog says.
func (e *EC2) RealMemory(factor func(instanceType string) float64) { e.market.realMemory = factor }

// take uses capacity for one instance; false says that there is none.
func (m *market) take(offering cluster.Offering) bool {
	for _, rule := range slices.Backward(m.rules) {
		if !rule.matches(offering) {
			continue
		}
		switch {
		case rule.left < 0:
			return true
		case rule.left == 0:
			return false
		default:
			rule.left--
			return true
		}
	}
	return true
}

func (r *capacityRule) matches(offering cluster.Offering) bool {
	match := func(want, have string) bool { return want == "" || want == have }
	return match(r.offering.InstanceType, offering.InstanceType) &&
		match(r.offering.Zone, offering.Zone) &&
		match(r.offering.CapacityType, offering.CapacityType)
}

// offers are a request's overrides in the order in which EC2 tries them: the cheapest first, for on-demand
// (lowest-price) as for Spot, where every pool counts as equally deep (price-capacity-optimized). Those that
// EC2 does not sell are refused.
func (m *market) offers(request cluster.LaunchRequest) (offers []offer, refused []cluster.LaunchFailure) {
	for _, override := range request.Overrides {
		offering := cluster.Offering{InstanceType: override.InstanceType, Zone: override.Zone, CapacityType: request.CapacityType}
		price, sold := m.price(request.NodeClass, offering)
		if !sold {
			refused = append(refused, cluster.LaunchFailure{
				Offering: offering, Code: "InvalidFleetConfiguration",
				Message: fmt.Sprintf("%s is not offered in %s as asked for.", override.InstanceType, override.Zone),
			})
			continue
		}
		offers = append(offers, offer{Offering: offering, usdPerHour: cmp.Or(price, override.USDPerHour)})
	}
	slices.SortStableFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.usdPerHour, b.usdPerHour), cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.Zone, b.Zone))
	})
	return offers, refused
}

// price is what an hour costs by the catalog, 0 where it does not know; sold is false when EC2 does not
// sell the offering in the subnets of the class.
func (m *market) price(class *aws.EC2NodeClass, wanted cluster.Offering) (usdPerHour float64, sold bool) {
	shape := m.shape(class, wanted.InstanceType)
	for i := range shape.Offerings {
		offering := &shape.Offerings[i]
		if offering.Zone == wanted.Zone && offering.CapacityType == wanted.CapacityType {
			return offering.USDPerHour, true
		}
	}
	return 0, false
}

// shape is the instance type with the settings of a class; it is empty for a type that does not exist.
func (m *market) shape(class *aws.EC2NodeClass, instanceType string) catalog.InstanceType {
	figures, found := m.catalog.Shape(instanceType)
	if !found {
		return catalog.InstanceType{}
	}
	if class == nil {
		class = &aws.EC2NodeClass{}
	}
	only := &catalog.Catalog{Region: m.catalog.Region, Shapes: []catalog.Shape{*figures}, ZoneIDs: m.catalog.ZoneIDs}
	for _, shape := range only.InstanceTypes(class, catalog.Settings{}) {
		return shape
	}
	return catalog.InstanceType{}
}

// room is what an instance has for pods: what the catalog says, corrected by what its memory really is.
func (m *market) room(shape catalog.InstanceType) (capacity, allocatable resource.Amounts) {
	capacity, allocatable = shape.Capacity.Clone(), shape.Allocatable.Clone()
	if m.realMemory != nil {
		nominal := capacity[corev1.ResourceMemory]
		actual := int64(float64(nominal) * m.realMemory(shape.Name))
		capacity[corev1.ResourceMemory] = actual
		allocatable[corev1.ResourceMemory] = max(0, allocatable[corev1.ResourceMemory]-(nominal-actual))
	}
	return capacity, allocatable
}

// image is the first image of the class that is for the type's architecture.
func (m *market) image(class *aws.EC2NodeClass, instanceType string) string {
	if class == nil {
		return ""
	}
	arch := m.shape(class, instanceType).Labels[corev1.LabelArchStable]
	for _, ami := range class.Status.AMIs {
		for _, requirement := range ami.Requirements {
			if requirement.Key == corev1.LabelArchStable && slices.Contains(requirement.Values, arch) {
				return ami.ID
			}
		}
	}
	return ""
}
