package packing

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/resource"
)

// Missing is how many nodes a static NodePool lacks: its replicas less its NodeClaims that are not going, as
// far as its limit on nodes allows. It is 0 for a pool that is not static.
func Missing(s *cluster.Snapshot, pool string) int {
	object := s.NodePool(pool)
	if object == nil || object.Spec.Replicas == nil || object.DeletionTimestamp != nil {
		return 0
	}
	have, all := 0, 0
	for _, claim := range s.NodeClaims {
		if claim.Labels[wellknown.LabelNodePool] != pool {
			continue
		}
		all++
		if claim.DeletionTimestamp == nil {
			have++
		}
	}
	missing := int(*object.Spec.Replicas) - have
	if limit, limited := object.Spec.Limits[wellknown.ResourceNodes]; limited {
		missing = min(missing, int(resource.Of(wellknown.ResourceNodes, limit))-all)
	}
	return max(missing, 0)
}

// staticLaunches are the nodes that static NodePools lack: made from the template alone, whatever the pods.
func (p *problem) staticLaunches() []Launch {
	var launches []Launch
	for _, pool := range p.pools {
		if pool.class == nil || pool.class.DeletionTimestamp != nil {
			continue
		}
		for ordinal := range Missing(p.snapshot, pool.object.Name) {
			if l, ok := pool.staticLaunch(p.snapshot, ordinal); ok {
				launches = append(launches, l)
			}
		}
	}
	return launches
}

func (p *pool) staticLaunch(s *cluster.Snapshot, ordinal int) (l Launch, ok bool) {
	for _, capacityType := range []string{wellknown.CapacityTypeReserved, wellknown.CapacityTypeSpot, wellknown.CapacityTypeOnDemand} {
		ranked := p.ranked(nil, capacityType, false)
		if len(ranked) == 0 {
			ranked = p.ranked(nil, capacityType, true)
		}
		if len(ranked) == 0 {
			continue
		}
		candidates := cheapestFirst(ranked)
		first := candidates[0]
		n := &node{slots: p.slotsOf(capacityType)}
		return Launch{
			NodePool: p.object, NodeClass: p.class, Candidates: candidates, ExtraUSDPerHour: p.extra,
			Offering:     cluster.Offering{InstanceType: first.InstanceType, Zone: first.Zones[0].Zone, CapacityType: capacityType},
			USDPerHour:   first.Zones[0].USDPerHour,
			Requirements: p.requirementsOf(n, candidates, capacityType),
			Requests:     resource.Amounts{},
			Earlier:      append(claimsOf(s, p.object.Name), types.UID(strconv.Itoa(ordinal))),
		}, true
	}
	return Launch{}, false
}

// slotsOf are the slots of a capacity type, the first reservation's if it is reserved.
func (p *pool) slotsOf(capacityType string) uint64 {
	for i, s := range p.slots {
		if s.CapacityType == capacityType {
			return p.alike(i)
		}
	}
	return 0
}

// claimsOf are the UIDs of the NodePool's claims, sorted.
func claimsOf(s *cluster.Snapshot, pool string) []types.UID {
	var uids []types.UID
	for _, claim := range s.NodeClaims {
		if claim.Labels[wellknown.LabelNodePool] == pool {
			uids = append(uids, claim.UID)
		}
	}
	slices.Sort(uids)
	return uids
}
