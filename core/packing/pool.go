package packing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"whittle/core/api/aws"
	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/cluster"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// pool is a NodePool made ready for the search: what it may launch, at which price, with what room.
//
// An offering of the pool is an instance type (its index in types) in a slot (zone, capacity type,
// reservation). Requirements compile to masks: for each instance type, the set of slots allowed.
type pool struct {
	object   *karpenter.NodePool
	class    *aws.EC2NodeClass
	template requirement.Set
	taints   []corev1.Taint

	types []catalog.InstanceType
	index *typeIndex
	slots []slot
	// allowed holds the offerings that the template allows, available those of them that EC2 has.
	allowed, available masks
	// price of every offering in dollars per hour, [type][slot]; +Inf where there is none.
	price [][]float64
	// priceOrder are the types in stock by price, for each capacity type; worked out when first needed.
	priceOrder map[string][]int
	zones      map[zonePriceKey][]ZonePrice
	// room is what a node of a type offers to pods beside its DaemonSets.
	room []vector
	// overhead is what the DaemonSets of a node of a type ask for.
	overhead []resource.Amounts
	// extra is what a node costs beside its instance, in dollars per hour: its volumes, and what the
	// NodePool's annotation adds for licences and agents that are billed by host.
	extra float64
	// exotic marks the types that are for those who ask for them: see exoticTypes.
	exotic []bool

	limits limits
	// crowd is what a new node's DaemonSets are to the terms on nodes.
	crowd crowd
	// blocked says why the pool launches nothing at all; empty when it may.
	blocked string
}

// slot is what offerings of several instance types share: a zone with a capacity type, and the reservation
// if there is one. It has nothing of what is an instance type's own, such as the price.
type slot struct{ catalog.Offering }

// maxSlots is how many slots a mask has bits for: twenty zones with three capacity types, and more than any
// region has. Capacity reservations beyond that are not used.
const maxSlots = 64

// masks holds a set of offerings: one word of slots for each instance type.
type masks []uint64

// and narrows m to what other holds too, and reports whether anything is left.
func (m masks) and(other masks) bool {
	left := uint64(0)
	for i := range m {
		m[i] &= other[i]
		left |= m[i]
	}
	return left != 0
}

func (m masks) or(other masks) {
	for i := range m {
		m[i] |= other[i]
	}
}

func (m masks) empty() bool {
	for _, word := range m {
		if word != 0 {
			return false
		}
	}
	return true
}

// newPools compiles the snapshot's NodePools, heaviest first; equal weights in upstream's order, name
// descending.
func newPools(s *cluster.Snapshot) []*pool {
	classes := map[string]*aws.EC2NodeClass{}
	for _, class := range s.NodeClasses {
		classes[class.Name] = class
	}
	shared := map[string]*typeIndex{}
	pools := make([]*pool, 0, len(s.NodePools))
	for _, object := range s.NodePools {
		p := &pool{object: object}
		if ours(object.Spec.Template.Spec.NodeClassRef) {
			p.class = classes[object.Spec.Template.Spec.NodeClassRef.Name]
		}
		p.template = templateRequirements(object)
		p.taints = object.Spec.Template.Spec.Taints
		p.blocked = p.reasonToBlock()
		if p.class == nil {
			p.compile(newTypeIndex(nil))
		} else {
			index := shared[p.class.Name]
			if index == nil {
				index = newTypeIndex(s.InstanceTypes(p.class))
				shared[p.class.Name] = index
			}
			p.compile(index)
			p.extra = catalog.VolumesUSDPerHour(p.class) + surcharge(object)
		}
		pools = append(pools, p)
	}
	slices.SortStableFunc(pools, func(a, b *pool) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(b.object.Name, a.object.Name))
	})
	return pools
}

// surcharge is what the NodePool's annotation says that each node costs more. One that cannot be read,
// which validation refuses, counts nothing.
func surcharge(object *karpenter.NodePool) float64 {
	usd, err := strconv.ParseFloat(object.Annotations[wellknown.AnnotationNodeSurcharge], 64)
	if err != nil || usd < 0 || math.IsInf(usd, 0) || math.IsNaN(usd) {
		return 0
	}
	return usd
}

// ours reports whether the class is of the kind that Whittle launches for.
func ours(ref karpenter.NodeClassReference) bool {
	return (ref.Group == "" || ref.Group == wellknown.GroupAWS) && (ref.Kind == "" || ref.Kind == "EC2NodeClass")
}

func (p *pool) weight() int32 { return p.object.WeightOrZero() }

func (p *pool) reasonToBlock() string {
	ref := p.object.Spec.Template.Spec.NodeClassRef
	ready := meta.FindStatusCondition(p.object.Status.Conditions, karpenter.ConditionReady)
	switch {
	case p.object.DeletionTimestamp != nil:
		return "the NodePool is being deleted"
	case p.object.Spec.Replicas != nil:
		return "the NodePool is static (spec.replicas)"
	case !ours(ref):
		return fmt.Sprintf("its nodes are of %s %s, which somebody else makes", ref.Group, ref.Kind)
	case p.class == nil:
		return fmt.Sprintf("EC2NodeClass %q does not exist", ref.Name)
	case p.class.DeletionTimestamp != nil:
		return fmt.Sprintf("EC2NodeClass %q is being deleted", ref.Name)
	case ready != nil && ready.Status == "False":
		return "the NodePool is not ready: " + ready.Reason
	default:
		return ""
	}
}

