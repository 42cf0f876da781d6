// Package resource holds amounts of Kubernetes resources as integers. Quantities become integers once,
// at the edge of a decision, and quantities again when an object is written.
package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
)

// Amounts maps resources to amounts: thousandths for cpu, the resource's own unit (bytes, devices,
// pods) for every other. An absent resource is zero.
type Amounts map[corev1.ResourceName]int64

// FromList converts quantities to amounts, rounding up as kube-scheduler does.
func FromList(list corev1.ResourceList) Amounts {
	amounts := make(Amounts, len(list))
	for name, quantity := range list {
		amounts[name] = Of(name, quantity)
	}
	return amounts
}

// Parse reads a quantity, as resource.ParseQuantity does, but for those with an exponent of more than two
// digits: they are beyond all measure, and the time to read one grows with what they stand for.
func Parse(text string) (resource.Quantity, error) {
	if at := strings.IndexAny(text, "eE"); at >= 0 && len(strings.TrimLeft(text[at+1:], "+-0")) > maxExponentDigits {
		return resource.Quantity{}, fmt.Errorf("exponent of %q is beyond all measure: %w", text, resource.ErrFormatWrong)
	}
	return resource.ParseQuantity(text)
}

const maxExponentDigits = 2

// most is more than anything has, and little enough that sums of many do not overflow.
const most = 1 << 55

// Of is the amount of one quantity of the resource called name. Amounts beyond all measure are cut, and
// there are none below zero.
func Of(name corev1.ResourceName, quantity resource.Quantity) int64 {
	if quantity.CmpInt64(most/1000) >= 0 && name == corev1.ResourceCPU {
		return most
	}
	if name == corev1.ResourceCPU {
		return max(0, quantity.MilliValue())
	}
	return min(max(0, quantity.Value()), most)
}

// Quantity is the amount of the resource called name as a quantity, in the notation that people
// expect of it.
func Quantity(name corev1.ResourceName, amount int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(amount, resource.BinarySI)
	default:
		return *resource.NewQuantity(amount, resource.DecimalSI)
	}
}

// List converts amounts to quantities.
func (a Amounts) List() corev1.ResourceList {
	list := make(corev1.ResourceList, len(a))
	for name, amount := range a {
		list[name] = Quantity(name, amount)
	}
	return list
}

// Names are the resources of a in alphabetical order.
func (a Amounts) Names() []corev1.ResourceName {
	return slices.Sorted(maps.Keys(a))
}

// Clone returns a copy of a.
func (a Amounts) Clone() Amounts {
	clone := make(Amounts, len(a))
	maps.Copy(clone, a)
	return clone
}

// Add adds b to a in place.
func (a Amounts) Add(b Amounts) {
	for name, amount := range b {
		a[name] += amount
	}
}

// Sub subtracts b from a in place; amounts may become negative.
func (a Amounts) Sub(b Amounts) {
	for name, amount := range b {
		a[name] -= amount
	}
}

// Fits reports whether every amount of a that is above zero is at most what room has of it.
func (a Amounts) Fits(room Amounts) bool {
	for name, amount := range a {
		if amount > 0 && amount > room[name] {
			return false
		}
	}
	return true
}

// PodRequests is what kube-scheduler reserves for a pod: the larger of its containers with sidecars
// and of its init phase, its overhead, and one of the resource pods. Pod-level requests win over the
// containers' (k8s.io/component-helpers/resource).
func PodRequests(pod *corev1.Pod) Amounts {
	amounts := Amounts{}
	AddPod(amounts, pod)
	return amounts
}

// AddPod adds the pod's requests to a sum, in place. Most pods are no more than their containers, and
// these are added up without a detour over quantities.
func AddPod(sum Amounts, pod *corev1.Pod) {
	sum[corev1.ResourcePods]++
	if !plain(pod) {
		sum.Add(FromList(helpers.PodRequests(pod, helpers.PodResourcesOptions{UseStatusResources: true})))
		return
	}
	for i := range pod.Spec.Containers {
		for name, quantity := range pod.Spec.Containers[i].Resources.Requests {
			sum[name] += Of(name, quantity)
		}
	}
}

// plain reports whether the pod's requests are the sum of its containers'.
func plain(pod *corev1.Pod) bool {
	if len(pod.Spec.InitContainers) > 0 || pod.Spec.Overhead != nil || pod.Spec.Resources != nil {
		return false
	}
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Resources != nil || status.AllocatedResources != nil {
			return false
		}
	}
	return true
}

// DefaultRequests gives containers the requests that they leave out but limit, as the API server does
// when it stores a pod; the templates of workloads keep them as they were written.
func DefaultRequests(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			for name, limit := range resources.Limits {
				if _, set := resources.Requests[name]; set {
					continue
				}
				if resources.Requests == nil {
					resources.Requests = corev1.ResourceList{}
				}
				resources.Requests[name] = limit
			}
		}
	}
}
