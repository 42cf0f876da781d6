package aws

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/warning"
)

// SetDefaults fills in what the author left out and translates older spellings to today's. What it
// translated it says in its warnings. A second call changes nothing.
func (c *EC2NodeClass) SetDefaults() []warning.Warning {
	if c.Spec.MetadataOptions == nil {
		c.Spec.MetadataOptions = &MetadataOptions{}
	}
	c.Spec.MetadataOptions.setDefaults()
	return c.Spec.aliasOfFamily(field.NewPath("spec"))
}

// aliasOfFamily selects the latest image of a family that is named without any selector, which was
// enough in v1beta1.
func (s *EC2NodeClassSpec) aliasOfFamily(spec *field.Path) []warning.Warning {
	if s.AMIFamily == nil || len(s.AMISelectorTerms) > 0 || *s.AMIFamily == FamilyCustom || !slices.Contains(Families(), *s.AMIFamily) {
		return nil
	}
	alias := s.AMIFamily.Alias(AliasLatest)
	s.AMISelectorTerms = []AMISelectorTerm{{Alias: alias}}
	return []warning.Warning{warning.New(spec.Child("amiSelectorTerms"),
		fmt.Sprintf("not set; read as [{alias: %s}] from amiFamily %s", alias, *s.AMIFamily))}
}

func (m *MetadataOptions) setDefaults() {
	if m.HTTPEndpoint == nil {
		m.HTTPEndpoint = new("enabled")
	}
	if m.HTTPProtocolIPv6 == nil {
		m.HTTPProtocolIPv6 = new("disabled")
	}
	if m.HTTPPutResponseHopLimit == nil {
		m.HTTPPutResponseHopLimit = new(int64(1))
	}
	if m.HTTPTokens == nil {
		m.HTTPTokens = new("required")
	}
}