// templateRequirements are what every node of the NodePool satisfies: its requirements, its labels and
// the labels that name the pool and its class.
func templateRequirements(object *karpenter.NodePool) requirement.Set {
	set := requirement.FromSpec(object.Spec.Template.Spec.Requirements)
	set.Merge(requirement.FromLabels(object.Spec.Template.ObjectMeta.Labels))
	set.Add(
		requirement.New(wellknown.LabelNodePool, karpenter.OpIn, object.Name),
		requirement.New(wellknown.LabelNodeClass, karpenter.OpIn, object.Spec.Template.Spec.NodeClassRef.Name),
	)
	return set
}

// compile works out the pool's offerings.
func (p *pool) compile(index *typeIndex) {
	p.index = index
	p.types = index.types
	p.slots = slotsOf(p.types)
	p.exotic = p.exoticTypes()
	p.price = make([][]float64, len(p.types))
	p.available = make(masks, len(p.types))
	sold := make(masks, len(p.types))
	position := make(map[slot]int, len(p.slots))
	for i, s := range p.slots {
		position[s] = i
	}
	for t := range p.types {
		prices := make([]float64, len(p.slots))
		for i := range prices {
			prices[i] = math.Inf(1)
		}
		for _, offering := range p.types[t].Offerings {
			i, kept := position[slotOf(offering)]
			if !kept {
				continue
			}
			prices[i] = offering.USDPerHour
			sold[t] |= 1 << i
			if offering.Available {
				p.available[t] |= 1 << i
			}
		}
		p.price[t] = prices
	}
	compiled := p.compileSet(p.template, true)
	p.allowed = compiled.masks
	p.allowed.and(sold)
	if p.blocked == "" && p.allowed.empty() {
		p.blocked = fmt.Sprintf("no instance type satisfies the NodePool's requirements %s", p.template)
	}
	for t := range p.available {
		p.available[t] &= p.allowed[t]
	}
}

// exoticTypes marks bare metal and types with accelerators. They serve only pods that fit on nothing
// else, even where they are the cheaper buy: metal takes long to boot, and accelerators are scarce
// (upstream pkg/providers/instance/filter). A pool that asks for variety with minValues keeps them.
func (p *pool) exoticTypes() []bool {
	exotic := make([]bool, len(p.types))
	for _, r := range p.object.Spec.Template.Spec.Requirements {
		if r.MinValues != nil {
			return exotic
		}
	}
	for t := range p.types {
		capacity := p.types[t].Capacity
		exotic[t] = strings.Contains(p.types[t].Labels[wellknown.LabelSize], "metal")
		for _, device := range []corev1.ResourceName{
			wellknown.ResourceNVIDIAGPU, wellknown.ResourceAMDGPU, wellknown.ResourceNeuron, wellknown.ResourceNeuronCore, wellknown.ResourceGaudi,
		} {
			exotic[t] = exotic[t] || capacity[device] > 0
		}
	}
	return exotic
}

func slotsOf(types []catalog.InstanceType) []slot {
	seen := map[slot]bool{}
	var slots []slot
	for t := range types {
		for _, offering := range types[t].Offerings {
			if s := slotOf(offering); !seen[s] {
				seen[s] = true
				slots = append(slots, s)
			}
		}
	}
	slices.SortFunc(slots, func(a, b slot) int {
		return cmp.Or(
			cmp.Compare(min(len(a.ReservationID), 1), min(len(b.ReservationID), 1)),
			cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.ReservationID, b.ReservationID),
		)
	})
	return slots[:min(len(slots), maxSlots)]
}

func slotOf(o catalog.Offering) slot {
	o.USDPerHour, o.InterruptionBucket, o.Available, o.Reserved = 0, 0, false, 0
	return slot{o}
}

// ImpossiblePool is a NodePool that can never launch anything, with the field that makes it so.
type ImpossiblePool struct {
	NodePool string
	// Field is the path of the first requirement that leaves nothing.
	Field   string
	Message string
}

// ImpossiblePools are the snapshot's NodePools whose requirements no instance type of the catalog
// satisfies, whatever EC2 has in stock.
func ImpossiblePools(s *cluster.Snapshot) []ImpossiblePool {
	var impossible []ImpossiblePool
	for _, p := range newPools(s) {
		if p.class == nil || !p.allowed.empty() {
			continue
		}
		field, message := p.firstImpossible()
		impossible = append(impossible, ImpossiblePool{NodePool: p.object.Name, Field: field, Message: message})
	}
	return impossible
}

// firstImpossible names the first requirement of the template with which nothing is left.
func (p *pool) firstImpossible() (field, message string) {
	sofar := requirement.Set{}
	for i, r := range p.object.Spec.Template.Spec.Requirements {
		one := requirement.FromSpec([]karpenter.Requirement{r})
		sofar.Merge(one)
		if !p.compileSet(sofar, true).masks.empty() {
			continue
		}
		message = "no instance type has %s"
		if !p.compileSet(one, true).masks.empty() {
			message = "no instance type has %s and satisfies the requirements before it"
		}
		return fmt.Sprintf("spec.template.spec.requirements[%d]", i), fmt.Sprintf(message, one)
	}
	return "spec.template.metadata.labels", fmt.Sprintf("no instance type satisfies the labels together with the requirements: %s", p.template)
}
