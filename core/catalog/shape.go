package catalog

import "slices"

// Shape is what EC2 tells of an instance type before any class has its say: DescribeInstanceTypes, the
// zones of DescribeInstanceTypeOfferings and prices in US dollars. A figure that is not known is zero.
type Shape struct {
	Name string
	// Arch is EC2's word: x86_64, arm64, or either with _mac.
	Arch      string
	VCPUs     int
	MemoryMiB int64
	// Hypervisor is nitro or xen, and empty for bare metal.
	Hypervisor        string
	BareMetal         bool
	Burstable         bool
	CurrentGeneration bool
	CPUManufacturer   string
	ClockGHz          float64

	// DefaultCardENIs is how many network interfaces the default network card takes; only these serve
	// pods. TotalENIs counts those of all NetworkCards.
	DefaultCardENIs     int
	IPv4PerENI          int
	TotalENIs           int
	NetworkCards        int
	IPv6                bool
	NetworkBaselineMbps int
	NetworkPeakMbps     int
	EFAMax              int
	EncryptionInTransit bool
	// BranchENIs is how many network interfaces of pods the VPC resource controller can attach, where
	// Trunking says that it can attach any.
	BranchENIs int
	Trunking   bool

	EBSBaselineMbps int
	// EBSMaxAttachments counts volumes with the root volume. Where EBSAttachmentLimit is shared rather
	// than dedicated, network interfaces beyond the first take from the same number.
	EBSMaxAttachments  int
	EBSAttachmentLimit string
	LocalNVMeGB        int

	GPUName         string
	GPUManufacturer string
	GPUCount        int
	GPUMemoryMiB    int
	// Accelerators are those for inference and training, Neuron among them. NeuronCores is the sum over
	// all devices.
	AcceleratorName         string
	AcceleratorManufacturer string
	AcceleratorCount        int
	NeuronCores             int

	// UsageClasses are EC2's: on-demand, spot, capacity-block.
	UsageClasses []string
	// Zones in which the type is sold, sorted.
	Zones []string
	// OnDemandUSD is the price of an hour with Linux.
	OnDemandUSD float64
	// SpotSavingPercent is how far Spot was below OnDemandUSD on average over the region and the last
	// month; nil where that is unknown.
	SpotSavingPercent *int
	// InterruptionBucket is how often Spot was reclaimed in that month: 0 below 5 %, 1 to 10 %, 2 to
	// 15 %, 3 to 20 %, 4 above. It says nothing where SpotSavingPercent is nil.
	InterruptionBucket int
}

// kubernetesArch is the architecture as a node's label has it; empty for what Kubernetes cannot run on.
func (s *Shape) kubernetesArch() string {
	switch s.Arch {
	case archARM64:
		return "arm64"
	case archX86:
		return "amd64"
	default:
		return ""
	}
}

const (
	archX86   = "x86_64"
	archARM64 = "arm64"
)

func (s *Shape) soldAs(usageClass string) bool {
	return slices.Contains(s.UsageClasses, usageClass)
}

func (s *Shape) soldIn(zone string) bool {
	return slices.Contains(s.Zones, zone)
}
