package catalog

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// InstanceType is an instance type as a node of one class would be. It is not to be changed: parts are
// shared between types.
type InstanceType struct {
	Name string
	// Labels are those that every node of the type has. A well-known label that is neither here nor
	// told by the offering (zone, zone id, capacity type, reservation) nor tenancy is absent from it.
	Labels map[string]string
	// Capacity is what the node registers with, Allocatable what pods get of it, Overhead the rest.
	Capacity    resource.Amounts
	Allocatable resource.Amounts
	Overhead    Overhead
	// Offerings are sorted by zone, then capacity type, then reservation.
	Offerings []Offering
	Shape     *Shape
	// EBSAttachLimit is how many volumes can be attached to a running node for its pods: EC2's limit less
	// the volumes that the node starts with and, where interfaces count towards the limit, the second
	// one that the VPC CNI attaches at boot. The EBS CSI driver reports the same of a fresh node.
	EBSAttachLimit int
}

// Requirements describe the type as a set: one value for each of its labels, several for zone, zone id,
// capacity type, tenancy and reservations, and DoesNotExist for every other well-known label, so that
// NotIn and Gt decide by it (upstream computeRequirements). It is built on each call; loops over many
// types should read Labels and Offerings.
func (t *InstanceType) Requirements() requirement.Set {
	keys := wellknown.Labels()
	set := make(requirement.Set, len(keys))
	for _, key := range keys {
		if key != wellknown.LabelNodePool {
			set[key] = requirement.New(key, karpenter.OpIn, t.values(key)...)
		}
	}
	return set
}

// values are those that nodes of the type may have for a well-known label.
func (t *InstanceType) values(key string) []string {
	if key == wellknown.LabelTenancy {
		return []string{wellknown.TenancyDefault, wellknown.TenancyDedicated}
	}
	if value, ok := t.Labels[key]; ok {
		return []string{value}
	}
	var values []string
	for i := range t.Offerings {
		if value := t.Offerings[i].Label(key); value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// builder makes the instance types of one class.
type builder struct {
	region   string
	class    *aws.EC2NodeClass
	family   family
	zones    []zone
	settings Settings
	kubelet  *aws.KubeletConfiguration
	// kubeReservedByClass and systemReserved are what the class says, the same for all types.
	kubeReservedByClass resource.Amounts
	systemReserved      resource.Amounts
	reservations        map[reservation]resource.Amounts
}

func (b *builder) build(shape *Shape) InstanceType {
	capacity := b.capacity(shape)
	overhead := Overhead{
		KubeReserved:      b.kubeReserved(shape, capacity[corev1.ResourcePods]),
		SystemReserved:    b.systemReserved,
		EvictionThreshold: b.evictionThreshold(capacity),
	}
	return InstanceType{
		Name:           shape.Name,
		Labels:         b.labels(shape),
		Capacity:       capacity,
		Allocatable:    overhead.allocatable(capacity),
		Overhead:       overhead,
		Offerings:      b.offerings(shape),
		Shape:          shape,
		EBSAttachLimit: b.ebsAttachLimit(shape),
	}
}

func kubeletOf(class *aws.EC2NodeClass) *aws.KubeletConfiguration {
	if class.Spec.Kubelet == nil {
		return &aws.KubeletConfiguration{}
	}
	return class.Spec.Kubelet
}
