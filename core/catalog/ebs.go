package catalog

import (
	"whittle/core/api/aws"
)

// hoursPerMonth is how many hours AWS's price lists reckon a month to have.
const hoursPerMonth = 730

// volumePrice is what EBS charges for a volume type in us-east-1, in dollars a month (EBS pricing page).
type volumePrice struct {
	perGiB float64
	// perIOPS is for each IOPS beyond the free ones, perMiBps for each MiB/s beyond the free ones.
	perIOPS, perMiBps   float64
	freeIOPS, freeMiBps int64
}

func volumePriceOf(kind string) volumePrice {
	switch kind {
	case "gp2":
		return volumePrice{perGiB: 0.10}
	case "io1", "io2":
		return volumePrice{perGiB: 0.125, perIOPS: 0.065}
	case "st1":
		return volumePrice{perGiB: 0.045}
	case "sc1":
		return volumePrice{perGiB: 0.015}
	case "standard":
		return volumePrice{perGiB: 0.05}
	default: // gp3, which is also what a mapping without a type becomes
		return volumePrice{perGiB: 0.08, perIOPS: 0.005, perMiBps: 0.04, freeIOPS: 3000, freeMiBps: 125}
	}
}

// VolumesUSDPerHour is what the volumes cost that the class gives to each of its nodes: those it maps, or
// else its family's. A volume whose size comes from a snapshot counts nothing. io2 is reckoned at its first
// tier of IOPS.
func VolumesUSDPerHour(class *aws.EC2NodeClass) float64 {
	if len(class.Spec.BlockDeviceMappings) == 0 {
		return defaultVolumesGiB(class) * volumePriceOf("gp3").perGiB / hoursPerMonth
	}
	sum := 0.0
	for i := range class.Spec.BlockDeviceMappings {
		volume := class.Spec.BlockDeviceMappings[i].EBS
		if volume == nil || volume.VolumeSize == nil {
			continue
		}
		kind := ""
		if volume.VolumeType != nil {
			kind = *volume.VolumeType
		}
		price := volumePriceOf(kind)
		sum += float64(volume.VolumeSize.Value()) / gib * price.perGiB
		if volume.IOPS != nil {
			sum += float64(max(0, *volume.IOPS-price.freeIOPS)) * price.perIOPS
		}
		if volume.Throughput != nil {
			sum += float64(max(0, *volume.Throughput-price.freeMiBps)) * price.perMiBps
		}
	}
	return sum / hoursPerMonth
}

// defaultVolumesGiB is the size of the volumes that a family's nodes have when the class maps none.
func defaultVolumesGiB(class *aws.EC2NodeClass) float64 {
	switch family := class.Family(); {
	case family == aws.FamilyCustom:
		return 0
	case family == aws.FamilyBottlerocket:
		return 24
	case family.IsWindows():
		return 50
	default:
		return 20
	}
}
