package catalog

import (
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/resource"
)

// Overhead is the part of a node's capacity that pods do not get.
type Overhead struct {
	KubeReserved      resource.Amounts
	SystemReserved    resource.Amounts
	EvictionThreshold resource.Amounts
}

// allocatable is capacity less the overhead, and never below zero, as the kubelet reports it.
func (o Overhead) allocatable(capacity resource.Amounts) resource.Amounts {
	left := maps.Clone(capacity)
	for _, reserved := range []resource.Amounts{o.KubeReserved, o.SystemReserved, o.EvictionThreshold} {
		for name, amount := range reserved {
			left[name] = max(left[name]-amount, 0)
		}
	}
	return left
}

// kubeReserved is what the AMIs' bootstrap reserves, each resource replaced by what the class says of it.
// The memory follows the number of pods that all network interfaces of the default card allow, whatever
// maxPods and reserved interfaces make of it, except in families that count the node's own pods.
func (b *builder) kubeReserved(shape *Shape, pods int64) resource.Amounts {
	if !b.family.overheadByPods {
		pods = eniLimitedPods(shape, 0)
	}
	reserved := reservation{milliCPU: reservedMilliCPU(shape.VCPUs), memory: (11*pods + 255) * mib, storage: gib}
	for name, amount := range b.kubeReservedByClass {
		switch name {
		case corev1.ResourceCPU:
			reserved.milliCPU = amount
		case corev1.ResourceMemory:
			reserved.memory = amount
		case corev1.ResourceEphemeralStorage:
			reserved.storage = amount
		default:
			// Nothing else of a node is offered to pods, so nothing else is reserved from them.
		}
	}
	return b.shared(reserved)
}

// reservation is an overhead before it becomes Amounts.
type reservation struct {
	milliCPU, memory, storage int64
}

// shared makes r Amounts, once for all types that reserve the same: most do with many others, and maps
// are what computing the types spends its time on.
func (b *builder) shared(r reservation) resource.Amounts {
	amounts, known := b.reservations[r]
	if !known {
		amounts = resource.Amounts{corev1.ResourceMemory: r.memory, corev1.ResourceEphemeralStorage: r.storage}
		if r.milliCPU > 0 {
			amounts[corev1.ResourceCPU] = r.milliCPU
		}
		b.reservations[r] = amounts
	}
	return amounts
}

// reservedMilliCPU is 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 % of all
// further ones (github.com/awslabs/amazon-eks-ami and Bottlerocket pull request 1388).
func reservedMilliCPU(vcpus int) int64 {
	n := int64(vcpus)
	return 60*min(n, 1) + 10*clamp(n-1, 1) + 5*clamp(n-2, 2) + clamp(n-4, n)*1000/400
}

// clamp is n within 0 and most.
func clamp(n, most int64) int64 {
	return max(min(n, most), 0)
}

// parseReserved reads the resources that pods ask for too; process ids are no such. What is no quantity
// is left out: validation has refused the class.
func parseReserved(settings map[string]string) resource.Amounts {
	reserved := make(resource.Amounts, len(settings))
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if amount, ok := parseAmount(name, settings[string(name)]); ok {
			reserved[name] = amount
		}
	}
	return reserved
}

func parseAmount(name corev1.ResourceName, text string) (int64, bool) {
	if text == "" {
		return 0, false
	}
	parsed, err := resource.Parse(text)
	if err != nil {
		return 0, false
	}
	return resource.Of(name, parsed), true
}

// evictionThreshold is what the kubelet keeps free by evicting pods: 100Mi of memory and a tenth of the
// disk unless evictionHard says otherwise. evictionSoft takes nothing from pods' share.
func (b *builder) evictionThreshold(capacity resource.Amounts) resource.Amounts {
	hard := b.kubelet.EvictionHard
	storage := capacity[corev1.ResourceEphemeralStorage]
	return b.shared(reservation{
		memory:  evictionSignal(corev1.ResourceMemory, hard["memory.available"], capacity, 100*mib),
		storage: evictionSignal(corev1.ResourceEphemeralStorage, hard["nodefs.available"], capacity, share(storage, 10)),
	})
}

// evictionSignal reads one threshold, a quantity or a percentage of the capacity, of which 100 % turns
// it off (kubelet configuration reference).
func evictionSignal(name corev1.ResourceName, text string, capacity resource.Amounts, otherwise int64) int64 {
	if digits, percentage := strings.CutSuffix(text, "%"); percentage {
		percent, err := strconv.ParseFloat(digits, 64)
		switch {
		case err != nil:
			return otherwise
		case percent == 100:
			return 0
		default:
			return share(capacity[name], percent)
		}
	}
	if amount, ok := parseAmount(name, text); ok {
		return amount
	}
	return otherwise
}

// share is a percentage of an amount, rounded up.
func share(amount int64, percent float64) int64 {
	return int64(math.Ceil(float64(amount) * percent / 100))
}
