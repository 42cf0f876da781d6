package packing

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/catalog"
	"whittle/core/requirement"
)

// typeIndex looks instance types up by the values of their labels, so that a requirement is judged
// once for each value of a label instead of once for each type.
type typeIndex struct {
	types  []catalog.InstanceType
	labels map[string]*labelIndex
}

type labelIndex struct {
	values []string
	// of is the position in values of each type's value; -1 for a type without the label.
	of []int32
}

func newTypeIndex(types []catalog.InstanceType) *typeIndex {
	return &typeIndex{types: types, labels: map[string]*labelIndex{}}
}

// position of an instance type by its name; the types are sorted.
func (x *typeIndex) position(name string) int {
	at, _ := slices.BinarySearchFunc(x.types, name, func(t catalog.InstanceType, name string) int { return strings.Compare(t.Name, name) })
	return at
}

func (x *typeIndex) label(key string) *labelIndex {
	if found := x.labels[key]; found != nil {
		return found
	}
	index := &labelIndex{of: make([]int32, len(x.types))}
	position := map[string]int32{}
	for t := range x.types {
		value, ok := x.types[t].Labels[key]
		if !ok {
			index.of[t] = -1
			continue
		}
		at, seen := position[value]
		if !seen {
			at = int32(len(index.values))
			position[value] = at
			index.values = append(index.values, value)
		}
		index.of[t] = at
	}
	x.labels[key] = index
	return index
}

// compiled is a requirement set as a pool sees it.
type compiled struct {
	masks masks
	// open are the requirements on labels whose value the pool leaves open; the pods of one node must
	// agree on them.
	open requirement.Set
	// failed is the first key that left nothing, for the explanation.
	failed string
}

// compileSet turns a requirement set into the pool's offerings that satisfy it. The template itself is
// compiled with template set; anything else is judged against the template too (upstream
// pkg/scheduling/requirements.go, Compatible with well-known labels allowed to be undefined).
func (p *pool) compileSet(set requirement.Set, template bool) compiled {
	result := compiled{masks: make(masks, len(p.types))}
	full := ^uint64(0) >> (maxSlots - max(len(p.slots), 1))
	for t := range result.masks {
		result.masks[t] = full
	}
	for _, key := range set.Keys() {
		wanted := set.Get(key)
		switch {
		case wanted.Contradictory():
			clear(result.masks)
		case slotLabel(key):
			p.narrowSlots(result.masks, key, wanted)
		case key == wellknown.LabelTenancy:
			// Launches are of default tenancy, so that nothing else can be promised.
			if !wanted.Has(wellknown.TenancyDefault) {
				clear(result.masks)
			}
		case typeLabel(key):
			p.narrowTypes(result.masks, key, wanted)
		case template:
		default:
			if !p.narrowTemplate(&result, key, wanted) {
				clear(result.masks)
			}
		}
		if result.masks.empty() {
			result.failed = key
			return result
		}
	}
	return result
}

// typeLabel reports whether the label is a property of the instance type: well-known, and decided
// neither by the slot nor by the NodePool.
func typeLabel(key string) bool {
	return requirement.WellKnown(key) && key != wellknown.LabelNodePool
}

func slotLabel(key string) bool {
	switch key {
	case corev1.LabelTopologyZone, wellknown.LabelZoneID, wellknown.LabelCapacityType,
		wellknown.LabelReservationID, wellknown.LabelReservationType, wellknown.LabelReservationInterruptible:
		return true
	default:
		return false
	}
}

func (p *pool) narrowSlots(m masks, key string, wanted requirement.Requirement) {
	word := uint64(0)
	for i, s := range p.slots {
		if s.satisfies(key, wanted) {
			word |= 1 << i
		}
	}
	for t := range m {
		m[t] &= word
	}
}

func (s slot) satisfies(key string, wanted requirement.Requirement) bool {
	value := s.Label(key)
	if value == "" {
		return wanted.ToleratesAbsence()
	}
	return wanted.Has(value)
}

func (p *pool) narrowTypes(m masks, key string, wanted requirement.Requirement) {
	index := p.index.label(key)
	keeps := make([]bool, len(index.values))
	for i, value := range index.values {
		keeps[i] = wanted.Has(value)
	}
	absent := wanted.ToleratesAbsence()
	for t, at := range index.of {
		if at < 0 && !absent || at >= 0 && !keeps[at] {
			m[t] = 0
		}
	}
}

// narrowTemplate judges a label that only the NodePool's template can define.
func (p *pool) narrowTemplate(result *compiled, key string, wanted requirement.Requirement) bool {
	if !p.template.Has(key) {
		return wanted.ToleratesAbsence() || requirement.WellKnown(key)
	}
	have := p.template.Get(key)
	both := have.Intersection(wanted)
	if both.Contradictory() {
		return false
	}
	if have.Operator() == karpenter.OpIn && len(have.Values()) == 1 {
		return true
	}
	if result.open == nil {
		result.open = requirement.Set{}
	}
	result.open.Add(both)
	return true
}
