package karpenter

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/api/wellknown"
)

// The longest lists and texts that the API server accepts in these objects.
const (
	maxRequirements = 100
	maxLabels       = 100
	maxBudgets      = 50
	maxReasons      = 50
	maxMinValues    = 50
)

// durationPattern is a duration in hours, minutes and seconds.
var durationPattern = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)

const wantDuration = `want hours, minutes and seconds such as "30s" or "1h30m"`

func validateNillable(duration *NillableDuration, path *field.Path) field.ErrorList {
	if duration == nil || duration.Duration == nil || durationPattern.MatchString(duration.String()) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, duration.String(), wantDuration+`, or "Never"`)}
}

func validateTerminationGracePeriod(period *metav1.Duration, path *field.Path) field.ErrorList {
	if period == nil || durationPattern.MatchString(period.Duration.String()) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("terminationGracePeriod"), period.Duration.String(), wantDuration)}
}

// validate reports what is wrong in the reference.
func (r *NodeClassReference) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.Contains(r.Group, "/") {
		errs = append(errs, field.Invalid(path.Child("group"), r.Group, `want the group without a version, such as "karpenter.k8s.aws"`))
	}
	if r.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), `want "EC2NodeClass"`))
	}
	if r.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "want the name of an EC2NodeClass"))
	}
	return errs
}

// groupOrDefault is the group, which may have been left out.
func (r *NodeClassReference) groupOrDefault() string {
	if r.Group == "" {
		return wellknown.GroupAWS
	}
	return r.Group
}

// validateTaints checks both lists of taints, of which no two may have the same key and effect.
func validateTaints(taints, startupTaints []corev1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]bool{}
	check := func(list []corev1.Taint, path *field.Path) {
		for i, taint := range list {
			at := path.Index(i)
			errs = append(errs, validateTaint(taint, at)...)
			id := identity{taint.Key, taint.Effect}
			if seen[id] {
				errs = append(errs, field.Duplicate(at, fmt.Sprintf("%s:%s", taint.Key, taint.Effect)))
			}
			seen[id] = true
		}
	}
	check(taints, path.Child("taints"))
	check(startupTaints, path.Child("startupTaints"))
	return errs
}

func validateTaint(taint corev1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if taint.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), "want a label key"))
	} else {
		errs = append(errs, invalid(path.Child("key"), taint.Key, validation.IsQualifiedName(taint.Key))...)
	}
	errs = append(errs, invalid(path.Child("value"), taint.Value, validation.IsValidLabelValue(taint.Value))...)
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		errs = append(errs, field.NotSupported(path.Child("effect"), taint.Effect,
			[]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}))
	}
	return errs
}

// invalid turns the messages of Kubernetes' validation functions into errors on one field.
func invalid(path *field.Path, value string, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
