package karpenter

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/wellknown"
)

// Operators are the operators of a Requirement.
func Operators() []Operator {
	return []Operator{OpIn, OpNotIn, OpExists, OpDoesNotExist, OpGt, OpLt, OpGte, OpLte}
}

// IsBound reports whether the operator compares numbers: it then takes exactly one integer.
func (o Operator) IsBound() bool {
	return o == OpGt || o == OpLt || o == OpGte || o == OpLte
}

// validateRequirements checks the list; restricted says why a key may not be used, or nothing.
func validateRequirements(requirements []Requirement, path *field.Path, restricted func(key string) string) field.ErrorList {
	var errs field.ErrorList
	if len(requirements) > maxRequirements {
		errs = append(errs, field.TooMany(path, len(requirements), maxRequirements))
	}
	for i, requirement := range requirements {
		at := path.Index(i)
		errs = append(errs, validateKey(requirement.Key, at.Child("key"), restricted)...)
		errs = append(errs, requirement.validateValues(at)...)
		errs = append(errs, requirement.validateMinValues(at)...)
	}
	return errs
}

func validateKey(key string, path *field.Path, restricted func(key string) string) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(path, "want a label key")}
	}
	errs := invalid(path, key, validation.IsQualifiedName(key))
	if reason := restricted(key); reason != "" {
		errs = append(errs, field.Invalid(path, key, "this label is restricted: it "+reason))
	}
	return errs
}

func (r *Requirement) validateValues(path *field.Path) field.ErrorList {
	values := path.Child("values")
	var errs field.ErrorList
	switch {
	case !slices.Contains(Operators(), r.Operator):
		return field.ErrorList{field.NotSupported(path.Child("operator"), r.Operator, Operators())}
	case r.Operator.IsBound():
		return r.validateBound(values)
	case r.Operator == OpIn && len(r.Values) == 0:
		errs = append(errs, field.Required(values, "In takes at least one value"))
	}
	for i, value := range r.Values {
		errs = append(errs, invalid(values.Index(i), value, validation.IsValidLabelValue(value))...)
	}
	if known := knownValues(r.Key); r.Operator == OpIn && len(r.Values) > 0 && known.Len() > 0 && !known.HasAny(r.Values...) {
		errs = append(errs, field.Invalid(values, r.Values, fmt.Sprintf("none of these exists, want at least one of %v", sets.List(known))))
	}
	return errs
}

func (r *Requirement) validateBound(path *field.Path) field.ErrorList {
	if len(r.Values) != 1 {
		return field.ErrorList{field.Invalid(path, r.Values,
			fmt.Sprintf("%s takes exactly one integer >= 0, got %d values", r.Operator, len(r.Values)))}
	}
	if value, err := strconv.Atoi(r.Values[0]); err != nil || value < 0 {
		return field.ErrorList{field.Invalid(path.Index(0), r.Values[0],
			fmt.Sprintf("%s takes exactly one integer >= 0", r.Operator))}
	}
	return nil
}

func (r *Requirement) validateMinValues(path *field.Path) field.ErrorList {
	if r.MinValues == nil {
		return nil
	}
	least, at := *r.MinValues, path.Child("minValues")
	if least < 1 || least > maxMinValues {
		return field.ErrorList{field.Invalid(at, least, fmt.Sprintf("must be 1 to %d", maxMinValues))}
	}
	if r.Operator != OpIn {
		return nil
	}
	values := sets.New(r.Values...)
	if known := knownValues(r.Key); known.Len() > 0 {
		values = values.Intersection(known)
	}
	if values.Len() < least {
		return field.ErrorList{field.Invalid(at, least, fmt.Sprintf("In lists only %d values that can occur", values.Len()))}
	}
	return nil
}

// knownValues are all values a label can have; none for a label that may have any.
func knownValues(key string) sets.Set[string] {
	switch key {
	case wellknown.LabelCapacityType:
		return sets.New(wellknown.CapacityTypeSpot, wellknown.CapacityTypeOnDemand, wellknown.CapacityTypeReserved)
	case wellknown.LabelTenancy:
		return sets.New(wellknown.TenancyDefault, wellknown.TenancyDedicated)
	default:
		return nil
	}
}
