package aws_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whittle/core/api/aws"
)

func TestValidateBlockDevices(t *testing.T) {
	setDevice := func(device aws.BlockDevice) change {
		return func(s *aws.EC2NodeClassSpec) { s.BlockDeviceMappings = []aws.BlockDeviceMapping{{EBS: &device}} }
	}
	setSize := func(size string) change { return setDevice(aws.BlockDevice{VolumeSize: new(resource.MustParse(size))}) }
	size := func(got string) []string {
		return []string{`spec.blockDeviceMappings[0].ebs.volumeSize: Invalid value: "` + got + `": want a whole number of Gi, G, Ti or T up to 59000Gi, 64000G, 58Ti or 64T, such as "100Gi"`}
	}
	gib := new(resource.MustParse("1Gi"))
	checkRefusals(t, []refusal{
		{"too many", func(s *aws.EC2NodeClassSpec) { s.BlockDeviceMappings = make([]aws.BlockDeviceMapping, 51) }, []string{"spec.blockDeviceMappings: Too many: 51: must have at most 50 items"}},
		{"two roots", func(s *aws.EC2NodeClassSpec) { s.BlockDeviceMappings[1].RootVolume = true }, []string{"spec.blockDeviceMappings[1].rootVolume: Forbidden: only one mapping may be the root volume"}},
		{"neither size nor snapshot", setDevice(aws.BlockDevice{}), []string{"spec.blockDeviceMappings[0].ebs: Required value: want at least one of snapshotID, volumeSize"}},
		{
			"initialized from nothing", setDevice(aws.BlockDevice{VolumeSize: gib, VolumeInitializationRate: new(int32(99))}),
			[]string{
				"spec.blockDeviceMappings[0].ebs.snapshotID: Required value: a volume without a snapshot has nothing to initialize at volumeInitializationRate",
				"spec.blockDeviceMappings[0].ebs.volumeInitializationRate: Invalid value: 99: must be 100 to 300",
			},
		},
		{
			"unknown volume", setDevice(aws.BlockDevice{VolumeSize: gib, VolumeType: new("gp4")}),
			[]string{`spec.blockDeviceMappings[0].ebs.volumeType: Unsupported value: "gp4": supported values: "standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"`},
		},
		{"largest in Gi", setSize("59000Gi"), nil},
		{"beyond in Gi", setSize("59001Gi"), size("59001Gi")},
		{"largest in G", setSize("64000G"), nil},
		{"beyond in G", setSize("64001G"), size("64001G")},
		{"largest in Ti", setSize("58Ti"), nil},
		{"beyond in Ti", setSize("59Ti"), size("59Ti")},
		{"largest in T", setSize("64T"), nil},
		{"beyond in T", setSize("65T"), size("65T")},
		{"no unit", setSize("100"), size("100")},
		{"too small a unit", setSize("500Mi"), size("500Mi")},
		{"nothing", setSize("0"), size("0")},
		{"negative", setSize("-1Gi"), size("-1Gi")},
	})
}

func TestValidateInterfaces(t *testing.T) {
	set := func(interfaces ...aws.NetworkInterface) change {
		return func(s *aws.EC2NodeClassSpec) { s.NetworkInterfaces = interfaces }
	}
	on := func(card, device int32, kind string) aws.NetworkInterface {
		return aws.NetworkInterface{NetworkCardIndex: card, DeviceIndex: device, InterfaceType: kind}
	}
	primary := on(0, 0, aws.InterfaceTypeInterface)
	checkRefusals(t, []refusal{
		{"none", set(), nil},
		{"no primary", set(on(0, 0, aws.InterfaceTypeEFAOnly)), []string{"spec.networkInterfaces: Required value: one must have networkCardIndex 0, deviceIndex 0 and interfaceType interface"}},
		{"same place twice", set(primary, primary), []string{`spec.networkInterfaces[1]: Duplicate value: "networkCardIndex 0, deviceIndex 0"`}},
		{
			"two for EFA on a card", set(primary, on(1, 0, aws.InterfaceTypeEFAOnly), on(1, 1, aws.InterfaceTypeEFAOnly)),
			[]string{"spec.networkInterfaces[2].interfaceType: Forbidden: network card 1 has an efa-only interface already"},
		},
		{
			"nonsense", set(primary, on(-1, -2, "efa")),
			[]string{
				"spec.networkInterfaces[1].networkCardIndex: Invalid value: -1: must be at least 0",
				"spec.networkInterfaces[1].deviceIndex: Invalid value: -2: must be at least 0",
				`spec.networkInterfaces[1].interfaceType: Unsupported value: "efa": supported values: "interface", "efa-only"`,
			},
		},
	})
}

