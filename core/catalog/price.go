package catalog

import (
	"math"

	"whittle/core/api/wellknown"
)

// Price is what an hour of the type costs in US dollars; false when it is not sold like that, or the
// price is not known.
func (c *Catalog) Price(instanceType, zone, capacityType string) (float64, bool) {
	shape, found := c.Shape(instanceType)
	if !found || !shape.soldIn(zone) {
		return 0, false
	}
	if capacityType != wellknown.CapacityTypeReserved && !shape.soldAs(capacityType) {
		return 0, false
	}
	return shape.price(capacityType)
}

// reservedDivisor makes reserved capacity, which is paid for anyway, cheaper than anything else while it
// keeps the order of types (upstream pkg/providers/instancetype/offering).
const reservedDivisor = 10_000_000

// price of an hour, the same in every zone. Spot follows from the saving on on-demand that AWS publishes;
// where it publishes none the Spot price is unknown, as is any price without the on-demand one.
func (s *Shape) price(capacityType string) (usdPerHour float64, known bool) {
	if s.OnDemandUSD <= 0 {
		return 0, false
	}
	switch capacityType {
	case wellknown.CapacityTypeOnDemand:
		return s.OnDemandUSD, true
	case wellknown.CapacityTypeReserved:
		return s.OnDemandUSD / reservedDivisor, true
	case wellknown.CapacityTypeSpot:
		if s.SpotSavingPercent == nil {
			return 0, false
		}
		return microDollars(s.OnDemandUSD * float64(100-*s.SpotSavingPercent) / 100), true
	default:
		return 0, false
	}
}

// microDollars rounds to the precision in which EC2 quotes Spot prices.
func microDollars(usd float64) float64 {
	return math.Round(usd*1e6) / 1e6
}
