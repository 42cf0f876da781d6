package catalog

import (
	"whittle/core/api/aws"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// family is what an AMI family decides about a node's shape (upstream pkg/providers/amifamily, feature
// flags and default block device mappings).
type family struct {
	name aws.AMIFamily
	// windowsBuild is the value of the windows-build label; empty for Linux.
	windowsBuild string
	// storageDevice is the volume that holds pods' files, storageBytes its size unless the class says
	// otherwise, bootVolumes how many volumes an instance starts with.
	storageDevice string
	storageBytes  int64
	bootVolumes   int
	// overheadByPods makes kube-reserved memory follow the node's own number of pods rather than the
	// number that its network interfaces allow.
	overheadByPods bool
	// podsPerCore and raid0 say whether the family's bootstrap can do these.
	podsPerCore bool
	raid0       bool
}

func (f family) windows() bool { return f.windowsBuild != "" }

// familyOf is the class's AMI family: the one it names, or that of its alias. Without either, which
// validation refuses, nothing is known of the image, as with Custom.
func familyOf(class *aws.EC2NodeClass) family {
	name := class.Family()
	switch name {
	case aws.FamilyBottlerocket:
		return family{name: name, storageDevice: "/dev/xvdb", storageBytes: 20 * gib, bootVolumes: 2, overheadByPods: true, raid0: true}
	case aws.FamilyWindows2019:
		return windows(name, "10.0.17763")
	case aws.FamilyWindows2022:
		return windows(name, "10.0.20348")
	case aws.FamilyWindows2025:
		return windows(name, "10.0.26100")
	case aws.FamilyAL2, aws.FamilyAL2023:
		return family{name: name, storageDevice: "/dev/xvda", storageBytes: 20 * gib, bootVolumes: 1, podsPerCore: true, raid0: true}
	default:
		return family{name: aws.FamilyCustom, storageBytes: 20 * gib, bootVolumes: 1, podsPerCore: true, raid0: true}
	}
}

func windows(name aws.AMIFamily, build string) family {
	return family{
		name: name, windowsBuild: build,
		storageDevice: "/dev/sda1", storageBytes: 50 * gib, bootVolumes: 1,
		overheadByPods: true, podsPerCore: true,
	}
}
