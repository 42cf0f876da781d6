package packing

import (
	"cmp"
	"slices"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// Offer is what EC2 may make of a NodeClaim.
type Offer struct {
	CapacityType string
	// Overrides are the instance types and zones to choose from, cheapest first; none when nothing the
	// catalog knows satisfies the claim.
	Overrides []cluster.LaunchOverride
	// Types are all instance types by name, as nodes of the claim's class.
	Types map[string]*catalog.InstanceType
}

// OfferFor works out what may be launched for a NodeClaim, whoever made it: reserved capacity if the
// claim allows it and there is any, else Spot, else on-demand, as upstream chooses.
func OfferFor(s *cluster.Snapshot, claim *karpenter.NodeClaim, class *aws.EC2NodeClass) Offer {
	p := &pool{object: &karpenter.NodePool{}, class: class, template: requirement.FromSpec(claim.Spec.Requirements)}
	p.compile(newTypeIndex(s.InstanceTypes(class)))
	offer := Offer{Types: make(map[string]*catalog.InstanceType, len(p.types))}
	for t := range p.types {
		offer.Types[p.types[t].Name] = &p.types[t]
	}
	requests := resource.FromList(claim.Spec.Resources.Requests)
	for _, capacityType := range []string{wellknown.CapacityTypeReserved, wellknown.CapacityTypeSpot, wellknown.CapacityTypeOnDemand} {
		ranked := p.ranked(requests, capacityType, false)
		if len(ranked) == 0 {
			ranked = p.ranked(requests, capacityType, true)
		}
		if len(ranked) == 0 {
			continue
		}
		offer.CapacityType = capacityType
		for _, candidate := range cheapestFirst(ranked) {
			for _, zone := range candidate.Zones {
				offer.Overrides = append(offer.Overrides, cluster.LaunchOverride{
					InstanceType: candidate.InstanceType, Zone: zone.Zone, USDPerHour: zone.USDPerHour,
				})
			}
		}
		slices.SortStableFunc(offer.Overrides, func(a, b cluster.LaunchOverride) int { return cmp.Compare(a.USDPerHour, b.USDPerHour) })
		return offer
	}
	return offer
}

// ranked are the pool's types that hold the requests as the capacity type, exotic ones or the others.
func (p *pool) ranked(requests resource.Amounts, capacityType string, exotic bool) []rankedCandidate {
	var ranked []rankedCandidate
	for t := range p.types {
		zones := p.zonePrices(t, p.available[t], capacityType)
		if len(zones) > 0 && p.exotic[t] == exotic && requests.Fits(p.types[t].Allocatable) {
			ranked = append(ranked, p.rank(t, zones, capacityType))
		}
	}
	return ranked
}
