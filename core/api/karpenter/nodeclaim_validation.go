package karpenter

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/wellknown"
)

// Validate reports everything that is wrong with the claim as it stands. Call it after SetDefaults.
func (c *NodeClaim) Validate() field.ErrorList {
	path := field.NewPath("spec")
	errs := c.Spec.NodeClassRef.validate(path.Child("nodeClassRef"))
	errs = append(errs, validateTaints(c.Spec.Taints, c.Spec.StartupTaints, path)...)
	errs = append(errs, validateRequirements(c.Spec.Requirements, path.Child("requirements"), restrictedInClaim)...)
	requests := path.Child("resources", "requests")
	for _, name := range slices.Sorted(maps.Keys(c.Spec.Resources.Requests)) {
		if quantity := c.Spec.Resources.Requests[name]; quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(requests.Key(string(name)), quantity.String(), "must be at least 0"))
		}
	}
	errs = append(errs, validateNillable(c.Spec.ExpireAfter, path.Child("expireAfter"))...)
	return append(errs, validateTerminationGracePeriod(c.Spec.TerminationGracePeriod, path)...)
}

// ValidateUpdate reports what may not change from old to c: anything in the spec.
func (c *NodeClaim) ValidateUpdate(old *NodeClaim) field.ErrorList {
	before, after := old.DeepCopy(), c.DeepCopy()
	before.SetDefaults()
	after.SetDefaults()
	same := equality.Semantic.Copy()
	if err := same.AddFunc(NillableDuration.Equal); err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	if same.DeepEqual(before.Spec, after.Spec) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), "may not change; delete the NodeClaim and let a new one be made")}
}

// restrictedInClaim is wellknown.Restricted without the label of the NodeClass, which a NodePool may not
// ask for but which every NodeClaim made from one carries.
func restrictedInClaim(key string) string {
	if key == wellknown.LabelNodeClass {
		return ""
	}
	return wellknown.Restricted(key)
}
