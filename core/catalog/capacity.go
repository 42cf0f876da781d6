package catalog

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
	"whittle/core/api/wellknown"
	"whittle/core/resource"
)

// capacity is what a node of the shape registers with (upstream computeCapacity). Resources it has none
// of are left out.
func (b *builder) capacity(shape *Shape) resource.Amounts {
	capacity := resource.Amounts{
		corev1.ResourceCPU:              int64(shape.VCPUs) * 1000,
		corev1.ResourceMemory:           b.memory(shape),
		corev1.ResourceEphemeralStorage: b.ephemeralStorage(shape),
		corev1.ResourcePods:             b.pods(shape),
	}
	put := func(name corev1.ResourceName, amount int) {
		if amount > 0 {
			capacity[name] = int64(amount)
		}
	}
	switch shape.GPUManufacturer {
	case "NVIDIA":
		put(wellknown.ResourceNVIDIAGPU, shape.GPUCount)
	case "AMD":
		put(wellknown.ResourceAMDGPU, shape.GPUCount)
	case "Habana":
		put(wellknown.ResourceGaudi, shape.GPUCount)
	}
	if shape.NeuronCores > 0 {
		put(wellknown.ResourceNeuron, shape.AcceleratorCount)
		put(wellknown.ResourceNeuronCore, shape.NeuronCores)
	}
	if shape.Trunking {
		put(wellknown.ResourcePodENI, shape.BranchENIs)
	}
	if b.family.windows() {
		put(wellknown.ResourcePrivateIPv4, shape.IPv4PerENI-1)
	}
	put(wellknown.ResourceEFA, b.efas(shape))
	return capacity
}

// gravitonReservedMiB is contiguous memory that the kernel keeps on Graviton.
const gravitonReservedMiB = 64

// memory is the smallest that nodes of the shape and the class's images have been seen with, or else
// what EC2 says less an estimate of the hypervisor's share, rounded up to MiB.
func (b *builder) memory(shape *Shape) int64 {
	if observed, ok := b.observedMemory(shape); ok {
		return observed
	}
	total := shape.MemoryMiB
	if shape.Arch == archARM64 {
		total -= gravitonReservedMiB
	}
	return (total - int64(math.Ceil(float64(total)*b.settings.VMMemoryOverhead))) * mib
}

func (b *builder) observedMemory(shape *Shape) (smallest int64, found bool) {
	if b.settings.ObservedMemory == nil {
		return 0, false
	}
	for _, ami := range b.class.Status.AMIs {
		bytes, ok := b.settings.ObservedMemory(shape.Name, ami.ID)
		if ok && (!found || bytes < smallest) {
			smallest, found = bytes, true
		}
	}
	return smallest, found
}

// ephemeralStorage is the size of the disks joined by RAID0, or of the volume that holds pods' files.
// Only NVMe disks are known; the hard disks of d2, d3 and h1 are not.
func (b *builder) ephemeralStorage(shape *Shape) int64 {
	policy := b.class.Spec.InstanceStorePolicy
	if policy != nil && *policy == aws.InstanceStoreRAID0 && b.family.raid0 && shape.LocalNVMeGB > 0 {
		return int64(shape.LocalNVMeGB) * 1e9
	}
	return b.storageVolume()
}

// storageVolume is the size of the class's volume marked as root; else of its last one for a custom
// image, about whose devices nothing is known, or of the family's device; else the family's default.
func (b *builder) storageVolume() int64 {
	mappings := b.class.Spec.BlockDeviceMappings
	for i := range mappings {
		if size, ok := volumeSize(&mappings[i]); ok && mappings[i].RootVolume {
			return size
		}
	}
	if b.family.name == aws.FamilyCustom && len(mappings) > 0 {
		if size, ok := volumeSize(&mappings[len(mappings)-1]); ok {
			return size
		}
		return b.family.storageBytes
	}
	for i := range mappings {
		device := mappings[i].DeviceName
		if size, ok := volumeSize(&mappings[i]); ok && device != nil && *device == b.family.storageDevice {
			return size
		}
	}
	return b.family.storageBytes
}

func volumeSize(mapping *aws.BlockDeviceMapping) (bytes int64, ok bool) {
	if mapping.EBS == nil || mapping.EBS.VolumeSize == nil {
		return 0, false
	}
	return mapping.EBS.VolumeSize.Value(), true
}

// windowsPods is how many pods a Windows node takes, whose addresses do not come from its own
// interfaces' secondary ones.
const windowsPods = 110

// pods is how many the kubelet is told to take: maxPods, or what the network interfaces have addresses
// for, and never more than podsPerCore allows.
func (b *builder) pods(shape *Shape) int64 {
	var pods int64
	switch {
	case b.kubelet.MaxPods != nil:
		pods = int64(*b.kubelet.MaxPods)
	case b.family.windows():
		pods = windowsPods
	default:
		pods = eniLimitedPods(shape, b.settings.ReservedENIs+b.efaOnlyOnDefaultCard())
	}
	if perCore := b.kubelet.PodsPerCore; perCore != nil && *perCore > 0 && b.family.podsPerCore {
		pods = min(pods, int64(*perCore)*int64(shape.VCPUs))
	}
	return pods
}

// eniLimitedPods is how many pods get an address each when the VPC CNI gives out secondary addresses of
// the default card's interfaces, unavailable ones excepted: the primary address of each is the node's,
// and two pods (aws-node, kube-proxy) use the host's network
// (github.com/awslabs/amazon-eks-ami, eni-max-pods.txt).
func eniLimitedPods(shape *Shape, unavailable int) int64 {
	usable := shape.DefaultCardENIs - unavailable
	if usable <= 0 {
		return 0
	}
	return int64(usable)*int64(shape.IPv4PerENI-1) + 2
}

func (b *builder) efaOnlyOnDefaultCard() int {
	count := 0
	for _, ni := range b.class.Spec.NetworkInterfaces {
		if ni.NetworkCardIndex == 0 && ni.InterfaceType == aws.InterfaceTypeEFAOnly {
			count++
		}
	}
	return count
}

// efas is how many the type can have, or how many the class asks for when it lists its interfaces.
func (b *builder) efas(shape *Shape) int {
	if len(b.class.Spec.NetworkInterfaces) == 0 {
		return shape.EFAMax
	}
	count := 0
	for _, ni := range b.class.Spec.NetworkInterfaces {
		if ni.InterfaceType == aws.InterfaceTypeEFAOnly {
			count++
		}
	}
	return count
}

func (b *builder) ebsAttachLimit(shape *Shape) int {
	volumes := len(b.class.Spec.BlockDeviceMappings)
	if volumes == 0 {
		volumes = b.family.bootVolumes
	}
	limit := shape.EBSMaxAttachments - volumes
	if shape.EBSAttachmentLimit == "shared" && shape.DefaultCardENIs > 1 {
		limit--
	}
	return max(limit, 0)
}
