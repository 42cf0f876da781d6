package packing

import (
	"fmt"
	"math/bits"
	"strings"

	"whittle/core/requirement"
)

// variety is a requirement that asks for a number of distinct values among the candidates (minValues).
type variety struct {
	key string
	n   int
}

// varieties are what the pool asks, in the order of the keys.
func (p *pool) varieties() []variety {
	var asked []variety
	for _, key := range p.template.Keys() {
		if n := p.template.Get(key).MinValues(); n > 0 {
			asked = append(asked, variety{key: key, n: n})
		}
	}
	return asked
}

// varied reports whether what fits on a node of type t fits on enough other types that the candidates can
// have all the variety that the pool asks for.
func (p *pool) varied(t int, asked []variety) bool {
	if len(asked) == 0 {
		return true
	}
	seen := make([]map[string]bool, len(asked))
	for i := range seen {
		seen[i] = map[string]bool{}
	}
	for u := range p.types {
		if p.available[u] == 0 || !covers(p.room[u], p.room[t]) {
			continue
		}
		for i, v := range asked {
			for _, value := range p.valuesAt(u, v.key) {
				seen[i][value] = true
			}
		}
	}
	for i, v := range asked {
		if len(seen[i]) < v.n {
			return false
		}
	}
	return true
}

func covers(room, other vector) bool {
	for i := range room {
		if room[i] < other[i] {
			return false
		}
	}
	return true
}

// valuesAt are the values that nodes of type t can have for the key.
func (p *pool) valuesAt(t int, key string) []string {
	if !slotLabel(key) {
		if value, has := p.types[t].Labels[key]; has {
			return []string{value}
		}
		return nil
	}
	var values []string
	for left := p.available[t]; left != 0; left &= left - 1 {
		values = append(values, p.slots[bits.TrailingZeros64(left)].Label(key))
	}
	return values
}

// chooseVaried keeps the cheapest candidates, and of the dearer ones those without which the variety would
// be lost.
func (p *pool) chooseVaried(ranked []rankedCandidate, asked []variety) []rankedCandidate {
	need := map[int]bool{}
	for _, v := range asked {
		seen := map[string]bool{}
		for i := range ranked {
			for _, value := range p.valuesAt(p.index.position(ranked[i].InstanceType), v.key) {
				if !seen[value] && len(seen) < v.n {
					seen[value] = true
					need[i] = true
				}
			}
		}
	}
	var kept []rankedCandidate
	room := maxCandidates - len(need)
	for i := range ranked {
		switch {
		case need[i]:
			kept = append(kept, ranked[i])
		case room > 0:
			kept = append(kept, ranked[i])
			room--
		}
	}
	return kept[:min(len(kept), maxCandidates)]
}

// whyTooAlike says which variety no instance type that holds the class leaves; empty when there is none.
func (p *problem) whyTooAlike(c *class, index int) string {
	pool := p.pools[index]
	asked := pool.varieties()
	if len(asked) == 0 || p.bestEffort {
		return ""
	}
	for t := range pool.types {
		if c.rule().perPool[index].at(t)&pool.available[t] != 0 && c.requests.fits(pool.room[t]) && pool.varied(t, asked) {
			return ""
		}
	}
	var parts []string
	for _, v := range asked {
		parts = append(parts, fmt.Sprintf("%d of %s", v.n, v.key))
	}
	return "the instance types that fit do not have the distinct values that minValues asks for: " + strings.Join(parts, ", ")
}

// relaxed is the template's requirements with the variety that the candidates really have.
func (p *pool) relaxed(set requirement.Set, candidates []Candidate) (requirement.Set, bool) {
	lowered := false
	for _, v := range p.varieties() {
		seen := map[string]bool{}
		for _, c := range candidates {
			for _, value := range p.valuesAt(p.index.position(c.InstanceType), v.key) {
				seen[value] = true
			}
		}
		if len(seen) < v.n {
			set[v.key] = set[v.key].WithMinValues(len(seen))
			lowered = true
		}
	}
	return set, lowered
}
