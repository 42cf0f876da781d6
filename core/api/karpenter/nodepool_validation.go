package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/wellknown"
)

// Validate reports everything that is wrong with the pool as it stands. Call it after SetDefaults.
func (p *NodePool) Validate() field.ErrorList {
	spec := field.NewPath("spec")
	errs := p.Spec.Template.validate(spec.Child("template"))
	errs = append(errs, p.Spec.Disruption.validate(spec.Child("disruption"))...)
	errs = append(errs, validateLimits(p.Spec.Limits, spec.Child("limits"))...)
	if weight := p.Spec.Weight; weight != nil && (*weight < 1 || *weight > 100) {
		errs = append(errs, field.Invalid(spec.Child("weight"), *weight, "must be 1 to 100"))
	}
	errs = append(errs, validateNumbers(p.Annotations)...)
	return append(errs, p.Spec.validateStatic(spec)...)
}

// validateNumbers checks the annotations of Whittle's own that hold numbers.
func validateNumbers(annotations map[string]string) field.ErrorList {
	path := field.NewPath("metadata", "annotations")
	var errs field.ErrorList
	check := func(key string, most float64, want string) {
		text, set := annotations[key]
		if n, err := strconv.ParseFloat(text, 64); set && (err != nil || !(n >= 0 && n <= most)) {
			errs = append(errs, field.Invalid(path.Key(key), text, "want "+want))
		}
	}
	check(wellknown.AnnotationNodeSurcharge, 1000, "dollars per hour and node, such as \"0.02\"")
	check(wellknown.AnnotationSpotPercent, 100, "a percentage from 0 to 100, such as \"70\"")
	return errs
}

// ValidateUpdate reports what may not change from old to p.
func (p *NodePool) ValidateUpdate(old *NodePool) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	if (p.Spec.Replicas == nil) != (old.Spec.Replicas == nil) {
		errs = append(errs, field.Forbidden(spec.Child("replicas"),
			"may be neither added nor removed; make a new NodePool"))
	}
	ref, oldRef := p.Spec.Template.Spec.NodeClassRef, old.Spec.Template.Spec.NodeClassRef
	path := spec.Child("template", "spec", "nodeClassRef")
	if ref.groupOrDefault() != oldRef.groupOrDefault() {
		errs = append(errs, field.Forbidden(path.Child("group"), "may not change; make a new NodePool"))
	}
	if ref.Kind != oldRef.Kind {
		errs = append(errs, field.Forbidden(path.Child("kind"), "may not change; make a new NodePool"))
	}
	return errs
}

// validateStatic checks what a pool of a fixed number of nodes may not have.
func (s *NodePoolSpec) validateStatic(path *field.Path) field.ErrorList {
	if s.Replicas == nil {
		return nil
	}
	var errs field.ErrorList
	if *s.Replicas < 0 {
		errs = append(errs, field.Invalid(path.Child("replicas"), *s.Replicas, "must be at least 0"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		if name != wellknown.ResourceNodes {
			errs = append(errs, field.Forbidden(path.Child("limits").Key(string(name)), "with replicas, only nodes may be limited"))
		}
	}
	if s.Weight != nil {
		errs = append(errs, field.Forbidden(path.Child("weight"), "may not be set with replicas"))
	}
	return errs
}

func validateLimits(limits corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if quantity := limits[name]; quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), quantity.String(), "must be at least 0"))
		}
	}
	return errs
}

func (t *NodeClaimTemplate) validate(path *field.Path) field.ErrorList {
	labels := path.Child("metadata", "labels")
	spec := path.Child("spec")
	errs := validateLabels(t.ObjectMeta.Labels, labels)
	errs = append(errs, t.Spec.NodeClassRef.validate(spec.Child("nodeClassRef"))...)
	errs = append(errs, validateTaints(t.Spec.Taints, t.Spec.StartupTaints, spec)...)
	errs = append(errs, validateRequirements(t.Spec.Requirements, spec.Child("requirements"), restrictedInPool)...)
	if total := len(t.ObjectMeta.Labels) + len(t.Spec.Requirements); total > maxRequirements && len(t.Spec.Requirements) <= maxRequirements {
		errs = append(errs, field.Invalid(spec.Child("requirements"), total,
			fmt.Sprintf("labels become requirements: together there may be at most %d", maxRequirements)))
	}
	errs = append(errs, validateNillable(t.Spec.ExpireAfter, spec.Child("expireAfter"))...)
	return append(errs, validateTerminationGracePeriod(t.Spec.TerminationGracePeriod, spec)...)
}

func validateLabels(labels map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(labels) > maxLabels {
		errs = append(errs, field.TooMany(path, len(labels), maxLabels))
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		errs = append(errs, validateKey(key, path.Key(key), restrictedInPool)...)
		errs = append(errs, invalid(path.Key(key), labels[key], validation.IsValidLabelValue(labels[key]))...)
	}
	return errs
}

// restrictedInPool is wellknown.Restricted, and the label that holds the pool's own name.
func restrictedInPool(key string) string {
	if key == wellknown.LabelNodePool {
		return "always holds the name of the NodePool"
	}
	return wellknown.Restricted(key)
}

func (d *Disruption) validate(path *field.Path) field.ErrorList {
	errs := validateNillable(d.ConsolidateAfter, path.Child("consolidateAfter"))
	errs = append(errs, validateNillable(d.ExpireAfter, path.Child("expireAfter"))...)
	policies := []ConsolidationPolicy{ConsolidateWhenEmpty, ConsolidateWhenEmptyOrUnderutilized, ConsolidateBalanced}
	if !slices.Contains(policies, d.Policy()) {
		errs = append(errs, field.NotSupported(path.Child("consolidationPolicy"), d.ConsolidationPolicy, policies))
	}
	budgets := path.Child("budgets")
	if len(d.Budgets) > maxBudgets {
		errs = append(errs, field.TooMany(budgets, len(d.Budgets), maxBudgets))
	}
	for i, budget := range d.Budgets {
		errs = append(errs, budget.validate(budgets.Index(i))...)
	}
	return errs
}

func (b *Budget) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := b.share(0); err != nil {
		errs = append(errs, field.Invalid(path.Child("nodes"), b.Nodes, `want a number such as "5" or a percentage such as "10%"`))
	}
	if len(b.Reasons) > maxReasons {
		errs = append(errs, field.TooMany(path.Child("reasons"), len(b.Reasons), maxReasons))
	}
	for i, reason := range b.Reasons {
		if !slices.Contains(Reasons(), reason) {
			errs = append(errs, field.NotSupported(path.Child("reasons").Index(i), reason, Reasons()))
		}
	}
	if b.Schedule != nil {
		if _, err := parseSchedule(*b.Schedule); err != nil {
			errs = append(errs, field.Invalid(path.Child("schedule"), *b.Schedule, err.Error()))
		}
	}
	return append(errs, b.validateDuration(path)...)
}

func (b *Budget) validateDuration(path *field.Path) field.ErrorList {
	if b.Duration == nil {
		return nil
	}
	var errs field.ErrorList
	if b.Schedule == nil {
		errs = append(errs, field.Required(path.Child("schedule"), "a budget with a duration needs the schedule that starts it"))
	}
	if length := b.Duration.Duration; length <= 0 || length%time.Minute != 0 {
		errs = append(errs, field.Invalid(path.Child("duration"), length.String(), `want hours and minutes such as "8h" or "1h30m"`))
	}
	return errs
}
