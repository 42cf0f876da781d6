package catalog_test

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"whittle/core/api/aws"
	"whittle/core/catalog"
)

func TestVolumesUSDPerHour(t *testing.T) {
	volume := func(size, kind string, iops, throughput int64) aws.BlockDeviceMapping {
		quantity := resource.MustParse(size)
		device := &aws.BlockDevice{VolumeSize: &quantity}
		if kind != "" {
			device.VolumeType = &kind
		}
		if iops > 0 {
			device.IOPS = &iops
		}
		if throughput > 0 {
			device.Throughput = &throughput
		}
		return aws.BlockDeviceMapping{EBS: device}
	}
	tests := []struct {
		name     string
		family   aws.AMIFamily
		volumes  []aws.BlockDeviceMapping
		perMonth float64
	}{
		{name: "AL2023 brings 20 GiB of gp3", family: aws.FamilyAL2023, perMonth: 20 * 0.08},
		{name: "Bottlerocket brings 4 and 20", family: aws.FamilyBottlerocket, perMonth: 24 * 0.08},
		{name: "Windows brings 50", family: aws.FamilyWindows2022, perMonth: 50 * 0.08},
		{name: "of a custom image nothing is known", family: aws.FamilyCustom, perMonth: 0},
		{name: "gp3 with what is free", family: aws.FamilyAL2023, volumes: []aws.BlockDeviceMapping{volume("100Gi", "gp3", 3000, 125)}, perMonth: 8},
		{name: "gp3 with more", family: aws.FamilyAL2023, volumes: []aws.BlockDeviceMapping{volume("100Gi", "gp3", 4000, 225)}, perMonth: 8 + 1000*0.005 + 100*0.04},
		{name: "a volume without a type is gp3", family: aws.FamilyAL2023, volumes: []aws.BlockDeviceMapping{volume("100Gi", "", 0, 0)}, perMonth: 8},
		{name: "gp2", family: aws.FamilyAL2023, volumes: []aws.BlockDeviceMapping{volume("100Gi", "gp2", 0, 0)}, perMonth: 10},
		{name: "io1 pays for every IOPS", family: aws.FamilyAL2023, volumes: []aws.BlockDeviceMapping{volume("100Gi", "io1", 1000, 0)}, perMonth: 12.5 + 65},
		{name: "several", family: aws.FamilyAL2023, volumes: []aws.BlockDeviceMapping{volume("10Gi", "st1", 0, 0), volume("10Gi", "sc1", 0, 0)}, perMonth: 0.45 + 0.15},
		{name: "one from a snapshot is of unknown size", family: aws.FamilyAL2023, volumes: []aws.BlockDeviceMapping{{EBS: &aws.BlockDevice{}}}, perMonth: 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			class := classOf(test.family)
			class.Spec.BlockDeviceMappings = test.volumes
			if got := catalog.VolumesUSDPerHour(class) * 730; math.Abs(got-test.perMonth) > 1e-9 {
				t.Errorf("$%v a month, want $%v", got, test.perMonth)
			}
		})
	}
}
