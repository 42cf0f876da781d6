package sim

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"whittle/core/cluster"
)

// Ledger is the account's memory beside the cluster, as DynamoDB is: what was launched, which offerings
// are out of capacity, who holds which lease.
type Ledger struct {
	world    *World
	launches map[string]cluster.LaunchRequest
	outages  map[cluster.Offering]cluster.Outage
	leases   map[string]lease
}

type lease struct {
	owner string
	until time.Time
}

func newLedger(w *World) *Ledger {
	return &Ledger{
		world: w, launches: map[string]cluster.LaunchRequest{},
		outages: map[cluster.Offering]cluster.Outage{}, leases: map[string]lease{},
	}
}

// Outages are the offerings without capacity whose time is not over, by instance type, zone and capacity
// type.
func (l *Ledger) Outages(context.Context) ([]cluster.Outage, error) {
	var current []cluster.Outage
	for outage := range maps.Values(l.outages) {
		if l.world.clock.now.Before(outage.Until) {
			current = append(current, outage)
		}
	}
	slices.SortFunc(current, func(a, b cluster.Outage) int {
		return cmp.Or(cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	return current, nil
}

// RecordOutage remembers an offering without capacity; the latest record of an offering holds.
func (l *Ledger) RecordOutage(_ context.Context, outage cluster.Outage) error {
	object := outage.InstanceType + " " + outage.Zone + " " + outage.CapacityType
	return l.world.effect("ledger.RecordOutage", object, func() error {
		l.outages[outage.Offering] = outage
		return nil
	})
}

// RecordedLaunch is the request of that id, if one was recorded.
func (l *Ledger) RecordedLaunch(_ context.Context, id string) (recorded cluster.LaunchRequest, found bool, err error) {
	recorded, found = l.launches[id]
	if !found {
		return cluster.LaunchRequest{}, false, nil
	}
	return cloneRequest(recorded), true, nil
}

// RecordLaunch stores a request unless one with its ID is there, and returns the stored one.
func (l *Ledger) RecordLaunch(_ context.Context, request cluster.LaunchRequest) (recorded cluster.LaunchRequest, existed bool, err error) {
	err = l.world.effect("ledger.RecordLaunch", request.ID, func() error {
		recorded, existed = l.launches[request.ID]
		if !existed {
			recorded = cloneRequest(request)
			l.launches[request.ID] = recorded
		}
		return nil
	})
	if err != nil {
		return cluster.LaunchRequest{}, false, err
	}
	return cloneRequest(recorded), existed, nil
}

// AcquireLease takes a lease for ttl: one that is free, has run out, or is the owner's already. It reports
// whether it is the owner's now.
func (l *Ledger) AcquireLease(_ context.Context, name, owner string, ttl time.Duration) (bool, error) {
	var acquired bool
	err := l.world.effect("ledger.AcquireLease", name, func() error {
		now := l.world.clock.now
		held, ok := l.leases[name]
		acquired = !ok || held.owner == owner || !now.Before(held.until)
		if acquired {
			l.leases[name] = lease{owner: owner, until: now.Add(ttl)}
		}
		return nil
	})
	return acquired && err == nil, err
}

// ReleaseLease gives a lease back. One that is somebody else's by now stays theirs.
func (l *Ledger) ReleaseLease(_ context.Context, name, owner string) error {
	return l.world.effect("ledger.ReleaseLease", name, func() error {
		if l.leases[name].owner == owner {
			delete(l.leases, name)
		}
		return nil
	})
}
