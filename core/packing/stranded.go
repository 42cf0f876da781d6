package packing

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// patience is how many passes withhold no more pods than a term has too many; later ones withhold all of the
// class in the place, so that pods that wait for each other end soon.
const patience = 3

// pinned are the pods that a round placed of a class that is pinned to a place.
type pinned struct {
	class *class
	pods  []*corev1.Pod
}

// notePinned remembers what of the class found room in the round.
func (p *problem) notePinned(c *class) {
	left := make(map[*corev1.Pod]bool, len(c.pods))
	for _, pod := range c.pods {
		left[pod] = true
	}
	placed := slices.DeleteFunc(slices.Clone(c.assigned), func(pod *corev1.Pod) bool { return left[pod] })
	if len(placed) > 0 {
		p.pinned = append(p.pinned, pinned{class: c, pods: placed})
	}
}

// stranded are pods that have room but that kube-scheduler would never bind there: the pods that they
// counted on when their place was chosen found room elsewhere, or nowhere. To launch for them would be to
// launch again and again.
func (p *problem) stranded(pass int) []Unplaced {
	var stranded []Unplaced
	for _, c := range p.pinned {
		bound := p.boundTerms(c.class.parent, c.class.keys)
		for _, b := range bound {
			domain := c.class.place[b.key]
			n := min(p.tooMany(b, domain), len(c.pods))
			if n <= 0 {
				continue
			}
			if pass >= patience {
				n = len(c.pods)
			}
			reason := Reason{Rule: RuleTopology, Message: fmt.Sprintf("the pods that its %s counts on in %s=%s find no room there", b.name(), b.topologyKey, domain)}
			for _, pod := range c.pods[len(c.pods)-n:] {
				stranded = append(stranded, Unplaced{Pod: pod, Reasons: []Reason{reason}})
			}
			for _, other := range bound {
				other.note(c.class.place[other.key], -n)
			}
			c.pods = c.pods[:len(c.pods)-n]
		}
	}
	return stranded
}

// tooMany is how many pods of the class are in the domain beyond what the term allows in the end.
func (p *problem) tooMany(b *boundTerm, domain string) int {
	switch {
	case !b.hard:
		return 0
	case b.kind == termAffinity && b.matching[domain] == 0:
		return math.MaxInt
	case b.kind == termSpread && b.counts && p.misses(b.term):
		return b.count(domain) - b.least() - b.maxSkew
	default:
		return 0
	}
}

// misses reports whether pods that count for the term found no room.
func (p *problem) misses(t *term) bool {
	return slices.ContainsFunc(p.roots, func(c *class) bool { return len(c.pods) > 0 && t.matches(c.pod) }) ||
		slices.ContainsFunc(p.unplaced, func(u Unplaced) bool { return t.matches(u.Pod) })
}

// name is what the term is called in a pod's spec.
func (t *term) name() string {
	if t.kind == termSpread {
		return "topology spread"
	}
	return "pod affinity"
}
