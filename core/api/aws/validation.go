package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/wellknown"
)

// Validate reports everything that is wrong with the class as it stands. Call it after SetDefaults.
func (c *EC2NodeClass) Validate() field.ErrorList {
	spec := field.NewPath("spec")
	s := &c.Spec
	errs := s.validateSelectors(spec)
	errs = append(errs, s.validateFamily(spec)...)
	errs = append(errs, s.validateRole(spec)...)
	errs = append(errs, validateTags(s.Tags, spec.Child("tags"))...)
	if s.IPPrefixCount != nil {
		errs = append(errs, between(int64(*s.IPPrefixCount), 0, maxInt32, spec.Child("ipPrefixCount"))...)
	}
	errs = append(errs, s.Kubelet.validate(spec.Child("kubelet"))...)
	errs = append(errs, validateBlockDevices(s.BlockDeviceMappings, spec.Child("blockDeviceMappings"))...)
	if policy := s.InstanceStorePolicy; policy != nil {
		errs = append(errs, oneOf(*policy, spec.Child("instanceStorePolicy"), InstanceStoreRAID0)...)
	}
	errs = append(errs, validateInterfaces(s.NetworkInterfaces, spec.Child("networkInterfaces"))...)
	errs = append(errs, s.MetadataOptions.validate(spec.Child("metadataOptions"))...)
	errs = append(errs, s.ConnectionTracking.validate(spec.Child("connectionTracking"))...)
	if s.CPUOptions != nil {
		errs = append(errs, oneOfOptional(s.CPUOptions.NestedVirtualization, spec.Child("cpuOptions", "nestedVirtualization"), "enabled", "disabled")...)
	}
	return errs
}

// validateFamily checks that the class's family is known and agrees with its alias.
func (s *EC2NodeClassSpec) validateFamily(spec *field.Path) field.ErrorList {
	path := spec.Child("amiFamily")
	if s.AMIFamily != nil {
		if errs := oneOf(*s.AMIFamily, path, Families()...); errs != nil {
			return errs
		}
	}
	for _, term := range s.AMISelectorTerms {
		if term.Alias == "" {
			continue
		}
		family, _, err := ParseAlias(term.Alias)
		if err == nil && s.AMIFamily != nil && *s.AMIFamily != family && *s.AMIFamily != FamilyCustom {
			return field.ErrorList{field.Invalid(path, *s.AMIFamily,
				fmt.Sprintf("must be %s or %s with the alias %s", family, FamilyCustom, term.Alias))}
		}
		return nil
	}
	if s.AMIFamily == nil {
		return field.ErrorList{field.Required(path, "want a family, or an alias in amiSelectorTerms, such as "+FamilyAL2023.Alias(AliasLatest))}
	}
	return nil
}

// validateRole checks that the nodes' permissions come from exactly one place.
func (s *EC2NodeClassSpec) validateRole(spec *field.Path) field.ErrorList {
	switch {
	case s.InstanceProfile != nil && *s.InstanceProfile == "":
		return field.ErrorList{field.Invalid(spec.Child("instanceProfile"), "", "must not be empty")}
	case s.Role == "" && s.InstanceProfile == nil:
		return field.ErrorList{field.Required(spec.Child("role"), "want the name of the nodes' IAM role, or an instanceProfile")}
	case s.Role != "" && s.InstanceProfile != nil:
		return field.ErrorList{field.Forbidden(spec.Child("instanceProfile"), "may not be set with role")}
	default:
		return nil
	}
}

// validateTags refuses the tags by which instances are found again.
func validateTags(tags map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case key == "":
			errs = append(errs, field.Invalid(path, key, "a tag needs a key"))
		case isReservedTag(key):
			errs = append(errs, field.Forbidden(path.Key(key), "this tag is written by the autoscaler"))
		}
	}
	return errs
}

func isReservedTag(key string) bool {
	reserved := []string{wellknown.TagClusterName, wellknown.TagNodePool, wellknown.TagNodeClaim, wellknown.TagNodeClass, wellknown.TagLaunch}
	return slices.Contains(reserved, key) || strings.HasPrefix(key, strings.TrimSuffix(wellknown.TagClusterPrefix, "/"))
}

const maxInt32 = 1<<31 - 1

// between checks that a number lies in a range, its ends included.
func between(value, least, most int64, path *field.Path) field.ErrorList {
	if value >= least && value <= most {
		return nil
	}
	want := fmt.Sprintf("must be %d to %d", least, most)
	if most == maxInt32 {
		want = fmt.Sprintf("must be at least %d", least)
	}
	return field.ErrorList{field.Invalid(path, value, want)}
}

// betweenOptional is between for a number that may be left out.
func betweenOptional(value *int32, least, most int64, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return between(int64(*value), least, most, path)
}

func oneOf[T ~string](value T, path *field.Path, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// oneOfOptional is oneOf for a value that may be left out.
func oneOfOptional(value *string, path *field.Path, allowed ...string) field.ErrorList {
	if value == nil {
		return nil
	}
	return oneOf(*value, path, allowed...)
}
