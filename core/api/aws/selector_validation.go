package aws

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxTerms       = 30
	maxTermTags    = 20
	maxAliasLength = 30
)

// The shapes of AWS identifiers. Upstream leaves those of subnets, security groups and images unanchored,
// which lets text around an id through that EC2 then refuses; here they are whole.
var (
	subnetID         = regexp.MustCompile(`^subnet-[0-9a-z]+$`)
	securityGroupID  = regexp.MustCompile(`^sg-[0-9a-z]+$`)
	imageID          = regexp.MustCompile(`^ami-[0-9a-z]+$`)
	reservationID    = regexp.MustCompile(`^cr-[0-9a-z]+$`)
	placementGroupID = regexp.MustCompile(`^pg-[0-9a-z]+$`)
	accountID        = regexp.MustCompile(`^[0-9]{12}$`)
)

func (s *EC2NodeClassSpec) validateSelectors(spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	subnets := spec.Child("subnetSelectorTerms")
	errs = append(errs, validateCount(len(s.SubnetSelectorTerms), 1, subnets)...)
	for i, term := range s.SubnetSelectorTerms {
		errs = append(errs, term.validate(subnets.Index(i))...)
	}
	groups := spec.Child("securityGroupSelectorTerms")
	errs = append(errs, validateCount(len(s.SecurityGroupSelectorTerms), 1, groups)...)
	for i, term := range s.SecurityGroupSelectorTerms {
		errs = append(errs, term.validate(groups.Index(i))...)
	}
	images := spec.Child("amiSelectorTerms")
	errs = append(errs, validateCount(len(s.AMISelectorTerms), 1, images)...)
	for i, term := range s.AMISelectorTerms {
		errs = append(errs, term.validate(images.Index(i), len(s.AMISelectorTerms) == 1)...)
	}
	reservations := spec.Child("capacityReservationSelectorTerms")
	errs = append(errs, validateCount(len(s.CapacityReservationSelectorTerms), 0, reservations)...)
	for i, term := range s.CapacityReservationSelectorTerms {
		errs = append(errs, term.validate(reservations.Index(i))...)
	}
	return append(errs, s.PlacementGroupSelector.validate(spec.Child("placementGroupSelector"))...)
}

func validateCount(terms, least int, path *field.Path) field.ErrorList {
	switch {
	case terms < least:
		return field.ErrorList{field.Required(path, fmt.Sprintf("want 1 to %d terms", maxTerms))}
	case terms > maxTerms:
		return field.ErrorList{field.TooMany(path, terms, maxTerms)}
	default:
		return nil
	}
}

func (t *SubnetSelectorTerm) validate(path *field.Path) field.ErrorList {
	term := selectorTerm{path: path}
	term.has("tags", len(t.Tags) > 0)
	term.has("id", t.ID != "")
	errs := term.needsOneOf("tags", "id")
	errs = append(errs, term.alone("id", "tags")...)
	errs = append(errs, validateTermTags(t.Tags, path)...)
	return append(errs, shaped(t.ID, subnetID, path.Child("id"), `want an id such as "subnet-0123456789abcdef0"`)...)
}

func (t *SecurityGroupSelectorTerm) validate(path *field.Path) field.ErrorList {
	term := selectorTerm{path: path}
	term.has("tags", len(t.Tags) > 0)
	term.has("id", t.ID != "")
	term.has("name", t.Name != "")
	errs := term.needsOneOf("tags", "id", "name")
	errs = append(errs, term.alone("id", "tags", "name")...)
	errs = append(errs, term.alone("name", "tags")...)
	errs = append(errs, validateTermTags(t.Tags, path)...)
	return append(errs, shaped(t.ID, securityGroupID, path.Child("id"), `want an id such as "sg-0123456789abcdef0"`)...)
}

func (t *CapacityReservationSelectorTerm) validate(path *field.Path) field.ErrorList {
	term := selectorTerm{path: path}
	term.has("tags", len(t.Tags) > 0)
	term.has("id", t.ID != "")
	term.has("ownerID", t.OwnerID != "")
	term.has("instanceMatchCriteria", t.InstanceMatchCriteria != "")
	errs := term.needsOneOf("tags", "id", "instanceMatchCriteria")
	errs = append(errs, term.alone("id", "tags", "ownerID", "instanceMatchCriteria")...)
	errs = append(errs, validateTermTags(t.Tags, path)...)
	errs = append(errs, shaped(t.ID, reservationID, path.Child("id"), `want an id such as "cr-0123456789abcdef0"`)...)
	errs = append(errs, shaped(t.OwnerID, accountID, path.Child("ownerID"), "want the 12 digits of an account")...)
	if t.InstanceMatchCriteria != "" {
		errs = append(errs, oneOf(t.InstanceMatchCriteria, path.Child("instanceMatchCriteria"), "open", "targeted")...)
	}
	return errs
}

