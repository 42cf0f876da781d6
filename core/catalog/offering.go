package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
	"whittle/core/api/wellknown"
)

// Offering is one way in which EC2 sells an instance type: in a zone, as a capacity type.
type Offering struct {
	Zone string
	// ZoneID may be empty where it is not known.
	ZoneID       string
	CapacityType string
	// USDPerHour is 0 where no price is known; such an offering is not available.
	USDPerHour float64
	// InterruptionBucket of Spot, as in Shape; 0 for other capacity types.
	InterruptionBucket int
	// Available says that a launch may be tried.
	Available bool

	// The following are set for the capacity type reserved only. Reserved is how many more instances the
	// reservation has room for.
	ReservationID            string
	ReservationType          string
	ReservationInterruptible bool
	Reserved                 int
}

// Label is the value that the offering gives to a label of its nodes; empty where it gives none.
func (o *Offering) Label(key string) string {
	switch key {
	case corev1.LabelTopologyZone:
		return o.Zone
	case wellknown.LabelZoneID:
		return o.ZoneID
	case wellknown.LabelCapacityType:
		return o.CapacityType
	case wellknown.LabelReservationID:
		return o.ReservationID
	case wellknown.LabelReservationType:
		return o.ReservationType
	case wellknown.LabelReservationInterruptible:
		if o.ReservationID != "" {
			return strconv.FormatBool(o.ReservationInterruptible)
		}
	}
	return ""
}

// offerings are all ways to get the shape within the class's zones, whether to be had now or not.
func (b *builder) offerings(shape *Shape) []Offering {
	usable := b.usable(shape)
	offerings := make([]Offering, 0, 2*min(len(b.zones), len(shape.Zones)))
	for _, zone := range b.zones {
		if !shape.soldIn(zone.name) {
			continue
		}
		for _, capacityType := range []string{wellknown.CapacityTypeOnDemand, wellknown.CapacityTypeSpot} {
			if !shape.soldAs(capacityType) {
				continue
			}
			price, priced := shape.price(capacityType)
			offering := Offering{
				Zone: zone.name, ZoneID: zone.id, CapacityType: capacityType,
				USDPerHour: price,
				Available:  usable && priced && !b.soldOut(shape.Name, zone.name, capacityType),
			}
			if capacityType == wellknown.CapacityTypeSpot {
				offering.InterruptionBucket = shape.InterruptionBucket
			}
			offerings = append(offerings, offering)
		}
	}
	return b.withReservations(shape, usable, offerings)
}

func (b *builder) soldOut(instanceType, zone, capacityType string) bool {
	return b.settings.Unavailable != nil && b.settings.Unavailable(instanceType, zone, capacityType)
}

// withReservations adds an offering for each of the class's reservations of the shape in its zones.
func (b *builder) withReservations(shape *Shape, usable bool, offerings []Offering) []Offering {
	plain := len(offerings)
	for i := range b.class.Status.CapacityReservations {
		reservation := &b.class.Status.CapacityReservations[i]
		at := slices.IndexFunc(b.zones, func(z zone) bool { return z.name == reservation.AvailabilityZone })
		if reservation.InstanceType != shape.Name || at < 0 {
			continue
		}
		price, _ := shape.price(wellknown.CapacityTypeReserved)
		count := 0
		if b.settings.ReservedCount != nil {
			count = b.settings.ReservedCount(reservation.ID)
		}
		offerings = append(offerings, Offering{
			Zone: b.zones[at].name, ZoneID: b.zones[at].id, CapacityType: wellknown.CapacityTypeReserved,
			USDPerHour:               price,
			Available:                usable && count > 0 && reservation.State != reservationExpiring,
			ReservationID:            reservation.ID,
			ReservationType:          cmp.Or(reservation.ReservationType, reservationDefault),
			ReservationInterruptible: reservation.Interruptible,
			Reserved:                 count,
		})
	}
	if len(offerings) > plain {
		slices.SortFunc(offerings, func(a, b Offering) int {
			return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.ReservationID, b.ReservationID))
		})
	}
	return offerings
}

// States and types of a capacity reservation.
const (
	reservationExpiring = "expiring"
	reservationDefault  = "default"
)

// usable reports whether the class's settings let EC2 launch the shape at all (upstream
// pkg/providers/instancetype/compatibility). Nested virtualization and the strategies of placement
// groups are not in the data and not checked: EC2 refuses what does not go.
func (b *builder) usable(shape *Shape) bool {
	spec := &b.class.Spec
	family, _, _ := strings.Cut(shape.Name, ".")
	switch {
	case b.family.name == aws.FamilyAL2023 && family == "a1":
		return false
	case b.family.windows() && shape.Arch != archX86:
		return false
	case spec.ConnectionTracking != nil && shape.Hypervisor != "nitro":
		return false
	default:
		return takesInterfaces(shape, spec.NetworkInterfaces)
	}
}

// takesInterfaces reports whether the shape has the cards, places on them and EFAs that a class's list
// of network interfaces needs.
func takesInterfaces(shape *Shape, interfaces []aws.NetworkInterface) bool {
	efas := 0
	for _, ni := range interfaces {
		if int(ni.NetworkCardIndex) >= shape.NetworkCards || int(ni.DeviceIndex) >= shape.interfacesOfCard(int(ni.NetworkCardIndex)) {
			return false
		}
		if ni.InterfaceType == aws.InterfaceTypeEFAOnly {
			efas++
		}
	}
	return efas <= shape.EFAMax
}

// interfacesOfCard is how many interfaces a network card takes. Cards other than the default one share
// what is left of the total evenly.
func (s *Shape) interfacesOfCard(card int) int {
	if card == 0 || s.NetworkCards < 2 {
		return s.DefaultCardENIs
	}
	return (s.TotalENIs - s.DefaultCardENIs) / (s.NetworkCards - 1)
}
