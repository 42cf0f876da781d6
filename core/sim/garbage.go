package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// garbageCollector deletes what an object owned that is gone, and the pods of Nodes that are gone.
type garbageCollector struct {
	kube  *Kube
	store *store
}

func newGarbageCollector(k *Kube) {
	g := &garbageCollector{kube: k, store: k.store}
	k.store.watch(g.observe)
}

func (g *garbageCollector) observe(c change) {
	if c.now != nil {
		return
	}
	owner := c.old.GetUID()
	if len(g.store.owned[owner]) > 0 {
		g.kube.world.clock.soon("dependents "+string(owner), func() { g.deleteDependents(owner) })
	}
	if c.kind == "Node" {
		g.kube.world.clock.after(g.kube.world.options.PodCollection, func() { g.deleteOrphans(c.key.name) })
	}
}

func (g *garbageCollector) deleteDependents(owner types.UID) {
	for _, ref := range sortedReferences(g.store.owned[owner]) {
		obj, ok := g.store.objects[ref.kind][ref.key]
		if !ok {
			continue
		}
		if pod, ok := obj.(*corev1.Pod); ok {
			g.kube.deletePod(pod, gracePeriod(pod))
		} else {
			g.store.finish(obj)
		}
	}
}

// deleteOrphans removes the pods of a node that is gone: nothing will report their end.
func (g *garbageCollector) deleteOrphans(node string) {
	if _, back := lookup[*corev1.Node](g.store, "", node); back {
		return
	}
	for _, pod := range g.store.podsOn(node) {
		g.kube.deletePod(pod, 0)
	}
}
