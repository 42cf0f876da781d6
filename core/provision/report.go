package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

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
// none. One pod's Event that cannot be written does not keep the others' back.
func (h *Handler) report(ctx context.Context, plan *packing.Plan, claims []*karpenter.NodeClaim) error {
	var failures []error
	record := func(event cluster.Event) {
		if err := h.Events.Record(ctx, event); err != nil {
			failures = append(failures, fmt.Errorf("record %s on %s %s: %w", event.Reason, event.Object.Kind, event.Object.Name, err))
		}
	}
	for i := range plan.Launches {
		for _, pod := range plan.Launches[i].Pods {
			record(cluster.Event{
				Object: cluster.PodRef(pod), Type: "Normal", Reason: "Nominated",
				Message: "Pod should schedule on NodeClaim " + claims[i].Name + ": " + why(&plan.Launches[i]),
			})
		}
	}
	for _, unplaced := range plan.Unplaced {
		record(cluster.Event{
			Object: cluster.PodRef(unplaced.Pod), Type: "Warning", Reason: "FailedScheduling",
			Message: unplaced.Message(),
		})
	}
	return errors.Join(failures...)
}
