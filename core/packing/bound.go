package packing

import (
	corev1 "k8s.io/api/core/v1"

	"whittle/core/cluster"
)

// Bound is a price per hour that no fleet for the pods can undercut, whoever packs it: for each group
// of classes that share instance types, the pods' total requests bought at the resource prices that no
// node undercuts (the linear relaxation of the packing). Pods that fit nowhere count nothing, and
// neither weights nor limits of NodePools do.
func Bound(s *cluster.Snapshot, pods []*corev1.Pod) float64 {
	empty := *s
	empty.NodeClaims, empty.Nodes, empty.Instances = nil, nil, nil
	p := newProblem(&empty, Options{Pods: pods}, nil)
	for i := range p.pools {
		p.pools[i].limits = limits{}
		// The bound is for the instances alone, which is what a fleet's price is reckoned on.
		p.pools[i].extra = 0
	}
	var all []int
	for i := range p.pools {
		all = append(all, i)
	}
	p.classes = p.roots
	for _, c := range p.classes {
		c.level = len(c.levels) - 1
	}
	columns := p.columnsFor(all, p.classes)
	bound := 0.0
	for _, part := range components(p.classes, columns) {
		bound += part.cost(p)
	}
	return bound
}

// component is classes that are tied together by columns that several of them may use.
type component struct {
	classes []*class
	columns []*column
}

func (c component) cost(p *problem) float64 {
	s := newSearch(p, c.classes, nil)
	demand := s.demand()
	usd := 0.0
	for d, price := range resourcePrices(demand, c.columns) {
		usd += price * demand[d]
	}
	return usd
}

// components groups classes by the columns they share, in the order of their first class.
func components(classes []*class, columns []*column) []component {
	parent := make([]int, len(classes))
	for i := range parent {
		parent[i] = i
	}
	var root func(int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	first := make([]int, len(columns))
	for at, column := range columns {
		first[at] = -1
		for i := range classes {
			if !column.admits.has(i) {
				continue
			}
			if first[at] < 0 {
				first[at] = i
			} else {
				parent[root(i)] = root(first[at])
			}
		}
	}
	position := map[int]int{}
	var parts []component
	partOf := func(i int) *component {
		r := root(i)
		at, seen := position[r]
		if !seen {
			at = len(parts)
			position[r] = at
			parts = append(parts, component{})
		}
		return &parts[at]
	}
	served := make([]bool, len(classes))
	for at, column := range columns {
		for i := range classes {
			served[i] = served[i] || column.admits.has(i)
		}
		part := partOf(first[at])
		part.columns = append(part.columns, column)
	}
	for i, c := range classes {
		if served[i] {
			part := partOf(i)
			part.classes = append(part.classes, c)
		}
	}
	return parts
}
