package packing

import (
	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/karpenter"
	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/core/requirement"
	"whittle/core/resource"
)

// host is a cluster.Host with the room it has left.
type host struct {
	cluster.Host
	room   vector
	crowd  crowd
	labels requirement.Set
	taints []corev1.Taint
	// open is set for a NodeClaim that has not launched: its instance may become any of these.
	open *openClaim
	// admitted remembers which rules the host satisfies.
	admitted map[*rule]bool
}

// openClaim is what a NodeClaim that has not launched may still become.
type openClaim struct {
	pool  *pool
	types []int
	// masks are the offerings that the claim itself allows, whatever has become of its NodePool since.
	masks masks
}

func (p *problem) newHost(h cluster.Host) *host {
	result := &host{
		Host:     h,
		labels:   requirement.FromLabels(h.Labels()),
		taints:   h.Taints(),
		admitted: map[*rule]bool{},
	}
	if !h.Launched() {
		result.open = p.openClaim(h.Claim)
		result.room = p.leastRoom(result.open)
		return result
	}
	result.room = p.vector(h.Allocatable())
	p.vector(h.Requested()).take(result.room, 1)
	p.vector(p.awaited(h)).take(result.room, 1)
	p.placesOfHost(h, result.room)
	for _, pod := range p.nominated[h.Name()] {
		p.vector(p.requestsOf(pod)).take(result.room, 1)
	}
	return result
}

// openClaim works out what the NodeClaim may become; nil when its NodePool is gone.
func (p *problem) openClaim(claim *karpenter.NodeClaim) *openClaim {
	for _, pool := range p.pools {
		if pool.object.Name == claim.Labels[wellknown.LabelNodePool] && pool.class != nil {
			return pool.openClaim(claim)
		}
	}
	return nil
}

func (p *pool) openClaim(claim *karpenter.NodeClaim) *openClaim {
	open := &openClaim{pool: p, masks: p.compileSet(requirement.FromSpec(claim.Spec.Requirements), true).masks}
	for t, word := range open.masks {
		if word != 0 {
			open.types = append(open.types, t)
		}
	}
	return open
}

// leastRoom is what the node will offer whichever of its instance types it becomes.
func (p *problem) leastRoom(open *openClaim) vector {
	least := make(vector, len(p.names))
	if open == nil {
		return least
	}
	for i, t := range open.types {
		for d, amount := range open.pool.room[t] {
			if i == 0 || amount < least[d] {
				least[d] = amount
			}
		}
	}
	return least
}

// largestCapacity is the most that a NodeClaim that has not launched may take of its pool's limits.
func (p *pool) largestCapacity(claim *karpenter.NodeClaim) resource.Amounts {
	largest := resource.Amounts{}
	if p.class == nil {
		return largest
	}
	for _, t := range p.openClaim(claim).types {
		for name, amount := range p.types[t].Capacity {
			largest[name] = max(largest[name], amount)
		}
	}
	return largest
}

// admits reports whether pods under the rule may run on the host.
func (p *problem) admits(h *host, r *rule) bool {
	answer, known := h.admitted[r]
	if !known {
		answer = toleratesAll(r.tolerations, h.taints, r.ignorePreferred) && h.satisfies(r)
		h.admitted[r] = answer
	}
	return answer
}

func (h *host) satisfies(r *rule) bool {
	if h.open == nil {
		return h.Launched() && anyCompatible(h.labels, r.alternatives)
	}
	return h.open.always(r.alternatives, h.labels)
}

// always reports whether one of the sets holds whatever the NodeClaim becomes.
func (o *openClaim) always(alternatives []requirement.Set, labels requirement.Set) bool {
	covered := make(masks, len(o.masks))
	for _, set := range alternatives {
		if m, holds := o.where(set, labels); holds {
			covered.or(m)
		}
	}
	for t, word := range o.masks {
		if word&^covered[t] != 0 {
			return false
		}
	}
	return len(o.types) > 0
}

// where are the offerings on which the set holds; holds is false when the claim's labels contradict it.
func (o *openClaim) where(set requirement.Set, labels requirement.Set) (m masks, holds bool) {
	custom := requirement.Set{}
	decided := requirement.Set{}
	for key, wanted := range set {
		if typeLabel(key) || slotLabel(key) {
			decided[key] = wanted
		} else {
			custom[key] = wanted
		}
	}
	if labels.Compatible(custom, nil) != nil {
		return nil, false
	}
	return o.pool.compileSet(decided, false).masks, true
}

// fillHosts places pods on what runs or is on its way, the largest pods first and each on the first
// host that takes it (upstream tries existing nodes in the same order).
func (p *problem) fillHosts() {
	for _, c := range p.classes {
		for _, h := range p.hosts {
			if len(c.pods) == 0 {
				break
			}
			n := min(c.requests.count(h.room), int64(len(c.pods)))
			if n > 0 {
				n = min(n, p.bear(h.crowd, c))
			}
			if n > 0 && p.admits(h, c.rule()) {
				p.put(h, c, c.pop(n))
			}
		}
	}
}

func (p *problem) put(h *host, c *class, pods []*corev1.Pod) {
	c.requests.take(h.room, int64(len(pods)))
	h.crowd.add(c, int64(len(pods)))
	for _, pod := range pods {
		p.placements = append(p.placements, Placement{Pod: pod, Host: h.Name()})
	}
}
