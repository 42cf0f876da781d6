package catalog

import (
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/wellknown"
)

// mostLabels is how many a type has at most: 17 that nearly all have, and those of disks, GPUs or
// accelerators, Windows and placement groups.
const mostLabels = 24

// labels are those with one value for every node of the shape (upstream computeRequirements). Two
// differ from upstream for want of data: the EBS bandwidth is the baseline, not the burst, and the
// nitro-sandbox label is never set. Bare metal has no hypervisor label.
func (b *builder) labels(shape *Shape) map[string]string {
	labels := make(map[string]string, mostLabels)
	put := func(key, value string) {
		if value != "" {
			labels[key] = value
		}
	}
	put(corev1.LabelInstanceTypeStable, shape.Name)
	put(corev1.LabelArchStable, shape.kubernetesArch())
	put(corev1.LabelOSStable, b.operatingSystem(shape))
	put(corev1.LabelWindowsBuild, b.family.windowsBuild)
	put(corev1.LabelTopologyRegion, b.region)
	if group := b.class.Spec.PlacementGroupSelector; group != nil {
		put(wellknown.LabelPlacementGroupID, group.ID)
	}

	category, generation := nameParts(shape.Name)
	family, size, _ := strings.Cut(shape.Name, ".")
	put(wellknown.LabelCategory, category)
	put(wellknown.LabelGeneration, generation)
	put(wellknown.LabelFamily, family)
	put(wellknown.LabelSize, size)
	put(wellknown.LabelCapabilityFlex, strconv.FormatBool(strings.Contains(family, "-flex")))

	put(wellknown.LabelCPU, strconv.Itoa(shape.VCPUs))
	put(wellknown.LabelCPUManufacturer, kebab(shape.CPUManufacturer))
	put(wellknown.LabelCPUClockSpeed, figure(int(math.Round(shape.ClockGHz*1000))))
	put(wellknown.LabelMemory, strconv.FormatInt(shape.MemoryMiB, 10))
	put(wellknown.LabelHypervisor, shape.Hypervisor)
	put(wellknown.LabelEncryptionInTransit, strconv.FormatBool(shape.EncryptionInTransit))
	put(wellknown.LabelEBSBandwidth, figure(shape.EBSBaselineMbps))
	put(wellknown.LabelNetworkBandwidth, figure(shape.NetworkBaselineMbps))
	put(wellknown.LabelLocalNVMe, figure(shape.LocalNVMeGB))

	if shape.GPUName != "" {
		put(wellknown.LabelGPUName, kebab(shape.GPUName))
		put(wellknown.LabelGPUManufacturer, kebab(shape.GPUManufacturer))
		put(wellknown.LabelGPUCount, strconv.Itoa(shape.GPUCount))
		put(wellknown.LabelGPUMemory, strconv.Itoa(shape.GPUMemoryMiB))
	}
	if shape.AcceleratorName != "" {
		put(wellknown.LabelAcceleratorName, kebab(shape.AcceleratorName))
		put(wellknown.LabelAcceleratorManufacturer, kebab(shape.AcceleratorManufacturer))
		put(wellknown.LabelAcceleratorCount, strconv.Itoa(shape.AcceleratorCount))
	}
	return labels
}

// operatingSystem is none where the family has no image for the architecture.
func (b *builder) operatingSystem(shape *Shape) string {
	switch {
	case !b.family.windows():
		return string(corev1.Linux)
	case shape.Arch == archX86:
		return string(corev1.Windows)
	default:
		return ""
	}
}

// nameParts takes the category and generation out of a name such as m7i-flex.large (m, 7) or
// u-6tb1.metal (u, 1, after the memory size); both are empty when the name is not built like that.
func nameParts(name string) (category, generation string) {
	rest := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
	category = name[:len(name)-len(rest)]
	if size, found := strings.CutPrefix(rest, "-"); found {
		size = strings.TrimLeft(size, digits)
		if size, found = strings.CutPrefix(size, "tb"); !found {
			return "", ""
		}
		rest = size
	}
	generation = rest[:len(rest)-len(strings.TrimLeft(rest, digits))]
	if category == "" || generation == "" {
		return "", ""
	}
	return category, generation
}

const digits = "0123456789"

// figure is a number, or nothing when it is not known.
func figure(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// kebab is a name as a label's value: lower case, with hyphens for blanks.
func kebab(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, " ", "-"))
}