func TestValidateInstanceOptions(t *testing.T) {
	checkRefusals(t, []refusal{
		{"prefixes", func(s *aws.EC2NodeClassSpec) { s.IPPrefixCount = new(int32(-1)) }, []string{"spec.ipPrefixCount: Invalid value: -1: must be at least 0"}},
		{
			"instance store", func(s *aws.EC2NodeClassSpec) { s.InstanceStorePolicy = new(aws.InstanceStorePolicy("RAID1")) },
			[]string{`spec.instanceStorePolicy: Unsupported value: "RAID1": supported values: "RAID0"`},
		},
		{
			"metadata", func(s *aws.EC2NodeClassSpec) {
				s.MetadataOptions = &aws.MetadataOptions{HTTPEndpoint: new("on"), HTTPProtocolIPv6: new("on"), HTTPTokens: new("no"), HTTPPutResponseHopLimit: new(int64(65))}
			},
			[]string{
				`spec.metadataOptions.httpEndpoint: Unsupported value: "on": supported values: "enabled", "disabled"`,
				`spec.metadataOptions.httpProtocolIPv6: Unsupported value: "on": supported values: "enabled", "disabled"`,
				`spec.metadataOptions.httpTokens: Unsupported value: "no": supported values: "required", "optional"`,
				"spec.metadataOptions.httpPutResponseHopLimit: Invalid value: 65: must be 1 to 64",
			},
		},
		{
			"no time-out", func(s *aws.EC2NodeClassSpec) { s.ConnectionTracking = &aws.ConnectionTracking{} },
			[]string{"spec.connectionTracking: Required value: want at least one of tcpEstablishedTimeout, udpStreamTimeout, udpTimeout"},
		},
		{
			"time-outs", func(s *aws.EC2NodeClassSpec) {
				s.ConnectionTracking = &aws.ConnectionTracking{TCPEstablishedTimeout: new(int32(59)), UDPStreamTimeout: new(int32(181)), UDPTimeout: new(int32(61))}
			},
			[]string{
				"spec.connectionTracking.tcpEstablishedTimeout: Invalid value: 59: must be 60 to 432000",
				"spec.connectionTracking.udpStreamTimeout: Invalid value: 181: must be 60 to 180",
				"spec.connectionTracking.udpTimeout: Invalid value: 61: must be 30 to 60",
			},
		},
		{
			"nested virtualization", func(s *aws.EC2NodeClassSpec) { s.CPUOptions.NestedVirtualization = new("yes") },
			[]string{`spec.cpuOptions.nestedVirtualization: Unsupported value: "yes": supported values: "enabled", "disabled"`},
		},
	})
}

func TestValidateKubelet(t *testing.T) {
	const signals = `"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available"`
	set := func(kubelet aws.KubeletConfiguration) change {
		return func(s *aws.EC2NodeClassSpec) { s.Kubelet = &kubelet }
	}
	checkRefusals(t, []refusal{
		{
			"numbers below 0", set(aws.KubeletConfiguration{MaxPods: new(int32(-1)), PodsPerCore: new(int32(-1)), EvictionMaxPodGracePeriod: new(int32(-1))}),
			[]string{
				"spec.kubelet.maxPods: Invalid value: -1: must be at least 0",
				"spec.kubelet.podsPerCore: Invalid value: -1: must be at least 0",
				"spec.kubelet.evictionMaxPodGracePeriod: Invalid value: -1: must be at least 0",
			},
		},
		{
			"reserved", set(aws.KubeletConfiguration{SystemReserved: map[string]string{"cpu": "-1", "gpu": "1"}, KubeReserved: map[string]string{"memory": "lots"}}),
			[]string{
				`spec.kubelet.systemReserved[cpu]: Invalid value: "-1": want a quantity of at least 0 such as "100m" or "256Mi"`,
				`spec.kubelet.systemReserved: Unsupported value: "gpu": supported values: "cpu", "memory", "ephemeral-storage", "pid"`,
				`spec.kubelet.kubeReserved[memory]: Invalid value: "lots": want a quantity of at least 0 such as "100m" or "256Mi"`,
			},
		},
		{
			"thresholds", set(aws.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "101%", "nodefs.available": "-1Gi", "pid.available": "x%", "disk": "5%"}}),
			[]string{
				`spec.kubelet.evictionHard: Unsupported value: "disk": supported values: ` + signals,
				`spec.kubelet.evictionHard[memory.available]: Invalid value: "101%": want a quantity such as "100Mi" or a percentage such as "5%"`,
				`spec.kubelet.evictionHard[nodefs.available]: Invalid value: "-1Gi": want a quantity such as "100Mi" or a percentage such as "5%"`,
				`spec.kubelet.evictionHard[pid.available]: Invalid value: "x%": want a quantity such as "100Mi" or a percentage such as "5%"`,
			},
		},
		{
			"half of a pair", set(aws.KubeletConfiguration{
				EvictionSoft:            map[string]string{"memory.available": "5%"},
				EvictionSoftGracePeriod: map[string]metav1.Duration{"nodefs.available": {Duration: -time.Second}},
			}),
			[]string{
				"spec.kubelet.evictionSoft[nodefs.available]: Required value: has a grace period but no threshold",
				`spec.kubelet.evictionSoftGracePeriod[nodefs.available]: Invalid value: "-1s": must be at least 0s`,
				"spec.kubelet.evictionSoftGracePeriod[memory.available]: Required value: has a threshold but no grace period",
			},
		},
		{
			"image collection upside down", set(aws.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(80)), ImageGCLowThresholdPercent: new(int32(80))}),
			[]string{"spec.kubelet.imageGCHighThresholdPercent: Invalid value: 80: must be greater than imageGCLowThresholdPercent, 80"},
		},
		{
			"image collection beyond the disk", set(aws.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(101)), ImageGCLowThresholdPercent: new(int32(-1))}),
			[]string{
				"spec.kubelet.imageGCHighThresholdPercent: Invalid value: 101: must be 0 to 100",
				"spec.kubelet.imageGCLowThresholdPercent: Invalid value: -1: must be 0 to 100",
			},
		},
	})
}
