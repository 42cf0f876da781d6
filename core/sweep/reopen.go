package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/wellknown"
	"whittle/core/cluster"
	"whittle/events"
)

// reopen takes the disruption taint off nodes whose claim nobody deleted: a function crashed between the
// two, and such a node would neither take pods nor ever go. The snapshot's nodes are replaced by the
// written ones, so that the same sweep decides by them.
func (h *Handler) reopen(ctx context.Context, s *cluster.Snapshot) error {
	taint := wellknown.DisruptedTaint()
	s.Nodes = slices.Clone(s.Nodes)
	var failures []error
	for _, host := range s.Hosts() {
		if host.Claim == nil || !host.Managed() || host.Node == nil ||
			host.Claim.DeletionTimestamp != nil || host.Node.DeletionTimestamp != nil || !cluster.HasTaint(host.Node.Spec.Taints, taint) {
			continue
		}
		node := host.Node.DeepCopy()
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
		node, err := h.Writer.UpdateNode(ctx, node)
		if err != nil {
			failures = append(failures, fmt.Errorf("reopen node %s: %w", host.Node.Name, err))
			continue
		}
		h.Log.Warn("reopened node that was closed and left", slog.String(events.KeyNode, node.Name))
		s.Nodes[slices.IndexFunc(s.Nodes, func(n *corev1.Node) bool { return n.Name == node.Name })] = node
	}
	return errors.Join(failures...)
}
