package karpenter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/warning"
	"whittle/core/api/wellknown"
)

// DefaultExpireAfter is the age at which nodes are replaced whose NodePool does not say otherwise.
const DefaultExpireAfter = 720 * time.Hour

// DefaultBudget is the only budget of a NodePool that lists none.
const DefaultBudget = "10%"

// SetDefaults fills in what the author left out and translates older spellings to today's. What it
// translated, and what is legal but seldom meant, it says in its warnings. A second call changes nothing.
func (p *NodePool) SetDefaults() []warning.Warning {
	spec := field.NewPath("spec")
	warnings := p.Spec.moveExpireAfter(spec)
	warnings = append(warnings, p.Spec.Disruption.setDefaults(spec.Child("disruption"))...)
	template := spec.Child("template", "spec")
	warnings = append(warnings, p.Spec.Template.Spec.NodeClassRef.setDefaults(template.Child("nodeClassRef"))...)
	if p.Spec.Template.Spec.ExpireAfter == nil {
		p.Spec.Template.Spec.ExpireAfter = new(After(DefaultExpireAfter))
	}
	return warnings
}

// SetDefaults fills in what the author left out.
func (c *NodeClaim) SetDefaults() []warning.Warning {
	warnings := c.Spec.NodeClassRef.setDefaults(field.NewPath("spec", "nodeClassRef"))
	if c.Spec.ExpireAfter == nil {
		c.Spec.ExpireAfter = new(After(DefaultExpireAfter))
	}
	return warnings
}

// moveExpireAfter brings spec.disruption.expireAfter, its place in v1beta1, to the template. It comes
// before the default, which would hide it.
func (s *NodePoolSpec) moveExpireAfter(spec *field.Path) []warning.Warning {
	old := s.Disruption.ExpireAfter
	if old == nil {
		return nil
	}
	s.Disruption.ExpireAfter = nil
	path := spec.Child("disruption", "expireAfter")
	if kept := s.Template.Spec.ExpireAfter; kept != nil {
		return []warning.Warning{warning.New(path, fmt.Sprintf("ignored, since spec.template.spec.expireAfter is set, to %s", kept))}
	}
	s.Template.Spec.ExpireAfter = old
	return []warning.Warning{warning.New(path, "moved to spec.template.spec.expireAfter in v1; read as if it stood there")}
}

func (d *Disruption) setDefaults(path *field.Path) []warning.Warning {
	var warnings []warning.Warning
	if d.ConsolidationPolicy == ConsolidateWhenUnderutilized {
		warnings = append(warnings, warning.New(path.Child("consolidationPolicy"),
			fmt.Sprintf("%s is called %s in v1; read as that", ConsolidateWhenUnderutilized, ConsolidateWhenEmptyOrUnderutilized)))
	}
	d.ConsolidationPolicy = d.Policy()
	if d.ConsolidateAfter == nil {
		d.ConsolidateAfter = new(After(0))
	}
	if d.Budgets == nil {
		d.Budgets = []Budget{{Nodes: DefaultBudget}}
	}
	budgets := path.Child("budgets")
	for i := range d.Budgets {
		warnings = append(warnings, d.Budgets[i].setDefaults(budgets.Index(i))...)
	}
	return append(warnings, d.uncappedReasons(budgets)...)
}

func (b *Budget) setDefaults(path *field.Path) []warning.Warning {
	if b.Nodes == "" {
		b.Nodes = DefaultBudget
	}
	if b.Schedule == nil || b.Duration != nil {
		return nil
	}
	schedule, err := parseSchedule(*b.Schedule)
	if err != nil {
		return nil // Validate reports it.
	}
	return []warning.Warning{warning.New(path.Child("duration"),
		fmt.Sprintf("not set: the budget is active for %s from each firing of %q (UTC)", stepOf(schedule), *b.Schedule))}
}

// uncappedReasons warns of the reasons for which every budget has a schedule. Authors often take such a
// budget for a permission to disrupt in its window; it is a cap in its window, and outside there is none.
func (d *Disruption) uncappedReasons(path *field.Path) []warning.Warning {
	var uncapped []string
	for _, reason := range Reasons() {
		scheduled, always := 0, 0
		for _, budget := range d.Budgets {
			switch {
			case !budget.Covers(reason):
			case budget.Schedule != nil:
				scheduled++
			default:
				always++
			}
		}
		if scheduled > 0 && always == 0 {
			uncapped = append(uncapped, string(reason))
		}
	}
	if uncapped == nil {
		return nil
	}
	slices.Sort(uncapped)
	return []warning.Warning{warning.New(path, fmt.Sprintf(
		"every budget for the reasons %s has a schedule, and outside its window nothing caps them; a budget without a schedule, such as {nodes: \"10%%\"}, does",
		strings.Join(uncapped, ", ")))}
}

func (r *NodeClassReference) setDefaults(path *field.Path) []warning.Warning {
	if r.Group != "" {
		return nil
	}
	r.Group = wellknown.GroupAWS
	return []warning.Warning{warning.New(path.Child("group"), "not set; read as "+wellknown.GroupAWS)}
}
