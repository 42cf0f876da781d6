package aws

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"whittle/core/resource"
)

// reservable are the resources that can be kept for the system and the kubelet.
func reservable() []string {
	return []string{"cpu", "memory", "ephemeral-storage", "pid"}
}

// evictionSignals are what the kubelet can evict pods upon.
func evictionSignals() []string {
	return []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"}
}

func (k *KubeletConfiguration) validate(path *field.Path) field.ErrorList {
	if k == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, betweenOptional(k.MaxPods, 0, maxInt32, path.Child("maxPods"))...)
	errs = append(errs, betweenOptional(k.PodsPerCore, 0, maxInt32, path.Child("podsPerCore"))...)
	errs = append(errs, betweenOptional(k.EvictionMaxPodGracePeriod, 0, maxInt32, path.Child("evictionMaxPodGracePeriod"))...)
	errs = append(errs, validateReserved(k.SystemReserved, path.Child("systemReserved"))...)
	errs = append(errs, validateReserved(k.KubeReserved, path.Child("kubeReserved"))...)
	errs = append(errs, validateThresholds(k.EvictionHard, path.Child("evictionHard"))...)
	errs = append(errs, validateThresholds(k.EvictionSoft, path.Child("evictionSoft"))...)
	errs = append(errs, k.validateGracePeriods(path)...)
	return append(errs, k.validateImageGC(path)...)
}

func validateReserved(reserved map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		if !slices.Contains(reservable(), name) {
			errs = append(errs, field.NotSupported(path, name, reservable()))
			continue
		}
		if quantity, err := resource.Parse(reserved[name]); err != nil || quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(name), reserved[name], `want a quantity of at least 0 such as "100m" or "256Mi"`))
		}
	}
	return errs
}

func validateThresholds(thresholds map[string]string, path *field.Path) field.ErrorList {
	errs := validateSignals(slices.Sorted(maps.Keys(thresholds)), path)
	for _, signal := range slices.Sorted(maps.Keys(thresholds)) {
		if !isThreshold(thresholds[signal]) {
			errs = append(errs, field.Invalid(path.Key(signal), thresholds[signal], `want a quantity such as "100Mi" or a percentage such as "5%"`))
		}
	}
	return errs
}

func validateSignals(signals []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, signal := range signals {
		if !slices.Contains(evictionSignals(), signal) {
			errs = append(errs, field.NotSupported(path, signal, evictionSignals()))
		}
	}
	return errs
}

func isThreshold(text string) bool {
	if number, isPercent := strings.CutSuffix(text, "%"); isPercent {
		percent, err := strconv.ParseFloat(number, 64)
		return err == nil && percent >= 0 && percent <= 100
	}
	quantity, err := resource.Parse(text)
	return err == nil && quantity.Sign() >= 0
}

// validateGracePeriods checks that soft thresholds and grace periods come in pairs.
func (k *KubeletConfiguration) validateGracePeriods(path *field.Path) field.ErrorList {
	soft, grace := path.Child("evictionSoft"), path.Child("evictionSoftGracePeriod")
	signals := slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod))
	errs := validateSignals(signals, grace)
	for _, signal := range signals {
		if _, ok := k.EvictionSoft[signal]; !ok {
			errs = append(errs, field.Required(soft.Key(signal), "has a grace period but no threshold"))
		}
		if period := k.EvictionSoftGracePeriod[signal]; period.Duration < 0 {
			errs = append(errs, field.Invalid(grace.Key(signal), period.Duration.String(), "must be at least 0s"))
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, ok := k.EvictionSoftGracePeriod[signal]; !ok {
			errs = append(errs, field.Required(grace.Key(signal), "has a threshold but no grace period"))
		}
	}
	return errs
}

func (k *KubeletConfiguration) validateImageGC(path *field.Path) field.ErrorList {
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	errs := betweenOptional(high, 0, 100, path.Child("imageGCHighThresholdPercent"))
	errs = append(errs, betweenOptional(low, 0, 100, path.Child("imageGCLowThresholdPercent"))...)
	if high != nil && low != nil && *high <= *low {
		errs = append(errs, field.Invalid(path.Child("imageGCHighThresholdPercent"), *high,
			fmt.Sprintf("must be greater than imageGCLowThresholdPercent, %d", *low)))
	}
	return errs
}
