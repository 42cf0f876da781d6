package packing

import (
	"fmt"
	"strings"
)

// whyNowhere names the topology constraint that leaves a pod of the class no place on new nodes of the
// pool; it is empty when none does.
func (p *problem) whyNowhere(c *class, pool *pool) string {
	for _, r := range c.roles {
		t := p.nodeTerms[r.at]
		if message := t.whyNotOnNew(r, pool.crowd[r.at]); message != "" {
			return message
		}
	}
	keys := p.domainKeys(c)
	if len(keys) == 0 {
		return ""
	}
	places := p.placesOf(c, keys)
	bound := p.boundTerms(c, keys)
	if len(places) == 0 || p.bestPlace(bound, places) >= 0 {
		return ""
	}
	var reasons []string
	for _, b := range bound {
		if message := b.whyNot(places); message != "" {
			reasons = append(reasons, message)
		}
	}
	return strings.Join(reasons, "; ")
}

// whyNotOnNew says why a term on nodes keeps the class off a new node with these tallies.
func (t *term) whyNotOnNew(r role, now tally) string {
	switch {
	case t.kind == termPort && (r.owns && now.matching > 0 || r.counts && now.owners > 0):
		return fmt.Sprintf("host port %s is taken on every new node by a DaemonSet", t.port)
	case t.kind == termAntiAffinity && (r.owns && now.matching > 0 || r.counts && now.owners > 0):
		return "its anti-affinity forbids the company of a DaemonSet that runs on every new node"
	case t.kind == termAffinity && r.owns && now.matching == 0:
		return "asks to share a node with pods that match " + t.selector.String() + ", and no node that has some has room"
	default:
		return ""
	}
}

// String is the port as people write it.
func (p hostPort) String() string {
	text := fmt.Sprintf("%d/%s", p.port, p.protocol)
	if !p.any() {
		text = p.ip + ":" + text
	}
	return text
}

// whyNot says how the term rules out places, with what it counts in each.
func (b *boundTerm) whyNot(places []*place) string {
	var ruled []string
	for _, candidate := range places {
		domain := candidate.values[b.key]
		if b.allows(domain) {
			continue
		}
		n := b.count(domain)
		if b.kind == termAntiAffinity && !b.owns {
			n = b.owners[domain]
		}
		entry := fmt.Sprintf("%s has %d", domain, n)
		if len(ruled) == 0 || ruled[len(ruled)-1] != entry {
			ruled = append(ruled, entry)
		}
	}
	if len(ruled) == 0 {
		return ""
	}
	counts := strings.Join(ruled, ", ")
	switch {
	case b.kind == termSpread:
		return fmt.Sprintf("spread over %s with maxSkew %d: %s, the emptiest that counts %d", b.topologyKey, b.maxSkew, counts, b.least())
	case b.kind == termAffinity:
		return fmt.Sprintf("affinity over %s to pods that match %s: %s", b.topologyKey, b.selector, counts)
	case b.owns:
		return fmt.Sprintf("anti-affinity over %s to pods that match %s: %s", b.topologyKey, b.selector, counts)
	default:
		return fmt.Sprintf("pods with an anti-affinity over %s to this one: %s", b.topologyKey, counts)
	}
}
