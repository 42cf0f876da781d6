package packing

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/cluster"
)

// role is what a class is to a term whose domains are nodes.
type role struct {
	// at is the term's position among the problem's terms on nodes.
	at int
	// owns says that the class carries the term, hard that it must hold and so binds others too.
	owns, hard bool
	// counts says that the term's selector matches the class.
	counts bool
}

// tally is how many pods of a node count for a term, and how many carry it as one that must hold.
type tally struct{ matching, owners int64 }

// crowd is the tallies of a node, by the problem's terms on nodes.
type crowd []tally

// add notes n more pods of the class on the node; a negative n takes them off.
func (c crowd) add(class *class, n int64) {
	for _, r := range class.roles {
		if r.counts {
			c[r.at].matching += n
		}
		if r.hard {
			c[r.at].owners += n
		}
	}
}

// bear is how many more pods of the class the terms allow on the node. A spread over nodes counts a new
// node as empty and takes the emptiest node to have none, as upstream does.
func (p *problem) bear(c crowd, class *class) int64 {
	if p.lonely(c, class) {
		return 0
	}
	return p.tolerate(c, class)
}

// lonely reports whether the class wants company on its node that is not there.
func (p *problem) lonely(c crowd, class *class) bool {
	for _, r := range class.roles {
		if r.owns && p.nodeTerms[r.at].kind == termAffinity && c[r.at].matching == 0 {
			return true
		}
	}
	return false
}

// wantsCompany reports whether the class has an affinity term on nodes.
func (p *problem) wantsCompany(class *class) bool {
	for _, r := range class.roles {
		if r.owns && p.nodeTerms[r.at].kind == termAffinity {
			return true
		}
	}
	return false
}

// tolerate is bear without regard to the company that the class wants.
func (p *problem) tolerate(c crowd, class *class) int64 {
	most := int64(math.MaxInt32)
	for _, r := range class.roles {
		t := p.nodeTerms[r.at]
		now := c[r.at]
		switch t.kind {
		case termSpread:
			if r.owns && r.counts {
				most = min(most, int64(t.maxSkew)-now.matching)
			} else if r.owns && now.matching > int64(t.maxSkew) {
				most = 0
			}
		case termAntiAffinity, termPort:
			if r.owns && now.matching > 0 || r.counts && now.owners > 0 {
				most = 0
			}
			if r.owns && r.counts {
				most = min(most, 1)
			}
		case termAffinity:
		}
	}
	return max(most, 0)
}

// rolesOf works out what the class is to the terms on nodes at its present level.
func (p *problem) rolesOf(c *class) []role {
	var roles []role
	for i, t := range p.nodeTerms {
		r := role{at: i, owns: c.owns(t), counts: t.matches(c.pod)}
		r.hard = r.owns && c.requires(t)
		if r.owns || r.counts {
			roles = append(roles, r)
		}
	}
	return roles
}

// crowdOn is the tallies of a host with its pods and the DaemonSets' that are still to come.
func (p *problem) crowdOn(h cluster.Host) crowd {
	if len(p.nodeTerms) == 0 {
		return nil
	}
	c := make(crowd, len(p.nodeTerms))
	for _, pod := range h.Pods {
		if !p.moving[pod.UID] {
			p.count(c, pod)
		}
	}
	for _, daemon := range p.awaitedDaemons(h) {
		p.count(c, daemon.pod)
	}
	return c
}

// count adds one pod that is no class's to the tallies.
func (p *problem) count(c crowd, pod *corev1.Pod) {
	own := p.terms.of(pod).required
	for i, t := range p.nodeTerms {
		if t.matches(pod) {
			c[i].matching++
		}
		for _, o := range own {
			if o == t {
				c[i].owners++
			}
		}
	}
}

// crowdOfNew is the tallies of a new node of a pool: its DaemonSets'.
func (p *problem) crowdOfNew(pool *pool) crowd {
	if len(p.nodeTerms) == 0 {
		return nil
	}
	c := make(crowd, len(p.nodeTerms))
	for i := range p.daemons {
		daemon := &p.daemons[i]
		if toleratesAll(daemon.tolerations, pool.taints, true) && pool.maskOfAny(daemon.alternatives).and(pool.allowed) {
			p.count(c, daemon.pod)
		}
	}
	return c
}
