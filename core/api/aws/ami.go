package aws

import (
	"fmt"
	"regexp"
	"strings"
)

// AliasLatest is the version of an alias that follows the newest image.
const AliasLatest = "latest"

// Families are the AMI families, Custom included.
func Families() []AMIFamily {
	return []AMIFamily{
		FamilyAL2, FamilyAL2023, FamilyBottlerocket, FamilyCustom,
		FamilyWindows2019, FamilyWindows2022, FamilyWindows2025,
	}
}

// Alias is the alias of the family's image of that version, such as al2023@latest.
func (f AMIFamily) Alias(version string) string {
	return strings.ToLower(string(f)) + "@" + version
}

// IsWindows reports whether the family's nodes run Windows.
func (f AMIFamily) IsWindows() bool {
	return strings.HasPrefix(string(f), "Windows")
}

// aliasPattern is upstream's; it does not know the families.
var aliasPattern = regexp.MustCompile(`^[a-zA-Z0-9]+@.+$`)

// ParseAlias splits an alias into its family and version.
func ParseAlias(alias string) (family AMIFamily, version string, err error) {
	if !aliasPattern.MatchString(alias) {
		return "", "", fmt.Errorf("alias %q: want family@version, such as %q", alias, FamilyAL2023.Alias(AliasLatest))
	}
	name, version, _ := strings.Cut(alias, "@")
	for _, family := range Families() {
		if family != FamilyCustom && name == strings.ToLower(string(family)) {
			return family, version, nil
		}
	}
	return "", "", fmt.Errorf("alias %q: no such family %q, want one of %s", alias, name, aliasFamilies())
}

func aliasFamilies() string {
	var names []string
	for _, family := range Families() {
		if family != FamilyCustom {
			names = append(names, strings.ToLower(string(family)))
		}
	}
	return strings.Join(names, ", ")
}

// Family is the AMI family whose way of joining a cluster the class's nodes follow: spec.amiFamily, else
// that of the alias, else Custom (upstream EC2NodeClass.AMIFamily).
func (c *EC2NodeClass) Family() AMIFamily {
	if c.Spec.AMIFamily != nil {
		return *c.Spec.AMIFamily
	}
	for _, term := range c.Spec.AMISelectorTerms {
		if family, _, err := ParseAlias(term.Alias); err == nil {
			return family
		}
	}
	return FamilyCustom
}
