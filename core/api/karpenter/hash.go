package karpenter

import "whittle/core/api/hash"

// Hash is the drift hash of what the pool's nodes are made from: the template without its requirements,
// which drift on their own terms (a node that still meets them stays). It is computed over the object
// with its defaults, and over durations as such, so that spelling something differently drifts nothing.
// It does not equal upstream's number; see wellknown.HashVersion.
func (p *NodePool) Hash() string {
	pool := p.DeepCopy()
	pool.SetDefaults()
	template := pool.Spec.Template
	template.Spec.Requirements = nil
	if after := template.Spec.ExpireAfter; after.Duration != nil {
		template.Spec.ExpireAfter = new(After(*after.Duration))
	}
	return hash.Of(template)
}