func (t *AMISelectorTerm) validate(path *field.Path, only bool) field.ErrorList {
	term := selectorTerm{path: path}
	term.has("alias", t.Alias != "")
	term.has("tags", len(t.Tags) > 0)
	term.has("id", t.ID != "")
	term.has("name", t.Name != "")
	term.has("owner", t.Owner != "")
	term.has("ssmParameter", t.SSMParameter != "")
	errs := term.needsOneOf("tags", "id", "name", "alias", "ssmParameter")
	errs = append(errs, term.alone("alias", "id", "tags", "name", "owner", "ssmParameter")...)
	if t.Alias == "" {
		errs = append(errs, term.alone("id", "tags", "name", "owner", "ssmParameter")...)
	} else if !only {
		errs = append(errs, field.Forbidden(path.Child("alias"), "an alias must be the only term"))
	}
	errs = append(errs, validateTermTags(t.Tags, path)...)
	errs = append(errs, shaped(t.ID, imageID, path.Child("id"), `want an id such as "ami-0123456789abcdef0"`)...)
	return append(errs, validateAlias(t.Alias, path.Child("alias"))...)
}

func validateAlias(alias string, path *field.Path) field.ErrorList {
	if alias == "" {
		return nil
	}
	if len(alias) > maxAliasLength {
		return field.ErrorList{field.TooLong(path, alias, maxAliasLength)}
	}
	family, version, err := ParseAlias(alias)
	if err != nil {
		return field.ErrorList{field.Invalid(path, alias, err.Error())}
	}
	if family.IsWindows() && version != AliasLatest {
		return field.ErrorList{field.Invalid(path, alias, "of Windows only the latest images can be found, want "+family.Alias(AliasLatest))}
	}
	return nil
}

func (s *PlacementGroupSelector) validate(path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	if (s.Name == "") == (s.ID == "") {
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("name %q, id %q", s.Name, s.ID), "want exactly one of name and id")}
	}
	return shaped(s.ID, placementGroupID, path.Child("id"), `want an id such as "pg-0123456789abcdef0"`)
}

func validateTermTags(tags map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	path = path.Child("tags")
	if len(tags) > maxTermTags {
		errs = append(errs, field.TooMany(path, len(tags), maxTermTags))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case key == "":
			errs = append(errs, field.Invalid(path, key, "a tag needs a key"))
		case tags[key] == "":
			errs = append(errs, field.Invalid(path.Key(key), "", `a tag needs a value; "*" stands for any`))
		}
	}
	return errs
}

// shaped checks a text that may be left out against its pattern.
func shaped(value string, pattern *regexp.Regexp, path *field.Path, want string) field.ErrorList {
	if value == "" || pattern.MatchString(value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, want)}
}

// selectorTerm knows which fields of a term are set.
type selectorTerm struct {
	path *field.Path
	set  []string
}

func (t *selectorTerm) has(name string, isSet bool) {
	if isSet {
		t.set = append(t.set, name)
	}
}

// needsOneOf reports a term with none of the fields.
func (t *selectorTerm) needsOneOf(names ...string) field.ErrorList {
	for _, name := range names {
		if slices.Contains(t.set, name) {
			return nil
		}
	}
	return field.ErrorList{field.Required(t.path, "want at least one of "+strings.Join(names, ", "))}
}

// alone reports each of the others that is set beside the field. Upstream finds such a term only when
// every term of the list is one; here each is checked by itself.
func (t *selectorTerm) alone(name string, others ...string) field.ErrorList {
	var errs field.ErrorList
	if !slices.Contains(t.set, name) {
		return nil
	}
	for _, other := range others {
		if slices.Contains(t.set, other) {
			errs = append(errs, field.Forbidden(t.path.Child(other), "may not be set with "+name))
		}
	}
	return errs
}
