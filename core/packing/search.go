package packing

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// node is a node to launch, with the pods it is for.
type node struct {
	column *column
	pods   []*corev1.Pod
	rules  []*rule
	// room it has left if it becomes the column's instance type.
	room vector
	// slots that all its pods allow.
	slots uint64
	// open are the labels that its pods have decided of those the pool leaves open.
	open openLabels
	// crowd is what its pods are to the terms on nodes.
	crowd crowd
}

// launch plans nodes for the pods that are left, pool by pool in the order of weight: a pod goes to the
// heaviest pools that can take it, and among pools of one weight to whichever makes the fleet
// cheapest.
func (p *problem) launch() {
	for first := 0; first < len(p.pools); {
		last := first
		var tier []int
		for last < len(p.pools) && p.pools[last].weight() == p.pools[first].weight() {
			tier = append(tier, last)
			last++
		}
		p.launchFrom(tier)
		first = last
	}
}

func (p *problem) launchFrom(tier []int) {
	var classes []*class
	for _, c := range p.classes {
		if len(c.pods) > 0 && c.admittedByAny(tier) {
			classes = append(classes, c)
		}
	}
	if len(classes) == 0 {
		return
	}
	search := newSearch(p, classes, p.columnsFor(tier, classes))
	search.together()
	for _, b := range search.cheapest() {
		p.realize(classes, b)
	}
}

// together buys one node for all pods of a class that wants its own company on its node, and of which
// none runs yet: where the first one goes, the others must follow.
func (s *search) together() {
	for i, c := range s.classes {
		if len(c.pods) == 0 || !s.startsCompany(c) {
			continue
		}
		best := purchase{}
		for _, column := range s.columns {
			n := min(c.requests.count(column.room), s.tolerate(s.pools[column.pool].crowd, c), int64(len(c.pods)))
			if n == 0 || !column.admits.has(i) || !column.capacity.fits(s.pools[column.pool].limits.remaining) {
				continue
			}
			if best.column == nil || n > best.takes[0].n {
				best = purchase{times: 1, pattern: pattern{
					column: column, takes: []take{{class: i, n: n}}, open: c.rule().perPool[column.pool].open,
				}}
			}
		}
		if best.column != nil {
			s.realize(s.classes, best)
		}
	}
}

// startsCompany reports whether the class matches an affinity term on nodes of its own, and nothing that
// runs or is planned does.
func (p *problem) startsCompany(c *class) bool {
	starts := false
	for _, r := range c.roles {
		if !r.owns || p.nodeTerms[r.at].kind != termAffinity {
			continue
		}
		if !r.counts {
			return false
		}
		for _, h := range p.hosts {
			if h.crowd[r.at].matching > 0 {
				return false
			}
		}
		for _, n := range p.nodes {
			if n.crowd[r.at].matching > 0 {
				return false
			}
		}
		starts = true
	}
	return starts
}

func (c *class) admittedByAny(tier []int) bool {
	for _, index := range tier {
		if c.rule().perPool[index].admit {
			return true
		}
	}
	return false
}

// realize turns a purchase into nodes with pods.
func (p *problem) realize(classes []*class, b purchase) {
	pool := p.pools[b.column.pool]
	for range b.times {
		n := &node{
			column: b.column, room: slices.Clone(b.column.room), slots: b.column.slots, open: b.open, crowd: slices.Clone(pool.crowd),
		}
		for _, t := range b.takes {
			n.add(classes[t.class], classes[t.class].pop(t.n))
		}
		b.column.capacity.take(pool.limits.remaining, 1)
		p.nodes = append(p.nodes, n)
	}
}

func (n *node) add(c *class, pods []*corev1.Pod) {
	c.requests.take(n.room, int64(len(pods)))
	n.crowd.add(c, int64(len(pods)))
	n.pods = append(n.pods, pods...)
	if !slices.Contains(n.rules, c.rule()) {
		n.rules = append(n.rules, c.rule())
	}
}

// fillPlanned places pods on nodes that are planned already and have room left.
func (p *problem) fillPlanned() {
	for _, c := range p.classes {
		for _, n := range p.nodes {
			if len(c.pods) == 0 {
				break
			}
			count := min(c.requests.count(n.room), int64(len(c.pods)))
			if count > 0 {
				count = min(count, p.bear(n.crowd, c))
			}
			allowed := n.slots & c.rule().perPool[n.column.pool].at(n.column.typ)
			if count <= 0 || allowed == 0 {
				continue
			}
			open, ok := n.open.and(c.rule().perPool[n.column.pool].open)
			if !ok {
				continue
			}
			n.slots, n.open = allowed, open
			n.add(c, c.pop(count))
		}
	}
}
