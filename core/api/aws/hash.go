package aws

import "whittle/core/api/hash"

// Hash is the drift hash of the settings that are fixed at an instance's launch. What a selector finds
// (subnets, security groups, images, capacity reservations) drifts by what it finds, not by how it is
// spelled, and the number of address prefixes does not drift; the AMI family counts as resolved from the
// alias. It is computed over the object with its defaults. It does not equal upstream's number (see
// wellknown.HashVersion), and the cluster's certificate authority is no part of it.
func (c *EC2NodeClass) Hash() string {
	class := c.DeepCopy()
	class.SetDefaults()
	spec := class.Spec
	spec.SubnetSelectorTerms = nil
	spec.SecurityGroupSelectorTerms = nil
	spec.AMISelectorTerms = nil
	spec.CapacityReservationSelectorTerms = nil
	spec.IPPrefixCount = nil
	spec.AMIFamily = nil
	return hash.Of(class.Family(), spec)
}
