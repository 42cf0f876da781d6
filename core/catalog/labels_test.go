package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/requirement"
)

func TestLabelsOfOneType(t *testing.T) {
	want := map[string]string{
		"node.kubernetes.io/instance-type":                           "c7gd.xlarge",
		"kubernetes.io/arch":                                         "arm64",
		"kubernetes.io/os":                                           "linux",
		"topology.kubernetes.io/region":                              "us-east-1",
		"karpenter.k8s.aws/instance-category":                        "c",
		"karpenter.k8s.aws/instance-generation":                      "7",
		"karpenter.k8s.aws/instance-family":                          "c7gd",
		"karpenter.k8s.aws/instance-size":                            "xlarge",
		"karpenter.k8s.aws/instance-capability-flex":                 "false",
		"karpenter.k8s.aws/instance-cpu":                             "4",
		"karpenter.k8s.aws/instance-cpu-manufacturer":                "aws",
		"karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz":   "2600",
		"karpenter.k8s.aws/instance-memory":                          "8192",
		"karpenter.k8s.aws/instance-hypervisor":                      "nitro",
		"karpenter.k8s.aws/instance-encryption-in-transit-supported": "true",
		"karpenter.k8s.aws/instance-ebs-bandwidth":                   "1250",
		"karpenter.k8s.aws/instance-network-bandwidth":               "1876",
		"karpenter.k8s.aws/instance-local-nvme":                      "237",
	}
	got := instanceType(t, "c7gd.xlarge", classOf(aws.FamilyAL2023), catalog.Settings{}).Labels
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A dash stands for a label that has to be absent.
func TestLabels(t *testing.T) {
	tests := []struct {
		give string
		want map[string]string
	}{
		{"m5.large", map[string]string{corev1.LabelArchStable: "amd64", wellknown.LabelCPUManufacturer: "intel", wellknown.LabelLocalNVMe: "-", wellknown.LabelGPUCount: "-", corev1.LabelWindowsBuild: "-"}},
		{"u-6tb1.56xlarge", map[string]string{wellknown.LabelCategory: "u", wellknown.LabelGeneration: "1", wellknown.LabelFamily: "u-6tb1", wellknown.LabelSize: "56xlarge"}},
		{"u7in-16tb.224xlarge", map[string]string{wellknown.LabelCategory: "u", wellknown.LabelGeneration: "7", wellknown.LabelFamily: "u7in-16tb"}},
		{"m7i-flex.large", map[string]string{wellknown.LabelCategory: "m", wellknown.LabelGeneration: "7", wellknown.LabelFamily: "m7i-flex", wellknown.LabelCapabilityFlex: "true"}},
		{"im4gn.large", map[string]string{wellknown.LabelCategory: "im", wellknown.LabelGeneration: "4"}},
		{"x2iedn.metal", map[string]string{wellknown.LabelCategory: "x", wellknown.LabelGeneration: "2", wellknown.LabelHypervisor: "-", wellknown.LabelSize: "metal"}},
		{"t2.micro", map[string]string{wellknown.LabelHypervisor: "xen", wellknown.LabelEBSBandwidth: "-", wellknown.LabelEncryptionInTransit: "false"}},
		{"m1.small", map[string]string{wellknown.LabelCPUClockSpeed: "-"}},
		{"p5.48xlarge", map[string]string{wellknown.LabelGPUName: "h100", wellknown.LabelGPUManufacturer: "nvidia", wellknown.LabelGPUCount: "8", wellknown.LabelGPUMemory: "81920", wellknown.LabelLocalNVMe: "30400", wellknown.LabelNetworkBandwidth: "3200000"}},
		{"p6-b200.48xlarge", map[string]string{wellknown.LabelCategory: "p", wellknown.LabelGeneration: "6", wellknown.LabelGPUName: "b200"}},
		{"g5.xlarge", map[string]string{wellknown.LabelGPUName: "a10g", wellknown.LabelGPUCount: "1", wellknown.LabelGPUMemory: "22888", wellknown.LabelAcceleratorName: "-"}},
		{"g6f.large", map[string]string{wellknown.LabelGPUName: "l4", wellknown.LabelGPUCount: "0"}},
		{"g4ad.xlarge", map[string]string{wellknown.LabelGPUName: "radeon-pro-v520", wellknown.LabelGPUManufacturer: "amd"}},
		{"dl1.24xlarge", map[string]string{wellknown.LabelGPUName: "gaudi-hl-205", wellknown.LabelGPUManufacturer: "habana"}},
		{"inf2.xlarge", map[string]string{wellknown.LabelAcceleratorName: "inferentia2", wellknown.LabelAcceleratorManufacturer: "aws", wellknown.LabelAcceleratorCount: "1", wellknown.LabelGPUCount: "-"}},
		{"trn1.32xlarge", map[string]string{wellknown.LabelAcceleratorName: "trainium", wellknown.LabelAcceleratorCount: "16"}},
		{"dl2q.24xlarge", map[string]string{wellknown.LabelAcceleratorName: "qualcomm-ai100", wellknown.LabelAcceleratorManufacturer: "qualcomm"}},
	}
	for _, tt := range tests {
		t.Run(tt.give, func(t *testing.T) {
			labels := instanceType(t, tt.give, classOf(aws.FamilyAL2023), catalog.Settings{}).Labels
			for key, want := range tt.want {
				got, ok := labels[key]
				if !ok {
					got = "-"
				}
				if got != want {
					t.Errorf("%s = %q, want %q", key, got, want)
				}
			}
		})
	}
}

// u-6tb1.metal is not in the snapshot; its name must be read nevertheless.
func TestLabelsOfANameWithItsMemorySize(t *testing.T) {
	c := catalog.Catalog{Region: "r", Shapes: []catalog.Shape{
		{Name: "mac-m4.metal", Arch: "arm64"}, {Name: "u-6tb1.metal", Arch: "x86_64"}, {Name: "u-x1.metal", Arch: "x86_64"},
	}}
	var got []string
	for _, it := range c.InstanceTypes(classOf(aws.FamilyAL2023), catalog.Settings{}) {
		got = append(got, it.Labels[wellknown.LabelCategory]+" "+it.Labels[wellknown.LabelGeneration])
	}
	if diff := cmp.Diff([]string{" ", "u 1", " "}, got); diff != "" {
		t.Errorf("category and generation (-want +got):\n%s", diff)
	}
}

func TestLabelsOnWindows(t *testing.T) {
	for family, build := range map[aws.AMIFamily]string{
		aws.FamilyWindows2019: "10.0.17763", aws.FamilyWindows2022: "10.0.20348", aws.FamilyWindows2025: "10.0.26100",
	} {
		labels := instanceType(t, "m5.large", classOf(family), catalog.Settings{}).Labels
		if labels[corev1.LabelOSStable] != "windows" || labels[corev1.LabelWindowsBuild] != build {
			t.Errorf("%s: os %q, build %q", family, labels[corev1.LabelOSStable], labels[corev1.LabelWindowsBuild])
		}
	}
	if os, ok := instanceType(t, "m7g.medium", classOf(aws.FamilyWindows2022), catalog.Settings{}).Labels[corev1.LabelOSStable]; ok {
		t.Errorf("Windows on arm64 has os %q, want none", os)
	}
}

func TestRequirements(t *testing.T) {
	set := instanceType(t, "trn1.2xlarge", classOf(aws.FamilyAL2023), catalog.Settings{}).Requirements()
	for key, want := range map[string]string{
		corev1.LabelTopologyZone:        "In [us-east-1c us-east-1f]",
		wellknown.LabelZoneID:           "In [use1-az2 use1-az5]",
		wellknown.LabelCapacityType:     "In [on-demand spot]",
		wellknown.LabelTenancy:          "In [dedicated default]",
		wellknown.LabelCPU:              "In [8]",
		wellknown.LabelGPUCount:         "DoesNotExist",
		wellknown.LabelReservationID:    "DoesNotExist",
		corev1.LabelWindowsBuild:        "DoesNotExist",
		wellknown.LabelNitroSandbox:     "DoesNotExist",
		wellknown.LabelPlacementGroupID: "DoesNotExist",
	} {
		if got := set[key].String(); got != key+" "+want {
			t.Errorf("got %q, want %q", got, key+" "+want)
		}
	}
	if set.Has(wellknown.LabelNodePool) {
		t.Error("the type says something about the NodePool's name")
	}
	if got, want := len(set), len(wellknown.Labels())-1; got != want {
		t.Errorf("%d keys, want %d", got, want)
	}
}

// What the DoesNotExist entries are for: a type without GPU has to fail a comparison and satisfy an exclusion.
func TestRequirementsDecideComparisons(t *testing.T) {
	tests := []struct {
		name string
		want requirement.Requirement
		fits map[string]bool
	}{
		{"some GPU", requirement.New(wellknown.LabelGPUCount, karpenter.OpGt, "0"), map[string]bool{"m5.large": false, "g5.xlarge": true, "g6f.large": false}},
		{"not that GPU", requirement.New(wellknown.LabelGPUName, karpenter.OpNotIn, "a10g"), map[string]bool{"m5.large": true, "g5.xlarge": false}},
		{"no GPU", requirement.New(wellknown.LabelGPUCount, karpenter.OpDoesNotExist), map[string]bool{"m5.large": true, "g5.xlarge": false}},
		{"recent", requirement.New(wellknown.LabelGeneration, karpenter.OpGt, "4"), map[string]bool{"m5.large": true, "c3.large": false}},
		{"no large sizes", requirement.New(wellknown.LabelSize, karpenter.OpNotIn, "metal", "xlarge"), map[string]bool{"m5.large": true, "g5.xlarge": false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, want := range tt.fits {
				it := instanceType(t, name, classOf(aws.FamilyAL2023), catalog.Settings{})
				err := it.Requirements().Compatible(requirement.NewSet(tt.want), requirement.WellKnown)
				if (err == nil) != want {
					t.Errorf("%s: %v, want fit %v", name, err, want)
				}
			}
		})
	}
}
