package packing

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// shareSpot splits classes between Spot and on-demand where their NodePool asks for a share of Spot: of the
// pool's CPU, what runs and what is planned, so many percent are to be Spot. Each workload is split in the
// same proportion, so that none has all its replicas on one side. A part that finds no place on its side
// takes the other at last.
func (p *problem) shareSpot() {
	balances := map[int]*balance{}
	roots := p.roots
	p.roots = nil
	for _, c := range roots {
		index, percent, shared := p.sharedPool(c)
		if !shared {
			p.roots = append(p.roots, c)
			continue
		}
		if balances[index] == nil {
			balances[index] = p.balanceOf(p.pools[index].object, percent)
		}
		var spot, onDemand []*corev1.Pod
		for _, replicas := range byOwner(c.pods) {
			n := balances[index].spotOf(c, len(replicas))
			spot, onDemand = append(spot, replicas[:n]...), append(onDemand, replicas[n:]...)
		}
		if len(spot) > 0 {
			p.roots = append(p.roots, p.onSide(c, wellknown.CapacityTypeSpot, spot))
		}
		if len(onDemand) > 0 {
			p.roots = append(p.roots, p.onSide(c, wellknown.CapacityTypeOnDemand, onDemand))
		}
	}
}

// byOwner groups pods by what controls them, in the order of each group's first pod; pods of nobody are a
// group together.
func byOwner(pods []*corev1.Pod) [][]*corev1.Pod {
	position := map[types.UID]int{}
	var groups [][]*corev1.Pod
	for _, pod := range pods {
		var uid types.UID
		if owner := cluster.ControllerOf(pod); owner != nil {
			uid = owner.UID
		}
		at, seen := position[uid]
		if !seen {
			at = len(groups)
			position[uid] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], pod)
	}
	return groups
}

// sharedPool is the first pool that takes the class, if it asks for a share of Spot and could give both.
func (p *problem) sharedPool(c *class) (index int, percent float64, shared bool) {
	for i, pool := range p.pools {
		if !c.rule().perPool[i].admit {
			continue
		}
		percent, err := strconv.ParseFloat(pool.object.Annotations[wellknown.AnnotationSpotPercent], 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return 0, 0, false
		}
		both := map[string]bool{}
		for _, option := range p.optionsOf(c.rule(), []string{wellknown.LabelCapacityType}) {
			both[option.values[0]] = true
		}
		return i, percent, both[wellknown.CapacityTypeSpot] && both[wellknown.CapacityTypeOnDemand]
	}
	return 0, 0, false
}

// balance is how much of a pool's CPU is Spot, in thousandths, and how much is to be.
type balance struct {
	spot, all float64
	share     float64
}

func (p *problem) balanceOf(pool *karpenter.NodePool, percent float64) *balance {
	b := &balance{share: percent / 100}
	for _, h := range p.hosts {
		if h.NodePool() != pool.Name {
			continue
		}
		cpu := float64(h.Requested()[corev1.ResourceCPU])
		b.all += cpu
		if h.Offering().CapacityType == wellknown.CapacityTypeSpot {
			b.spot += cpu
		}
	}
	return b
}

// spotOf is how many of a workload's replicas, which are of the class, go to Spot so that the balance comes
// nearest to the share.
func (b *balance) spotOf(c *class, replicas int) int {
	cpu := max(float64(resource.PodRequests(c.pod)[corev1.ResourceCPU]), 1)
	total := float64(replicas)
	wanted := (b.share*(b.all+total*cpu) - b.spot) / cpu
	// What was out of balance is set right by the pool as a whole, never by one workload alone: of each, no
	// fewer than its own share less one and no more than its share and one.
	own := b.share * total
	n := int(math.Round(min(max(wanted, own-1, 0), own+1, total)))
	b.spot += float64(n) * cpu
	b.all += total * cpu
	return n
}

// onSide is a class for some of the pods that has them on one capacity type, and gives that up last of all.
func (p *problem) onSide(c *class, capacityType string, pods []*corev1.Pod) *class {
	side := requirement.NewSet(requirement.New(wellknown.LabelCapacityType, karpenter.OpIn, capacityType))
	part := &class{key: c.key + "/" + capacityType, pod: c.pod, requests: c.requests, pods: pods}
	for _, l := range c.levels {
		confined := l
		confined.rule = p.rule(requirement.Combine(l.rule.alternatives, []requirement.Set{side}), l.rule.tolerations, l.rule.ignorePreferred)
		part.levels = append(part.levels, confined)
	}
	part.levels = append(part.levels, c.levels[len(c.levels)-1])
	return part
}
