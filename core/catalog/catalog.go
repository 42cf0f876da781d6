// Package catalog knows what EC2 sells: instance types with their labels, what a node of each offers to
// pods, the zones and capacity types they come in, and prices. It computes all of it from plain figures
// (Shape) and an EC2NodeClass, along upstream's pkg/providers/instancetype; it asks nobody anything and
// decides nothing.
package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"whittle/core/api/aws"
	"whittle/core/resource"
)

// Catalog is what one region of EC2 sells. It is immutable once made.
type Catalog struct {
	Region string
	// Shapes are sorted by name.
	Shapes []Shape
	// ZoneIDs maps the region's zones to the ids that name the same place in every account. Which name
	// goes with which id differs between accounts, so the zone ids of a class's subnets win over these.
	ZoneIDs map[string]string
}

// Zones are the names of the region's zones, sorted.
func (c *Catalog) Zones() []string {
	return slices.Sorted(maps.Keys(c.ZoneIDs))
}

// Shape finds an instance type's figures by its name.
func (c *Catalog) Shape(name string) (*Shape, bool) {
	i, found := slices.BinarySearchFunc(c.Shapes, name, func(s Shape, name string) int {
		return strings.Compare(s.Name, name)
	})
	if !found {
		return nil, false
	}
	return &c.Shapes[i], true
}

// Settings are what InstanceTypes needs beside the class. The zero value is a fresh region: upstream's
// defaults, nothing sold out, nothing observed.
type Settings struct {
	// VMMemoryOverhead is the share of an instance's memory that the hypervisor is taken to keep; 0 means
	// upstream's 0.075 (VM_MEMORY_OVERHEAD_PERCENT).
	VMMemoryOverhead float64
	// ReservedENIs are the network interfaces of each instance that pods do not get (RESERVED_ENIS).
	ReservedENIs int
	// Unavailable tells offerings that EC2 lately had no capacity for; nil means none.
	Unavailable func(instanceType, zone, capacityType string) bool
	// ObservedMemory is the smallest memory capacity that a node of the type with the image has
	// registered with; it replaces the estimate. nil means nothing was observed.
	ObservedMemory func(instanceType, amiID string) (bytes int64, ok bool)
	// ReservedCount is how many instances a capacity reservation still has room for; nil means that no
	// reservation is known to have any.
	ReservedCount func(reservationID string) int
}

const defaultVMMemoryOverhead = 0.075

// InstanceTypes are the types as nodes of the class would be, sorted by name. All types that run Linux
// or Windows are there, also those that the class cannot use: these have no available offering. The
// result and what it refers to must not be changed.
func (c *Catalog) InstanceTypes(class *aws.EC2NodeClass, settings Settings) []InstanceType {
	if settings.VMMemoryOverhead == 0 {
		settings.VMMemoryOverhead = defaultVMMemoryOverhead
	}
	kubelet := kubeletOf(class)
	b := builder{
		region:              c.Region,
		class:               class,
		family:              familyOf(class),
		zones:               c.zonesOf(class),
		settings:            settings,
		kubelet:             kubelet,
		kubeReservedByClass: parseReserved(kubelet.KubeReserved),
		systemReserved:      parseReserved(kubelet.SystemReserved),
		reservations:        map[reservation]resource.Amounts{},
	}
	types := make([]InstanceType, 0, len(c.Shapes))
	for i := range c.Shapes {
		if shape := &c.Shapes[i]; shape.kubernetesArch() != "" {
			types = append(types, b.build(shape))
		}
	}
	return types
}

// zone is a place in which a class's nodes may be.
type zone struct {
	name, id string
}

// zonesOf are the zones of the class's subnets, sorted, or all zones as long as no subnet has been found,
// as in a simulation without a cloud.
func (c *Catalog) zonesOf(class *aws.EC2NodeClass) []zone {
	ids := maps.Clone(c.ZoneIDs)
	if len(class.Status.Subnets) > 0 {
		ids = map[string]string{}
	}
	for _, subnet := range class.Status.Subnets {
		ids[subnet.Zone] = cmp.Or(subnet.ZoneID, ids[subnet.Zone], c.ZoneIDs[subnet.Zone])
	}
	zones := make([]zone, 0, len(ids))
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		zones = append(zones, zone{name: name, id: ids[name]})
	}
	return zones
}
