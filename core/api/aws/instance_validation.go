package aws

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxBlockDevices = 50
	maxInterfaces   = 150
)

func validateBlockDevices(mappings []BlockDeviceMapping, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(mappings) > maxBlockDevices {
		errs = append(errs, field.TooMany(path, len(mappings), maxBlockDevices))
	}
	roots := 0
	for i, mapping := range mappings {
		if mapping.RootVolume {
			roots++
			if roots > 1 {
				errs = append(errs, field.Forbidden(path.Index(i).Child("rootVolume"), "only one mapping may be the root volume"))
			}
		}
		errs = append(errs, mapping.EBS.validate(path.Index(i).Child("ebs"))...)
	}
	return errs
}

func (d *BlockDevice) validate(path *field.Path) field.ErrorList {
	if d == nil {
		return nil
	}
	var errs field.ErrorList
	if d.SnapshotID == nil && d.VolumeSize == nil {
		errs = append(errs, field.Required(path, "want at least one of snapshotID, volumeSize"))
	}
	if d.VolumeInitializationRate != nil && d.SnapshotID == nil {
		errs = append(errs, field.Required(path.Child("snapshotID"), "a volume without a snapshot has nothing to initialize at volumeInitializationRate"))
	}
	errs = append(errs, betweenOptional(d.VolumeInitializationRate, 100, 300, path.Child("volumeInitializationRate"))...)
	errs = append(errs, oneOfOptional(d.VolumeType, path.Child("volumeType"), "standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")...)
	if d.VolumeSize != nil && !isVolumeSize(*d.VolumeSize) {
		errs = append(errs, field.Invalid(path.Child("volumeSize"), d.VolumeSize.String(),
			`want a whole number of Gi, G, Ti or T up to 59000Gi, 64000G, 58Ti or 64T, such as "100Gi"`))
	}
	return errs
}

// isVolumeSize reports whether the size is in a unit that EBS counts in, and not beyond the largest
// volume that upstream accepts.
func isVolumeSize(size resource.Quantity) bool {
	units := []struct {
		suffix string
		most   int64
	}{{"Gi", 59000}, {"G", 64000}, {"Ti", 58}, {"T", 64}}
	for _, unit := range units {
		if number, ok := strings.CutSuffix(size.String(), unit.suffix); ok {
			count, err := strconv.ParseInt(number, 10, 64)
			return err == nil && count >= 1 && count <= unit.most
		}
	}
	return false
}

func validateInterfaces(interfaces []NetworkInterface, path *field.Path) field.ErrorList {
	if len(interfaces) == 0 {
		return nil
	}
	type slot struct{ card, device int32 }
	var errs field.ErrorList
	if len(interfaces) > maxInterfaces {
		errs = append(errs, field.TooMany(path, len(interfaces), maxInterfaces))
	}
	primary := false
	slots, efaOnly := map[slot]bool{}, map[int32]bool{}
	for i, one := range interfaces {
		at := path.Index(i)
		errs = append(errs, between(int64(one.NetworkCardIndex), 0, maxInt32, at.Child("networkCardIndex"))...)
		errs = append(errs, between(int64(one.DeviceIndex), 0, maxInt32, at.Child("deviceIndex"))...)
		errs = append(errs, oneOf(one.InterfaceType, at.Child("interfaceType"), InterfaceTypeInterface, InterfaceTypeEFAOnly)...)
		place := slot{one.NetworkCardIndex, one.DeviceIndex}
		if slots[place] {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("networkCardIndex %d, deviceIndex %d", place.card, place.device)))
		}
		slots[place] = true
		if one.InterfaceType == InterfaceTypeEFAOnly {
			if efaOnly[place.card] {
				errs = append(errs, field.Forbidden(at.Child("interfaceType"), fmt.Sprintf("network card %d has an efa-only interface already", place.card)))
			}
			efaOnly[place.card] = true
		}
		primary = primary || place == slot{} && one.InterfaceType == InterfaceTypeInterface
	}
	if !primary {
		errs = append(errs, field.Required(path, "one must have networkCardIndex 0, deviceIndex 0 and interfaceType interface"))
	}
	return errs
}

func (m *MetadataOptions) validate(path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	errs := oneOfOptional(m.HTTPEndpoint, path.Child("httpEndpoint"), "enabled", "disabled")
	errs = append(errs, oneOfOptional(m.HTTPProtocolIPv6, path.Child("httpProtocolIPv6"), "enabled", "disabled")...)
	errs = append(errs, oneOfOptional(m.HTTPTokens, path.Child("httpTokens"), "required", "optional")...)
	if m.HTTPPutResponseHopLimit != nil {
		errs = append(errs, between(*m.HTTPPutResponseHopLimit, 1, 64, path.Child("httpPutResponseHopLimit"))...)
	}
	return errs
}

func (c *ConnectionTracking) validate(path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	if c.TCPEstablishedTimeout == nil && c.UDPStreamTimeout == nil && c.UDPTimeout == nil {
		return field.ErrorList{field.Required(path, "want at least one of tcpEstablishedTimeout, udpStreamTimeout, udpTimeout")}
	}
	errs := betweenOptional(c.TCPEstablishedTimeout, 60, 432000, path.Child("tcpEstablishedTimeout"))
	errs = append(errs, betweenOptional(c.UDPStreamTimeout, 60, 180, path.Child("udpStreamTimeout"))...)
	return append(errs, betweenOptional(c.UDPTimeout, 30, 60, path.Child("udpTimeout"))...)
}
