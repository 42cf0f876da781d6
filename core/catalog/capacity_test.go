package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"

	"whittle/core/api/aws"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/resource"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// disk20Gi is what a volume of 20Gi leaves: 21474836480 - 1073741824 kube-reserved - 2147483648 (10 %).
	disk20Gi = 18253611008
)

// node spells the allocatable of a node: milli-CPU, MiB of memory, pods, bytes of disk, and the rest.
func node(milliCPU, memoryMiB, pods, disk int64, devices resource.Amounts) resource.Amounts {
	amounts := resource.Amounts{
		corev1.ResourceCPU:              milliCPU,
		corev1.ResourceMemory:           memoryMiB * mib,
		corev1.ResourcePods:             pods,
		corev1.ResourceEphemeralStorage: disk,
	}
	amounts.Add(devices)
	return amounts
}

func embedded(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	c, err := catalog.Embedded()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func classOf(family aws.AMIFamily) *aws.EC2NodeClass {
	return &aws.EC2NodeClass{Spec: aws.EC2NodeClassSpec{AMIFamily: &family}}
}

// al2023 is a class of that family with further settings.
func al2023(change func(*aws.EC2NodeClass)) *aws.EC2NodeClass {
	class := classOf(aws.FamilyAL2023)
	change(class)
	return class
}

// instanceType is one type as nodes of the class would be.
func instanceType(tb testing.TB, name string, class *aws.EC2NodeClass, settings catalog.Settings) *catalog.InstanceType {
	tb.Helper()
	types := embedded(tb).InstanceTypes(class, settings)
	for i := range types {
		if types[i].Name == name {
			return &types[i]
		}
	}
	tb.Fatalf("no instance type %s", name)
	return nil
}

// Each figure is worked out by hand: memory is EC2's MiB (less 64 on Graviton), less 7.5 % rounded up,
// less kube-reserved 11 MiB a pod and 255 MiB, less 100 MiB of eviction threshold.
func TestAllocatable(t *testing.T) {
	tests := []struct {
		name string
		want resource.Amounts
	}{
		{
			// cpu 2000 - 60 - 10; pods 2*1 + 2 = 4
			// memory 512, less 7.5 % = 38.4, up 39: 473; - (11*4 + 255 = 299) - 100
			name: "t3.nano",
			want: node(1930, 74, 4, disk20Gi, nil),
		},
		{
			// cpu 2000 - 60 - 10; pods 3*5 + 2 = 17
			// memory 4096, less 7.5 % = 307.2, up 308: 3788; - (11*17 + 255 = 442) - 100
			name: "t3.medium",
			want: node(1930, 3246, 17, disk20Gi, nil),
		},
		{
			// cpu 2000 - 60 - 10; pods 3*3 + 2 = 11
			// memory 2048 - 64 = 1984, less 7.5 % = 148.8, up 149: 1835; - (11*11 + 255 = 376) - 100
			name: "t4g.small",
			want: node(1930, 1359, 11, disk20Gi, nil),
		},
		{
			// cpu 1000 - 60; pods 2*3 + 2 = 8
			// memory 1740, less 7.5 % = 130.5, up 131: 1609; - (11*8 + 255 = 343) - 100
			name: "m1.small",
			want: node(940, 1166, 8, disk20Gi, nil),
		},
		{
			// cpu 2000 - 60 - 10; pods 3*9 + 2 = 29
			// memory 8192, less 7.5 % = 614.4, up 615: 7577; - (11*29 + 255 = 574) - 100
			name: "m5.large",
			want: node(1930, 6903, 29, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 9}),
		},
		{
			// cpu 2000 - 60 - 10; pods 3*9 + 2 = 29
			// memory 8192, less 7.5 % = 614.4, up 615: 7577; - (11*29 + 255 = 574) - 100
			name: "m7i-flex.large",
			want: node(1930, 6903, 29, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 3}),
		},
		{
			// cpu 1000 - 60; pods 2*3 + 2 = 8
			// memory 4096 - 64 = 4032, less 7.5 % = 302.4, up 303: 3729; - (11*8 + 255 = 343) - 100
			name: "m7g.medium",
			want: node(940, 3286, 8, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 4}),
		},
		{
			// cpu 4000 - 60 - 10 - 10; pods 4*14 + 2 = 58
			// memory 8192 - 64 = 8128, less 7.5 % = 609.6, up 610: 7518; - (11*58 + 255 = 893) - 100
			name: "c7gd.xlarge",
			want: node(3920, 6525, 58, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 18}),
		},
		{
			// cpu 8000 - 60 - 10 - 10 - 2.5*4; pods 4*14 + 2 = 58
			// memory 65536, less 7.5 % = 4915.2, up 4916: 60620; - (11*58 + 255 = 893) - 100
			name: "r7i.2xlarge",
			want: node(7910, 59627, 58, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 38}),
		},
		{
			// cpu 72000 - 60 - 10 - 10 - 2.5*68; pods 15*49 + 2 = 737
			// memory 147456, less 7.5 % = 11059.2, up 11060: 136396; - (11*737 + 255 = 8362) - 100
			name: "c5.18xlarge",
			want: node(71750, 127934, 737, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 107}),
		},
		{
			// cpu 96000 - 60 - 10 - 10 - 2.5*92; pods 15*49 + 2 = 737
			// memory 393216, less 7.5 % = 29491.2, up 29492: 363724; - (11*737 + 255 = 8362) - 100
			name: "m5.metal",
			want: node(95690, 355262, 737, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 120}),
		},
		{
			// cpu 64000 - 60 - 10 - 10 - 2.5*60; pods 15*49 + 2 = 737
			// memory 524288, less 7.5 % = 39321.6, up 39322: 484966; - (11*737 + 255 = 8362) - 100
			name: "r7iz.metal-16xl",
			want: node(63770, 476504, 737, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 107}),
		},
		{
			// cpu 16000 - 60 - 10 - 10 - 2.5*12; pods 4*49 + 2 = 198
			// memory 131072 - 64 = 131008, less 7.5 % = 9825.6, up 9826: 121182; - (11*198 + 255 = 2433) - 100
			name: "hpc7g.4xlarge",
			want: node(15890, 118649, 198, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 118, wellknown.ResourceEFA: 1}),
		},
		{
			// cpu 4000 - 60 - 10 - 10; pods 4*14 + 2 = 58
			// memory 16384, less 7.5 % = 1228.8, up 1229: 15155; - (11*58 + 255 = 893) - 100
			name: "g5.xlarge",
			want: node(3920, 14162, 58, disk20Gi, resource.Amounts{wellknown.ResourceNVIDIAGPU: 1, wellknown.ResourcePodENI: 4}),
		},
		{
			// cpu 4000 - 60 - 10 - 10; pods 2*3 + 2 = 8
			// memory 16384, less 7.5 % = 1228.8, up 1229: 15155; - (11*8 + 255 = 343) - 100
			name: "g4ad.xlarge",
			want: node(3920, 14712, 8, disk20Gi, resource.Amounts{wellknown.ResourceAMDGPU: 1, wellknown.ResourcePodENI: 12}),
		},
		{
			// cpu 2000 - 60 - 10; pods 2*9 + 2 = 20
			// memory 8192, less 7.5 % = 614.4, up 615: 7577; - (11*20 + 255 = 475) - 100
			name: "g6f.large",
			want: node(1930, 7002, 20, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 10}),
		},
		{
			// cpu 64000 - 60 - 10 - 10 - 2.5*60; pods 15*49 + 2 = 737
			// memory 131072 - 64 = 131008, less 7.5 % = 9825.6, up 9826: 121182; - (11*737 + 255 = 8362) - 100
			name: "g5g.metal",
			want: node(63770, 112720, 737, disk20Gi, resource.Amounts{wellknown.ResourceNVIDIAGPU: 2, wellknown.ResourcePodENI: 107}),
		},
		{
			// cpu 96000 - 60 - 10 - 10 - 2.5*92; pods 15*49 + 2 = 737
			// memory 1179648, less 7.5 % = 88473.6, up 88474: 1091174; - (11*737 + 255 = 8362) - 100
			name: "p4d.24xlarge",
			want: node(95690, 1082712, 737, disk20Gi, resource.Amounts{wellknown.ResourceNVIDIAGPU: 8, wellknown.ResourcePodENI: 62, wellknown.ResourceEFA: 4}),
		},
		{
			// cpu 192000 - 60 - 10 - 10 - 2.5*188; pods 2*49 + 2 = 100
			// memory 2097152, less 7.5 % = 157286, up 157287: 1939865; - (11*100 + 255 = 1355) - 100
			name: "p5.48xlarge",
			want: node(191450, 1938410, 100, disk20Gi, resource.Amounts{wellknown.ResourceNVIDIAGPU: 8, wellknown.ResourcePodENI: 120, wellknown.ResourceEFA: 32}),
		},
		{
			// cpu 96000 - 60 - 10 - 10 - 2.5*92; pods 15*49 + 2 = 737
			// memory 786432, less 7.5 % = 58982.4, up 58983: 727449; - (11*737 + 255 = 8362) - 100
			name: "dl1.24xlarge",
			want: node(95690, 718987, 737, disk20Gi, resource.Amounts{wellknown.ResourceGaudi: 8, wellknown.ResourcePodENI: 62, wellknown.ResourceEFA: 4}),
		},
		{
			// cpu 8000 - 60 - 10 - 10 - 2.5*4; pods 4*9 + 2 = 38
			// memory 16384, less 7.5 % = 1228.8, up 1229: 15155; - (11*38 + 255 = 673) - 100
			name: "inf1.2xlarge",
			want: node(7910, 14382, 38, disk20Gi, resource.Amounts{wellknown.ResourceNeuron: 1, wellknown.ResourceNeuronCore: 4, wellknown.ResourcePodENI: 38}),
		},
		{
			// cpu 4000 - 60 - 10 - 10; pods 4*14 + 2 = 58
			// memory 16384, less 7.5 % = 1228.8, up 1229: 15155; - (11*58 + 255 = 893) - 100
			name: "inf2.xlarge",
			want: node(3920, 14162, 58, disk20Gi, resource.Amounts{wellknown.ResourceNeuron: 1, wellknown.ResourceNeuronCore: 2, wellknown.ResourcePodENI: 18}),
		},
		{
			// cpu 128000 - 60 - 10 - 10 - 2.5*124; pods 5*49 + 2 = 247
			// memory 524288, less 7.5 % = 39321.6, up 39322: 484966; - (11*247 + 255 = 2972) - 100
			name: "trn1.32xlarge",
			want: node(127610, 481894, 247, disk20Gi, resource.Amounts{wellknown.ResourceNeuron: 16, wellknown.ResourceNeuronCore: 32, wellknown.ResourcePodENI: 82, wellknown.ResourceEFA: 8}),
		},
		{
			// cpu 224000 - 60 - 10 - 10 - 2.5*220; pods 15*49 + 2 = 737
			// memory 6291456, less 7.5 % = 471859, up 471860: 5819596; - (11*737 + 255 = 8362) - 100
			name: "u-6tb1.56xlarge",
			want: node(223370, 5811134, 737, disk20Gi, nil),
		},
		{
			// cpu 896000 - 60 - 10 - 10 - 2.5*892; pods 8*49 + 2 = 394
			// memory 16777216, less 7.5 % = 1.25829e+06, up 1258292: 15518924; - (11*394 + 255 = 4589) - 100
			name: "u7in-16tb.224xlarge",
			want: node(893690, 15514235, 394, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 106, wellknown.ResourceEFA: 2}),
		},
	}
	types := map[string]catalog.InstanceType{}
	for _, it := range embedded(t).InstanceTypes(classOf(aws.FamilyAL2023), catalog.Settings{}) {
		types[it.Name] = it
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, types[tt.name].Allocatable); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllocatableByClass(t *testing.T) {
	maxPods := int32(110)
	tests := []struct {
		name  string
		give  string
		class *aws.EC2NodeClass
		want  resource.Amounts
	}{
		{
			// disk 937 GB: 937000000000 - 1073741824 - 93700000000
			// memory 32768 - 2458 = 30310; - (11*58 + 255 = 893) - 100; pods 4*14 + 2
			name: "RAID0 of local disks", give: "i4i.xlarge",
			class: al2023(func(c *aws.EC2NodeClass) {
				raid0 := aws.InstanceStoreRAID0
				c.Spec.InstanceStorePolicy = &raid0
			}),
			want: node(3920, 29317, 58, 842226258176, resource.Amounts{wellknown.ResourcePodENI: 6}),
		},
		{
			// without disks to join, the volume stays: m5.large as above
			name: "RAID0 without local disks", give: "m5.large",
			class: al2023(func(c *aws.EC2NodeClass) {
				raid0 := aws.InstanceStoreRAID0
				c.Spec.InstanceStorePolicy = &raid0
			}),
			want: node(1930, 6903, 29, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 9}),
		},
		{
			// AL2023 reserves by interfaces, whatever maxPods: 7577 - 574 - 100
			name: "maxPods", give: "m5.large",
			class: al2023(func(c *aws.EC2NodeClass) { c.Spec.Kubelet = &aws.KubeletConfiguration{MaxPods: &maxPods} }),
			want:  node(1930, 6903, 110, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 9}),
		},
		{
			// Bottlerocket reserves by pods: 7577 - (11*110 + 255 = 1465) - 100
			name: "maxPods on Bottlerocket", give: "m5.large",
			class: func() *aws.EC2NodeClass {
				c := classOf(aws.FamilyBottlerocket)
				c.Spec.Kubelet = &aws.KubeletConfiguration{MaxPods: &maxPods}
				return c
			}(),
			want: node(1930, 6012, 110, disk20Gi, resource.Amounts{wellknown.ResourcePodENI: 9}),
		},
		{
			// 50Gi: 53687091200 - 1073741824 - 5368709120; memory 7577 - (11*110 + 255) - 100
			name: "Windows", give: "m5.large", class: classOf(aws.FamilyWindows2022),
			want: node(1930, 6012, 110, 47244640256, resource.Amounts{wellknown.ResourcePodENI: 9, wellknown.ResourcePrivateIPv4: 9}),
		},
		{
			// CPU 2000 - 200 - 100; memory 7577 - 1024 - 512 - 5 % of 7577 MiB, which is
			// 7945060352 bytes * 0.05 = 397253017.6, up 397253018; disk 20Gi - 2Gi - 1Gi
			name: "kubelet settings", give: "m5.large",
			class: al2023(func(c *aws.EC2NodeClass) {
				c.Spec.Kubelet = &aws.KubeletConfiguration{
					KubeReserved:   map[string]string{"cpu": "200m", "memory": "1Gi", "ephemeral-storage": "2Gi", "pid": "1000"},
					SystemReserved: map[string]string{"cpu": "100m", "memory": "512Mi"},
					EvictionHard:   map[string]string{"memory.available": "5%", "nodefs.available": "1Gi", "imagefs.available": "15%"},
					EvictionSoft:   map[string]string{"memory.available": "50%"},
				}
			}),
			want: resource.Amounts{
				corev1.ResourceCPU: 1700, corev1.ResourceMemory: 7945060352 - 1073741824 - 536870912 - 397253018,
				corev1.ResourcePods: 29, corev1.ResourceEphemeralStorage: 18253611008, wellknown.ResourcePodENI: 9,
			},
		},
		{
			// 7577 - 574 and 20Gi - 1Gi: 100 % turns a threshold off
			name: "eviction off", give: "m5.large",
			class: al2023(func(c *aws.EC2NodeClass) {
				c.Spec.Kubelet = &aws.KubeletConfiguration{
					EvictionHard: map[string]string{"memory.available": "100%", "nodefs.available": "100%"},
				}
			}),
			want: node(1930, 7003, 29, 20401094656, resource.Amounts{wellknown.ResourcePodENI: 9}),
		},
		{
			// 473 MiB less 1 GiB: a node cannot offer less than nothing
			name: "more reserved than there is", give: "t3.nano",
			class: al2023(func(c *aws.EC2NodeClass) {
				c.Spec.Kubelet = &aws.KubeletConfiguration{SystemReserved: map[string]string{"memory": "1Gi"}}
			}),
			want: node(1930, 0, 4, disk20Gi, nil),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := instanceType(t, tt.give, tt.class, catalog.Settings{}).Allocatable
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverheadByPart(t *testing.T) {
	it := instanceType(t, "m5.large", classOf(aws.FamilyAL2023), catalog.Settings{})
	wantCapacity := node(2000, 7577, 29, 20*gib, resource.Amounts{wellknown.ResourcePodENI: 9})
	if diff := cmp.Diff(wantCapacity, it.Capacity); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	wantOverhead := catalog.Overhead{
		KubeReserved: resource.Amounts{
			corev1.ResourceCPU: 70, corev1.ResourceMemory: 574 * mib, corev1.ResourceEphemeralStorage: gib,
		},
		SystemReserved:    resource.Amounts{},
		EvictionThreshold: resource.Amounts{corev1.ResourceMemory: 100 * mib, corev1.ResourceEphemeralStorage: 2 * gib},
	}
	if diff := cmp.Diff(wantOverhead, it.Overhead); diff != "" {
		t.Errorf("overhead (-want +got):\n%s", diff)
	}
}

// Sizes by cores that upstream's documentation gives.
func TestKubeReservedCPU(t *testing.T) {
	for name, want := range map[string]int64{
		"m7g.medium": 60, "m5.large": 70, "m5.xlarge": 80, "m5.2xlarge": 90, "m5.4xlarge": 110, "m5.24xlarge": 310,
	} {
		it := instanceType(t, name, classOf(aws.FamilyAL2023), catalog.Settings{})
		if got := it.Overhead.KubeReserved[corev1.ResourceCPU]; got != want {
			t.Errorf("%s reserves %dm, want %dm", name, got, want)
		}
	}
}

// C06: m5.large has 3 interfaces of 10 addresses.
func TestPodsWithReservedInterfaces(t *testing.T) {
	for reserved, want := range []int64{29, 20, 11, 0, 0} {
		it := instanceType(t, "m5.large", classOf(aws.FamilyAL2023), catalog.Settings{ReservedENIs: reserved})
		if got := it.Capacity[corev1.ResourcePods]; got != want {
			t.Errorf("%d interfaces reserved: %d pods, want %d", reserved, got, want)
		}
		if got := it.Overhead.KubeReserved[corev1.ResourceMemory]; got != 574*mib {
			t.Errorf("%d interfaces reserved: kube-reserved %d, want 574Mi", reserved, got)
		}
	}
}

func TestPodsByKubelet(t *testing.T) {
	p := func(n int32) *int32 { return &n }
	tests := []struct {
		name    string
		family  aws.AMIFamily
		kubelet aws.KubeletConfiguration
		want    int64
	}{
		{"maxPods wins over interfaces", aws.FamilyAL2023, aws.KubeletConfiguration{MaxPods: p(250)}, 250},
		{"maxPods of zero", aws.FamilyAL2023, aws.KubeletConfiguration{MaxPods: p(0)}, 0},
		{"podsPerCore on 2 vCPU", aws.FamilyAL2023, aws.KubeletConfiguration{PodsPerCore: p(4)}, 8},
		{"podsPerCore below maxPods", aws.FamilyAL2, aws.KubeletConfiguration{PodsPerCore: p(4), MaxPods: p(50)}, 8},
		{"maxPods below podsPerCore", aws.FamilyAL2, aws.KubeletConfiguration{PodsPerCore: p(4), MaxPods: p(5)}, 5},
		{"podsPerCore above interfaces", aws.FamilyAL2023, aws.KubeletConfiguration{PodsPerCore: p(40)}, 29},
		{"podsPerCore of zero is none", aws.FamilyAL2023, aws.KubeletConfiguration{PodsPerCore: p(0)}, 29},
		{"Bottlerocket knows no podsPerCore", aws.FamilyBottlerocket, aws.KubeletConfiguration{PodsPerCore: p(4)}, 29},
		{"Windows", aws.FamilyWindows2025, aws.KubeletConfiguration{}, 110},
		{"podsPerCore on Windows", aws.FamilyWindows2025, aws.KubeletConfiguration{PodsPerCore: p(10)}, 20},
		{"Custom", aws.FamilyCustom, aws.KubeletConfiguration{MaxPods: p(17)}, 17},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := classOf(tt.family)
			class.Spec.Kubelet = &tt.kubelet
			got := instanceType(t, "m5.large", class, catalog.Settings{}).Capacity[corev1.ResourcePods]
			if got != tt.want {
				t.Errorf("%d pods, want %d", got, tt.want)
			}
		})
	}
}

