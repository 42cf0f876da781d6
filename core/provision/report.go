package provision

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"whittle/core/api/karpenter"
	"whittle/core/cluster"
	"whittle/core/packing"
	"whittle/events"
)

// logPlan writes the pass's one line.
func (h *Handler) logPlan(wake events.Wake, plan *packing.Plan) {
	s := plan.Summary()
	h.Log.Info("computed plan",
		slog.String(events.KeyCluster, h.Cluster), slog.String(events.KeyReason, wake.Reason),
		slog.Int(events.KeyLaunches, s.Launches), slog.Int(events.KeyPods, s.Pods),
		slog.Int(events.KeyExisting, s.OnExisting), slog.Int(events.KeyUnplaced, s.Unplaced),
		slog.Float64(events.KeyUSDPerHour, s.USDPerHour))
}

// why says what was chosen and on what grounds.
func why(l *packing.Launch) string {
	grounds := "the heaviest NodePool that takes it"
	if len(l.Rivals) > 1 {
		grounds = "the cheapest plan over NodePools " + strings.Join(l.Rivals, ", ") + " of equal weight"
	}
	return fmt.Sprintf("%s from NodePool %s at $%.4f/h, %s", l.Offering, l.NodePool.Name, l.USDPerHour, grounds)
}

// report tells every pod what it may expect: the NodeClaim that is on its way for it, or why there is
// none.
func (h *Handler) report(ctx context.Context, plan *packing.Plan, claims []*karpenter.NodeClaim) {
	for i := range plan.Launches {
		for _, pod := range plan.Launches[i].Pods {
			h.Events.Post(ctx, cluster.Event{
				Object: cluster.PodRef(pod), Type: corev1.EventTypeNormal, Reason: "Nominated",
				Message: "Pod should schedule on NodeClaim " + claims[i].Name + ": " + why(&plan.Launches[i]),
			})
		}
	}
	for _, unplaced := range plan.Unplaced {
		h.Events.Post(ctx, cluster.Event{
			Object: cluster.PodRef(unplaced.Pod), Type: corev1.EventTypeWarning, Reason: "FailedScheduling",
			Message: unplaced.Message(),
		})
	}
}