func TestMemorySettings(t *testing.T) {
	class := al2023(func(c *aws.EC2NodeClass) { c.Status.AMIs = []aws.AMI{{ID: "ami-1"}, {ID: "ami-2"}, {ID: "ami-3"}} })
	observed := func(instanceType, ami string) (int64, bool) {
		memory, ok := map[string]int64{"m5.large/ami-2": 7700 * mib, "m5.large/ami-3": 7690 * mib}[instanceType+"/"+ami]
		return memory, ok
	}
	tests := []struct {
		name     string
		give     string
		settings catalog.Settings
		wantMiB  int64
	}{
		{"no hypervisor to speak of", "m5.large", catalog.Settings{VMMemoryOverhead: 0.01}, 8110}, // 8192 - 81.92 up
		{"smallest observed", "m5.large", catalog.Settings{ObservedMemory: observed}, 7690},
		{"never observed", "m5.xlarge", catalog.Settings{ObservedMemory: observed}, 15155}, // 16384 - 1228.8 up
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := instanceType(t, tt.give, class, tt.settings).Capacity[corev1.ResourceMemory]
			if got != tt.wantMiB*mib {
				t.Errorf("memory %d MiB, want %d", got/mib, tt.wantMiB)
			}
		})
	}
}

func TestEphemeralStorage(t *testing.T) {
	volume := func(device, size string, root bool) aws.BlockDeviceMapping {
		m := aws.BlockDeviceMapping{DeviceName: &device, RootVolume: root, EBS: &aws.BlockDevice{}}
		if size != "" {
			q := quantity.MustParse(size)
			m.EBS.VolumeSize = &q
		}
		return m
	}
	raid0 := aws.InstanceStoreRAID0
	tests := []struct {
		name    string
		family  aws.AMIFamily
		policy  *aws.InstanceStorePolicy
		volumes []aws.BlockDeviceMapping
		want    int64
	}{
		{"the device of the family", aws.FamilyAL2023, nil, []aws.BlockDeviceMapping{volume("/dev/sdz", "5Gi", false), volume("/dev/xvda", "100Gi", false)}, 100 * gib},
		{"decimal size", aws.FamilyAL2023, nil, []aws.BlockDeviceMapping{volume("/dev/xvda", "100G", false)}, 100e9},
		{"root volume wins", aws.FamilyAL2023, nil, []aws.BlockDeviceMapping{volume("/dev/xvda", "100Gi", false), volume("/dev/xvdb", "40Gi", true)}, 40 * gib},
		{"no matching device", aws.FamilyAL2023, nil, []aws.BlockDeviceMapping{volume("/dev/sdz", "5Gi", false)}, 20 * gib},
		{"size from a snapshot", aws.FamilyAL2023, nil, []aws.BlockDeviceMapping{volume("/dev/xvda", "", false)}, 20 * gib},
		{"Bottlerocket's data volume", aws.FamilyBottlerocket, nil, []aws.BlockDeviceMapping{volume("/dev/xvda", "8Gi", false), volume("/dev/xvdb", "60Gi", false)}, 60 * gib},
		{"Bottlerocket's default", aws.FamilyBottlerocket, nil, nil, 20 * gib},
		{"Windows' default", aws.FamilyWindows2019, nil, nil, 50 * gib},
		{"the last of a custom image", aws.FamilyCustom, nil, []aws.BlockDeviceMapping{volume("/dev/xvda", "8Gi", false), volume("/dev/sdz", "60Gi", false)}, 60 * gib},
		{"a custom image without any", aws.FamilyCustom, nil, nil, 20 * gib},
		{"a custom image's unsized one", aws.FamilyCustom, nil, []aws.BlockDeviceMapping{volume("/dev/xvda", "8Gi", false), volume("/dev/sdz", "", false)}, 20 * gib},
		{"RAID0 wins over volumes", aws.FamilyAL2023, &raid0, []aws.BlockDeviceMapping{volume("/dev/xvda", "100Gi", true)}, 237e9},
		{"Windows does no RAID0", aws.FamilyWindows2022, &raid0, nil, 50 * gib},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := classOf(tt.family)
			class.Spec.BlockDeviceMappings, class.Spec.InstanceStorePolicy = tt.volumes, tt.policy
			got := instanceType(t, "c7gd.xlarge", class, catalog.Settings{}).Capacity[corev1.ResourceEphemeralStorage]
			if got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}

func TestNetworkInterfacesOfTheClass(t *testing.T) {
	class := al2023(func(c *aws.EC2NodeClass) {
		c.Spec.NetworkInterfaces = []aws.NetworkInterface{
			{NetworkCardIndex: 0, DeviceIndex: 0, InterfaceType: aws.InterfaceTypeInterface},
			{NetworkCardIndex: 0, DeviceIndex: 1, InterfaceType: aws.InterfaceTypeEFAOnly},
			{NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: aws.InterfaceTypeEFAOnly},
		}
	})
	it := instanceType(t, "p4d.24xlarge", class, catalog.Settings{})
	// (15 - 1)*49 + 2
	if got := it.Capacity[corev1.ResourcePods]; got != 688 {
		t.Errorf("%d pods, want 688", got)
	}
	if got := it.Capacity[wellknown.ResourceEFA]; got != 2 {
		t.Errorf("%d EFAs, want 2", got)
	}
}

func TestEBSAttachLimit(t *testing.T) {
	tests := []struct {
		name  string
		give  string
		class *aws.EC2NodeClass
		want  int
	}{
		{"shared with interfaces", "m5.large", classOf(aws.FamilyAL2023), 25},
		{"dedicated", "m7i-flex.large", classOf(aws.FamilyAL2023), 31},
		{"two boot volumes", "m7i-flex.large", classOf(aws.FamilyBottlerocket), 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := instanceType(t, tt.give, tt.class, catalog.Settings{}).EBSAttachLimit; got != tt.want {
				t.Errorf("%d volumes, want %d", got, tt.want)
			}
		})
	}
}
